//! The functions of CUDA's driver. Objects are those of the runtime, and many functions are the runtime's under another name (`library/aliases.txt`).
//! What differs is here: contexts, code as an image, kernels by their names, and descriptions of copies.

pub(super) mod arrays;
pub(super) mod contexts;
pub(super) mod copies;
pub(super) mod devices;
mod digest;
pub(super) mod entry_points;
pub(super) mod graphs;
mod images;
pub(crate) mod jit_link;
pub(super) mod kernels;
pub(super) mod links;
pub(super) mod memory;
pub(super) mod modules;
pub(super) mod private;
pub(super) mod streams;
pub(crate) mod virtual_memory;
