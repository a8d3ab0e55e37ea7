//! The two functions by which a thread block tells what it may touch: `__crcs_set_range` before its kernel runs, and
//! `__crcs_release_range` when the block has ended (CRCS, Kim et al., PACT 2016, section 4.2).
//!
//! They are known by name, as `vprintf` is. What they do to pages is not this crate's: a call comes out of
//! [`Warp::issue`] and whoever models the memory system acts on it.

use super::{Access, Issue, Warp, fault};
use crate::error::ExecError;
use crate::program::{FramePart, Instruction, Program};

/// Which of the two functions is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RangeAction {
    /// The block will touch the range.
    Set,
    /// The block will touch it no more.
    Release,
}

impl RangeAction {
    /// Both.
    pub const ALL: [RangeAction; 2] = [RangeAction::Set, RangeAction::Release];

    /// The name of the function in PTX.
    pub const fn function(self) -> &'static str {
        match self {
            RangeAction::Set => "__crcs_set_range",
            RangeAction::Release => "__crcs_release_range",
        }
    }

    /// The action whose function has this name.
    pub fn of_function(name: &str) -> Option<Self> {
        RangeAction::ALL.into_iter().find(|action| action.function() == name)
    }
}

/// The sizes in bytes of the functions' parameters: what the kernel is given for the array, the first byte, one past the
/// last byte, and how it is used.
pub(crate) const RANGE_PARAMETERS: [u32; 4] = [8, 8, 8, 4];

/// A call of one of the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RangeCall {
    /// What the kernel is given for the array; the range ends where its allocation does.
    pub array: u64,
    /// The first byte.
    pub low: u64,
    /// One past the last byte; where it is not above the first, the range is empty.
    pub high: u64,
    /// The block may read there.
    pub reads: bool,
    /// The block may write there.
    pub writes: bool,
}

/// The bits of the functions' last parameter.
pub(crate) const fn range_flags(reads: bool, writes: bool) -> u32 {
    reads as u32 | (writes as u32) << 1
}

impl Access {
    /// The call that [`Issue::Range`] told of.
    pub fn range(&self) -> RangeCall {
        let [array, low, high, flags, ..] = self.addresses;
        RangeCall { array, low, high, reads: flags & 1 != 0, writes: flags & 2 != 0 }
    }
}

impl Warp {
    /// The arguments of the one lane that calls go into the access.
    pub(super) fn call_range(
        &self,
        program: &Program,
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
        let site = &program.calls[instruction.offset as usize];
        for (value, FramePart { offset, size }) in access.addresses.iter_mut().zip(&site.arguments) {
            let word = |index: u32| {
                u64::from(self.frame[self.frame_row + *offset as usize / 4 + index as usize].0[lane])
            };
            *value = if *size == 8 { word(0) | word(1) << 32 } else { word(0) };
        }
        let flags = access.addresses[3];
        if !(1..=3).contains(&flags) {
            let message = format!("`{name}` is told {flags}: 1 is to read, 2 to write, 3 both");
            return Err(fault(instruction, lanes, message));
        }
        access.pc = self.pc;
        access.mask = lanes;
        Ok(Issue::Range(action))
    }
}
