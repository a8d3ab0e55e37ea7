//! The memory of a device: one run of bytes with allocations in it.

use std::ops::Range;

/// Memory as one run of bytes, of which only what was allocated can be accessed.
#[derive(Clone, Debug)]
pub struct FlatMemory {
    /// Address of the first byte.
    pub base: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where allocations lie in the bytes, in ascending order.
    allocations: Vec<Range<usize>>,
}

impl FlatMemory {
    /// Memory with an allocation of `size` zero bytes that starts above the generic windows.
    pub fn new(size: usize) -> Self {
        let whole = (size > 0).then_some(0..size);
        FlatMemory { base: 1 << 32, bytes: vec![0; size], allocations: whole.into_iter().collect() }
    }

    /// Allocates bytes at a multiple of 256 and returns their address.
    pub fn push(&mut self, bytes: &[u8]) -> u64 {
        // Between two allocations lies at least one byte that belongs to none.
        let start = (self.bytes.len() + usize::from(!self.bytes.is_empty())).next_multiple_of(256);
        self.bytes.resize(start, 0);
        self.bytes.extend_from_slice(bytes);
        self.allocations.push(start..self.bytes.len());
        self.base + start as u64
    }

    /// Allocates floats.
    pub fn push_f32(&mut self, values: &[f32]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.push(&bytes)
    }

    /// Reads floats; fewer where memory ends.
    pub fn read_f32(&self, address: u64, count: usize) -> Vec<f32> {
        let start = address.wrapping_sub(self.base) as usize;
        let bytes = self.bytes.get(start..).unwrap_or(&[]);
        bytes
            .chunks_exact(4)
            .take(count)
            .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect()
    }

    /// The allocation in which an address lies: its first address and its bytes.
    #[inline]
    pub(super) fn allocation(&mut self, address: u64) -> Option<(u64, &mut [u8])> {
        let offset = usize::try_from(address.wrapping_sub(self.base)).ok()?;
        let after = self.allocations.partition_point(|range| range.start <= offset);
        let range = self.allocations.get(after.checked_sub(1)?)?.clone();
        let start = self.base + range.start as u64;
        if offset < range.end { Some((start, self.bytes.get_mut(range)?)) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_ends_where_its_bytes_do() {
        let mut memory = FlatMemory::new(0);
        let (first, second) = (memory.push(&[1; 256]), memory.push(&[2; 3]));
        assert_eq!(second, first + 512, "a gap");
        assert_eq!(memory.allocation(first + 255), Some((first, &mut [1; 256][..])));
        assert_eq!(memory.allocation(second + 2), Some((second, &mut [2; 3][..])));
        for outside in [first - 1, first + 256, second + 3, 0, u64::MAX] {
            assert_eq!(memory.allocation(outside), None);
        }
    }
}
