//! The two functions by which a kernel announces the bytes that a thread block may touch: `__claim_range`
//! before the block runs, and `__release_range` when it has ended.
//!
//! The functions are known by name, as `vprintf` is. Their effect on pages is outside this crate.

/// The function that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RangeAction {
    /// The block will touch the range.
    Set,
    /// The block will touch the range no more.
    Release,
}

impl RangeAction {
    /// Both actions.
    pub const ALL: [RangeAction; 2] = [RangeAction::Set, RangeAction::Release];

    /// The name of the function in PTX.
    pub const fn function(self) -> &'static str {
        match self {
            RangeAction::Set => "__claim_range",
            RangeAction::Release => "__release_range",
        }
    }

    /// The action whose function has this name.
    pub fn of_function(name: &str) -> Option<Self> {
        RangeAction::ALL.into_iter().find(|action| action.function() == name)
    }
}

/// The sizes in bytes of the functions' parameters: the kernel's pointer to the array, the first byte, one
/// past the last byte, and the use.
pub const RANGE_PARAMETERS: [u32; 4] = [8, 8, 8, 4];

/// The bits of the functions' last parameter.
pub const fn range_flags(reads: bool, writes: bool) -> u32 {
    reads as u32 | (writes as u32) << 1
}
