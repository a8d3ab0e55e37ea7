//! `derive(Stats)`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Ident;

use crate::fields::{doc, named};

pub(crate) fn derive(input: syn::DeriveInput) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let (mut visits, mut sums) = (Vec::new(), Vec::new());
    for field in named(&input)? {
        let (ident, doc) = (&field.ident, doc(&field.attrs));
        let mut text = ident.as_ref().map(ToString::to_string).unwrap_or_default();
        let (mut unit, mut part, mut whole) = (String::new(), None, None);
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("stat")) {
            attribute.parse_nested_meta(|meta| {
                let value: syn::LitStr = meta.value()?.parse()?;
                match () {
                    () if meta.path.is_ident("unit") => unit = value.value(),
                    () if meta.path.is_ident("name") => text = value.value(),
                    () if meta.path.is_ident("part") => part = Some(value.parse::<Ident>()?),
                    () if meta.path.is_ident("whole") => whole = Some(value.parse::<Ident>()?),
                    () => return Err(meta.error("expected `unit`, `name`, `part` or `whole`")),
                }
                Ok(())
            })?;
        }
        let label =
            quote!(::counterpoint_framework::model::StatLabel { name: #text, unit: #unit, doc: #doc });
        if let (Some(part), Some(whole)) = (part, whole) {
            visits.push(quote!(self.#ident.visit_of(#label, &self.#part, &self.#whole, visitor);));
            continue;
        }
        visits.push(quote!(::counterpoint_framework::model::Stat::visit(&self.#ident, #label, visitor);));
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
