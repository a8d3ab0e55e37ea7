//! The path by which derived code names the framework: through `counterpoint` in a user's crate, which depends on no other crate
//! of ours.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Mutex;

use proc_macro2::TokenStream;
use quote::quote;

const FRAMEWORK: &str = "counterpoint-framework";

/// `::counterpoint_framework` in a crate that depends on it, and in the framework itself. In other crates, the framework as the
/// façade exports it.
pub(crate) fn framework() -> TokenStream {
    // A crate has many derives, and a language server expands those of many crates.
    static LAST: Mutex<Option<(OsString, bool)>> = Mutex::new(None);
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let mut last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let has_framework = match &*last {
        Some((known, has_framework)) if *known == folder => *has_framework,
        _ => {
            let is_framework = std::env::var("CARGO_PKG_NAME").is_ok_and(|name| name == FRAMEWORK);
            let manifest = std::fs::read_to_string(Path::new(&folder).join("Cargo.toml")).unwrap_or_default();
            let has_framework = is_framework || has_dependency(&manifest);
            *last = Some((folder, has_framework));
            has_framework
        }
    };
    match has_framework {
        true => quote!(::counterpoint_framework),
        false => quote!(::counterpoint::derived),
    }
}

/// `counterpoint_framework::model` by that path.
pub(crate) fn model() -> TokenStream {
    let framework = framework();
    quote!(#framework::model)
}

/// Whether a manifest names the framework as a key of dependencies, or in the heading of one.
fn has_dependency(manifest: &str) -> bool {
    manifest.lines().map(str::trim).any(|line| {
        let key =
            line.strip_prefix('[').and_then(|heading| heading.rsplit_once('.')).map_or(line, |(_, key)| key);
        key.strip_prefix(FRAMEWORK).is_some_and(|rest| rest.starts_with(['.', ' ', '=', ']']))
    })
}
