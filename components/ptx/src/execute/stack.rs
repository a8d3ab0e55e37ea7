//! Memory of a thread's stack (PTX ISA 9.7.17).
//!
//! Frames of functions grow from the beginning of local memory, allocations from its end, down to the frames. Each lane has
//! a stack pointer. A function that changes it keeps in a row of its own the one with which it was called, and its return
//! restores it from there.

use super::{ExecError, FaultKind, Warp, blend, fault_of};
use crate::isa::forms::StackOp;
use crate::program::{Instruction, Kernel};

const END_ALIGNMENT: u32 = 16;

impl Warp {
    /// Gives all lanes an empty stack.
    pub(super) fn clear_stack(&mut self, kernel: &Kernel) {
        let end = self.local_bytes / END_ALIGNMENT * END_ALIGNMENT;
        for row in [kernel.stack, kernel.functions[0].stack].into_iter().flatten() {
            self.rows[usize::from(row)].0 = [end; 32];
        }
    }

    /// Bytes of each lane's stack.
    pub(super) fn stack_bytes(&self, kernel: &Kernel) -> u32 {
        self.local_bytes - kernel.local_bytes
    }

    /// The end of the local memory that frames may take in these lanes.
    pub(super) fn end_of_frames(&self, kernel: &Kernel, lanes: u32) -> u64 {
        let Some(row) = kernel.stack else { return self.local_bytes.into() };
        let pointers = self.rows[usize::from(row)].0;
        let lowest = (0..32).filter(|lane| lanes >> lane & 1 != 0).map(|lane| pointers[lane]).min();
        lowest.unwrap_or(self.local_bytes).into()
    }

    /// A function begins in these lanes: it keeps their stack pointers.
    pub(super) fn keep_stack(&mut self, kernel: &Kernel, function: usize, lanes: u32) {
        if let (Some(pointer), Some(kept)) = (kernel.stack, kernel.functions[function].stack) {
            let pointers = self.rows[usize::from(pointer)].0;
            blend(&mut self.rows[usize::from(kept)].0, &pointers, lanes);
        }
    }

    /// A function has returned in these lanes: its allocations end.
    pub(super) fn release_stack(&mut self, kernel: &Kernel, function: usize, lanes: u32) {
        if let (Some(pointer), Some(kept)) = (kernel.stack, kernel.functions[function].stack) {
            let pointers = self.rows[usize::from(kept)].0;
            blend(&mut self.rows[usize::from(pointer)].0, &pointers, lanes);
        }
    }

    pub(super) fn stack(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        operation: StackOp,
        lanes: u32,
    ) -> Result<(), Box<ExecError>> {
        let function = &kernel.functions[self.function as usize];
        let (Some(pointer), Some(kept)) = (kernel.stack, function.stack) else { return Ok(()) };
        let (pointer, kept) = (usize::from(pointer), usize::from(kept));
        let mut pointers = self.rows[pointer].0;
        if operation != StackOp::Save {
            let frame = self.local_base + u64::from(function.local_bytes);
            let operands = match instruction.memory.wide_value {
                true => *self.wide(kernel, instruction.sources[0]),
                false => self.row(kernel, instruction.sources[0]).0.map(u64::from),
            };
            for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
                let next = match operation {
                    StackOp::Allocate => {
                        let bounds = frame..=u64::from(pointers[lane]);
                        allocate(bounds, operands[lane], instruction.offset as u64, self.stack_bytes(kernel))
                    }
                    _ => {
                        let bounds = pointers[lane]..=self.rows[kept].0[lane];
                        restore(bounds, operands[lane])
                    }
                };
                let kind = match operation {
                    StackOp::Allocate => FaultKind::StackOverflow,
                    _ => FaultKind::Other,
                };
                pointers[lane] = next.map_err(|message| fault_of(kind, instruction, 1 << lane, message))?;
            }
            self.rows[pointer].0 = pointers;
        }
        if operation != StackOp::Restore {
            let destination = instruction.destinations[0];
            match instruction.memory.wide_value {
                true => self.set_wide(destination, &pointers.map(u64::from), lanes),
                false => self.set_narrow(destination, &pointers, lanes),
            }
        }
        Ok(())
    }
}

/// The beginning of an allocation, which is the new stack pointer; `free` goes from the frames to the old one.
fn allocate(
    free: std::ops::RangeInclusive<u64>,
    bytes: u64,
    alignment: u64,
    all: u32,
) -> Result<u32, String> {
    let start = free.end().checked_sub(bytes).map(|start| start & !(alignment - 1));
    match start.filter(|start| start >= free.start()) {
        Some(start) => Ok(start as u32),
        None => Err(format!(
            "the stack of {all} bytes is exhausted: `alloca` takes {bytes} at a multiple of {alignment}, and {} are free",
            free.end().saturating_sub(*free.start())
        )),
    }
}

/// A stack pointer of this function's, which goes back to an earlier one.
fn restore(stack: std::ops::RangeInclusive<u32>, asked: u64) -> Result<u32, String> {
    match u32::try_from(asked).ok().filter(|asked| stack.contains(asked)) {
        Some(asked) => Ok(asked),
        None => Err(format!(
            "`stackrestore` is given {asked:#x}, and what the function has on the stack is from {:#x} to {:#x}",
            stack.start(),
            stack.end()
        )),
    }
}
