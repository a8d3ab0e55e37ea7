//! `derive(Stats)`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitStr, Token};

use crate::fields::{doc, named};
use crate::root::model;

/// A field of the set, or of a set in it: `blocks.thread_insn`.
fn path(text: &LitStr) -> syn::Result<Punctuated<Ident, Token![.]>> {
    text.parse_with(Punctuated::parse_separated_nonempty)
}

pub(crate) fn derive(input: syn::DeriveInput) -> syn::Result<TokenStream> {
    let (name, model) = (&input.ident, model());
    let (mut visits, mut sums, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for field in named(&input)? {
        let (ident, doc) = (&field.ident, doc(&field.attrs));
        let own = ident.as_ref().map(ToString::to_string).unwrap_or_default();
        let (mut text, mut unit, mut part, mut whole) = (None, None, None, None);
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("stat")) {
            attribute.parse_nested_meta(|meta| {
                let value: LitStr = meta.value()?.parse()?;
                let before = match () {
                    () if meta.path.is_ident("unit") => unit.replace(value.value()).is_some(),
                    () if meta.path.is_ident("name") => text.replace(value.value()).is_some(),
                    () if meta.path.is_ident("part") => part.replace(path(&value)?).is_some(),
                    () if meta.path.is_ident("whole") => whole.replace(path(&value)?).is_some(),
                    () => return Err(meta.error("expected `unit`, `name`, `part` or `whole`")),
                };
                if before { Err(meta.error("this is there twice")) } else { Ok(()) }
            })?;
        }
        if part.is_some() != whole.is_some() {
            return Err(Error::new_spanned(ident, "`part` and `whole` need each other"));
        }
        let (text, unit) = (text.unwrap_or(own), unit.unwrap_or_default());
        if names.contains(&text) {
            return Err(Error::new_spanned(ident, format!("another statistic has the name `{text}`")));
        }
        names.push(text.clone());
        let label = quote!(#model::StatLabel { name: #text, unit: #unit, doc: #doc });
        if let (Some(part), Some(whole)) = (part, whole) {
            visits.push(quote!(self.#ident.visit_of(#label, &self.#part, &self.#whole, visitor);));
            continue;
        }
        visits.push(quote!(#model::Stat::visit(&self.#ident, #label, visitor);));
        sums.push(quote!(#model::Stat::absorb(&self.#ident, &other.#ident);));
    }
    Ok(quote! {
        impl #model::Stats for #name {
            fn visit(&self, visitor: &mut dyn #model::StatVisitor) {
                let _ = &visitor;
                #(#visits)*
            }

            fn absorb(&self, other: &Self) {
                let _ = &other;
                #(#sums)*
            }
        }
    })
}
