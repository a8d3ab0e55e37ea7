//! Moves that the instruction table does not have: special registers, addresses, packing.

use super::{Access, CtaEnvironment, Warp};
use crate::isa::Base;
use crate::program::{Instruction, Kernel, NONE, Special};

impl Warp {
    #[inline(never)]
    pub(super) fn move_special(
        &mut self,
        kernel: &Kernel,
        env: &CtaEnvironment,
        instruction: &Instruction,
        (special, lanes): (Special, u32),
        access: &Access,
    ) {
        let destination = instruction.destinations[0];
        let values = self.special(kernel, env, (special, instruction.offset as u64), access);
        if instruction.memory.wide_value {
            self.set_wide(destination, &values, lanes);
        } else {
            self.set_narrow(destination, &values.map(|value| value as u32), lanes);
        }
    }

    /// The address of a module variable, whose space begins at `start`.
    #[inline(never)]
    pub(super) fn move_address(&mut self, instruction: &Instruction, start: u64, lanes: u32) {
        let address = start.wrapping_add(instruction.offset as u64);
        self.set_wide(instruction.destinations[0], &[address; 32], lanes);
    }

    /// Moves addresses into another space, at this distance.
    #[inline(never)]
    pub(super) fn shift_addresses(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        by: u64,
        lanes: u32,
    ) {
        let values = self.wide(kernel, instruction.sources[0]).map(|value| value.wrapping_add(by));
        self.set_wide(instruction.destinations[0], &values, lanes);
    }

    /// Whether a generic address is in a window; an address in no window is global memory. Parameters have none, and the
    /// window of a block that is alone in its cluster is that of the cluster.
    pub(super) fn in_space(
        &mut self,
        kernel: &Kernel,
        env: &CtaEnvironment,
        instruction: &Instruction,
        base: Option<Base>,
        lanes: u32,
    ) {
        let windows = env.windows;
        let inside = |address: u64, start: u64| address.wrapping_sub(start) < windows.size;
        let constants = if base == Some(Base::Const) { kernel.constant_bytes() } else { 0 };
        let inside_constants = |address: u64| address.wrapping_sub(env.constant_base) < constants;
        let mut truth = 0;
        for (lane, &address) in self.wide(kernel, instruction.sources[0]).iter().enumerate() {
            let (shared, local) = (inside(address, windows.shared), inside(address, windows.local));
            let is = match base {
                Some(Base::Shared) => shared,
                Some(Base::Local) => local,
                Some(Base::Const) => inside_constants(address),
                Some(_) => !shared && !local,
                None => false,
            };
            truth |= u32::from(is) << lane;
        }
        self.set_predicate(instruction.destinations[0], truth, lanes);
    }

    fn special(
        &self,
        kernel: &Kernel,
        env: &CtaEnvironment,
        (special, place): (Special, u64),
        access: &Access,
    ) -> [u64; 32] {
        let uniform = match special {
            Special::Tid(axis) => return self.thread_index(env.ntid, axis),
            Special::LaneId => return std::array::from_fn(|lane| lane as u64),
            Special::LaneMaskEq => return std::array::from_fn(|lane| 1 << lane),
            Special::LaneMaskLt => return std::array::from_fn(|lane| (1 << lane) - 1),
            Special::LaneMaskLe => return std::array::from_fn(|lane| (2 << lane) - 1),
            Special::LaneMaskGe => return std::array::from_fn(|lane| 0xffff_ffff & !((1 << lane) - 1)),
            Special::LaneMaskGt => return std::array::from_fn(|lane| 0xffff_ffff & !((2 << lane) - 1)),
            Special::Ntid(axis) => u64::from(env.ntid[axis as usize]),
            Special::Ctaid(axis) => u64::from(env.ctaid[axis as usize]),
            Special::Nctaid(axis) => u64::from(env.nctaid[axis as usize]),
            Special::WarpId => u64::from(self.index),
            Special::WarpCount => u64::from(env.warps()),
            Special::SmId => u64::from(env.sm),
            Special::SmCount => u64::from(env.sm_count),
            Special::GridId => env.grid,
            Special::Clock => access.clock,
            Special::ClockHigh => access.clock >> 32,
            Special::GlobalTimer => access.picoseconds / 1000,
            Special::GlobalTimerHigh => (access.picoseconds / 1000) >> 32,
            Special::Zero => 0,
            Special::Workspace { high } => {
                ((env.global_base + place) >> (if high { 32 } else { 0 })) & 0xffff_ffff
            }
            Special::Reserved(_) => place,
            Special::DynamicShared => u64::from(env.dynamic_shared_bytes),
            Special::TotalShared => u64::from(kernel.shared_bytes) + u64::from(env.dynamic_shared_bytes),
        };
        [uniform; 32]
    }

    fn thread_index(&self, ntid: [u32; 3], axis: u8) -> [u64; 32] {
        let [x, y, _] = ntid.map(|size| size.max(1));
        let first = self.index * 32;
        // Divide once, then count: 64 divisions a warp would show in short kernels.
        let mut place = [first % x, first / x % y, first / x / y];
        std::array::from_fn(|_| {
            let value = place[axis as usize];
            place[0] += 1;
            if place[0] == x {
                place[0] = 0;
                place[1] += 1;
            }
            if place[1] == y {
                place[1] = 0;
                place[2] += 1;
            }
            u64::from(value)
        })
    }

    #[inline(never)]
    pub(super) fn pack(&mut self, kernel: &Kernel, instruction: &Instruction, lanes: u32) {
        let bits = u32::from(instruction.memory.bytes) * 8;
        if instruction.memory.elements == 2 {
            let [low, high] = [0, 1].map(|part| &self.row(kernel, instruction.sources[part]).0);
            if bits == 32 {
                let pairs = std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32);
                return self.set_wide(instruction.destinations[0], &pairs, lanes);
            }
            let kept = (1 << bits) - 1;
            let pairs = std::array::from_fn(|lane| low[lane] & kept | (high[lane] & kept) << bits);
            return self.set_narrow(instruction.destinations[0], &pairs, lanes);
        }
        let mut values = [0u64; 32];
        for part in 0..instruction.memory.elements as usize {
            let row = self.row(kernel, instruction.sources[part]);
            for lane in 0..32 {
                let word = u64::from(row.0[lane]) & ((1 << bits) - 1);
                values[lane] |= word << (bits * part as u32);
            }
        }
        if u32::from(instruction.memory.elements) * bits == 64 {
            self.set_wide(instruction.destinations[0], &values, lanes);
        } else {
            self.set_narrow(instruction.destinations[0], &values.map(|value| value as u32), lanes);
        }
    }

    #[inline(never)]
    pub(super) fn unpack(&mut self, kernel: &Kernel, instruction: &Instruction, lanes: u32) {
        let bits = u32::from(instruction.memory.bytes) * 8;
        let parts = instruction.memory.elements as usize;
        let source = instruction.sources[0];
        let values = if parts as u32 * bits == 64 {
            *self.wide(kernel, source)
        } else {
            self.row(kernel, source).0.map(u64::from)
        };
        for part in 0..parts {
            let destination = instruction.destinations[part];
            if destination != NONE {
                let row = values.map(|value| ((value >> (bits * part as u32)) & ((1 << bits) - 1)) as u32);
                self.set_narrow(destination, &row, lanes);
            }
        }
    }
}
