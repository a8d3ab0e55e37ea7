//! `derive(Params)` and `derive(Choice)`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Ident, LitStr, Result, Token, Type};

use crate::declared::{Declared, Text, declared};
use crate::fields::doc;
use crate::root::model;

pub(crate) fn derive(input: DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "derive(Params) takes a struct; derive(Choice) takes an enum"));
    };
    let fields = match &data.fields {
        Fields::Named(fields) => fields.named.iter().collect(),
        Fields::Unit => Vec::new(),
        Fields::Unnamed(_) => return Err(Error::new(input.span(), "parameters need names")),
    };
    let (mut specs, mut described, mut read, mut names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut locals, mut forms, mut checks, mut flat) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let model = model();
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let declared = declared(&field.attrs)?;
        let (doc, ty, local) = (doc(&field.attrs), &field.ty, format_ident!("field_{}", locals.len()));
        locals.push(quote!(#ident: #local?,));
        if declared.flatten {
            described.push(quote!(<#ty as #model::Params>::fields()));
            read.push(quote!(let #local = <#ty as #model::Params>::take(map, reader);));
            flat.push(ty);
            continue;
        }
        if doc.is_empty() {
            return Err(Error::new(ident.span(), "a parameter needs a doc comment: it is what users read"));
        }
        let name = name(&declared, ident)?;
        if names.contains(&name) {
            return Err(Error::new(ident.span(), format!("another parameter has the name `{name}`")));
        }
        let (default, min, max) = (option(&declared.default), option(&declared.min), option(&declared.max));
        let at = specs.len();
        let bounds = quote!(#model::Bounds { min: #min, max: #max });
        specs.push(quote!(#model::FieldSpec { name: #name, doc: #doc, default: #default, bounds: #bounds }));
        let has_default = declared.default.is_some();
        let form = quote!(<#ty as #model::Parameter>::FORM);
        forms.push(quote!(#model::form::FieldForm {
            name: #name, form: #form, bounds: #bounds, has_default: #has_default,
        }));
        checks.extend(checks_of(&declared, ty, &bounds)?);
        described.push(quote!(::std::vec![#model::Field::of::<#ty>(&SPECS[#at])]));
        read.push(quote!(let #local = map.field::<#ty>(&SPECS[#at], reader);));
        names.push(name);
    }
    let (moved, called) = of_all(&input.attrs, &names)?;
    let (ident, count, parts) = (&input.ident, specs.len(), described.len());
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let build = match &data.fields {
        Fields::Unit => quote!(Self),
        _ => quote!(Self { #(#locals)* }),
    };
    let (map, reader) =
        if parts == 0 { (quote!(_map), quote!(_reader)) } else { (quote!(map), quote!(reader)) };
    let forms = match flat.is_empty() {
        true => quote!(::std::option::Option::Some(&[#(#forms),*])),
        false => quote!(::std::option::Option::None),
    };
    // A constant of its own is computed when the crate is checked; one with the parameters of a generic type, when it is used.
    let (first, within) = match input.generics.params.is_empty() {
        true => (quote!(#(const _: () = #checks;)*), quote!()),
        false => (quote!(), quote!(#(const { #checks };)*)),
    };
    Ok(quote! {
        #first

        const _: () = {
            static SPECS: [#model::FieldSpec; #count] = [#(#specs),*];

            impl #generics #model::Params for #ident #arguments #bounds {
                const CALLED: ::std::option::Option<&'static str> = #called;
                const FORMS: ::std::option::Option<&'static [#model::form::FieldForm]> = #forms;

                fn fields() -> ::std::vec::Vec<#model::Field> {
                    #within
                    let all: [::std::vec::Vec<#model::Field>; #parts] = [#(#described),*];
                    all.concat()
                }

                fn names() -> ::std::vec::Vec<&'static str> {
                    let names = ::std::vec![#(#names),*];
                    #(let names = [names, <#flat as #model::Params>::names()].concat();)*
                    names
                }

                fn moved() -> &'static [#model::Moved] {
                    &[#(#moved),*]
                }

                fn take(
                    #map: &#model::MapReader<'_>,
                    #reader: &mut #model::Reader<'_>,
                ) -> ::std::option::Option<Self> {
                    // All are read before one is missed, so that all problems are reported.
                    #(#read)*
                    ::std::option::Option::Some(#build)
                }
            }
        };
    })
}

pub(crate) fn derive_choice(input: DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.span(), "derive(Choice) takes an enum"));
    };
    let (mut variants, mut names, mut docs) = (Vec::new(), Vec::new(), Vec::new());
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new(variant.span(), "a choice has no fields; use a family of variants"));
        }
        let declared = declared(&variant.attrs)?;
        if let Some(text) = [&declared.default, &declared.min, &declared.max].into_iter().flatten().next() {
            return Err(Error::new(text.span, "a choice has a name alone"));
        }
        let name = declared.name.map_or_else(|| kebab(&variant.ident.to_string()), |name| name.value());
        if names.contains(&name) {
            return Err(Error::new(variant.span(), format!("another choice has the name `{name}`")));
        }
        names.push(name);
        docs.push(doc(&variant.attrs));
        variants.push(&variant.ident);
    }
    let ident = &input.ident;
    let model = model();
    Ok(quote! {
        impl #ident {
            /// The name by which YAML chooses it.
            pub const fn as_str(&self) -> &'static str {
                match self { #(Self::#variants => #names),* }
            }
        }

        impl #model::Parameter for #ident {
            const FORM: #model::form::Form = #model::form::Form::Choice(&[#(#names),*]);

            fn describe() -> #model::TypeInfo {
                let mut info = #model::TypeInfo::plain("a choice");
                info.choices = ::std::vec![#(#model::ChoiceInfo { name: #names, doc: #docs }),*];
                info
            }

            fn from_node(node: &#model::Node, reader: &mut #model::Reader<'_>) -> ::std::option::Option<Self> {
                match node.as_scalar() {
                    #(::std::option::Option::Some(#names) => ::std::option::Option::Some(Self::#variants),)*
                    _ => {
                        reader.unknown_choice(node, &[#(#names),*]);
                        ::std::option::Option::None
                    }
                }
            }
        }
    })
}

/// The name by which YAML has a parameter.
fn name(declared: &Declared, ident: &Ident) -> Result<String> {
    let Some(name) = &declared.name else {
        return Ok(ident.to_string().trim_start_matches("r#").to_owned());
    };
    let text = name.value();
    let is_sound = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_sound { Ok(text) } else { Err(Error::new(name.span(), "a name has letters, digits, `_` and `-`")) }
}

/// Checks of a declaration that the compiler evaluates: each panics at the attribute that is wrong.
fn checks_of(declared: &Declared, ty: &Type, bounds: &TokenStream) -> Result<Vec<TokenStream>> {
    let model = model();
    let form = quote!(#model::form);
    let of = quote!(&<#ty as #model::Parameter>::FORM);
    let mut checks = Vec::new();
    for text in [&declared.min, &declared.max].into_iter().flatten() {
        let value = &text.value;
        checks.push(text.refused(quote!(#form::wrong_bound(#of, #value))));
    }
    if let (Some(min), Some(_)) = (&declared.min, &declared.max) {
        checks.push(min.refused(quote!(#form::wrong_range(#of, &#bounds))));
    }
    if let Some(default) = &declared.default {
        let written = default.written()?;
        checks.push(default.refused(quote!(#form::wrong_default(#of, &#written, &#bounds))));
    }
    Ok(checks)
}

fn option(text: &Option<Text>) -> TokenStream {
    match text {
        Some(Text { value, .. }) => quote!(::std::option::Option::Some(#value)),
        None => quote!(::std::option::Option::None),
    }
}

/// The content of `#[params(moved("name", "sentence"))]` and `#[params(called = "…")]`, for a struct with parameters of these names.
fn of_all(attributes: &[Attribute], names: &[String]) -> Result<(Vec<TokenStream>, TokenStream)> {
    let (mut moved, mut former, mut called) = (Vec::new(), Vec::new(), quote!(::std::option::Option::None));
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("params")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("called") {
                let text: LitStr = meta.value()?.parse()?;
                called = quote!(::std::option::Option::Some(#text));
                return Ok(());
            }
            if !meta.path.is_ident("moved") {
                return Err(meta.error("expected called or moved"));
            }
            let content;
            syn::parenthesized!(content in meta.input);
            let name: LitStr = content.parse()?;
            content.parse::<Token![,]>()?;
            let hint: LitStr = content.parse()?;
            if names.contains(&name.value()) {
                return Err(Error::new(name.span(), "a parameter has this name: it has not moved"));
            }
            if former.contains(&name.value()) {
                return Err(Error::new(name.span(), "this name has moved already"));
            }
            former.push(name.value());
            let model = model();
            moved.push(quote!(#model::Moved { name: #name, hint: #hint }));
            Ok(())
        })?;
    }
    Ok((moved, called))
}

fn kebab(name: &str) -> String {
    let mut out = String::new();
    for (at, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && at > 0 {
            out.push('-');
        }
        out.extend(letter.to_lowercase());
    }
    out
}
