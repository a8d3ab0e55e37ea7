//! Meetings of paths: at a `*.sync` those of its mask, at a barrier those of the block.

use super::{BarrierArrival, ResumePoint};
use crate::execute::standstill::{Waiting, lanes_of};
use crate::execute::warp::alone;
use crate::execute::{ExecError, Issue, Votes, Warp, fault};
use crate::program::{Instruction, Kernel};

/// The outcome of an instruction that lanes execute together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::execute) enum Meeting {
    /// These lanes have arrived, and execute the instruction.
    Complete(u32),
    /// Some lanes have not arrived. The warp continues as the issue says.
    Waits(Issue),
}

impl Warp {
    /// Lanes of the current path arrive at a `*.sync` whose masks name others: they wait, or execute it with the lanes that
    /// have waited for them. Lanes with another mask, and lanes whose guard is false, leave this path.
    #[cold]
    pub(in crate::execute) fn meet(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        lanes: u32,
        masks: &[u32; 32],
    ) -> Result<Meeting, Box<ExecError>> {
        let mask = masks[lanes.trailing_zeros() as usize & 31];
        let same = (0..32).filter(|lane| masks[*lane] == mask).fold(0, |all, lane| all | 1 << lane);
        self.part_with(self.mask & !(lanes & same));
        let come = |warp: &Warp, place: &ResumePoint| warp.guarded(instruction, place.lanes) & same;
        let everyone = self.here(come).fold(lanes & same, |all, (_, lanes)| all | lanes);
        let wanted = mask & !self.exited;
        if wanted & !everyone == 0 {
            self.join(come, wanted);
            return Ok(Meeting::Complete(wanted));
        }
        self.wait(kernel, || {
            let absent = wanted & !everyone;
            let message = format!(
                "{} wait for {} of their mask {mask:#010x}, which cannot come",
                lanes_of(lanes & same),
                lanes_of(absent)
            );
            fault(instruction, lanes & same, message)
        })
    }

    /// Like [`Warp::meet`], at a barrier which all threads of a warp execute together, if they diverged elsewhere.
    #[cold]
    pub(in crate::execute) fn meet_aligned(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        lanes: u32,
    ) -> Result<Meeting, Box<ExecError>> {
        let absent = self.missing(kernel, lanes);
        if kernel.target() < 70 || !self.paths.loosened {
            return Err(alone(instruction, lanes, absent));
        }
        let come = |warp: &Warp, place: &ResumePoint| warp.guarded(instruction, place.lanes);
        let everyone = self.here(come).fold(lanes, |all, (_, lanes)| all | lanes);
        if self.missing(kernel, everyone) == 0 {
            self.join(come, everyone);
            return Ok(Meeting::Complete(everyone));
        }
        self.wait(kernel, || alone(instruction, lanes, absent))
    }

