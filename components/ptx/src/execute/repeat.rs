//! Comparison of a warp with an earlier state: the same paths, and the same values in all deciding registers.
//!
//! A register decides if a branch, a guard of one, an address or a stored value depends on it, through any of the instructions
//! in question. A register that only counts never decides, so it may differ.

use super::Warp;
use super::poll::Poll;
use crate::isa::forms::StackOp;
use crate::program::{Action, Kernel, RegisterPlace, Special};

/// Role of an instruction in the search for endless loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopRole {
    /// The instruction computes registers from registers.
    Computes,
    /// The instruction decides the warp's path, or an address.
    Decides,
    /// The instruction depends on time or on others, or others see its effect.
    Outside,
}

/// The part that an action plays. Every action has its line, so that a new one must be given its part.
pub(crate) fn part(action: Action) -> LoopRole {
    match action {
        Action::Special(
            Special::Clock | Special::ClockHigh | Special::GlobalTimer | Special::GlobalTimerHigh,
        ) => LoopRole::Outside,
        Action::Lane
        | Action::LaneWide
        | Action::Carry(_)
        | Action::Compare(_)
        | Action::ComparePair(_)
        | Action::Set(..)
        | Action::SetPair(..)
        | Action::Predicate(_)
        | Action::Special(_)
        | Action::SymbolAddress(_)
        | Action::ToGeneric(_)
        | Action::FromGeneric(_)
        | Action::InSpace(_)
        | Action::Pack
        | Action::Video(_)
        | Action::Unpack
        | Action::SurfaceQuery(_)
        | Action::Hint
        | Action::Stack(StackOp::Save)
        | Action::Matrix => LoopRole::Computes,
        // The memory accessed is looked at when the address is known. Lanes that a mask names must be there.
        Action::Memory
        | Action::LoadParam
        | Action::SurfaceAddress(_)
        | Action::Branch
        | Action::Warp(_)
        | Action::Fence
        | Action::Sleep
        | Action::Stack(StackOp::Allocate | StackOp::Restore)
        | Action::LoadFrame
        | Action::StoreFrame
        | Action::Call
        | Action::Return
        | Action::Exit => LoopRole::Decides,
        Action::Barrier { .. }
        | Action::BarrierReduction(_)
        | Action::Texture(_)
        | Action::Range(_)
        | Action::Trap
        | Action::Breakpoint
        | Action::Copy
        | Action::CommitCopies
        | Action::AwaitCopies
        | Action::Assert
        | Action::BadFree => LoopRole::Outside,
    }
}

/// The places of the registers that decide, in a loop of some instructions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deciding(Vec<RegisterPlace>);

impl Deciding {
    /// The deciding registers of a loop that consists of these instructions.
    pub(crate) fn of(kernel: &Kernel, loop_: &[u32]) -> Self {
        let mut decides = vec![false; usize::from(kernel.scoreboard_registers)];
        let instructions = || loop_.iter().map(|pc| &kernel.instructions[*pc as usize]);
        for instruction in instructions().filter(|it| part(it.action) != LoopRole::Computes) {
            instruction.reads.as_slice().iter().for_each(|id| decides[usize::from(*id)] = true);
        }
        loop {
            let mut grows = false;
            for instruction in instructions() {
                if instruction.writes.as_slice().iter().any(|id| decides[usize::from(*id)]) {
                    for id in instruction.reads.as_slice() {
                        grows |= !std::mem::replace(&mut decides[usize::from(*id)], true);
                    }
                }
            }
            if !grows {
                break;
            }
        }
        let places = decides.iter().zip(&kernel.places).filter(|(decides, _)| **decides);
        Deciding(places.map(|(_, place)| *place).collect())
    }
}

impl Warp {
    /// From now on all rounds of loops are executed.
    pub(crate) fn execute_polls(&mut self) {
        self.poll = Poll::NONE;
    }

    /// Whether its behaviour from here on is that from an earlier state on, as far as registers say.
    pub(crate) fn repeats(&self, earlier: &Warp, deciding: &Deciding) -> bool {
        let path = |warp: &Warp| {
            let Warp {
                pc, reconvergence, mask, exited, function, floor, returned, voting, elsewhere, ..
            } = warp;
            (*pc, *reconvergence, *mask, *exited, *function, *floor, *returned, *voting, *elsewhere)
        };
        path(self) == path(earlier)
            && (self.frame_row, self.local_base) == (earlier.frame_row, earlier.local_base)
            && self.stack == earlier.stack
            && self.frames == earlier.frames
            && self.paths == earlier.paths
            && deciding.0.iter().all(|place| match *place {
                RegisterPlace::Predicate(at) => {
                    self.predicates[usize::from(at)] == earlier.predicates[usize::from(at)]
                }
                RegisterPlace::Narrow(at) => self.rows[usize::from(at)] == earlier.rows[usize::from(at)],
                RegisterPlace::Wide(at) => {
                    let pair = usize::from(at)..usize::from(at) + 2;
                    self.rows[pair.clone()] == earlier.rows[pair]
                }
            })
            && self.frame == earlier.frame
            && self.saved_rows == earlier.saved_rows
            && self.saved_predicates == earlier.saved_predicates
    }
}
