//! Synthetic kernels: PTX made from a description of a kernel's properties, not of its computation.
//!
//! The text is a kernel like any other: all tools take it, and it runs with and without time, with the same values. A
//! round of its loop is a list of rows, and a row is one instruction for each of several *strands*, which share no
//! register that they write. An instruction depends at most on earlier instructions of its strand, so the distance
//! from a value to its first use, the dependence distance, is the number of strands. Branches and barriers come in
//! between. The same description and seed give the same text on every machine.

mod emit;
mod mix;
mod pattern;
mod plan;

use counterpoint_framework::model::{Choose, Fields, KindInfo, Params, Registry, Variant};
use counterpoint_framework::time::Bytes;
use counterpoint_framework::topology;
use counterpoint_ptx::Kernel;

pub use mix::{Class, Counts, Mix};
use pattern::sequential::Sequential;
pub use pattern::{Pattern, Stride, Walk};
use plan::Plan;

/// Description of a synthetic kernel.
#[derive(Clone, Debug, Params)]
pub struct Synthetic {
    /// Shares of the classes of instructions.
    pub mix: Mix,
    /// Instructions of a round, besides the three that count rounds: a multiple of `dependence`, at least twice that.
    #[param(default = "64", min = "2", max = "65536")]
    pub instructions: u32,
    /// Rounds of the loop.
    #[param(default = "16", min = "1", max = "1000000000")]
    pub rounds: u32,
    /// Instructions from one that makes a value to the first that uses it.
    #[param(default = "1", min = "1", max = "64")]
    pub dependence: u32,
    /// Bytes of the buffer that is read and of the one that is written, each a power of two.
    #[param(default = "1 MiB", min = "4 KiB", max = "2 GiB")]
    pub footprint: Bytes,
    /// Where global accesses go.
    #[param(default = <Sequential as Variant<dyn Pattern>>::NAME)]
    pub pattern: Choose<dyn Pattern>,
    /// 128-byte lines that a warp's global access touches: 1, 2, 4, 8, 16 or 32.
    #[param(default = "1", min = "1", max = "32")]
    pub lines: u32,
    /// Lanes of each warp that take a branch.
    #[param(default = "16", min = "0", max = "31")]
    pub jumping: u32,
    /// Instructions that a taken branch passes over; fewer where a branch, a barrier or a global store follows.
    #[param(default = "4", min = "0", max = "1024")]
    pub skipped: u32,
    /// Most threads of a block, a multiple of 32; a launch with fewer leaves their places out.
    #[param(default = "256", min = "32", max = "1024")]
    pub threads: u32,
    /// Bytes of a block's shared memory; where it is not set, 4 a thread if it is accessed.
    #[param(min = "0 B", max = "1 MiB")]
    pub shared: Option<Bytes>,
    /// Registers of a thread; what the instructions need where it is not set.
    #[param(min = "4", max = "255")]
    pub registers: Option<u32>,
    /// Chooses the order of the instructions and the numbers in them.
    #[param(default = "1")]
    pub seed: u64,
}

/// Why a description cannot be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The refused parameter.
    pub parameter: &'static str,
    /// The mistake in the parameter.
    pub message: String,
    /// A valid value.
    pub help: String,
}

/// Registers the patterns.
pub fn register(registry: &mut Registry) {
    pattern::register(registry);
}

/// The documentation of all parameters.
pub fn explain() -> String {
    let mut registry = Registry::default();
    register(&mut registry);
    let kind = KindInfo {
        name: "synthetic",
        doc: "A kernel made from a description, under `code` of an application: `NAME: { synthetic: { … } }`. Its \
              arguments are the buffer that it reads, if it loads; the one that it writes, if it stores; and one \
              with a u32 a thread, which takes a digest of what the thread computed.",
        role: "",
        fields: Fields::new(Synthetic::fields),
        moved: Synthetic::moved(),
        read: |_, _| None,
        ports: Vec::new,
    };
    topology::explain(&kind, registry.families())
}

/// The PTX of a kernel with this name, which must be one.
///
/// # Errors
/// If parameters contradict each other.
pub fn kernel(name: &str, description: &Synthetic) -> Result<String, Refusal> {
    let plan = Plan::new(description)?;
    let bare = emit::kernel(name, description, &plan, 0);
    let Some(wanted) = description.registers else { return Ok(bare) };
    let needed = registers(&bare, wanted)?;
    if needed > wanted {
        return Err(Refusal {
            parameter: "registers",
            message: format!("the kernel needs {needed} registers, more than {wanted}"),
            help: "a smaller `dependence` needs fewer".to_owned(),
        });
    }
    // Each value more takes a register more, but for a few gaps between registers.
    let mut more = wanted - needed;
    let mut text = bare;
    for _ in 0..MOST_TRIES {
        text = emit::kernel(name, description, &plan, more);
        match registers(&text, wanted)? {
            found if found == wanted => break,
            found => more = (more + wanted).saturating_sub(found),
        }
    }
    Ok(text)
}

/// Numbers of values that are tried until a kernel has the registers that are wanted.
const MOST_TRIES: u32 = 8;

/// The registers that a thread of a kernel needs.
fn registers(text: &str, wanted: u32) -> Result<u32, Refusal> {
    let kernel = Kernel::compile(text, None).map_err(|errors| Refusal {
        parameter: "registers",
        message: format!("{wanted} registers cannot be counted"),
        help: errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    })?;
    Ok(kernel.registers_per_thread())
}
