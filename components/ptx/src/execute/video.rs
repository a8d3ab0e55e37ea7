//! Video instructions over 32 lanes.

use super::Warp;
use crate::isa::Video;
use crate::program::{CONSTANT, Instruction, Kernel, NONE, Row};

impl Warp {
    pub(super) fn video(&mut self, kernel: &Kernel, instruction: &Instruction, video: &Video, lanes: u32) {
        let row = |operand: u16| match operand {
            NONE => &Row::ZERO,
            _ if operand & CONSTANT != 0 => &kernel.constants[usize::from(operand & !CONSTANT)],
            _ => &self.rows[usize::from(operand)],
        };
        let [a, b, c, _] = instruction.sources.map(row);
        let results = std::array::from_fn(|lane| video.compute(a.0[lane], b.0[lane], c.0[lane]));
        self.set_narrow(instruction.destinations[0], &results, lanes);
    }
}
