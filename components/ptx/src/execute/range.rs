//! Calls of the functions that announce ranges: [`Warp::issue`] returns a call, and the model of the memory system acts
//! on it.

use super::{Access, ExecError, Issue, Warp, fault};
use crate::isa::RangeAction;
use crate::program::{FramePart, Instruction, Kernel};

/// A call of one of the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RangeCall {
    /// The kernel's pointer to the array; the range ends where its allocation does.
    pub array: u64,
    /// The first byte.
    pub low: u64,
    /// One past the last byte; if it is not above `low`, the range is empty.
    pub high: u64,
    /// Whether the block may read there.
    pub reads: bool,
    /// Whether the block may write there.
    pub writes: bool,
}

impl Access {
    /// The call of an [`Issue::Range`].
    pub fn range(&self) -> RangeCall {
        let [array, low, high, flags, ..] = self.addresses;
        RangeCall { array, low, high, reads: flags & 1 != 0, writes: flags & 2 != 0 }
    }
}

impl Warp {
    /// The arguments of the one lane that calls go into the access.
    pub(super) fn call_range(
        &self,
        kernel: &Kernel,
        instruction: &Instruction,
        action: RangeAction,
        lanes: u32,
        access: &mut Access,
    ) -> Result<Issue, Box<ExecError>> {
        let name = action.function();
        if lanes.count_ones() > 1 {
            let message = format!("{} threads of a warp call `{name}`, which one does", lanes.count_ones());
            return Err(fault(instruction, lanes, message));
        }
        let lane = lanes.trailing_zeros() as usize & 31;
        let site = &kernel.calls[instruction.offset as usize];
        for (value, FramePart { offset, size }) in access.addresses.iter_mut().zip(&site.arguments) {
            let word = |index: u32| {
                u64::from(self.frame[self.frame_row + *offset as usize / 4 + index as usize].0[lane])
            };
            *value = if *size == 8 { word(0) | word(1) << 32 } else { word(0) };
        }
        let flags = access.addresses[3];
        if !(1..=3).contains(&flags) {
            let message = format!("`{name}` has the flags {flags}: 1 is to read, 2 to write, 3 both");
            return Err(fault(instruction, lanes, message));
        }
        access.pc = self.pc;
        access.mask = lanes;
        Ok(Issue::Range(action))
    }
}
