//! The layer of decoded kernels: from a module as written to instructions that run.

mod class;
mod compile;
pub mod decode;
mod image;
mod instruction;
mod kernel;
pub(crate) mod library;
mod param_loads;
pub(crate) mod polls;
mod register_sets;
pub(crate) mod spins;
mod variables;

pub use class::Class;
pub use image::VariableBases;
pub use instruction::Instruction;
pub(crate) use instruction::{
    Action, CONSTANT, CallSite, Combine, Fetch, FramePart, MatrixSite, MemoryForm, NONE, Outside, Reserved,
    Special, SurfaceField, SurfacePlace,
};
pub(crate) use kernel::{Callable, Origin, RegisterPlace};
pub use kernel::{Kernel, Row};
pub use library::Heap;
pub use param_loads::ParamField;
pub use register_sets::{FileAccesses, RegisterSet};
pub use variables::{InitialAddress, Param, Symbol};
