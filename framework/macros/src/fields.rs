//! The common input of the derives: named fields and their doc comments.

use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Lit, LitStr, Meta, Result};

pub(crate) fn named(input: &DeriveInput) -> Result<Vec<&Field>> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields.named.iter().collect()),
            Fields::Unit => Ok(Vec::new()),
            Fields::Unnamed(_) => Err(Error::new_spanned(input, "fields need names: YAML refers to them")),
        },
        _ => Err(Error::new_spanned(input, "only a struct can be declared this way")),
    }
}

/// The doc comment as one text; line breaks inside a paragraph become blanks.
pub(crate) fn doc(attributes: &[Attribute]) -> String {
    let mut paragraphs = vec![String::new()];
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(meta) = &attribute.meta else {
            continue;
        };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.value else {
            continue;
        };
        for line in lines(text) {
            match (line.is_empty(), paragraphs.last_mut()) {
                (false, Some(paragraph)) => {
                    let gap = if paragraph.is_empty() { "" } else { " " };
                    *paragraph = format!("{paragraph}{gap}{line}");
                }
                _ => paragraphs.push(String::new()),
            }
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n")
}

/// The lines of a doc attribute: one for `///`, several for `/** */`, whose stars are decoration.
fn lines(text: &LitStr) -> Vec<String> {
    let text = text.value();
    let several = text.contains('\n');
    let clean = |line: &str| {
        let line = line.trim();
        if several { line.trim_start_matches('*').trim_start().to_owned() } else { line.to_owned() }
    };
    text.split('\n').map(clean).collect()
}
