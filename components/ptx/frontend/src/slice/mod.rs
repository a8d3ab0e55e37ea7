//! Slices: kernels that run a part of a grid, a run of consecutive blocks, as a small launch of their own.
//!
//! Slicing is a source-to-source pass, beside [`instrument`](crate::instrument). A kernel `K` stays as it is and gets a twin `K__slice`
//! that is launched with `[n, 1, 1]` blocks and six more numbers of 32 bits behind its own parameters: the index of the slice's first block
//! (x, y, z) and the size of the grid (x, y, z), see [`Slice::arguments`]. In the twin every read of `%ctaid` gives the index that the
//! block has in the grid, and every read of `%nctaid` the size of the grid. Functions that read them, or call others that do, have twins,
//! too, which take the needed values as further arguments. All else is the same text: shared memory, barriers, atomics, textures and
//! variables of the module are those of `K`.
//!
//! The index is computed once, in front of the kernel's first instruction (Zhong and He, TPDS 2014, section 3, "index
//! rectification"). Blocks count x first; `first` is the slice's first block.
//!
//! ```text
//! x = first.x + ctaid.x;  y = first.y;  z = first.z
//! while x >= grid.x { x -= grid.x; y += 1 }        of grids with two or three dimensions
//! while y >= grid.y { y -= grid.y; z += 1 }        of grids with three
//! ```
//!
//! The paper prints `>` for `>=`, which makes blocks beside the grid. The cost of a slice per thread, in PTX
//! instructions:
//!
//! | grid | instructions | live registers |
//! |---|---|---|
//! | [one dimension](Dimensions::One) | 3 | x; one more for a moment |
//! | two, [`Carry::Subtract`] | 7, and 4 for each row that a block lies behind the first one's | x, y; a number and a predicate in the loop |
//! | two, [`Carry::Divide`] | 9, one of them a division | x, y; two numbers for a moment |
//!
//! A third dimension adds 4 instructions, and 4 for each plane that a block lies behind the first one's, or 6
//! with division. A value that a kernel does not read is not computed. The size of the grid is loaded where
//! it is read, from the parameters, and takes no register elsewhere.
//!
//! The loop is the default because slices are short: a block lies at most `1 + n / grid.x` rows behind. In machine code of two
//! dimensions (ptxas 11.8, `sm_35` and `sm_80`, text in steps of 8 instructions) it adds 8 instructions, and a division 16. Division is
//! for grids that are much narrower than a slice. Of no committed kernel does
//! [more than one register more live at once](crate::program::Kernel::live_registers); `cargo xtask ptxas --slices` shows the assembler's numbers.
//!
//! [Refused](Refusal) are kernels that know launches from each other: those that read `%gridid`, belong to clusters, or synchronise the
//! whole grid at a barrier of the runtime. Blocks that wait for each other in some other way, through memory, cannot be recognised; those
//! must not be sliced, as no slice sees the blocks of the next one.

mod code;
mod plan;
mod reads;

use std::collections::BTreeSet;

use crate::syntax::ast::{Module, Span};
use crate::syntax::error::PtxError;
use crate::syntax::rewrite::{Edit, print_with};
use crate::syntax::types::check_room;

pub use plan::{Slice, plan};
use reads::Reads;

/// Number of dimensions of the grids whose slices are launched; grids with more get wrong indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimensions {
    /// `[x, 1, 1]`
    One,
    /// `[x, y, 1]`
    Two,
    /// `[x, y, z]`: any grid.
    #[default]
    Three,
}

impl Dimensions {
    /// All numbers of dimensions, the fewest first.
    pub const ALL: [Dimensions; 3] = [Dimensions::One, Dimensions::Two, Dimensions::Three];

    /// The fewest that hold a grid.
    pub fn of(grid: [u32; 3]) -> Self {
        match grid {
            [_, 1, 1] => Dimensions::One,
            [_, _, 1] => Dimensions::Two,
            _ => Dimensions::Three,
        }
    }

    /// Their number.
    pub fn count(self) -> u8 {
        self as u8 + 1
    }
}

/// The correction of an index beyond the end of its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carry {
    /// Row by row, in a loop.
    #[default]
    Subtract,
    /// At once.
    Divide,
}

