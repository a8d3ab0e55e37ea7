//! The size of each thread's stack, from which recursive calls and `alloca` take local memory.

/// Bytes of a thread's stack: 8 KiB by default, or less on a device whose memory is too small for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StackSize(u32);

impl StackSize {
    /// The smallest size in bytes, of which every size is a multiple.
    pub const STEP: u64 = 16;
    /// The largest size in bytes: a thread has no more local memory (CUDA C Programming Guide, "Technical Specifications per Compute
    /// Capability").
    pub const MOST: u64 = 512 << 10;

    /// A size in bytes; `None` if it is out of range.
    pub fn new(bytes: u64) -> Option<Self> {
        let fits =
            (StackSize::STEP..=StackSize::MOST).contains(&bytes) && bytes.is_multiple_of(StackSize::STEP);
        fits.then_some(StackSize(bytes as u32))
    }

    /// The sizes of which a device has the first for which it has room, if nobody says otherwise: down to CUDA's own, 1 KiB.
    pub const USUAL: [StackSize; 4] =
        [StackSize(8 << 10), StackSize(4 << 10), StackSize(2 << 10), StackSize(1 << 10)];

    /// Its bytes.
    #[inline]
    pub fn bytes(self) -> u32 {
        self.0
    }
}

impl Default for StackSize {
    fn default() -> Self {
        StackSize::USUAL[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_multiples_of_sixteen_up_to_all_local_memory() {
        let sizes = [0, 8, 16, 24, 8192, 65_536, 524_288, 524_304, 1 << 32].map(StackSize::new);
        let bytes = sizes.map(|size| size.map_or(0, StackSize::bytes));
        assert_eq!(bytes, [0, 0, 16, 0, 8192, 65_536, 524_288, 0, 0]);
        assert_eq!(StackSize::new(8192), Some(StackSize::default()));
    }
}
