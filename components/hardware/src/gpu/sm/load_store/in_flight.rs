//! Memory instructions under way, and those of their lanes that wait for a line.

use counterpoint_protocols::memory::Line;
use counterpoint_ptx::Access;

/// A memory instruction that has reached the load-store unit and is not done.
pub(super) struct InFlight {
    pub(super) warp: u32,
    /// The place of an access to global or local memory in the order of issue.
    pub(super) order: u64,
    /// Epoch of the instruction in the block, if it goes to global or local memory.
    pub(super) epoch: Option<u8>,
    pub(super) access: Box<Access>,
    /// Whether the pages of the instruction were translated at its issue.
    pub(super) translated: bool,
    /// The cycle of its issue, unless it loads a parameter.
    pub(super) since: Option<u64>,
    /// For textures: the lines that hold texels, and their data as they arrive.
    pub(super) texels: Vec<(u64, Line)>,
    pub(super) made: u32,
    /// Transactions made and not yet served.
    pub(super) pending: u32,
    /// Whether all transactions have been made.
    pub(super) complete: bool,
}

impl InFlight {
    /// An instruction of a warp, issued in a cycle or loading a parameter, that has no page to wait for and no transactions yet.
    pub(super) fn new(warp: u32, access: Box<Access>, since: Option<u64>) -> Self {
        let texels = Vec::new();
        InFlight {
            warp,
            order: 0,
            epoch: None,
            access,
            translated: true,
            since,
            texels,
            made: 0,
            pending: 0,
            complete: false,
        }
    }

    /// Whether it has made more transactions, of `each` bytes at most, than its lanes would need beside each other, from any address.
    pub(super) fn is_uncoalesced(&self, each: u64) -> bool {
        let bytes = u64::from(self.access.mask.count_ones()) * u64::from(self.access.width);
        u64::from(self.made) > bytes.div_ceil(each) + 1
    }
}

/// Lanes of an instruction that wait for a line.
#[derive(Clone, Copy)]
pub(super) struct Waiter {
    pub(super) instruction: u32,
    pub(super) lanes: u32,
    /// Index of the word of each lane, if the words of a lane are in several lines.
    pub(super) part: u32,
}
