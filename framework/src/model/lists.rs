//! Lists of a crate's registrations: one file and one line each.
//!
//! The line declares the file as a module and registers its content, so neither can be forgotten. `cargo fmt`
//! does not follow modules that a macro declares; `cargo xtask fmt` does.

/// Declares the modules of component kinds, and a function that registers these.
///
/// A line names a file and the component in it, like the path that leads there. The list
///
/// ```text
/// counterpoint_framework::components! {
///     /// Registers the components of this folder.
///     pub(crate) fn register;
///
///     pub mod pcie::PcieLink;
///     pub mod storage::Storage;
/// }
/// ```
///
/// means
///
/// ```text
/// pub mod pcie;
/// pub mod storage;
///
/// /// Registers the components of this folder.
/// pub(crate) fn register(registry: &mut Registry) {
///     registry.component::<pcie::PcieLink>().component::<storage::Storage>();
/// }
/// ```
#[macro_export]
macro_rules! components {
    (
        $(#[$doc:meta])*
        $visible:vis fn $register:ident;
        $($module_visible:vis mod $module:ident :: $component:ident;)+
    ) => {
        $($module_visible mod $module;)+

        $(#[$doc])*
        $visible fn $register(registry: &mut $crate::model::Registry) {
            registry$(.component::<$module::$component>())+;
        }
    };
}

/// Declares the modules of a family's variants, and a function that registers these: as [`components!`](crate::components),
/// with the family's trait in front. The list
///
/// ```text
/// counterpoint_framework::variants! {
///     /// Registers the policies.
///     pub(crate) fn register, of dyn WarpPolicy;
///
///     mod lrr::LooseRoundRobin;
///     mod gto::GreedyThenOldest;
/// }
/// ```
///
/// means
///
/// ```text
/// mod lrr;
/// mod gto;
///
/// /// Registers the policies.
/// pub(crate) fn register(registry: &mut Registry) {
///     registry
///         .variant::<dyn WarpPolicy, lrr::LooseRoundRobin>()
///         .variant::<dyn WarpPolicy, gto::GreedyThenOldest>();
/// }
/// ```
#[macro_export]
macro_rules! variants {
    (
        $(#[$doc:meta])*
        $visible:vis fn $register:ident, of $family:ty;
        $($module_visible:vis mod $module:ident :: $variant:ident;)+
    ) => {
        $($module_visible mod $module;)+

        $(#[$doc])*
        $visible fn $register(registry: &mut $crate::model::Registry) {
            registry$(.variant::<$family, $module::$variant>())+;
        }
    };
}
