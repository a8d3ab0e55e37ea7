//! The layer of launches: a whole grid on a flat memory, without time: for tests, and to see a program's
//! results.
//!
//! CTAs run one after another, the warps of a CTA in turns. [`Grid::run_all`] pauses a CTA that waits for another one until that
//! one has run; otherwise the waiting CTA never ends. [`Options::limit`] and [`Options::interrupt`] stop it.

mod copies;
mod cta;
mod findings;
mod first_touch;
mod local;
mod memory;
mod observer;
mod races;
mod residents;
mod shadow;
mod space;
mod touched;
mod watch;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::execute::texture::Textures;
use crate::execute::{CtaEnvironment, ExecError, Failure, RangeCall, Windows};
use crate::isa::RangeAction;
use crate::program::{Kernel, StackSize, VariableBases};
use cta::Cta;
pub use findings::{Check, Finding};
pub use first_touch::{FirstBytes, PAGE};
pub use memory::FlatMemory;
pub use observer::Observer;
use residents::Progress;
pub use residents::{Turn, Turns};
pub use space::Space;
pub use touched::{Conflict, Touched};

/// Warp instructions that a block may execute if nobody says otherwise. The largest block of the applications has a
/// thousandth of them; a hardware SM would work on it for several seconds.
pub const DEFAULT_LIMIT: u64 = 10_000_000_000;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Shared memory that the launch adds.
    pub dynamic_shared_bytes: u32,
    /// The stack of each thread, for recursive calls and `alloca`. Launches may have different ones.
    pub stack: StackSize,
    /// Warp instructions of a block after which it is given up: something in it runs in circles.
    pub limit: u64,
    /// Look for races in shared and global memory, which takes ten times as long. A caller with several launches may
    /// look for those between them, too.
    pub racecheck: bool,
    /// Do without the host's vector extensions.
    pub baseline: bool,
    /// Keep the ranges that the kernel sets and releases; they mean nothing otherwise.
    pub ranges: bool,
    /// Windows of shared and local memory among generic addresses: outside of all allocations.
    pub windows: Windows,
    /// Textures for fetches.
    pub textures: Arc<Textures>,
    /// Flag that a caller sets to end the run.
    pub interrupt: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            dynamic_shared_bytes: 0,
            stack: StackSize::default(),
            limit: DEFAULT_LIMIT,
            racecheck: false,
            baseline: false,
            ranges: false,
            windows: Windows::default(),
            textures: Arc::default(),
            interrupt: Arc::default(),
        }
    }
}

/// Statistics of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Instructions, counted once for a warp.
    pub warp_instructions: u64,
    /// Instructions, counted for every lane that executed them.
    pub thread_instructions: u64,
}

/// A range that a block has set or released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldRange {
    /// `%ctaid` of the block.
    pub ctaid: [u32; 3],
    /// The function called.
    pub action: RangeAction,
    /// The call.
    pub call: RangeCall,
}

/// A launch whose CTAs are run one by one.
pub struct Grid<'a> {
    kernel: &'a Kernel,
    env: CtaEnvironment,
    options: &'a Options,
    cta: Cta<'a>,
}

impl<'a> Grid<'a> {
    /// Prepares a launch of a kernel whose module is loaded.
    ///
    /// # Errors
    /// If the launch is impossible, regardless of its kernel.
    pub fn new(
        kernel: &'a Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        params: &[u8],
        variables: VariableBases,
        options: &'a Options,
    ) -> Result<Self, ExecError> {
        let threads = block.iter().try_fold(1u32, |all, size| all.checked_mul(*size)).unwrap_or(0);
        if threads == 0 || threads > 1024 {
            return Err(launch_error(format!("a block of {block:?} threads cannot be launched")));
        }
        if params.len() < kernel.param_bytes() as usize {
            let message =
                format!("{} parameter bytes given, the kernel takes {}", params.len(), kernel.param_bytes());
            return Err(launch_error(message));
        }
        let mut env = CtaEnvironment::new(grid, block, Arc::from(params));
        env.textures = Arc::clone(&options.textures);
        env.windows = options.windows;
        env.stack = options.stack;
        env.dynamic_shared_bytes = options.dynamic_shared_bytes;
        (env.global_base, env.constant_base) = (variables.globals, variables.constants);
        let cta = Cta::new(kernel, &env, options);
        Ok(Grid { kernel, env, options, cta })
    }

    /// Runs a CTA, from its first instruction to its last; breaks if it was interrupted.
    ///
    /// # Errors
    /// If the kernel makes a mistake.
    pub fn run_cta(
        &mut self,
        ctaid: [u32; 3],
        memory: &mut FlatMemory,
    ) -> Result<ControlFlow<()>, Box<Failure>> {
        self.run_observed(ctaid, memory, &mut ())
    }

    /// Runs the grid with an observer.
    ///
    /// # Errors
    /// If the kernel makes a mistake.
    pub fn run_observed(
        &mut self,
        ctaid: [u32; 3],
        memory: &mut FlatMemory,
        observer: &mut impl Observer,
    ) -> Result<ControlFlow<()>, Box<Failure>> {
        self.env.ctaid = ctaid;
        self.cta.begin(&self.env);
        loop {
            match self.cta.run_until_blocked(&self.env, memory, self.options, observer)? {
                Progress::Ended => return Ok(ControlFlow::Continue(())),
                Progress::Interrupted => return Ok(ControlFlow::Break(())),
                Progress::Waits(failure) => return Err(failure),
                Progress::Slice => {}
            }
        }
    }

    /// Mistakes of the kernel so far, in the order in which each first occurred.
    pub fn findings(&self) -> &[Finding] {
        self.cta.findings.list()
    }

    /// The ranges that have been set or released so far, in their order, if [`Options::ranges`] keeps them.
    pub fn ranges(&self) -> &[ToldRange] {
        &self.cta.ranges
    }

    /// Statistics of the run so far.
    pub fn statistics(&self) -> &Statistics {
        &self.cta.statistics
    }
}

/// The `%ctaid`s of a grid, x first.
pub fn ctas(grid: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let row = move |z, y| (0..grid[0]).map(move |x| [x, y, z]);
    (0..grid[2]).flat_map(move |z| (0..grid[1]).flat_map(move |y| row(z, y)))
}

/// Loads a kernel's module and runs every CTA of a grid, or those up to an interruption.
///
/// # Errors
/// If the launch is impossible, or the kernel makes a mistake.
pub fn run(
    kernel: &Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    params: &[u8],
    memory: &mut FlatMemory,
    options: &Options,
) -> Result<Statistics, ExecError> {
    let variables = memory.load(kernel.name(), kernel);
    let mut launch = Grid::new(kernel, grid, block, params, variables, options)?;
    let _ = launch.run_all(memory, || {}).map_err(|failure| failure.error)?;
    Ok(launch.statistics().clone())
}

fn launch_error(message: String) -> ExecError {
    ExecError::new(0, 0, message)
}
