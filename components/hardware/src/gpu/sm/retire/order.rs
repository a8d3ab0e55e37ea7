//! Memory order on an SM: conditions for which releases and acquires wait, and their effects on the L1.
//!
//! A release waits until the accesses before it are performed: those of its warp, and beyond the block those
//! of all warps of the block, because a barrier or a release within the block may have put them before it.
//! Two epochs separate them: an access belongs to the epoch in which it was issued, and a release ends the
//! epoch and waits until nothing of it is in flight. Accesses that other warps issue meanwhile do not hold it
//! up.
//!
//! An acquire holds its warp until its value arrives; then, if its scope exceeds the block, the L1 invalidates all data that
//! memory also holds, and lines that were requested before serve no other access. Within a block the L1 is coherent by itself: a
//! store evicts its line, and all accesses of the SM pass the L1 in order. A fence does both. Caches that are only read, of
//! instructions, constants and texels, have no part in it (PTX ISA 8.1).

use counterpoint_framework::model::Context;
use counterpoint_ptx::{Instruction, Order, Reach, Warp};

use crate::gpu::sm::frontend::warp::{Pause, State};
use crate::gpu::sm::operands::writeback::{NO_REGISTERS, Writeback};
use crate::gpu::sm::state::Sm;
use crate::gpu::sm::stats::SmStats;

impl Sm {
    /// Holds a warp back whose next instruction is a release, if it has to wait.
    #[cold]
    pub(in crate::gpu::sm) fn hold_release(&mut self, slot: u32) -> bool {
        let (place, reach) = (self.warps.cta_slot(slot), self.warps.next(slot).releases);
        let warp = &mut self.warps.slots[slot as usize];
        let pc = warp.warp.as_ref().and_then(Warp::pc).unwrap_or_default() as usize;
        let next = self.ctas[place].as_ref().map(|cta| &cta.launch.kernel.instructions()[pc]);
        // A fence waits when it has been issued.
        if !next.is_some_and(Instruction::is_memory) {
            return false;
        }
        if std::mem::take(&mut warp.may_release) || !self.must_drain(slot, reach) {
            return false;
        }
        self.pause(slot, Pause::Release);
        self.warps.refresh(slot);
        true
    }

    /// A warp has executed a fence.
    pub(in crate::gpu::sm) fn meet_fence(&mut self, slot: u32, order: Order) {
        let acquires = order.acquires == Reach::Device;
        if self.must_drain(slot, order.releases) {
            self.pause(slot, if acquires { Pause::AcquiringFence } else { Pause::Fence });
        } else if acquires {
            self.load_store.acquire();
        }
    }

    /// A warp issues an access. If it acquires, the warp waits for its value.
    #[inline]
    pub(in crate::gpu::sm) fn meet_acquire(&mut self, slot: u32, acquires: Reach) {
        if acquires != Reach::None {
            let beyond = acquires == Reach::Device;
            self.warps.slots[slot as usize].acquiring = true;
            self.pause(slot, if beyond { Pause::AcquireFromDevice } else { Pause::Acquire });
        }
    }

    /// A warp sleeps. An instruction that writes nothing ends with it, so that the SM wakes up for it.
    #[cold]
    pub(in crate::gpu::sm) fn put_to_sleep(&mut self, slot: u32, nanoseconds: u32, sim: &Context<SmStats>) {
        const MANY: u64 = 1_000_000;
        let cycle = sim.cycle();
        let cycles = u128::from(nanoseconds) * 1000 * u128::from(MANY) / u128::from(sim.span(MANY).as_ps());
        let end = cycle + (cycles as u64).max(1);
        self.ring.add(cycle, end, Writeback { warp: slot, pc: NO_REGISTERS, sets: 0 });
        if let Some(cta) = &mut self.ctas[self.warps.cta_slot(slot)] {
            cta.outstanding += 1;
        }
        self.pause(slot, Pause::Sleep(end));
    }

    pub(in crate::gpu::sm) fn pause(&mut self, slot: u32, pause: Pause) {
        let warp = &mut self.warps.slots[slot as usize];
        (warp.state, warp.pause) = (State::AtFence, pause);
        self.fenced |= 1 << slot;
    }

    /// Whether a warp must wait for accesses in flight, of the warp or of its block.
    fn must_drain(&mut self, slot: u32, releases: Reach) -> bool {
        let warp = &self.warps.slots[slot as usize];
        let mut waits = warp.outstanding > 0;
        if releases == Reach::Device
            && let Some(cta) = &mut self.ctas[self.warps.cta_slot(slot)]
        {
            cta.drain.wait(slot);
            waits |= cta.drain.holds(slot);
        }
        waits
    }

    /// Resumes warps whose pause is over.
    #[inline]
    pub(in crate::gpu::sm) fn pass_fences(&mut self, cycle: u64) {
        if self.fenced != 0 {
            self.pass_some(cycle);
        }
    }

    fn pass_some(&mut self, cycle: u64) {
        let mut rest = self.fenced;
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            let place = self.warps.cta_slot(slot);
            let warp = &mut self.warps.slots[slot as usize];
            let waits = match warp.pause {
                Pause::Acquire | Pause::AcquireFromDevice => warp.acquiring,
                Pause::Sleep(end) => cycle < end,
                Pause::Copies(end) => warp.copies.are_open_before(end),
                Pause::Fence | Pause::AcquiringFence | Pause::Release => {
                    let holds = self.ctas[place].as_mut().is_some_and(|cta| cta.drain.holds(slot));
                    warp.outstanding > 0 || holds
                }
            };
            if waits {
                continue;
            }
            warp.may_release = warp.pause == Pause::Release;
            if matches!(warp.pause, Pause::AcquiringFence | Pause::AcquireFromDevice) {
                self.load_store.acquire();
            }
            self.fenced &= !(1 << slot);
            self.resume(1 << slot);
        }
    }

    /// A warp waits for its copies.
    #[cold]
    pub(in crate::gpu::sm) fn await_copies(&mut self, slot: u32, newest: Option<u32>) {
        let copies = &self.warps.slots[slot as usize].copies;
        let end = copies.end_of_wait(newest);
        if copies.are_open_before(end) {
            self.pause(slot, Pause::Copies(end));
        }
    }
}
