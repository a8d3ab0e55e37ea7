//! The host: CPU, memory, the way to the devices, and the runtimes under which an application runs.

mod cpu;
mod driver;
mod journal;
mod memory;
pub mod program;
mod root_complex;
pub mod runtimes;

pub use cpu::Cpu;
pub use driver::Driver;
pub use journal::Journal;
pub use memory::HostMemory;
pub use root_complex::RootComplex;

use counterpoint_framework::model::Registry;

/// Registers the host's components and the runtimes.
pub fn register(registry: &mut Registry) {
    registry.component::<Cpu>().component::<HostMemory>().component::<RootComplex>();
    runtimes::register(registry);
}
