//! Hardware components: one file each, one list per folder.

pub mod gpu;
pub mod interconnect;
pub mod io;
pub mod memory;

use counterpoint_framework::model::Registry;

/// Registers every hardware component and policy.
pub fn register(registry: &mut Registry) {
    gpu::cta_scheduler::register(registry);
    gpu::sm::scheduler::register(registry);
    registry
        .component::<gpu::command_processor::CommandProcessor>()
        .component::<gpu::cta_scheduler::CtaScheduler>()
        .component::<gpu::sm::Sm>()
        .component::<interconnect::client_switch::ClientSwitch>()
        .component::<interconnect::server_switch::ServerSwitch>()
        .component::<memory::l2_slice::L2Slice>()
        .component::<memory::dram::controller::DramController>()
        .component::<io::copy_engine::CopyEngine>()
        .component::<io::pcie::PcieLink>()
        .component::<io::storage::Storage>();
}
