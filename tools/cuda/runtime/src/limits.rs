//! Limits of a device by its compute capability.

/// Limits of a device (CUDA C Programming Guide, "Technical Specifications per Compute Capability").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Major and minor number.
    pub(crate) capability: (u32, u32),
    pub(crate) threads_of_sm: u32,
    pub(crate) blocks_of_sm: u32,
    pub(crate) registers_of_sm: u32,
    /// Bytes of shared memory of an SM, of a block by default, and of a block that opts in to more.
    pub(crate) shared_of_sm: u64,
    pub(crate) shared_of_block: u64,
    pub(crate) shared_of_block_at_most: u64,
}

const KIB: u64 = 1 << 10;

impl Limits {
    /// Bytes of the L2 in which lines may stay: three quarters of it on newer devices.
    pub(crate) fn persisting_bytes(&self) -> u64 {
        if self.capability.0 >= 8 { 3 << 18 } else { 0 }
    }

    /// The limits of a generation, such as 75.
    pub(crate) fn of(generation: u32) -> Self {
        let (threads, blocks, registers, shared, most) = match generation {
            ..30 => (1536, 8, 32, 48, 48),
            30..35 => (2048, 16, 64, 48, 48),
            35..37 => (2048, 16, 64, 48, 48),
            37 => (2048, 16, 128, 112, 48),
            38..53 => (2048, 32, 64, 64, 48),
            53 => (2048, 32, 64, 64, 48),
            54..61 => (2048, 32, 64, 64, 48),
            61 => (2048, 32, 64, 96, 48),
            62..70 => (2048, 32, 64, 64, 48),
            70..75 => (2048, 32, 64, 96, 96),
            75..80 => (1024, 16, 64, 64, 64),
            80..86 => (2048, 32, 64, 164, 163),
            86 => (1536, 16, 64, 100, 99),
            87 => (1536, 16, 64, 164, 163),
            88..90 => (1536, 24, 64, 100, 99),
            90..120 => (2048, 32, 64, 228, 227),
            120.. => (1536, 24, 64, 100, 99),
        };
        Limits {
            capability: (generation / 10, generation % 10),
            threads_of_sm: threads,
            blocks_of_sm: blocks,
            registers_of_sm: registers * KIB as u32,
            shared_of_sm: shared * KIB,
            shared_of_block: 48 * KIB,
            shared_of_block_at_most: most * KIB,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_table() {
        let of = |generation| {
            let limits = Limits::of(generation);
            (
                limits.threads_of_sm,
                limits.blocks_of_sm,
                limits.shared_of_sm / KIB,
                limits.shared_of_block_at_most / KIB,
            )
        };
        assert_eq!(
            [20, 35, 52, 61].map(of),
            [(1536, 8, 48, 48), (2048, 16, 48, 48), (2048, 32, 64, 48), (2048, 32, 96, 48)]
        );
        assert_eq!(
            [70, 75, 80, 90].map(of),
            [(2048, 32, 96, 96), (1024, 16, 64, 64), (2048, 32, 164, 163), (2048, 32, 228, 227)]
        );
    }
}
