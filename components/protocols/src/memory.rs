//! Memory accesses: whole lines with byte masks, and the values with them.
//!
//! Every request is answered exactly once, stores included: fences, kernel ends and copies wait for the answers.
//! Replies may overtake each other; the requester distinguishes them by its tag.

use std::hash::{Hash, Hasher};

use counterpoint_framework::kernel::{Message, Socket};
use counterpoint_framework::time::SimTime;
pub use counterpoint_ptx::{AtomicOperation, AtomicType};

use crate::extra::LineTag;
use crate::values::Values;

/// Bytes of a line of memory messages: a message concerns at most one aligned line of this size. Lines of caches may be
/// smaller or larger.
pub const LINE_BYTES: u64 = 128;

/// Bytes of a sector: the unit of an L2 lookup and of a packet of the network.
pub const SECTOR_BYTES: u64 = 32;

/// The values of a line.
pub type Line = [u8; LINE_BYTES as usize];

/// One bit for each byte of a line.
pub type ByteMask = u128;

/// Number of sectors that these bytes touch.
#[inline]
pub fn sectors(mask: ByteMask) -> u32 {
    mask.to_le_bytes().chunks_exact(SECTOR_BYTES as usize / 8).map(|sector| u32::from(sector != [0; 4])).sum()
}

/// The line that holds an address.
#[inline]
pub const fn line_of(address: u64) -> u64 {
    address & !(LINE_BYTES - 1)
}

/// The 32-bit word of a line at an address in it, or at the last one where it fits, in readable form: `0x1f`.
pub fn word_of(line: &Line, address: u64) -> String {
    let at = ((address - line_of(address)) as usize).min(line.len() - 4);
    let word = line[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    format!("{word:#x}")
}

/// On whose behalf an access happens: a launch's, or a copy's. Lines that a cache writes back bear the label of the store
/// that wrote to them last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// The launch, counted from 1; 0 for accesses that belong to no kernel, such as copies and page walks.
    pub kernel: u32,
    /// The stream of the launch or of the copy.
    pub stream: u32,
    /// The extension's mark on requests of the launch or the copy.
    pub tag: LineTag,
}

/// The requester's name for a request, returned with the reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

/// An access to one line.
#[derive(Clone, Debug)]
pub struct MemRequest {
    /// Address of the line.
    pub line: u64,
    /// Names the request to its requester.
    pub tag: Tag,
    /// The requesting client of the networks on the path; they set it and return the reply there.
    pub client: u32,
    /// On whose behalf.
    pub label: Label,
    /// The earliest instant at which a cache may have read its answer from memory, if other caches write to the same memory unseen: the
    /// instant of the requester's launch or last acquire, or of the request if it bypasses caches, in the unit of [`fresh_at`]; 0: any. No
    /// part of a run's hash.
    pub fresh: u32,
    /// The access.
    pub access: MemAccess,
}

/// Instants as requests have them, in units of 2^14 ps: the first unit that does not begin before an instant. A request stays within
/// a cache line of the host; 70 s fit.
#[inline]
pub fn fresh_at(instant: SimTime) -> u32 {
    u32::try_from(instant.as_ps().div_ceil(1 << 14)).unwrap_or(u32::MAX)
}

/// The last unit of [`fresh_at`] that has begun at an instant.
#[inline]
pub fn known_at(instant: SimTime) -> u32 {
    u32::try_from(instant.as_ps() >> 14).unwrap_or(u32::MAX)
}

/// The access of a request.
#[derive(Clone, Debug)]
pub enum MemAccess {
    /// Reads these bytes.
    Read(ByteMask),
    /// Writes these bytes.
    Write(ByteMask, Values),
    /// Reads, modifies and writes, lane after lane.
    Atomic(Box<[AtomicLane]>),
}

impl MemAccess {
    /// The bytes that the access touches.
    pub fn bytes(&self) -> ByteMask {
        match self {
            MemAccess::Read(mask) | MemAccess::Write(mask, _) => *mask,
            MemAccess::Atomic(lanes) => AtomicLane::bytes(lanes),
        }
    }
}

/// The part of an atomic instruction that one lane plays. A lane has two of them for 128 bits, one behind the other, of which each has
/// the halves of the operands for its 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicLane {
    /// The lane.
    pub lane: u8,
    /// Offset within the line.
    pub offset: u8,
    /// The operation.
    pub operation: AtomicOperation,
    /// In which type.
    pub kind: AtomicType,
    /// The operand; for a compare-and-swap, the value compared.
    pub operand: u64,
    /// The value that a compare-and-swap stores.
    pub swap: u64,
}

