//! Products of matrices: the registers of all lanes are the operands.

use super::{ExecError, Warp, fault};
use crate::isa::matrix::{Element, MatrixOperand};
use crate::program::{Instruction, Kernel};

impl Warp {
    pub(super) fn multiply_matrices(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        lanes: u32,
    ) -> Result<(), Box<ExecError>> {
        if lanes != u32::MAX {
            let message =
                format!("a product of matrices needs all lanes of the warp, and {:#010x} are here", lanes);
            return Err(fault(instruction, lanes, message));
        }
        let site = &kernel.matrices[instruction.offset as usize];
        let product = &site.product;
        let wide = product.element(MatrixOperand::A) == Element::F64;
        let mut results = [[0; 32]; 8];
        let word = |part: MatrixOperand, lane: usize, register: usize| {
            let register = site.registers[part as usize][register];
            if wide { self.wide(kernel, register)[lane] } else { self.row(kernel, register).0[lane].into() }
        };
        product.multiply(word, |lane, register, bits| results[register][lane] = bits);
        for (values, &register) in results.iter().zip(&site.registers[MatrixOperand::D as usize]) {
            if wide {
                self.set_wide(register, values, lanes);
            } else {
                self.set_narrow(register, &values.map(|value| value as u32), lanes);
            }
        }
        Ok(())
    }
}
