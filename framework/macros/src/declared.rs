//! The content of `#[param(…)]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, ExprUnary, Lit, LitStr, Result};

use crate::root::model;
use crate::written::Written;

/// Declaration of a parameter or of a choice.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) name: Option<LitStr>,
    pub(crate) default: Option<Text>,
    pub(crate) min: Option<Text>,
    pub(crate) max: Option<Text>,
    /// The keys of the set are on the level of the other fields.
    pub(crate) flatten: bool,
}

/// A text as YAML would write it, or a constant of this text.
pub(crate) struct Text {
    /// The constant.
    pub(crate) value: TokenStream,
    pub(crate) span: Span,
    literal: Option<String>,
}

impl Text {
    /// The value as a tree, for a constant.
    pub(crate) fn written(&self) -> Result<TokenStream> {
        let Some(literal) = &self.literal else {
            let (value, model) = (&self.value, model());
            return Ok(quote!(#model::form::Written::Scalar(#value)));
        };
        match Written::parse(literal) {
            Ok(written) => Ok(written.tokens()),
            Err(problem) => Err(Error::new(self.span, problem)),
        }
    }

    /// A block that panics here with the problem that an expression finds.
    pub(crate) fn refused(&self, problem: TokenStream) -> TokenStream {
        quote_spanned! {self.span=>
            if let ::std::option::Option::Some(problem) = #problem {
                ::std::panic!("{}", problem)
            }
        }
    }
}

/// Reads the attributes of a field or a variant.
///
/// # Errors
/// For an unknown key, and for a key that is given twice.
pub(crate) fn declared(attributes: &[Attribute]) -> Result<Declared> {
    let mut declared = Declared::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("param")) {
        attribute.parse_nested_meta(|meta| {
            let twice = || meta.error("this is there twice");
            if meta.path.is_ident("flatten") {
                declared.flatten = true;
                return Ok(());
            }
            if meta.path.is_ident("name") {
                let name: LitStr = meta.value()?.parse()?;
                return declared.name.replace(name).map_or(Ok(()), |_| Err(twice()));
            }
            let slot = if meta.path.is_ident("default") {
                &mut declared.default
            } else if meta.path.is_ident("min") {
                &mut declared.min
            } else if meta.path.is_ident("max") {
                &mut declared.max
            } else {
                return Err(meta.error("expected default, flatten, min, max or name"));
            };
            let expression: Expr = meta.value()?.parse()?;
            slot.replace(text(&expression)?).map_or(Ok(()), |_| Err(twice()))
        })?;
    }
    Ok(declared)
}

/// A literal, or the path of a constant: the name of a variant, `<Fifo as Variant<dyn CtaPolicy>>::NAME`.
fn text(expression: &Expr) -> Result<Text> {
    let span = expression.span();
    if let Expr::Path(path) = expression {
        return Ok(Text { value: quote!(#path), span, literal: None });
    }
    let literal = literal(expression)?;
    Ok(Text { value: quote!(#literal), span, literal: Some(literal) })
}

/// A literal as YAML would write it: `"4 KiB"`, `8`, `-1`, `0.5`, `true`.
fn literal(expression: &Expr) -> Result<String> {
    match expression {
        Expr::Lit(ExprLit { lit, .. }) => match lit {
            Lit::Str(text) => Ok(text.value()),
            Lit::Int(number) => Ok(number.base10_digits().to_owned()),
            Lit::Float(number) => Ok(number.base10_digits().to_owned()),
            Lit::Bool(switch) => Ok(if switch.value { "on" } else { "off" }.to_owned()),
            other => Err(Error::new(other.span(), "expected a text, a number or a switch")),
        },
        Expr::Unary(ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => Ok(format!("-{}", literal(expr)?)),
        other => Err(Error::new(other.span(), "expected a literal, or the path of a constant")),
    }
}