impl AtomicLane {
    /// The bytes that the lanes touch.
    pub fn bytes(lanes: &[AtomicLane]) -> ByteMask {
        lanes.iter().fold(0, |mask, lane| mask | (((1 << lane.kind.bytes().min(8)) - 1) << lane.offset))
    }
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub struct MemReply {
    /// Address of the line.
    pub line: u64,
    /// The requester's name for the request.
    pub tag: Tag,
    /// The requesting client of the network.
    pub client: u32,
    /// The result.
    pub result: MemResult,
    /// Sectors that memory behind the caches moves for it: those that were fetched, or those that are written and will be some time.
    pub far: u8,
}

/// Result of a request.
#[derive(Clone, Debug)]
pub enum MemResult {
    /// The values of these bytes; the others are unspecified.
    Line(ByteMask, Values),
    /// The store, of this number of sectors, is visible to every later access.
    Written(u8),
    /// The value that each lane of an atomic found; for 128 bits its halves, one behind the other.
    Old(Box<[(u8, u64)]>),
}

/// A message as seen by a network that cuts it into packets.
pub trait Packets {
    /// The sectors of the message, and whether it carries their values.
    fn sectors(&self) -> (u32, bool);
}

impl Packets for MemRequest {
    fn sectors(&self) -> (u32, bool) {
        (sectors(self.access.bytes()), !matches!(self.access, MemAccess::Read(_)))
    }
}

impl Packets for MemReply {
    fn sectors(&self) -> (u32, bool) {
        match &self.result {
            MemResult::Line(mask, _) => (sectors(*mask), true),
            MemResult::Written(sectors) => ((*sectors).into(), false),
            MemResult::Old(_) => (1, true),
        }
    }
}

/// Flips a bit, chosen by a random number, of the bytes that count; false if none does.
fn flip_masked(mask: ByteMask, data: &mut Line, bits: u64) -> bool {
    let bytes: Vec<usize> = (0..data.len()).filter(|&byte| mask >> byte & 1 == 1).collect();
    if bytes.is_empty() {
        return false;
    }
    data[bytes[(bits >> 3) as usize % bytes.len()]] ^= 1 << (bits & 7);
    true
}

/// Bytes of a message besides its values: address, tag, kind.
const HEADER_BYTES: u64 = 8;

impl Message for MemRequest {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|request, bits| match &mut request.access {
        MemAccess::Read(_) => false,
        MemAccess::Write(mask, data) => flip_masked(*mask, data, bits),
        MemAccess::Atomic(lanes) => {
            let lane = lanes.len().checked_sub(1).map(|last| bits as usize % (last + 1));
            lane.map(|lane| lanes[lane].operand ^= 1 << (bits >> 32 & 31)).is_some()
        }
    });

    fn wire_bytes(&self) -> u64 {
        HEADER_BYTES
            + match &self.access {
                MemAccess::Read(_) => 0,
                MemAccess::Write(mask, _) => u64::from(mask.count_ones()),
                MemAccess::Atomic(lanes) => 8 * lanes.len() as u64,
            }
    }
}

impl Message for MemReply {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|reply, bits| match &mut reply.result {
        MemResult::Line(mask, data) => flip_masked(*mask, data, bits),
        MemResult::Written(_) => false,
        MemResult::Old(lanes) => {
            let lane = lanes.len().checked_sub(1).map(|last| bits as usize % (last + 1));
            lane.map(|lane| lanes[lane].1 ^= 1 << (bits >> 32 & 31)).is_some()
        }
    });

    fn wire_bytes(&self) -> u64 {
        HEADER_BYTES
            + match &self.result {
                MemResult::Line(mask, _) => u64::from(mask.count_ones()),
                MemResult::Written(_) => 0,
                MemResult::Old(lanes) => 8 * lanes.len() as u64,
            }
    }
}

impl Hash for MemRequest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.line, self.tag, self.client, self.label).hash(state);
        match &self.access {
            MemAccess::Read(mask) => (0_u8, mask).hash(state),
            MemAccess::Write(mask, data) => {
                (1_u8, mask).hash(state);
                state.write(&data[..]);
            }
            MemAccess::Atomic(lanes) => (2_u8, lanes).hash(state),
        }
    }
}

impl Hash for AtomicLane {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.lane, self.offset, self.operation as u8, self.kind as u8, self.operand, self.swap).hash(state);
    }
}

impl Hash for MemReply {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.line, self.tag, self.client, self.far).hash(state);
        match &self.result {
            MemResult::Line(mask, data) => {
                mask.hash(state);
                state.write(&data[..]);
            }
            MemResult::Written(sectors) => state.write_u8(*sectors),
            MemResult::Old(lanes) => lanes.hash(state),
        }
    }
}

/// The side that asks: an SM, a DMA engine, an L2 slice towards its DRAM.
pub type MemoryClient = Socket<MemRequest, MemReply>;

/// The side that answers.
pub type MemoryServer = Socket<MemReply, MemRequest>;

/// Overwrites the masked bytes of `line`.
#[inline]
pub fn merge(line: &mut Line, mask: ByteMask, data: &Line) {
    if mask == ByteMask::MAX {
        *line = *data;
        return;
    }
    let mut rest = mask;
    while rest != 0 {
        let start = rest.trailing_zeros() as usize;
        let run = (!(rest >> start)).trailing_zeros() as usize;
        line[start..start + run].copy_from_slice(&data[start..start + run]);
        rest = if start + run >= 128 { 0 } else { rest >> (start + run) << (start + run) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_size_of_a_cache_line_of_the_host() {
        assert_eq!((size_of::<MemRequest>(), size_of::<MemReply>()), (64, 64));
    }

    #[test]
    fn only_a_byte_that_counts_is_corrupted() {
        let corrupt = MemReply::CORRUPT.unwrap();
        for bits in [0, 7, 8, 1 << 20, u64::MAX] {
            let mask = 0b1100 << 64;
            let result = MemResult::Line(mask, Values::zero());
            let mut reply = MemReply { line: 0, tag: Tag(1), client: 0, result, far: 0 };
            assert!(corrupt(&mut reply, bits));
            let MemResult::Line(_, data) = &reply.result else { panic!("{reply:?}") };
            let flipped: Vec<usize> = (0..data.len()).filter(|&byte| data[byte] != 0).collect();
            assert!(matches!(flipped.as_slice(), [66] | [67]), "{flipped:?}");
            assert_eq!(data[flipped[0]].count_ones(), 1);
        }
        let mut written = MemReply { line: 0, tag: Tag(1), client: 0, result: MemResult::Written(1), far: 1 };
        assert!(!corrupt(&mut written, 5));
    }
}
