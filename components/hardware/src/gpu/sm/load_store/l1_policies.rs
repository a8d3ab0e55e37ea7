//! Policies of the L1 data cache for global memory: writes, prefetches, and loads that bypass.
//!
//! The L1 keeps no data that memory does not have, since L1s of other SMs are not notified. A line that is written while it is
//! on its way is invalidated, so that a later load does not take data that was requested before the store.

use counterpoint_framework::kernel::Out;
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::memory::{ByteMask, Label, Line, MemRequest, Tag, fresh_at, line_of};
use counterpoint_ptx::Access;

use super::in_flight::Waiter;
use super::l1::{L1, Outcome, past};
use crate::gpu::sm::answer::Answer;
use crate::memory::cache::bypass::Bypass;
use crate::memory::cache::prefetch::queue::Prefetches;
use crate::memory::cache::prefetch::{LookedUp, Prefetcher};
use crate::memory::cache::write_policy::{WritePolicy, WriteTo};
use crate::memory::table::Table;

/// Policies of the L1; an absent policy costs nothing.
#[derive(Default)]
pub(in crate::gpu::sm) struct L1Policies {
    /// Policy of stores; without it, stores go to memory, and their line is evicted.
    pub(super) write: Option<Box<dyn WritePolicy>>,
    pub(super) prefetches: Option<Prefetches>,
    pub(super) bypass: Option<Box<dyn Bypass>>,
}

impl L1Policies {
    /// Keeps the given policies, as far as they change something.
    pub(in crate::gpu::sm) fn new(
        write: Box<dyn WritePolicy>,
        prefetcher: Box<dyn Prefetcher>,
        bypass: Box<dyn Bypass>,
    ) -> Self {
        L1Policies {
            write: Some(write).filter(|policy| !policy.goes_around()),
            prefetches: Prefetches::new(prefetcher),
            bypass: Some(bypass).filter(|policy| !policy.is_idle()),
        }
    }
}

impl L1 {
    /// A store goes to memory: applies the write policy to its line here.
    #[cold]
    pub(super) fn write(&mut self, line: u64, (mask, data): (ByteMask, &Line), label: Label, now: SimTime) {
        let found = self.cache.find(line, line);
        let is_pending = found.is_some_and(|way| self.cache.is_pending(way));
        let to = self.policies.write.as_mut().map(|policy| policy.write(found.is_some()));
        let allocate = match to {
            Some(WriteTo::Both { allocate }) if !is_pending => allocate,
            // Data kept here alone, as the policy wants, would be lost to all other SMs.
            Some(WriteTo::Cache) if !is_pending => true,
            _ => {
                self.invalidate(line);
                return;
            }
        };
        let way = match found {
            Some(way) => way,
            None if allocate => {
                let Some(way) = self.allocate(line, label) else { return };
                self.has_read = true;
                self.filled[way.index()] = now;
                way
            }
            None => return,
        };
        self.cache.touch(way);
        self.cache.update(way, mask, data);
    }

    /// Prepares the fetch of a line of which not all of these bytes are valid: invalidates it as far as memory holds its data, since all of
    /// the line arrives anew.
    #[cold]
    pub(super) fn prepare(&mut self, line: u64, bytes: ByteMask) {
        if let Some(way) = self.cache.find(line, line)
            && !self.cache.is_pending(way)
            && bytes & !self.cache.valid(way) != 0
        {
            self.cache.forget(way, !self.cache.dirty(way));
            if let Some((other, _)) = self.cache.other_half(way) {
                self.cache.forget(other, !self.cache.dirty(other));
            }
        }
    }

    /// Sends a load past the cache whose line is not here, if the policy wants that.
    #[cold]
    pub(super) fn pass_by(
        &mut self,
        access: &Access,
        (waiter, line, label): (Waiter, u64, Label),
        memory: &mut Out<MemRequest>,
        bypasses: &mut Table<Waiter>,
    ) -> Option<Outcome> {
        if self.cache.find(line, line).is_some() || !self.cache.has_free_miss() {
            return None;
        }
        let Some(permit) = memory.try_reserve() else { return Some(Outcome::NoCredit) };
        let (base, fresh) = (line_of(line), fresh_at(self.fresh));
        let read = past(access, waiter.lanes, base);
        let request = MemRequest { line: base, tag: Tag(0), client: 0, label, fresh, access: read };
        if !self.policies.bypass.as_mut().is_some_and(|bypass| bypass.passes(&request)) {
            return None;
        }
        let answer = Answer::Bypass(bypasses.insert(waiter));
        permit.send(MemRequest { tag: answer.tag(), ..request });
        Some(Outcome::PassedBy)
    }

    /// Notes a load of global memory, and fetches a line that the prefetcher wants, if there is room and credit. Returns whether it
    /// did.
    #[cold]
    pub(super) fn prefetch(&mut self, read: &LookedUp, memory: &mut Out<MemRequest>) -> bool {
        let Some(prefetches) = &mut self.policies.prefetches else { return false };
        prefetches.note(read, |_| true);
        if !self.leaving.is_empty() || !self.cache.has_free_miss() {
            return false;
        }
        let cache = &self.cache;
        let Some((line, _)) = prefetches.next(|line| cache.find(line, line).is_some()) else {
            return false;
        };
        let Some(permit) = memory.try_reserve() else { return false };
        let Some((way, evicted)) = self.cache.allocate_prefetched(line, line) else {
            return false;
        };
        self.evict(evicted, read.label);
        let miss = self.cache.begin_prefetch(way);
        self.fetch(permit, (line, read.label), miss);
        self.fetch_rest(way, read.label);
        true
    }
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::testing::params;

    use super::*;
    use crate::testing::families;

    #[test]
    fn an_l1_that_keeps_what_is_written_is_refused() {
        let refused = |write: &str| {
            let params = params(&families(), &format!("{{ write: {write} }}"));
            L1::new(&params).err().map(|invalid| invalid.0)
        };
        let cause = refused("back").expect("a refusal");
        assert!(cause.contains("other SMs and copies would not see what stays here"), "{cause}");
        assert_eq!(refused("{ back: { allocate: off } }"), Some(cause));
        assert_eq!([refused("around"), refused("through")], [None, None]);
    }
}
