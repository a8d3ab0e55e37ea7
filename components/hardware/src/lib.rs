//! Hardware components: one file each, one list per folder.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.
//!
//! Crates of papers (`experiments/papers/`) bring further kinds and variants:
//!
//! | crate | what |
//! | --- | --- |
//! | `crcs` | the CTA policies `crcs-fifo` and `ppcs`, the authority over pages `owners` of the MMU |
//! | `dka` | the component `dka/allocator`, the CTA policies `dka`, `task-split` and `labelled`, the line rule `labels` of the L2 |
//! | `narrow-tasks` | the component `gpu/throughput-model`, in the place of SMs and memory |

pub mod gpu;
pub mod interconnect;
pub mod io;
pub mod memory;
pub mod testing;

use counterpoint_framework::model::Registry;

/// Registers every hardware component and policy.
pub fn register(registry: &mut Registry) {
    gpu::register(registry);
    gpu::cta_scheduler::register(registry);
    gpu::mmu::authority::register(registry);
    gpu::sm::scheduler::register(registry);
    interconnect::register(registry);
    interconnect::topology::register(registry);
    io::register(registry);
    memory::register(registry);
    memory::address_map::hash::register(registry);
    memory::cache::bypass::register(registry);
    memory::cache::prefetch::register(registry);
    memory::cache::replacement::register(registry);
    memory::cache::write_policy::register(registry);
    memory::dram::register(registry);
    memory::dram::refresh::register(registry);
    memory::dram::row_policy::register(registry);
    memory::dram::scheduler::register(registry);
    memory::dram::standard::register(registry);
    memory::line_rule::register(registry);
}
