//! Operations of a warp's lanes together: shuffles, votes, matches, reductions, and the predicates of
//! barriers.
//!
//! Lanes that a mask names must all arrive at the instruction. On sm_70 and later, the lanes that arrive first wait
//! (`paths/meeting.rs`). Before, a warp executes the paths of a branch one after another, so it cannot wait in one
//! of them for lanes on another: a mask that asks for it is a fault, never a wrong value. Nobody waits for lanes that
//! have ended or never began.

use super::paths::Meeting;
use super::{ExecError, Issue, Issued, Warp, blend, fault, vector};
use crate::isa::warp::{self, Reduction, WarpOp};
use crate::program::{Action, Instruction, Kernel, NONE, Row};

/// Answers of a CTA's threads at a barrier that counts predicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    /// Threads whose predicate was true.
    pub yes: u32,
    /// Threads that were asked.
    pub cast: u32,
}

impl Votes {
    /// Adds a warp's votes.
    pub fn add(&mut self, more: Votes) {
        self.yes += more.yes;
        self.cast += more.cast;
    }
}

/// A barrier for whole warps that a part of a warp executes. The manual (PTX ISA 9.7.13.1) leaves its result undefined.
#[cold]
pub(super) fn alone(instruction: &Instruction, lanes: u32, absent: u32) -> Box<ExecError> {
    let message = format!(
        "lanes {lanes:#010x} arrive at a barrier without lanes {absent:#010x}, which have not ended: PTX leaves undefined what a part of a warp does at this barrier (a thread that returns early on one path keeps it from meeting the other; under a guard it does not)"
    );
    fault(instruction, lanes, message)
}

impl Warp {
    /// Lanes execute an instruction together, or wait for others.
    #[inline(never)]
    pub(super) fn collective(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        lanes: u32,
    ) -> Result<Issued, Box<ExecError>> {
        let issued = match instruction.action {
            Action::Warp(op) => match self.warp_wide(kernel, instruction, op, lanes)? {
                Meeting::Complete(lanes) => Issued { kind: Issue::Done, lanes },
                Meeting::Waits(kind) => Issued { kind, lanes: 0 },
            },
            _ => self.barrier(kernel, instruction, lanes)?,
        };
        if !matches!(issued.kind, Issue::Branch | Issue::Held | Issue::Barrier { whole: false, .. }) {
            self.advance(kernel);
        }
        Ok(issued)
    }

