//! Prospects of a path: whether its lanes may have an effect that others see before they meet a loop's lanes again.

use super::ResumePoint;
use crate::execute::Warp;
use crate::isa::Space;
use crate::isa::warp::WarpOp;
use crate::program::{Action, CONSTANT, Instruction, Kernel, NONE};

/// Instructions that are examined. Beyond them an effect is assumed.
const FAR: u32 = 256;

/// Effect of an instruction on what a path may still do.
enum Prospect {
    /// Others see the instruction's effect, or it depends on values.
    Helps,
    /// The path ends, or waits for the lanes in question.
    Waits,
    GoesOn,
}

impl Warp {
    /// Whether lanes that spin may be helped if another resume point has its turn. They are not helped if it first reaches
    /// a barrier or a `*.sync` that waits for them.
    pub(super) fn helps(&self, kernel: &Kernel, place: &ResumePoint, spinning: u32) -> bool {
        let mut pc = place.pc;
        for _ in 0..FAR {
            let Some(instruction) = kernel.instructions.get(pc as usize) else { return false };
            match prospect(kernel, instruction, spinning) {
                Prospect::Helps => return true,
                Prospect::Waits => return false,
                Prospect::GoesOn if instruction.action == Action::Branch => pc = instruction.target,
                Prospect::GoesOn => pc += 1,
            }
        }
        true
    }
}

fn prospect(kernel: &Kernel, instruction: &Instruction, spinning: u32) -> Prospect {
    let when = |helps: bool| if helps { Prospect::Helps } else { Prospect::GoesOn };
    match instruction.action {
        Action::Memory => {
            let form = &instruction.memory;
            when((form.store || form.atomic.is_some()) && form.space != Some(Space::Local))
        }
        Action::Branch => when(instruction.is_guarded()),
        Action::Barrier { .. } | Action::BarrierReduction(_) if instruction.aligned => Prospect::Waits,
        Action::Warp(op) if op != WarpOp::ActiveMask => match instruction.sources[3] {
            NONE => Prospect::GoesOn,
            mask if mask & CONSTANT == 0 => Prospect::Helps,
            mask if kernel.constants[usize::from(mask & !CONSTANT)].0[0] & spinning != 0 => Prospect::Waits,
            _ => Prospect::GoesOn,
        },
        Action::Exit if !instruction.is_guarded() => Prospect::Waits,
        Action::Barrier { .. }
        | Action::BarrierReduction(_)
        | Action::Call
        | Action::Return
        | Action::Range(_)
        | Action::Trap
        | Action::Breakpoint
        | Action::Copy
        | Action::AwaitCopies
        | Action::Assert
        | Action::BadFree => Prospect::Helps,
        Action::Exit
        | Action::Warp(_)
        | Action::Lane
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
        | Action::Unpack
        | Action::Video(_)
        | Action::LoadParam
        | Action::Texture(_)
        | Action::SurfaceAddress(_)
        | Action::SurfaceQuery(_)
        | Action::Fence
        | Action::Hint
        | Action::CommitCopies
        | Action::Sleep
        | Action::Matrix
        | Action::Stack(_)
        | Action::LoadFrame
        | Action::StoreFrame => Prospect::GoesOn,
    }
}
