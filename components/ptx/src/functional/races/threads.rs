//! Knowledge of the threads of a warp about the accesses of others.
//!
//! Threads with equal knowledge form a group. A warp begins as one group, and becomes one group again where its threads meet;
//! up to sm_6x it stays one, since its threads run in step.

use super::cells::Mark;
use super::clock::{Clock, Entry};
use super::facts::Fact;

/// Index of a scope: the own block, or the whole device.
pub(super) const BLOCK: usize = 0;
pub(super) const DEVICE: usize = 1;

/// Knowledge, and the parts of it that are released or pending.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Accesses that are ordered before the next access.
    pub(super) clock: Clock,
    /// Knowledge that the last fence of each scope has released: a strong write after the fence passes it on.
    pub(super) released: [Clock; 2],
    /// Released knowledge that strong reads have seen: a fence of that scope acquires it.
    pub(super) pending: [Clock; 2],
    /// The last strong reads.
    pub(super) seen: Vec<Seen>,
}

impl Known {
    pub(super) fn see(&mut self, seen: Seen) {
        self.seen.retain(|old| old.pc != seen.pc || old.writer.epoch() != seen.writer.epoch());
        if self.seen.len() == SIGHTS {
            self.seen.remove(0);
        }
        self.seen.push(seen);
    }

    /// Acquires what strong reads have seen, as far as a fence reaches.
    fn acquire(&mut self, reach: usize) {
        let pending = std::mem::take(&mut self.pending[reach]);
        self.clock.learn(&pending);
        self.seen.iter_mut().for_each(|seen| seen.acquired[reach] = true);
    }

    fn join(&mut self, other: &Known) {
        self.clock.learn(&other.clock);
        other.seen.iter().for_each(|seen| self.see(seen.clone()));
        for reach in [BLOCK, DEVICE] {
            self.released[reach].learn(&other.released[reach]);
            self.pending[reach].learn(&other.pending[reach]);
        }
    }

    /// Acquires all that strong reads have seen.
    fn settle(&mut self) {
        self.acquire(BLOCK);
        self.acquire(DEVICE);
    }
}

/// The write that a strong read has seen, for explanations.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// The write, and what its thread knew then.
    pub(super) writer: Mark,
    pub(super) knew: Clock,
    /// Knowledge that the write released, to its block and to the device.
    pub(super) released: [Clock; 2],
    /// Whether a fence of that scope follows the read, or the read itself acquires.
    pub(super) acquired: [bool; 2],
    /// The instruction that read.
    pub(super) pc: u32,
}

/// Largest number of strong reads remembered for a group.
const SIGHTS: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) lanes: u32,
    pub(super) known: Known,
}

/// A warp.
#[derive(Clone, Debug)]
pub(super) struct Threads {
    /// Its number among those of the grid.
    pub(super) number: u32,
    /// Time of the warp, which advances whenever others learn of its accesses.
    pub(super) time: u32,
    /// The number of its epoch at this time; 0 if it has none yet.
    pub(super) epoch: u32,
    /// Whether the warp has made a strong write at this time: later weak writes belong to the next time.
    pub(super) has_published: bool,
    /// The time behind its last arrival at a barrier.
    arrived: u32,
    /// Meetings of its threads so far.
    met: u32,
    in_step: bool,
    pub(super) groups: Vec<Group>,
}

impl Threads {
    pub(super) fn new(number: u32, in_step: bool) -> Self {
        let all = Group { lanes: u32::MAX, known: Known::default() };
        Threads {
            number,
            time: 1,
            epoch: 0,
            has_published: false,
            arrived: 0,
            met: 0,
            in_step,
            groups: vec![all],
        }
    }

    pub(super) fn is_in_step(&self) -> bool {
        self.in_step
    }

    /// A new time begins: others may have learned of all accesses before it.
    pub(super) fn begin_time(&mut self) {
        self.time += 1;
        (self.epoch, self.has_published) = (0, false);
    }

    pub(super) fn group(&self, lane: u32) -> &Group {
        // The groups have all lanes.
        self.groups.iter().find(|group| group.lanes >> lane & 1 != 0).unwrap_or(&self.groups[0])
    }

    /// The groups of these lanes, which get groups of their own where others do not do the same.
    pub(super) fn groups_of(&mut self, lanes: u32) -> impl Iterator<Item = &mut Group> {
        let lanes = if self.in_step { u32::MAX } else { lanes };
        let mut parts = Vec::new();
        for group in &mut self.groups {
            let rest = group.lanes & !lanes;
            if rest != 0 && rest != group.lanes {
                parts.push(Group { lanes: rest, ..group.clone() });
                group.lanes &= lanes;
            }
        }
        self.groups.append(&mut parts);
        self.groups.iter_mut().filter(move |group| group.lanes & lanes != 0)
    }

    /// A group's knowledge and its own accesses up to now.
    pub(super) fn all_of(&self, group: &Group) -> Clock {
        now_of(&group.known.clock, self.number, group.lanes, self.time)
    }

