//! `derive(Ports)`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::fields::{doc, named};
use crate::root::framework;

pub(crate) fn derive(input: syn::DeriveInput) -> syn::Result<TokenStream> {
    let (name, framework) = (&input.ident, framework());
    let (mut info, mut wire, mut fields) = (Vec::new(), Vec::new(), Vec::new());
    for field in named(&input)? {
        let (ident, kind, doc) = (&field.ident, &field.ty, doc(&field.attrs));
        let text = ident.as_ref().map(ToString::to_string).unwrap_or_default();
        info.push(quote! { <#kind as #framework::model::PortField>::info(#text, #doc) });
        fields.push(ident);
        wire.push(quote! { #ident: <#kind as #framework::model::PortField>::wire(wiring, #text) });
    }
    let none = info.is_empty().then(|| {
        quote! {
            fn none() -> ::std::option::Option<Self> {
                ::std::option::Option::Some(Self {})
            }
        }
    });
    Ok(quote! {
        impl #framework::model::Ports for #name {
            #none

            fn info() -> ::std::vec::Vec<#framework::model::PortInfo> {
                ::std::vec![#(#info),*]
            }

            fn wire(wiring: &mut #framework::kernel::Wiring<'_>) -> Self {
                let _ = &wiring;
                Self { #(#wire),* }
            }
        }

        impl #framework::kernel::Tries for #name {
            #[inline]
            fn tried_due(&self) -> u64 {
                u64::MAX #(.min(#framework::kernel::Tries::tried_due(&self.#fields)))*
            }

            #[inline]
            fn arm_tried(&self) {
                #(#framework::kernel::Tries::arm_tried(&self.#fields);)*
            }
        }
    })
}
