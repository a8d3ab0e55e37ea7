//! Registry of the components, variants and files that machines and applications can use.

use counterpoint_framework::model::{Extension, Registry};

/// The generic components, policies and runtimes.
pub fn registry() -> Registry {
    registry_with(&[])
}

/// The registry with the entries of extensions.
pub fn registry_with(extensions: &[Extension]) -> Registry {
    let mut registry = Registry::default();
    counterpoint_hardware::register(&mut registry);
    counterpoint_host_model::register(&mut registry);
    extensions.iter().for_each(|register| register(&mut registry));
    registry
}