/// Options of slicing.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Dimensions of the grids.
    pub dimensions: Dimensions,
    /// Treatment of an index behind the end of its row.
    pub carry: Carry,
    /// Only this kernel; the others have no twin.
    pub kernel: Option<String>,
}

/// A module with slices.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sliced {
    /// The text of the module.
    pub text: String,
    /// Kernels of the module, in the order of its original text.
    pub kernels: Vec<SlicedKernel>,
}

/// A kernel of a module with slices.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SlicedKernel {
    /// Name of the kernel.
    pub name: String,
    /// The name of the twin that runs slices, if it has one.
    pub slice: Option<String>,
    /// The reason why it has none.
    pub refused: Option<Refusal>,
}

/// The reason why a kernel is not sliced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// Line of the instruction.
    pub line: u32,
    /// The instruction.
    pub instruction: String,
    /// The reason.
    pub reason: String,
}

/// The suffix of a twin's name.
const SLICE: &str = "__slice";

/// The name of the twin of a kernel, or of a function that it calls.
pub fn sliced(name: &str) -> String {
    format!("{name}{SLICE}")
}

/// Whether a kernel of this name runs slices.
pub fn is_sliced(name: &str) -> bool {
    name.ends_with(SLICE)
}

/// The names of a sliced kernel's parameters behind its own, each `.u32`: the first block's index and the size of the grid, x, y, z.
pub fn parameters(kernel: &str) -> [String; 6] {
    let twin = sliced(kernel);
    ["first_x", "first_y", "first_z", "grid_x", "grid_y", "grid_z"].map(|part| format!("{twin}_{part}"))
}

/// Adds to a module twins of its kernels that run slices.
///
/// # Errors
/// When the module has items or parameters of the names that are added, or a kernel has no room for more parameters.
pub fn slice(module: &Module, options: &Options) -> Result<Sliced, PtxError> {
    let reads = Reads::new(module, options.dimensions);
    let mut kernels = Vec::new();
    let mut twins = BTreeSet::new();
    for kernel in module.functions.iter().filter(|function| function.entry && function.body.is_some()) {
        let refused = reads.refusal(kernel);
        let wanted = options.kernel.as_ref().is_none_or(|name| *name == kernel.name);
        let has_twin = wanted && refused.is_none();
        if has_twin {
            check_room(kernel, 6, "slice")?;
            let called = reads.reachable(kernel).into_iter();
            twins.extend(called.filter(|function| !reads.of(&function.name).is_empty()).map(|f| &f.name));
            twins.insert(&kernel.name);
        }
        let slice = has_twin.then(|| sliced(&kernel.name));
        kernels.push(SlicedKernel { name: kernel.name.clone(), slice, refused });
    }
    let stem = stem(module);
    let mut edits = Vec::new();
    for function in module.functions.iter().filter(|function| twins.contains(&function.name)) {
        check_names(module, &function.name)?;
        let twin = code::twin(module, function, &code::Style { reads: &reads, options, stem: &stem })?;
        let Span { end, .. } = function.span;
        edits.push(Edit { span: Span { start: end, end, ..function.span }, text: twin });
    }
    Ok(Sliced { text: print_with(module, &edits)?, kernels })
}

/// The prefix of added registers and labels: no name in the module begins with it.
fn stem(module: &Module) -> String {
    let mut stem = "slice_".to_owned();
    while ["%", "$"].iter().any(|mark| module.source.contains(&format!("{mark}{stem}"))) {
        stem.push('_');
    }
    stem
}

/// Refuses a name that is taken already.
fn check_names(module: &Module, name: &str) -> Result<(), PtxError> {
    let (twin, parameters) = (sliced(name), parameters(name));
    let items = module.functions.iter().map(|function| (&function.name, function.span));
    let items = items.chain(module.variables.iter().map(|variable| (&variable.name, variable.span)));
    let own = module.functions.iter().filter(|function| function.name == name);
    let params = own.flat_map(|function| &function.params).map(|param| (&param.name, param.span));
    match items.chain(params).find(|(found, _)| **found == twin || parameters.contains(found)) {
        Some((taken, span)) => {
            let message = format!("`{taken}` is a name that the slices of `{name}` need");
            Err(PtxError::new(span.place, message).expecting("a module without slices"))
        }
        None => Ok(()),
    }
}
