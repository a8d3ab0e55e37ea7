//! `derive(Params)` and `derive(Choice)`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, ExprUnary, Fields, Lit, LitStr, Result, Token,
};

use crate::fields::doc;

/// The content of `#[param(…)]`.
#[derive(Default)]
struct Declared {
    name: Option<String>,
    default: Option<String>,
    min: Option<String>,
    max: Option<String>,
}

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
    let mut locals = Vec::new();
    let model = quote!(::counterpoint_framework::model);
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let declared = declared(&field.attrs)?;
        let doc = doc(&field.attrs);
        if doc.is_empty() {
            return Err(Error::new(ident.span(), "a parameter needs a doc comment: it is what users read"));
        }
        let name = declared.name.unwrap_or_else(|| ident.to_string().trim_start_matches("r#").to_owned());
        let (default, min, max) = (option(&declared.default), option(&declared.min), option(&declared.max));
        let ty = &field.ty;
        let at = specs.len();
        specs.push(quote!(#model::FieldSpec {
            name: #name, doc: #doc, default: #default, bounds: #model::Bounds { min: #min, max: #max },
        }));
        described.push(quote!(#model::Field::of::<#ty>(&SPECS[#at])));
        let local = format_ident!("field_{}", at);
        read.push(quote!(let #local = map.field::<#ty>(&SPECS[#at], reader);));
        locals.push(quote!(#ident: #local?,));
        names.push(name);
    }
    let moved = moved(&input.attrs, &names)?;
    let (ident, count) = (&input.ident, specs.len());
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let build = match &data.fields {
        Fields::Unit => quote!(Self),
        _ => quote!(Self { #(#locals)* }),
    };
    let map = if count == 0 { quote!(_map) } else { quote!(map) };
    Ok(quote! {
        const _: () = {
            static SPECS: [#model::FieldSpec; #count] = [#(#specs),*];

            impl #generics #model::Params for #ident #arguments #bounds {
                fn fields() -> ::std::vec::Vec<#model::Field> {
                    ::std::vec![#(#described),*]
                }

                fn moved() -> &'static [#model::Moved] {
                    &[#(#moved),*]
                }

                fn read(
                    node: &#model::Node,
                    reader: &mut #model::Reader<'_>,
                ) -> ::std::option::Option<Self> {
                    let #map = reader.map(node, ::std::vec![#(#names),*], Self::moved())?;
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
        names.push(declared.name.unwrap_or_else(|| kebab(&variant.ident.to_string())));
        docs.push(doc(&variant.attrs));
        variants.push(&variant.ident);
    }
    let ident = &input.ident;
    let model = quote!(::counterpoint_framework::model);
    Ok(quote! {
        impl #ident {
            /// The name by which YAML chooses it.
            pub const fn as_str(&self) -> &'static str {
                match self { #(Self::#variants => #names),* }
            }
        }

        impl #model::Parameter for #ident {
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

fn option(text: &Option<String>) -> TokenStream {
    match text {
        Some(text) => quote!(::std::option::Option::Some(#text)),
        None => quote!(::std::option::Option::None),
    }
}

fn declared(attributes: &[Attribute]) -> Result<Declared> {
    let mut declared = Declared::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("param")) {
        attribute.parse_nested_meta(|meta| {
            let slot = if meta.path.is_ident("default") {
                &mut declared.default
            } else if meta.path.is_ident("min") {
                &mut declared.min
            } else if meta.path.is_ident("max") {
                &mut declared.max
            } else if meta.path.is_ident("name") {
                &mut declared.name
            } else {
                return Err(meta.error("expected default, min, max or name"));
            };
            let expression: Expr = meta.value()?.parse()?;
            *slot = Some(literal(&expression)?);
            Ok(())
        })?;
    }
    Ok(declared)
}

/// The content of `#[params(moved("name", "sentence"))]`, for a struct with parameters of these names.
fn moved(attributes: &[Attribute], names: &[String]) -> Result<Vec<TokenStream>> {
    let mut moved = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("params")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("moved") {
                return Err(meta.error("expected moved"));
            }
            let content;
            syn::parenthesized!(content in meta.input);
            let name: LitStr = content.parse()?;
            content.parse::<Token![,]>()?;
            let hint: LitStr = content.parse()?;
            if names.contains(&name.value()) {
                return Err(Error::new(name.span(), "a parameter has this name: it has not moved"));
            }
            moved.push(quote!(::counterpoint_framework::model::Moved { name: #name, hint: #hint }));
            Ok(())
        })?;
    }
    Ok(moved)
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
        other => Err(Error::new(other.span(), "expected a literal")),
    }
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