    /// Threads have executed a fence.
    pub(super) fn fence(&mut self, lanes: u32, fact: Fact) {
        let (number, time) = (self.number, self.time);
        for Group { lanes, known, .. } in self.groups_of(lanes) {
            if fact.acquires {
                known.acquire(BLOCK);
                if fact.is_wide() {
                    known.acquire(DEVICE);
                }
            }
            if fact.releases {
                let now = now_of(&known.clock, number, *lanes, time);
                if fact.is_wide() {
                    known.released[DEVICE] = now.clone();
                }
                known.released[BLOCK] = now;
            }
        }
        if fact.releases {
            self.begin_time();
        }
    }

    /// The knowledge of all threads, when they arrive together. Knowledge seen by their reads counts as acquired, though PTX
    /// requires a fence after the read: CUDA's own samples omit the fence if a barrier follows, and every GPU keeps that order.
    pub(super) fn together(&self) -> Known {
        let mut all = Arrivals::default();
        all.add(self);
        all.known
    }

    /// Notes that the threads have arrived at a barrier.
    pub(super) fn arrive(&mut self) {
        self.begin_time();
        self.arrived = self.time;
    }

    /// Whether they have done nothing since they arrived.
    pub(super) fn waits(&self) -> bool {
        self.arrived == self.time && self.epoch == 0
    }

    /// Makes all threads one group with this knowledge.
    pub(super) fn merge(&mut self, known: Known) {
        self.groups.clear();
        self.groups.push(Group { lanes: u32::MAX, known });
    }

    /// Adds the knowledge of others to that of the threads.
    pub(super) fn learn(&mut self, known: &Known) {
        self.groups.iter_mut().for_each(|group| group.known.join(known));
    }

    /// Number of meetings of its threads until now.
    pub(super) fn meet(&mut self, meetings: u32) {
        if std::mem::replace(&mut self.met, meetings) != meetings {
            let known = self.together();
            self.merge(known);
            self.begin_time();
        }
    }
}

fn now_of(clock: &Clock, number: u32, lanes: u32, time: u32) -> Clock {
    let mut now = clock.clone();
    now.note(number, Entry::of(lanes, time));
    now
}

/// Combined knowledge of the threads that arrive at a barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    known: Known,
}

impl Arrivals {
    /// The threads of a warp, each with what it has read; see [`Threads::together`].
    pub(super) fn add(&mut self, threads: &Threads) {
        threads.groups.iter().for_each(|group| self.known.join(&group.known));
        self.known.settle();
        self.known.clock.note(threads.number, Entry::of(u32::MAX, threads.time));
    }

    pub(super) fn join(&mut self, other: &Arrivals) {
        self.known.join(&other.known);
    }

    pub(super) fn known(&self) -> &Known {
        &self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Scope;

    fn fence(scope: Scope) -> Fact {
        Fact { scope: Some(scope), acquires: true, releases: true, ..Fact::default() }
    }

    /// A warp that has made an access in its present time.
    fn warp(in_step: bool) -> Threads {
        Threads { epoch: 1, ..Threads::new(5, in_step) }
    }

    #[test]
    fn a_fence_releases_as_far_as_its_scope() {
        for (scope, device) in [(Scope::Block, false), (Scope::Cluster, false), (Scope::Gpu, true)] {
            let mut threads = warp(true);
            threads.fence(1, fence(scope));
            let known = &threads.groups[0].known;
            assert!(known.released[BLOCK].covers(5, 3, 1));
            assert_eq!(known.released[DEVICE].covers(5, 3, 1), device, "{scope}");
            assert_eq!(threads.time, 2, "what comes behind the fence is not released");
        }
    }

    #[test]
    fn a_fence_of_one_thread_is_not_one_of_its_neighbours() {
        let mut threads = warp(false);
        threads.fence(0b10, fence(Scope::Gpu));
        assert!(threads.group(1).known.released[DEVICE].covers(5, 1, 1));
        assert!(!threads.group(1).known.released[DEVICE].covers(5, 0, 1));
        assert!(threads.group(0).known.released[DEVICE].is_empty());
        threads.meet(1);
        assert_eq!(threads.groups.len(), 1);
        assert!(threads.group(0).known.clock.covers(5, 7, 1));
    }

    #[test]
    fn a_read_is_acquired_by_a_fence_that_reaches_far_enough() {
        let mut other = Clock::default();
        other.note(9, Entry::of(u32::MAX, 4));
        for (scope, knows) in [(Scope::Block, false), (Scope::Gpu, true)] {
            let mut threads = warp(false);
            threads.groups_of(1).for_each(|group| group.known.pending[DEVICE] = other.clone());
            threads.fence(1, fence(scope));
            assert_eq!(threads.group(0).known.clock.covers(9, 0, 4), knows);
            assert!(!threads.group(1).known.clock.covers(9, 0, 4));
        }
    }
}
