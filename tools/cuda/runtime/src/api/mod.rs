//! The functions that programs call, by subject.

pub(crate) mod arrays;
mod devices;
mod events;
mod graph_nodes;
pub(crate) mod graphs;
mod launches;
pub(crate) mod memory;
pub(crate) mod pools;
mod properties;
mod refused;
mod registration;
mod results;
mod stream_capture;
mod streams;
mod surfaces;
mod symbols;
mod textures;

/// Functions whose result is an error number, in the names and types of CUDA's `cuda_runtime_api.h`.
macro_rules! entries {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) |$state:ident| $body:block)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, unused_unsafe, reason = "the name is CUDA's, and some have no pointers")]
            unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                // SAFETY: the program's pointers are as CUDA demands them of this function.
                crate::state::call(stringify!($name), |$state| unsafe { $body })
            }
        )*
    };
}
pub(crate) use entries;

/// Three sizes as CUDA passes them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dim3 {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) z: u32,
}

impl Dim3 {
    pub(crate) fn sizes(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}
