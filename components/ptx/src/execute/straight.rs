//! Runs of instructions that only compute, without interaction between them: most of a kernel's execution.

use super::Warp;
use crate::program::{Action, Kernel};

/// The number of lanes, which are nearly always all: counting takes a baseline host long.
#[inline(always)]
pub(crate) fn count_of(lanes: u32) -> u32 {
    #[cold]
    #[inline(never)]
    fn of_some(lanes: u32) -> u32 {
        lanes.count_ones()
    }
    if lanes == u32::MAX { 32 } else { of_some(lanes) }
}

impl Warp {
    /// Executes instructions while they are consecutive and of the lane-wise table, at most `most`.
    /// Returns their number, and the sum over them of the threads that executed each.
    #[inline]
    pub(crate) fn run_straight(&mut self, kernel: &Kernel, most: u32) -> (u32, u64) {
        self.check(kernel);
        let (mut count, mut threads) = (0, 0);
        while count < most
            && let Some(instruction) = kernel.instructions.get(self.pc as usize)
        {
            let lanes = self.executing(instruction);
            match instruction.action {
                Action::Lane | Action::LaneWide if lanes != 0 => {
                    // SAFETY: the warp has the kernel's rows, as checked above.
                    unsafe { (self.lanes)(self.operands(kernel), instruction, lanes) };
                }
                Action::Compare(combine) if lanes != 0 => self.compare(kernel, instruction, combine, lanes),
                Action::Lane | Action::LaneWide | Action::Compare(_) => {}
                _ => break,
            }
            let next = self.pc + 1;
            self.advance(kernel);
            count += 1;
            threads += u64::from(count_of(lanes));
            // If paths meet again, the next instruction may be anywhere.
            if self.pc != next {
                break;
            }
        }
        (count, threads)
    }
}