    /// The resume points at the same instruction, with their lanes that have arrived at it.
    fn here<'a>(
        &'a self,
        come: impl Fn(&Warp, &ResumePoint) -> u32 + 'a,
    ) -> impl Iterator<Item = (ResumePoint, u32)> + 'a {
        let same = |place: &ResumePoint| place.pc == self.pc && !place.below;
        self.others().filter(same).map(move |place| (place, come(self, &place)))
    }

    /// Lanes elsewhere execute the instruction with those of the current path.
    fn join(&mut self, come: impl Fn(&Warp, &ResumePoint) -> u32, lanes: u32) {
        let places: Vec<(ResumePoint, u32)> = self.here(come).collect();
        for (place, come) in places {
            if come & lanes != 0 {
                self.step(&place, come & lanes);
            }
        }
        self.paths.waiting &= !lanes;
    }

    /// The current path cannot continue. The result is the error if no other path can continue either.
    fn wait(
        &mut self,
        kernel: &Kernel,
        error: impl FnOnce() -> Box<ExecError>,
    ) -> Result<Meeting, Box<ExecError>> {
        self.paths.waiting |= self.mask;
        if self.go_elsewhere(kernel) {
            return Ok(Meeting::Waits(Issue::Branch));
        }
        if self.paths.held != 0 { Ok(Meeting::Waits(Issue::Held)) } else { Err(self.stuck(kernel, error())) }
    }

    /// The error with the positions of the other lanes.
    fn stuck(&self, kernel: &Kernel, mut error: Box<ExecError>) -> Box<ExecError> {
        for place in self.others() {
            let line = kernel.instructions.get(place.pc as usize).map_or(0, |instruction| instruction.line);
            let verb = if place.lanes.count_ones() == 1 { "is" } else { "are" };
            error.message += &format!("; {} {verb} at {}", lanes_of(place.lanes), kernel.quote(line));
        }
        error
    }

    /// A part of the warp arrives at a barrier of the block that is not for whole warps. Returns the arrival, or only the next
    /// issue if the part has arrived before.
    #[cold]
    pub(in crate::execute) fn arrive_apart(
        &mut self,
        kernel: &Kernel,
        (barrier, count): (u32, Option<u32>),
        lanes: u32,
        votes: Option<Votes>,
        waits: bool,
    ) -> Issue {
        let part = BarrierArrival { barrier, pc: self.pc, lanes, waits };
        self.paths.parts.push(part);
        if waits {
            self.part_with(self.mask & !lanes);
            self.paths.held |= lanes;
            self.go_elsewhere(kernel);
        } else {
            self.advance(kernel);
        }
        Issue::Barrier { id: barrier, count, waits: false, votes, whole: false }
    }

    /// Lanes that have arrived at a barrier are issued again: they pass it if it has opened, and wait otherwise.
    #[inline]
    pub(in crate::execute) fn arrived_before(&mut self, kernel: &Kernel, lanes: u32) -> Option<Issue> {
        let arrived = lanes & (self.paths.held | self.paths.passed) != 0;
        arrived.then(|| self.pass_or_wait(kernel, lanes))
    }

    #[cold]
    fn pass_or_wait(&mut self, kernel: &Kernel, lanes: u32) -> Issue {
        if lanes & self.paths.passed != 0 {
            self.paths.passed &= !lanes;
            return Issue::Nothing;
        }
        if self.go_elsewhere(kernel) { Issue::Branch } else { Issue::Held }
    }

    /// Number of threads in parts of the warp that have arrived at a barrier. Threads that have ended count once a part has
    /// arrived.
    pub fn arrivals(&self, barrier: u32) -> u32 {
        let come = self.paths.parts.iter().filter(|part| part.barrier == barrier);
        match come.fold(0, |all, part| all | part.lanes) {
            0 => 0,
            lanes => (lanes | self.exited).count_ones(),
        }
    }

    /// Whether a part of the warp has arrived at a barrier that has not opened since.
    #[inline]
    pub fn is_apart(&self) -> bool {
        !self.paths.parts.is_empty()
    }

    /// Places at which parts of the warp wait for barriers, and lanes for each other.
    pub fn waits_apart(&self) -> Vec<Waiting> {
        let parts = self.paths.parts.iter().filter(|part| part.waits);
        parts.map(|part| Waiting { barrier: part.barrier, pc: part.pc, lanes: part.lanes }).collect()
    }

    /// A barrier has opened at which parts of the warp had arrived; `votes` are those of all threads that arrived. Returns
    /// whether lanes that waited there may continue.
    ///
    /// # Panics
    /// If the kernel is not the one for which the warp was made.
    pub fn pass_apart(&mut self, kernel: &Kernel, barrier: u32, votes: Votes) -> bool {
        let mut freed = 0;
        for at in (0..self.paths.parts.len()).rev() {
            let part = self.paths.parts[at];
            if part.barrier == barrier {
                self.paths.parts.remove(at);
                if part.waits {
                    freed |= part.lanes;
                    self.count_votes(kernel, part.pc, part.lanes, votes);
                }
            }
        }
        self.paths.held &= !freed;
        self.paths.passed |= freed;
        freed != 0
    }
}
