//! The slices of a grid, and their launch arguments.

use std::num::NonZeroU32;

/// A run of consecutive blocks of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Its first block, counted x first.
    pub first: u64,
    /// Its blocks: at least one.
    pub blocks: u32,
}

/// Cuts a grid of `blocks` blocks into slices of `slice` blocks, in order. The last one has the rest. Every
/// block is in exactly one.
pub fn plan(blocks: u64, slice: NonZeroU32) -> impl Iterator<Item = Slice> {
    let step = u64::from(slice.get());
    let of = move |index: u64| {
        let first = index * step;
        // A slice has 32 bits, and so has the rest of one.
        Slice { first, blocks: step.min(blocks - first) as u32 }
    };
    (0..blocks.div_ceil(step)).map(of)
}

impl Slice {
    /// The grid with which a sliced kernel is launched.
    pub fn grid(self) -> [u32; 3] {
        [self.blocks, 1, 1]
    }

    /// The numbers that follow a kernel's own parameters when it runs this slice of a grid: the index of the first block and the size
    /// of the grid, x, y, z (see [`parameters`](super::parameters)).
    pub fn arguments(self, grid: [u32; 3]) -> [u32; 6] {
        let [width, height, depth] = grid;
        let (columns, rows) = (u64::from(width.max(1)), u64::from(height.max(1)));
        let row = self.first / columns;
        [(self.first % columns) as u32, (row % rows) as u32, (row / rows) as u32, width, height, depth]
    }

    /// Appends these numbers to the bytes of a kernel's own parameters.
    pub fn append_arguments(self, grid: [u32; 3], parameters: &mut Vec<u8>) {
        parameters.resize(parameters.len().next_multiple_of(4), 0);
        parameters.extend(self.arguments(grid).into_iter().flat_map(u32::to_le_bytes));
    }
}
