//! Paths of a warp whose threads make progress by themselves (sm_70 and later).
//!
//! The stack of a warp executes the paths of a branch one after another. A GPU with independent threads usually does the same, so
//! the stack remains, and another path has its turn only where the stack cannot continue:
//!
//! - Lanes that must wait for others of their warp, at a `*.sync` or at a barrier, wait there.
//! - A loop that waits for others (`program/spins.rs`) gives way after some rounds without an end, if another path can have
//!   an effect that others see before it meets the loop's lanes again.
//!
//! An entry of the stack is a path on which lanes continue if no entry above has any of its lanes; otherwise the entry is their
//! reconvergence point, which some lanes may have reached already. Paths are exchanged with the top of the stack: every order is
//! correct in which a reconvergence point is below the paths that lead to it. Lanes that wait at a reconvergence point for lanes
//! which wait or spin themselves leave it without them, and meet at the next outer one. Lanes that are in another function or
//! have returned from it take a stack of their own, a strand.

mod meeting;
mod prospects;

use super::call::Frame;
use super::{Entry, Warp};
use crate::program::Kernel;
pub(super) use meeting::Meeting;

/// Rounds of a loop after which it gives way for the first time. A warp that needs no other path than that in the loop
/// (because another warp ends it) is seldom disturbed so.
const PATIENCE: u32 = 64;
/// Rounds after which it gives way when that has been necessary before.
const IMPATIENCE: u32 = 4;

/// The paths of a warp beside the current one, as far as the stack does not hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Paths {
    /// Lanes that wait for others of their warp.
    waiting: u32,
    /// Lanes that wait at a barrier of the block without others of their warp.
    held: u32,
    /// Lanes whose barrier has opened, and which pass it in their turn.
    passed: u32,
    /// Lanes have left others behind at the point where they should have met.
    loosened: bool,
    impatient: bool,
    /// Rounds that the path has gone while another one could have.
    rounds: u32,
    /// Arrivals of a part of the warp at barriers that have not opened since.
    parts: Vec<BarrierArrival>,
    strands: Vec<Strand>,
}

/// Some lanes' arrival at a barrier of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BarrierArrival {
    barrier: u32,
    pc: u32,
    lanes: u32,
    waits: bool,
}

/// A separate stack of paths, with the calls that lead to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Strand {
    stack: Vec<Entry>,
    frames: Vec<Frame>,
    function: u32,
    floor: usize,
    returned: u32,
    frame_row: usize,
    local_base: u64,
}

/// A point at which lanes resume that are not on the current path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ResumePoint {
    /// The strand, if it is not the current one, and the entry.
    strand: Option<usize>,
    at: usize,
    lanes: u32,
    pc: u32,
    /// Whether all lanes of the entry have reached it: otherwise they wait for the rest.
    whole: bool,
    /// Whether the point belongs to a caller of the function that runs.
    below: bool,
}

impl Paths {
    /// Lanes that cannot continue.
    #[inline]
    pub(super) fn stopped(&self) -> u32 {
        self.waiting | self.held
    }

    /// Whether all is on the current stack.
    #[inline]
    pub(super) fn is_one(&self) -> bool {
        self.strands.is_empty()
    }
}

impl Strand {
    /// Leaves `lanes` here, and gives the other ones a strand.
    fn split(&mut self, lanes: u32) -> Strand {
        let mut rest = self.clone();
        self.keep(lanes);
        rest.keep(!lanes);
        rest
    }

    fn keep(&mut self, lanes: u32) {
        self.stack.iter_mut().for_each(|entry| entry.mask &= lanes);
        self.returned &= lanes;
        for frame in &mut self.frames {
            frame.lanes &= lanes;
            frame.returned &= lanes;
        }
    }
}

/// The places on a stack, innermost first, beside the lanes that are `here`.
fn places<'a>(
    strand: Option<usize>,
    (stack, frames): (&'a [Entry], &'a [Frame]),
    (mut floor, mut returned): (usize, u32),
    exited: u32,
    here: u32,
) -> impl Iterator<Item = ResumePoint> + 'a {
    let (mut covered, mut level) = (here, frames.len());
    stack.iter().enumerate().rev().filter_map(move |(at, entry)| {
        while at < floor {
            level -= 1;
            (floor, returned) = (frames[level].floor, frames[level].returned);
        }
        let mask = entry.mask & !(exited | returned);
        if entry.pc == entry.reconvergence {
            return None;
        }
        let lanes = mask & !covered;
        covered |= mask;
        let whole = lanes == mask;
        let below = level < frames.len();
        (lanes != 0).then_some(ResumePoint { strand, at, lanes, pc: entry.pc, whole, below })
    })
}

