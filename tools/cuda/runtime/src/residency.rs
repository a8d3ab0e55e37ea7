//! The device that a program sees: its limits, and how many blocks an SM holds.

use counterpoint_ptx::Kernel;

use crate::fatbin::newest;
use crate::limits::Limits;
use crate::settings::program;
use crate::state::State;

/// Registers and shared memory are given in portions of so much.
const REGISTERS_OF_WARP: u32 = 256;
const SHARED: u64 = 256;

impl State {
    pub(crate) fn limits(&self) -> Limits {
        let newest = || self.modules.generation().or_else(|| self.generation_of_file());
        Limits::of(self.settings.capability.or_else(newest).unwrap_or(75))
    }

    /// The highest generation that the program's file has PTX for. The runtime in a program asks for the device before it loads code.
    fn generation_of_file(&self) -> Option<u32> {
        *self.generation_of_file.get_or_init(|| newest(&program()))
    }

    /// Blocks of a kernel that an SM holds at once.
    pub(crate) fn resident_blocks(&self, kernel: &Kernel, threads: u32, shared: u64) -> u32 {
        let limits = self.limits();
        let warps = threads.div_ceil(32).max(1);
        let registers = (kernel.registers_per_thread() * 32).next_multiple_of(REGISTERS_OF_WARP) * warps;
        let bytes =
            u64::from(kernel.shared_bytes()).saturating_add(shared).div_ceil(SHARED).saturating_mul(SHARED);
        let by_shared = limits.shared_of_sm.checked_div(bytes).map_or(u32::MAX, |blocks| blocks as u32);
        let by_registers = limits.registers_of_sm / registers.max(1);
        let by_threads = limits.threads_of_sm / (warps * 32);
        limits.blocks_of_sm.min(by_threads).min(by_registers).min(by_shared)
    }
}
