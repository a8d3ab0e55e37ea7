//! Comparisons, their results, and predicates.

use super::Warp;
use super::lanes::blend;
use crate::isa::LaneOp;
use crate::isa::forms::PredicateOp;
use crate::program::{Action, Combine, Instruction, Kernel, NONE};

impl Warp {
    #[inline]
    pub(super) fn compare(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        combine: Combine,
        lanes: u32,
    ) {
        let truth = self.truth(kernel, instruction, lanes);
        let (truth, inverse) = self.combine(instruction, combine, truth);
        for (destination, value) in instruction.destinations.into_iter().zip([truth, inverse]) {
            if destination != NONE {
                self.set_predicate(destination, value, lanes);
            }
        }
    }

    /// A comparison of pairs into a predicate for each half.
    pub(super) fn compare_pairs(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        combine: Combine,
        lanes: u32,
    ) {
        let truths = self.truths(kernel, instruction, combine, lanes);
        for (destination, value) in instruction.destinations.into_iter().zip(truths) {
            if destination != NONE {
                self.set_predicate(destination, value, lanes);
            }
        }
    }

    /// A comparison into a number: `value` for true.
    pub(super) fn set_number(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        combine: Combine,
        value: u32,
        lanes: u32,
    ) {
        let truth = self.truth(kernel, instruction, lanes);
        let (truth, _) = self.combine(instruction, combine, truth);
        let row = std::array::from_fn(|lane| if truth & (1 << lane) != 0 { value } else { 0 });
        blend(&mut self.rows[instruction.destinations[0] as usize].0, &row, lanes);
    }

    /// A comparison of pairs into two numbers of 16 bits.
    pub(super) fn set_pair(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        combine: Combine,
        value: u16,
        lanes: u32,
    ) {
        let truths = self.truths(kernel, instruction, combine, lanes);
        let half = |truth: u32, lane: usize| if truth & (1 << lane) != 0 { u32::from(value) } else { 0 };
        let row = std::array::from_fn(|lane| half(truths[0], lane) | half(truths[1], lane) << 16);
        blend(&mut self.rows[instruction.destinations[0] as usize].0, &row, lanes);
    }

    #[inline]
    pub(super) fn truth(&mut self, kernel: &Kernel, instruction: &Instruction, lanes: u32) -> u32 {
        // SAFETY: `issue` asserted that the warp has the kernel's rows.
        unsafe { (self.lanes)(self.operands(kernel), instruction, lanes) as u32 }
    }

    /// The truths of a comparison of pairs, low half first, each combined with the third predicate.
    fn truths(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        combine: Combine,
        lanes: u32,
    ) -> [u32; 2] {
        // SAFETY: `issue` asserted that the warp has the kernel's rows.
        let both = unsafe { (self.lanes)(self.operands(kernel), instruction, lanes) };
        [both as u32, (both >> 32) as u32].map(|truth| self.combine(instruction, combine, truth).0)
    }

    /// An operation and its carry. The carry is computed first: the destination may be a source.
    pub(super) fn with_carry(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        carry: LaneOp,
        lanes: u32,
    ) {
        let mut part =
            Instruction { op: carry, action: Action::Compare(Combine::None), ..instruction.clone() };
        let truth = self.truth(kernel, &part, lanes);
        let wide = instruction.memory.wide_value;
        part.op = instruction.op;
        part.action = if wide { Action::LaneWide } else { Action::Lane };
        // SAFETY: `issue` asserted that the warp has the kernel's rows.
        unsafe { (self.lanes)(self.operands(kernel), &part, lanes) };
        self.set_predicate(instruction.destinations[1], truth, lanes);
    }

    /// Truth and its inverse, each combined with the third predicate.
    #[inline]
    fn combine(&self, instruction: &Instruction, combine: Combine, truth: u32) -> (u32, u32) {
        if combine == Combine::None {
            return (truth, !truth);
        }
        let third = self.predicate_or_not(instruction, instruction.sources[2]);
        match combine {
            Combine::And => (truth & third, !truth & third),
            Combine::Or => (truth | third, !truth | third),
            _ => (truth ^ third, !truth ^ third),
        }
    }

    /// A predicate that may be inverted or a constant, as the instruction's offset says.
    #[inline]
    pub(super) fn predicate_or_not(&self, instruction: &Instruction, operand: u16) -> u32 {
        if operand == NONE {
            return instruction.offset as u32;
        }
        let value = self.predicates[operand as usize];
        if instruction.offset != 0 { !value } else { value }
    }

    pub(super) fn predicate(&mut self, instruction: &Instruction, operation: PredicateOp, lanes: u32) {
        let read = |operand: u16| {
            if operand == NONE { instruction.offset as u32 } else { self.predicates[operand as usize] }
        };
        let (a, b) = (read(instruction.sources[0]), read(instruction.sources[1]));
        let value = match operation {
            PredicateOp::Mov => a,
            PredicateOp::Not => !a,
            PredicateOp::And => a & b,
            PredicateOp::Or => a | b,
            PredicateOp::Xor => a ^ b,
        };
        self.set_predicate(instruction.destinations[0], value, lanes);
    }
}