impl Warp {
    /// The resume points of lanes that are not on the current path; those of other strands are last.
    fn others(&self) -> impl Iterator<Item = ResumePoint> + '_ {
        let own =
            places(None, (&self.stack, &self.frames), (self.floor, self.returned), self.exited, self.mask);
        own.chain(self.paths.strands.iter().enumerate().flat_map(|(index, strand)| {
            let stack = (&strand.stack[..], &strand.frames[..]);
            places(Some(index), stack, (strand.floor, strand.returned), self.exited, 0)
        }))
    }

    /// The resume point that has waited longest among those that can continue and `suits` accepts: a path, if there is one, or
    /// else lanes that wait to meet others.
    fn next_place(&self, suits: impl Fn(&ResumePoint) -> bool) -> Option<ResumePoint> {
        let stopped = self.paths.stopped();
        let mut found: Option<ResumePoint> = None;
        let rank = |place: &ResumePoint| (place.whole && !place.below, place.strand.is_some());
        for place in self.others().filter(|place| place.lanes & stopped == 0 && self.can_take(place)) {
            let better = match &found {
                None => true,
                // Paths further down have waited longer; strands are in the order of their last turns.
                Some(best) if rank(best) == rank(&place) => rank(&place).0 && place.strand == best.strand,
                Some(best) => rank(&place) > rank(best),
            };
            if better && suits(&place) {
                found = Some(place);
            }
        }
        found
    }

    /// Registers that a recursive call has saved belong to all lanes of it, which therefore stay together.
    fn can_take(&self, place: &ResumePoint) -> bool {
        let frames = place.strand.map_or(&self.frames, |strand| &self.paths.strands[strand].frames);
        !place.below || frames.iter().all(|frame| frame.saved.is_none())
    }

    /// Goes on at another place, if there is one.
    #[cold]
    pub(super) fn go_elsewhere(&mut self, kernel: &Kernel) -> bool {
        let place = self.next_place(|_| true);
        if let Some(place) = place {
            self.take(kernel, place);
        }
        place.is_some()
    }

    /// A loop that waits for others begins a new round. Returns whether the rounds must be executed in full, because
    /// another path may have an effect on which the loop waits.
    #[cold]
    pub(super) fn give_way(&mut self, kernel: &Kernel) -> bool {
        let lanes = self.mask;
        let Some(place) = self.next_place(|place| self.helps(kernel, place, lanes)) else {
            self.paths.rounds = 0;
            return self.paths.held != 0;
        };
        self.paths.rounds += 1;
        if self.paths.rounds >= if self.paths.impatient { IMPATIENCE } else { PATIENCE } {
            self.paths.impatient = true;
            self.take(kernel, place);
        }
        true
    }

    /// Leaves the current path for another resume point.
    fn take(&mut self, kernel: &Kernel, place: ResumePoint) {
        self.paths.rounds = 0;
        let current = self.shelve();
        self.paths.strands.push(current);
        let index = place.strand.unwrap_or(self.paths.strands.len() - 1);
        let mut strand = self.paths.strands.remove(index);
        if place.below {
            let rest = strand.split(place.lanes);
            self.paths.strands.push(rest);
            self.paths.loosened = true;
            self.resume(strand);
            return self.pop(kernel);
        }
        let Entry { pc, reconvergence, .. } = strand.stack[place.at];
        if place.whole {
            strand.stack.remove(place.at);
        } else {
            strand.stack[place.at].mask &= !place.lanes;
            self.paths.loosened = true;
        }
        self.resume(strand);
        (self.pc, self.reconvergence, self.mask) = (pc, reconvergence, place.lanes);
    }

    /// Takes the warp's stack away, with the current path on it.
    fn shelve(&mut self) -> Strand {
        if self.mask != 0 {
            self.stack.push(Entry { pc: self.pc, reconvergence: self.reconvergence, mask: self.mask });
        }
        Strand {
            stack: std::mem::take(&mut self.stack),
            frames: std::mem::take(&mut self.frames),
            function: self.function,
            floor: self.floor,
            returned: self.returned,
            frame_row: self.frame_row,
            local_base: self.local_base,
        }
    }

    /// Gives the warp a stack. The caller chooses its current path.
    fn resume(&mut self, strand: Strand) {
        let Strand { stack, frames, function, floor, returned, frame_row, local_base } = strand;
        (self.stack, self.frames) = (stack, frames);
        (self.function, self.floor, self.returned) = (function, floor, returned);
        (self.frame_row, self.local_base) = (frame_row, local_base);
        self.mask = 0;
    }

    /// Notes that all lanes of a strand have ended: the next one has its turn. Gives `false` if there is none.
    #[inline]
    pub(super) fn next_strand(&mut self) -> bool {
        if self.paths.strands.is_empty() {
            return false;
        }
        let strand = self.paths.strands.remove(0);
        self.resume(strand);
        true
    }

    /// Lanes have ended: others may have waited for that.
    #[inline]
    pub(super) fn reconsider(&mut self) {
        self.paths.waiting = 0;
    }

    /// Lets lanes of the current path go their own way, at its next instruction.
    fn part_with(&mut self, lanes: u32) {
        if lanes != 0 {
            self.stack.push(Entry { pc: self.pc, reconvergence: self.reconvergence, mask: lanes });
            self.mask &= !lanes;
        }
    }

    /// Lanes at another place, which are at the same instruction as the current path, have executed it with it.
    fn step(&mut self, place: &ResumePoint, lanes: u32) {
        let stack = match place.strand {
            None => &mut self.stack,
            Some(strand) => &mut self.paths.strands[strand].stack,
        };
        let entry = &mut stack[place.at];
        if place.whole && lanes == place.lanes {
            entry.pc += 1;
        } else {
            entry.mask &= !lanes;
            let part = Entry { pc: entry.pc + 1, reconvergence: entry.reconvergence, mask: lanes };
            stack.push(part);
        }
    }
}
