//! The layer of decoded kernels: from a module as written to instructions that run.

mod call_tree;
pub mod class;
pub mod compile;
pub mod decode;
pub mod image;
pub mod instruction;
pub mod kernel;
pub mod launches;
pub mod library;
pub mod param_loads;
pub mod polls;
pub mod register_sets;
pub mod spins;
pub mod stack_size;
pub mod thread_registers;
pub mod variables;

pub use class::Class;
pub use image::VariableBases;
pub use instruction::Instruction;
pub use instruction::{
    Action, CONSTANT, CallSite, Combine, Fetch, FramePart, MatrixSite, MemoryForm, NONE, Outside, Reserved,
    Special, SurfaceField, SurfacePlace,
};
pub use kernel::{Callable, Origin, RegisterPlace};
pub use kernel::{Kernel, Row};
pub use launches::{DeviceLaunch, DeviceWork, Launches, NewWork};
pub use library::Heap;
pub use param_loads::ParamField;
pub use register_sets::{FileAccesses, RegisterSet};
pub use stack_size::StackSize;
pub use variables::{InitialAddress, Param, Symbol};
