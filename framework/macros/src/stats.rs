//! `derive(Stats)`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::fields::{doc, named};

pub(crate) fn derive(input: syn::DeriveInput) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let (mut visits, mut sums) = (Vec::new(), Vec::new());
    for field in named(&input)? {
        let (ident, doc) = (&field.ident, doc(&field.attrs));
        let mut text = ident.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut unit = String::new();
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("stat")) {
            attribute.parse_nested_meta(|meta| {
                let value: syn::LitStr = meta.value()?.parse()?;
                match () {
                    () if meta.path.is_ident("unit") => unit = value.value(),
                    () if meta.path.is_ident("name") => text = value.value(),
                    () => return Err(meta.error("expected `unit` or `name`")),
                }
                Ok(())
            })?;
        }
        visits.push(quote! {
            ::counterpoint_framework::model::Stat::visit(
                &self.#ident,
                ::counterpoint_framework::model::StatLabel { name: #text, unit: #unit, doc: #doc },
                visitor,
            );
        });
        sums.push(quote!(::counterpoint_framework::model::Stat::absorb(&self.#ident, &other.#ident);));
    }
    Ok(quote! {
        impl ::counterpoint_framework::model::Stats for #name {
            fn visit(&self, visitor: &mut dyn ::counterpoint_framework::model::StatVisitor) {
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
