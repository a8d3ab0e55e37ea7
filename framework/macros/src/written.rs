//! A default as its declaration writes it: YAML in one line, as a tree that the compiler compares with the field's type.

use proc_macro2::TokenStream;
use quote::quote;

use crate::root::model;

/// A value in YAML's flow style.
pub(crate) enum Written {
    Null,
    Scalar(String),
    List(Vec<Written>),
    Map(Vec<(String, Written)>),
}

type Fallible<T> = Result<T, String>;

impl Written {
    /// Reads a text.
    ///
    /// # Errors
    /// A sentence about the first part that is not YAML in one line.
    pub(crate) fn parse(text: &str) -> Fallible<Self> {
        let mut rest = Rest(text.trim());
        let value = rest.value(&[])?;
        rest.blank();
        if rest.0.is_empty() { Ok(value) } else { Err(format!("`{}` follows the value", rest.0)) }
    }

    /// The constant that it is.
    pub(crate) fn tokens(&self) -> TokenStream {
        let model = model();
        let written = quote!(#model::form::Written);
        match self {
            Written::Null => quote!(#written::Null),
            Written::Scalar(text) => quote!(#written::Scalar(#text)),
            Written::List(items) => {
                let items = items.iter().map(Written::tokens);
                quote!(#written::List(&[#(#items),*]))
            }
            Written::Map(entries) => {
                let entries = entries.iter().map(|(name, value)| {
                    let value = value.tokens();
                    quote!((#name, #value))
                });
                quote!(#written::Map(&[#(#entries),*]))
            }
        }
    }
}

/// Text that has not been read.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn blank(&mut self) {
        self.0 = self.0.trim_start();
    }

    fn skip(&mut self, letter: char) -> bool {
        self.blank();
        let rest = self.0.strip_prefix(letter);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    /// A value that ends before one of these letters.
    fn value(&mut self, ends: &[char]) -> Fallible<Written> {
        if self.skip('[') {
            let mut items = Vec::new();
            while !self.skip(']') {
                items.push(self.value(&[',', ']'])?);
                self.between(']')?;
            }
            return Ok(Written::List(items));
        }
        if self.skip('{') {
            let mut entries: Vec<(String, Written)> = Vec::new();
            while !self.skip('}') {
                let name = self.take(self.0.find([':', ',', '}']).unwrap_or(self.0.len())).trim().to_owned();
                if name.is_empty() || !self.skip(':') {
                    return Err(format!("`{name}` is not a key with a value"));
                }
                if entries.iter().any(|(known, _)| *known == name) {
                    return Err(format!("`{name}` is there twice"));
                }
                entries.push((name, self.value(&[',', '}'])?));
                self.between('}')?;
            }
            return Ok(Written::Map(entries));
        }
        self.scalar(ends)
    }

    fn between(&mut self, close: char) -> Fallible<()> {
        self.blank();
        match self.skip(',') || self.0.starts_with(close) {
            true => Ok(()),
            false => Err(format!("`{close}` is missing")),
        }
    }

    fn scalar(&mut self, ends: &[char]) -> Fallible<Written> {
        for quote in ['\'', '"'] {
            if self.skip(quote) {
                let end = self.0.find(quote).ok_or_else(|| format!("`{quote}` is missing at the end"))?;
                let text = self.take(end).to_owned();
                self.skip(quote);
                return Ok(Written::Scalar(text));
            }
        }
        let text = self.take(self.0.find(ends).unwrap_or(self.0.len())).trim();
        if text.starts_with(['&', '*', '!', '|', '>', '%', '@', '`']) || text.contains(" #") {
            return Err(format!("`{text}` is more than a value"));
        }
        if text.contains(": ") || text.ends_with(':') {
            return Err(format!("`{text}` is a map: write `{{ {text} }}`"));
        }
        Ok(match text {
            "" | "~" | "null" => Written::Null,
            text => Written::Scalar(text.to_owned()),
        })
    }
}
