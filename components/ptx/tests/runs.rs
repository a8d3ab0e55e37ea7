//! Launches and slices of them, on a flat memory.

use counterpoint_ptx::functional::{FlatMemory, Grid, Options, ctas};
use counterpoint_ptx::slice::{self, Slice, Sliced, slice};
use counterpoint_ptx::{Kernel, parser};

/// A module with slices of all its kernels.
pub(crate) fn with_slices(text: &str, options: &slice::Options) -> Sliced {
    let module = parser::parse(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    slice(&module, options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub(crate) fn compile(text: &str, kernel: &str) -> Kernel {
    Kernel::compile(text, Some(kernel)).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// A kernel and the shape of its launch.
#[derive(Clone, Copy)]
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) params: &'a [u8],
}

impl Launch<'_> {
    /// Runs all blocks; gives the instructions of their warps.
    pub(crate) fn run(self, memory: &mut FlatMemory) -> u64 {
        let options = Options { limit: 1_000_000, ..Options::default() };
        let variables = memory.load(self.kernel.name(), self.kernel);
        let mut run =
            Grid::new(self.kernel, self.grid, self.block, self.params, variables, &options).unwrap();
        for ctaid in ctas(self.grid) {
            assert!(run.run_cta(ctaid, memory).unwrap_or_else(|failure| panic!("{failure}")).is_continue());
        }
        run.statistics().warp_instructions
    }

    /// Runs slices of a grid; the kernel is one that runs slices.
    pub(crate) fn run_slices(self, slices: &[Slice], memory: &mut FlatMemory) -> u64 {
        let mut instructions = 0;
        for slice in slices {
            let mut params = self.params.to_vec();
            slice.append_arguments(self.grid, &mut params);
            assert_eq!(params.len(), self.kernel.param_bytes() as usize);
            instructions += Launch { grid: slice.grid(), params: &params, ..self }.run(memory);
        }
        instructions
    }
}

pub(crate) fn words(memory: &FlatMemory) -> Vec<u32> {
    let words = memory.bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
    words.collect()
}