    fn warp_wide(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        op: WarpOp,
        mut lanes: u32,
    ) -> Result<Meeting, Box<ExecError>> {
        let groups = match self.groups(kernel, instruction, &mut lanes)? {
            Ok(groups) => groups,
            Err(issue) => return Ok(Meeting::Waits(issue)),
        };
        let in_group = |lane: usize| groups.0[lane];
        let each = |of: &dyn Fn(usize) -> u32| -> [u32; 32] { std::array::from_fn(of) };
        let truth_of = |of: &dyn Fn(usize) -> bool| -> u32 {
            (0..32).map(|lane| u32::from(of(lane)) << lane).fold(0, |all, bit| all | bit)
        };
        let [a, b, c, _] = instruction.sources;
        let (values, truth) = match op {
            WarpOp::ShuffleUp | WarpOp::ShuffleDown | WarpOp::ShuffleXor | WarpOp::ShuffleIndex => {
                let [a, b, c] = [a, b, c].map(|operand| &self.row(kernel, operand).0);
                let mut sources = [0; 32];
                let inside = vector::shuffle(op, b, c, &mut sources);
                (sources.map(|source| a[source as usize & 31]), inside)
            }
            WarpOp::VoteAll | WarpOp::VoteAny | WarpOp::VoteUniform => {
                let votes = self.predicate_or_not(instruction, a);
                ([0; 32], truth_of(&|lane| warp::vote(op, votes, in_group(lane))))
            }
            WarpOp::Ballot => {
                let votes = self.predicate_or_not(instruction, a);
                (each(&|lane| votes & in_group(lane)), 0)
            }
            WarpOp::MatchAny | WarpOp::MatchAll => {
                let values = if instruction.memory.wide_value {
                    *self.wide(kernel, a)
                } else {
                    self.row(kernel, a).0.map(u64::from)
                };
                let equal = each(&|lane| warp::equal_lanes(&values, lane, in_group(lane)));
                let all = truth_of(&|lane| equal[lane] == in_group(lane));
                if op == WarpOp::MatchAny {
                    (equal, 0)
                } else {
                    (each(&|lane| if all >> lane & 1 != 0 { equal[lane] } else { 0 }), all)
                }
            }
            WarpOp::ActiveMask => ([lanes; 32], 0),
            WarpOp::Elect => {
                let leader = |lane: usize| in_group(lane).trailing_zeros();
                (each(&leader), truth_of(&|lane| leader(lane) == lane as u32))
            }
            WarpOp::Transpose => {
                let values = self.row(kernel, a).0;
                let element =
                    |row: usize, column: usize| values[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
                let pair = |lane: usize| {
                    let (row, column) = (lane / 4, 2 * (lane % 4));
                    element(column, row) | element(column + 1, row) << 16
                };
                (each(&pair), 0)
            }
            WarpOp::Sync => {
                self.meetings = self.meetings.wrapping_add(1);
                return Ok(Meeting::Complete(lanes));
            }
            _ => {
                let values = self.row(kernel, a).0;
                (each(&|lane| warp::reduce(op, &values, in_group(lane))), 0)
            }
        };
        let [register, predicate, ..] = instruction.destinations;
        if register != NONE {
            blend(&mut self.rows[register as usize].0, &values, lanes);
        }
        if predicate != NONE {
            self.set_predicate(predicate, truth, lanes);
        }
        Ok(Meeting::Complete(lanes))
    }

    /// For each lane, the lanes with which it acts: those of its mask, or all of the current path. Lanes on other paths
    /// join those of the current path; if some have not arrived yet, the warp continues as the issue says.
    fn groups(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        lanes: &mut u32,
    ) -> Result<Result<Row, Issue>, Box<ExecError>> {
        let mask = instruction.sources[3];
        if mask == NONE {
            return Ok(Ok(Row([*lanes; 32])));
        }
        let mut absent = None;
        let masks = self.row(kernel, mask).0;
        // Nearly always the mask names the lanes that are here.
        if masks == [*lanes; 32] {
            return Ok(Ok(Row(masks)));
        }
        for lane in (0..32).filter(|lane| *lanes >> lane & 1 != 0) {
            let missing = masks[lane] & !self.exited & !*lanes;
            if masks[lane] >> lane & 1 == 0 {
                let message = format!("the lane is not in its own mask {:#010x}", masks[lane]);
                return Err(fault(instruction, 1 << lane, message));
            }
            if missing != 0 && kernel.target() < 70 {
                let message = format!(
                    "the mask {:#010x} names lanes {missing:#010x}, which are on another path of the warp; before sm_70 paths run one after another, so they can never meet",
                    masks[lane]
                );
                return Err(fault(instruction, 1 << lane, message));
            }
            absent = absent.or((missing != 0).then_some(lane));
        }
        if absent.is_some() {
            match self.meet(kernel, instruction, *lanes, &masks)? {
                Meeting::Complete(all) => *lanes = all,
                Meeting::Waits(issue) => return Ok(Err(issue)),
            }
        }
        let lanes = *lanes;
        Ok(Ok(Row(masks.map(|mask| mask & lanes))))
    }

    fn barrier(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        mut lanes: u32,
    ) -> Result<Issued, Box<ExecError>> {
        if let Some(kind) = self.arrived_before(kernel, lanes) {
            return Ok(Issued { kind, lanes: 0 });
        }
        let lane = lanes.trailing_zeros() as usize;
        let value = |operand: u16| self.row(kernel, operand).0[lane];
        let id = value(instruction.sources[0]);
        let count = (instruction.sources[1] != NONE).then(|| value(instruction.sources[1]));
        if id > 15 {
            return Err(fault(instruction, lanes, format!("there is no barrier {id}, only 0 to 15")));
        }
        if let Some(count) = count
            && (count == 0 || !count.is_multiple_of(32))
        {
            let message =
                format!("a barrier of {count} threads: the number must be a multiple of 32 and not 0");
            return Err(fault(instruction, lanes, message));
        }
        let whole = self.missing(kernel, lanes) == 0;
        let apart = !whole && !instruction.aligned && kernel.target() >= 70;
        if !whole && !apart {
            match self.meet_aligned(kernel, instruction, lanes)? {
                Meeting::Complete(all) => lanes = all,
                Meeting::Waits(kind) => return Ok(Issued { kind, lanes: 0 }),
            }
        }
        let votes = |warp: &Warp, lanes: u32| {
            let truth = warp.predicate_or_not(instruction, instruction.sources[2]);
            Votes { yes: (truth & lanes).count_ones(), cast: lanes.count_ones() }
        };
        let (waits, votes) = match instruction.action {
            Action::Barrier { waits } => (waits, None),
            _ => (true, Some(votes(self, lanes))),
        };
        self.barrier = self.pc;
        if apart {
            let kind = self.arrive_apart(kernel, (id, count), lanes, votes, waits);
            return Ok(Issued { kind, lanes });
        }
        if votes.is_some() {
            self.voting = Some((self.pc, lanes));
        }
        Ok(Issued { kind: Issue::Barrier { id, count, waits, votes, whole: true }, lanes })
    }

    /// The lanes that have not arrived, except those that have ended or have only their end left: these wait there for the
    /// others.
    pub(super) fn missing(&self, kernel: &Kernel, lanes: u32) -> u32 {
        let mut rest = !(self.exited | lanes);
        let mut missing = rest & self.mask;
        rest &= !self.mask;
        // The innermost path of a lane gives the instruction at which it continues.
        for entry in self.stack.iter().rev() {
            let here = entry.mask & rest;
            rest &= !here;
            let next = kernel.instructions.get(entry.pc as usize);
            let ends = next.is_some_and(|next| next.action == Action::Exit && !next.is_guarded());
            missing |= if ends { 0 } else { here };
        }
        missing | rest
    }

    /// Releases a warp that waits at a barrier; `votes` are those of all warps that arrived.
    ///
    /// # Panics
    /// If the kernel is not the one for which the warp was made.
    pub fn pass_barrier(&mut self, kernel: &Kernel, votes: Votes) {
        if let Some((pc, lanes)) = self.voting.take() {
            self.count_votes(kernel, pc, lanes, votes);
        }
    }

    /// Writes the result of a barrier, if it has one.
    pub(super) fn count_votes(&mut self, kernel: &Kernel, pc: u32, lanes: u32, votes: Votes) {
        assert!(self.predicates.len() == kernel.predicates as usize);
        let instruction = &kernel.instructions[pc as usize];
        let Action::BarrierReduction(reduction) = instruction.action else { return };
        let destination = instruction.destinations[0];
        let truth = match reduction {
            Reduction::Popc => return self.set_narrow(destination, &[votes.yes; 32], lanes),
            Reduction::And => votes.yes == votes.cast,
            Reduction::Or => votes.yes != 0,
        };
        self.set_predicate(destination, if truth { lanes } else { 0 }, lanes);
    }
}
