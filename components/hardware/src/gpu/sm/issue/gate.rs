//! The gate: global accesses that wait until the authority over pages grants their pages, and the claims of blocks to it.
//!
//! A gated launch may access a page when the authority has granted it. The address of an access is known when its warp is
//! chosen; if a page is missing then, the instruction stays in the warp's buffer with its ready bit clear, and is issued when
//! all of its pages have been granted. A page that has been granted stays so until the block that waits has ended, so the bit is
//! not taken back. An SM all of whose warps wait sleeps.
//!
//! A kernel can call device functions that leave the warp and claim ranges of memory from the authority, for blocks of its own or
//! those of the launch that it helps. When a block has ended and its stores have been acknowledged, its releases leave; its end
//! is reported when the authority has noted them.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Context;
use counterpoint_protocols::launch::{IssueSlot, Precedence};
use counterpoint_protocols::translation::{Change, RangeClaim};
use counterpoint_ptx::{RangeAction, RangeCall};

use crate::gpu::sm::frontend::warp::State;
use crate::gpu::sm::state::{HeldAccess, Sm};
use crate::gpu::sm::stats::SmStats;

impl Sm {
    /// Issues the global access in `scratch` of a gated launch, if all of its pages are granted.
    pub(in crate::gpu::sm) fn issue_gated(
        &mut self,
        slot: u32,
        lanes: u32,
        sim: &Context<SmStats>,
    ) -> IssueSlot {
        let place = self.warps.cta_slot(slot);
        let Some(cta) = &self.ctas[place] else { return IssueSlot::Used };
        let missing = self.load_store.missing_pages(&self.scratch, cta.launch.id, &sim.stats.tlb);
        let access = std::mem::replace(&mut self.scratch, self.load_store.empty_access());
        let held = HeldAccess { access, lanes, missing };
        if held.missing.is_empty() {
            return self.issue_granted(slot, held, sim);
        }
        self.warps.slots[slot as usize].state = State::AtPage;
        self.held.insert(slot, held);
        self.warps.held |= 1 << slot;
        self.at_page |= 1 << slot;
        self.warps.refresh(slot);
        IssueSlot::Page
    }

    /// Issues an access that has waited for pages, which are all granted now.
    #[cold]
    pub(in crate::gpu::sm) fn issue_held(&mut self, slot: u32, sim: &Context<SmStats>) -> IssueSlot {
        self.warps.held &= !(1 << slot);
        match self.held.remove(&slot) {
            Some(held) => self.issue_granted(slot, held, sim),
            None => IssueSlot::Used,
        }
    }

    /// Issues an access whose pages are all granted.
    fn issue_granted(&mut self, slot: u32, held: HeldAccess, sim: &Context<SmStats>) -> IssueSlot {
        let HeldAccess { access, lanes, .. } = held;
        let place = self.warps.cta_slot(slot);
        let Some(cta) = &self.ctas[place] else { return IssueSlot::Used };
        if let Some(log) = &self.page_log {
            let lanes = (0..32).filter(|lane| access.mask >> lane & 1 != 0);
            let addresses = lanes.map(|lane| access.addresses[lane as usize]);
            log.accessed(cta.launch.id, sim.now(), addresses, access.width.into());
        }
        self.count_issue(slot, place, (access.pc, lanes), &sim.stats);
        if access.wants_value {
            self.warps.await_results(slot);
        }
        let operands = self.warps.next(slot).operands;
        self.meet_acquire(slot, access.acquires);
        let (load_store, mut sm) = self.load_store(sim, sim.cycle());
        load_store.push((slot, true), access, operands, &mut sm);
        self.warps.refresh(slot);
        IssueSlot::Used
    }

    /// A device function claims a range for a block, or releases it.
    pub(in crate::gpu::sm) fn claim_range(
        &mut self,
        place: usize,
        action: RangeAction,
        call: RangeCall,
    ) -> Result<(), Fault> {
        let Some(cta) = &mut self.ctas[place] else { return Ok(()) };
        let launch = &cta.launch;
        let (kernel, change) = match (action, launch.precedence) {
            (RangeAction::Set, Precedence::Helper(kernel)) => (kernel, Change::Claim),
            (RangeAction::Release, Precedence::Gated) => (launch.id, Change::Release),
            _ => {
                return Err(Fault::new(format!(
                    "{} claims ranges of memory, and is launched as a kernel that does not",
                    launch.name()
                )));
            }
        };
        // An address outside of the array's allocation belongs to nobody.
        let Some(array) = launch.memory.containing(call.array) else { return Ok(()) };
        let (start, end) = (call.low.max(array.start), call.high.min(array.end));
        if start >= end {
            return Ok(());
        }
        let (reads, writes, tag) = (call.reads, call.writes, place as u32);
        let claim = RangeClaim { kernel, change, start, end, reads, writes, tag };
        if change == Change::Release && self.release_behind_stores {
            cta.releases.push(claim);
        } else {
            cta.outstanding += 1;
            self.load_store.claim_range(claim);
        }
        Ok(())
    }
}
