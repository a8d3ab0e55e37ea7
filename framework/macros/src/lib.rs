//! The four derives of the framework. Each takes a plain struct or enum whose doc comments, types and attributes are
//! the single declaration of a component's parameters, of a parameter's choices, of its ports or of its statistics.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

use proc_macro::TokenStream;

mod declared;
mod fields;
mod params;
mod ports;
mod root;
mod stats;
mod written;

/// Implements `counterpoint_framework::model::Params` for a struct of parameters.
///
/// Every field has a doc comment. `#[param(…)]` takes `default`, `min` and `max`, as YAML would write them
/// (`default = "4 KiB"`), and `name`, where the name in YAML differs from the field's. A field without a default must be given. A default
/// may be a constant's path, such as the `NAME` of a variant. A field with `flatten` is a set whose parameters are on the level of the
/// other fields; the field has no doc comment.
///
/// A value that the field's type does not read, a default out of the range, and a range without a value do not compile
/// (`counterpoint_framework::model::form`).
///
/// `#[params(moved("labels", "`labels: flush` is now `tags: all`"))]` on the struct declares that a parameter
/// is no longer under its former name: a file with that name is reported with the sentence. `#[params(called = "a cache")]` gives the
/// name of the set in messages.
#[proc_macro_derive(Params, attributes(param, params))]
pub fn derive_params(input: TokenStream) -> TokenStream {
    params::derive(syn::parse_macro_input!(input as syn::DeriveInput))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Implements `counterpoint_framework::model::Ports` for a struct whose fields are ports, sockets, or `Vec` or
/// `Option` of these. A field's doc comment is the port's text for users.
#[proc_macro_derive(Ports)]
pub fn derive_ports(input: TokenStream) -> TokenStream {
    ports::derive(syn::parse_macro_input!(input as syn::DeriveInput))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Implements `counterpoint_framework::model::Stats` for a struct of statistics, which derives `Default` too.
/// `#[stat(unit = "bytes")]` gives a field's unit, `#[stat(name = "…")]` another name.
#[proc_macro_derive(Stats, attributes(stat))]
pub fn derive_stats(input: TokenStream) -> TokenStream {
    stats::derive(syn::parse_macro_input!(input as syn::DeriveInput))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Implements `counterpoint_framework::model::Parameter` for an enum without fields, chosen by kebab-case name, or by
/// the one that `#[param(name = "…")]` gives.
#[proc_macro_derive(Choice, attributes(param))]
pub fn derive_choice(input: TokenStream) -> TokenStream {
    params::derive_choice(syn::parse_macro_input!(input as syn::DeriveInput))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
