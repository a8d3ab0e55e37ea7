//! Runs of instructions that only compute, without a word to the outside between them: most of what a kernel executes.

use super::Warp;
use crate::program::{Action, Program};

impl Warp {
    /// Executes instructions as long as they are of the lane-wise table and stand one behind the other, at most so many. Returns how
    /// many, and by how many threads they were executed, all added up.
    #[inline]
    pub(crate) fn run_straight(&mut self, program: &Program, most: u32) -> (u32, u64) {
        self.check(program);
        let (mut count, mut threads) = (0, 0);
        while count < most
            && let Some(instruction) = program.instructions.get(self.pc as usize)
        {
            let lanes = self.executing(instruction);
            match instruction.action {
                Action::Lane | Action::LaneWide if lanes != 0 => {
                    // SAFETY: the warp has the program's rows, as checked above.
                    unsafe { (self.lanes)(self.operands(program), instruction, lanes) };
                }
                Action::Compare(combine) if lanes != 0 => self.compare(program, instruction, combine, lanes),
                Action::Lane | Action::LaneWide | Action::Compare(_) => {}
                _ => break,
            }
            let next = self.pc + 1;
            self.advance(program);
            count += 1;
            threads += u64::from(lanes.count_ones());
            // Where paths meet again, the next instruction may be anywhere.
            if self.pc != next {
                break;
            }
        }
        (count, threads)
    }
}
