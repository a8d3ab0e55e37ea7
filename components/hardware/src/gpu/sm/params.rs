//! Parameters of an SM.

use counterpoint_framework::model::{Choice, Invalid, Params, Slot, Variant};
use counterpoint_framework::time::{Bytes, Cycles};
use counterpoint_protocols::launch::SmResources;
use counterpoint_ptx::Latency;

use super::scheduler::WarpPolicy;
use super::scheduler::gto::GreedyThenOldest;
use crate::memory::cache::SetIndex;
use crate::memory::cache::bypass::Bypass;
use crate::memory::cache::prefetch::Prefetcher;
use crate::memory::cache::replacement::Replacement;
use crate::memory::cache::write_policy::WritePolicy;

/// Event at which an SM invalidates its L1 data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum L1Flush {
    /// Before the first block of another launch.
    LaunchChange,
    /// Never: a load may return stale data after a write of another launch. For experiments.
    Never,
}

/// Treatment of global loads by the L1 data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum GlobalLoads {
    /// Global loads look up the L1.
    Cached,
    /// Global loads bypass the L1 (GPGPU-Sim's gmem_skip_L1D), in sectors of 32 bytes.
    Bypass,
}

/// Treatment of a store to local memory whose line is not in the L1 data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum LocalStores {
    /// The store goes to memory.
    NoAllocate,
    /// The store allocates a line, without fetching the rest of it.
    Allocate,
}

/// Implementation of atomics on shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum SharedAtomics {
    /// Shared memory executes them: lanes on one word take a cycle each, like a bank conflict (from Maxwell on).
    Native,
    /// A loop of instructions executes them: lanes load their words with a lock; a lane that gets the lock stores and unlocks. One lane per
    /// word gets the lock in a round, so the rounds equal the lanes on the most contended word (Fermi, Kepler).
    Locks,
}

/// The L1 data cache. Stores to global memory go to memory and evict their line, unless `write` sets another policy; stores to local memory
/// are written back (GPGPU-Sim's LOCAL_WB_GLOBAL_WT). L1s of different SMs are not coherent. In modules for sm_70 and later, acquires and
/// fences beyond the block invalidate clean data.
#[derive(Clone, Debug, Params)]
pub struct L1Params {
    /// Data capacity.
    #[param(default = "16 KiB", min = "128 B")]
    pub capacity: Bytes,
    /// Lines per set.
    #[param(default = "4", min = "1", max = "1024")]
    pub ways: u32,
    /// Bytes of a line, a power of two. Lanes in one line become one transaction, of 128 bytes at most.
    #[param(default = "128 B", min = "32 B", max = "256 B")]
    pub line: Bytes,
    /// Misses under way at most.
    #[param(default = "64", min = "1", max = "1024")]
    pub mshrs: u32,
    /// Accesses that one miss can serve.
    #[param(default = "8", min = "1")]
    pub merges: u32,
    /// Function from a line to its set.
    #[param(default = "fermi-hash")]
    pub set_index: SetIndex,
    /// Whether global loads look up the L1. Local memory is always cached.
    #[param(default = "cached")]
    pub global: GlobalLoads,
    /// Treatment of a store to local memory whose line is not in the L1.
    #[param(default = "no-allocate")]
    pub local_stores: LocalStores,
    /// Latency from the access to the lookup: latency of a hit, and delay of a miss before its request leaves.
    #[param(default = "35 cycles", min = "1 cycle", max = "500 cycles")]
    pub latency: Cycles,
    /// Event at which all lines are invalidated.
    #[param(default = "launch-change")]
    pub flush: L1Flush,
    /// Policy that chooses the line to evict from a set.
    #[param(default = "lru")]
    pub replacement: Slot<dyn Replacement>,
    /// Policy for stores to global memory. `around` evicts their line; `through` keeps and updates it. `back` is refused: other SMs and
    /// copies would not see data that stays in the L1.
    #[param(default = "around")]
    pub write: Slot<dyn WritePolicy>,
    /// Prefetcher of lines for global loads.
    #[param(default = "none")]
    pub prefetcher: Slot<dyn Prefetcher>,
    /// Policy that chooses the global loads that allocate no line; such a load requests its own bytes only.
    #[param(default = "none")]
    pub bypass: Slot<dyn Bypass>,
}

impl L1Params {
    /// Whether global loads bypass the L1.
    pub fn is_bypassed(&self) -> bool {
        self.global == GlobalLoads::Bypass
    }
}

/// A cache that is only read.
#[derive(Clone, Debug, Params)]
pub struct ReadCacheParams {
    /// Data capacity.
    #[param(min = "128 B")]
    pub capacity: Bytes,
    /// Lines per set.
    #[param(min = "1", max = "1024")]
    pub ways: u32,
    /// Bytes of a line, a power of two.
    #[param(default = "128 B", min = "32 B", max = "256 B")]
    pub line: Bytes,
    /// Misses under way at most.
    #[param(min = "1", max = "1024")]
    pub mshrs: u32,
    /// Accesses that one miss can serve.
    #[param(min = "1")]
    pub merges: u32,
    /// Whether fetches of instructions and kernel parameters always hit; constants of a module and texels are looked up in any case.
    #[param(default = "off")]
    pub perfect: bool,
}

/// The TLB, which translates addresses of global and local memory; it is fully associative.
#[derive(Clone, Debug, Params)]
pub struct TlbParams {
    /// Entries, one page each; with 0, addresses are not translated.
    #[param(default = "0", max = "65536")]
    pub entries: u32,
    /// Bytes of a page; equal to the page size of the MMU.
    #[param(default = "4 KiB", min = "4 KiB", max = "2 MiB")]
    pub page: Bytes,
    /// Page requests in flight, at most, of launches that are not gated.
    #[param(default = "8", min = "1", max = "1024")]
    pub misses: u32,
    /// Whether a global memory access of a gated launch waits until all of its pages have been granted. `off` is incorrect, for
    /// experiments.
    #[param(default = "on")]
    pub issue_rule: bool,
    /// Whether a release of a block waits until the block's stores have been acknowledged. `off` is incorrect, for experiments.
    #[param(default = "on")]
    pub release_behind_stores: bool,
}

/// Cycles of the classes of integer instructions: the classes of GPGPU-Sim's configurations, and one for all other instructions.
#[derive(Clone, Debug, Params)]
pub struct IntCycles {
    /// Additions and subtractions.
    #[param(min = "1", max = "500")]
    pub add: u32,
    /// Minimum and maximum.
    #[param(min = "1", max = "500")]
    pub max: u32,
    /// Multiplications. `mul24` takes one more.
    #[param(min = "1", max = "500")]
    pub mul: u32,
    /// Multiply-additions. `mad24` takes one more.
    #[param(min = "1", max = "500")]
    pub mad: u32,
    /// Divisions and remainders, which take the path of approximations.
    #[param(min = "1", max = "500")]
    pub div: u32,
    /// Shuffles.
    #[param(min = "1", max = "500")]
    pub shuffle: u32,
    /// The rest: logic, shifts, moves, conversions, comparisons, selections, votes. GPGPU-Sim gives them one cycle.
    #[param(default = "1", min = "1", max = "500")]
    pub other: u32,
}

/// Cycles of the classes of floating-point instructions.
#[derive(Clone, Debug, Params)]
pub struct FloatCycles {
    /// Additions and subtractions.
    #[param(min = "1", max = "500")]
    pub add: u32,
    /// Minimum and maximum.
    #[param(min = "1", max = "500")]
    pub max: u32,
    /// Multiplications.
    #[param(min = "1", max = "500")]
    pub mul: u32,
    /// Multiply-additions.
    #[param(min = "1", max = "500")]
    pub mad: u32,
    /// Divisions, which take the path of approximations.
    #[param(min = "1", max = "500")]
    pub div: u32,
    /// Rounded reciprocals and square roots, which take the path of approximations. GPGPU-Sim takes them for approximations.
    #[param(min = "1", max = "500")]
    pub root: u32,
    /// The rest: absolute values, negations, conversions, comparisons. GPGPU-Sim gives them one cycle.
    #[param(default = "1", min = "1", max = "500")]
    pub other: u32,
}

impl FloatCycles {
    /// All values, in their order.
    pub(super) fn each(&self) -> [u32; 7] {
        [self.add, self.max, self.mul, self.mad, self.div, self.root, self.other]
    }
}

/// Units that execute comparisons, conversions, absolute values and negations of double precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum DoubleOther {
    /// Units of integers and single precision (GPGPU-Sim).
    Sp,
    /// Units of double precision.
    Dp,
}

/// The pipeline path of one class of instructions, from issue to its units. Numbers are totals of the SM, divided among sub-cores.
#[derive(Clone, Debug, Params)]
pub struct PipelinePathParams {
    /// Units that execute.
    #[param(max = "64")]
    pub units: u32,
    /// Instructions that the pipeline registers between issue and operand collectors hold (the width of GPGPU-Sim's ID_OC).
    #[param(min = "1", max = "64")]
    pub issue_width: u32,
    /// Instructions that enter operand collectors in a turn of the register file (`operand_collector_num_in_ports`).
    #[param(default = "1", min = "1", max = "64")]
    pub inputs: u32,
    /// Operand collectors for this class only.
    #[param(max = "64")]
    pub collectors: u32,
    /// Instructions that leave operand collectors in a turn of the register file (`operand_collector_num_out_ports`).
    #[param(default = "1", min = "1", max = "64")]
    pub outputs: u32,
    /// Instructions that the pipeline registers between operand collectors and units hold (the width of GPGPU-Sim's OC_EX).
    #[param(min = "1", max = "64")]
    pub dispatch_width: u32,
}

/// The tensor cores. Without units, an SM multiplies no matrices.
#[derive(Clone, Debug, Params)]
pub struct TensorParams {
    /// Units that execute.
    #[param(max = "64")]
    pub units: u32,
    /// Instructions that the pipeline registers in front of their operand collectors hold.
    #[param(default = "1", min = "1", max = "64")]
    pub issue_width: u32,
    /// Operand collectors for them alone.
    #[param(max = "64")]
    pub collectors: u32,
    /// Latency of a product that occupies a unit for one cycle; each further cycle of occupancy adds one.
    #[param(default = "16", min = "1", max = "250")]
    pub latency: u32,
    /// Multiply-adds of a unit in a cycle, with 16-bit factors.
    #[param(default = "256", min = "1", max = "65536")]
    pub half: u32,
    /// Multiply-adds of a unit in a cycle, with `.tf32` factors.
    #[param(default = "128", min = "1", max = "65536")]
    pub single: u32,
    /// Multiply-adds of a unit in a cycle, in double precision.
    #[param(default = "16", min = "1", max = "65536")]
    pub double: u32,
    /// Multiply-adds of a unit in a cycle, with 8-bit factors.
    #[param(default = "512", min = "1", max = "65536")]
    pub byte: u32,
    /// Multiply-adds of a unit in a cycle, with 4-bit factors.
    #[param(default = "1024", min = "1", max = "65536")]
    pub nibble: u32,
    /// Multiply-adds of a unit in a cycle, with 1-bit factors.
    #[param(default = "4096", min = "1", max = "65536")]
    pub bit: u32,
}

impl TensorParams {
    pub(super) fn path(&self) -> PipelinePathParams {
        let &TensorParams { units, issue_width, collectors, .. } = self;
        PipelinePathParams { units, issue_width, inputs: 1, collectors, outputs: 1, dispatch_width: 1 }
    }

    /// Multiplications and additions of a unit in a cycle, for a class of products.
    pub(super) fn rate(&self, class: Latency) -> Option<u32> {
        Some(match class {
            Latency::MatrixHalf => self.half,
            Latency::MatrixSingle => self.single,
            Latency::MatrixDouble => self.double,
            Latency::MatrixByte => self.byte,
            Latency::MatrixNibble => self.nibble,
            Latency::MatrixBit => self.bit,
            _ => return None,
        })
    }
}

/// Rule by which lanes of a global access become one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Coalescing {
    /// Lanes in one line.
    Lines,
    /// Lanes in one segment: 32 bytes for 1-byte elements, 64 bytes for 2-byte elements, a line for all others (GPGPU-Sim).
    Segments,
}

/// Restriction on the two instructions that one scheduler issues in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Pairing {
    /// The two instructions go to different sorts of units.
    DifferentUnits,
    /// The two instructions may go to the same sort of units.
    Any,
}

/// Size and timing of an SM. Defaults are GPGPU-Sim 4's GTX 480.
#[derive(Clone, Debug, Params)]
pub struct SmParams {
    /// Threads at most.
    #[param(default = "1536", min = "32", max = "2048")]
    pub threads: u32,
    /// Resident thread blocks, at most.
    #[param(default = "8", min = "1", max = "32")]
    pub ctas: u32,
    /// 32-bit registers.
    #[param(default = "32768", min = "1024")]
    pub registers: u32,
    /// Banks of the register file, a power of two.
    #[param(default = "16", min = "1", max = "32")]
    pub register_banks: u32,
    /// Accesses that a bank of the register file serves in a cycle, called turns (`reg_file_port_throughput`).
    #[param(default = "1", min = "1", max = "4")]
    pub register_turns: u32,
    /// Shared memory.
    #[param(default = "48 KiB")]
    pub shared: Bytes,
    /// Warp schedulers; each issues in every cycle from its share of the warps.
    #[param(default = "2", min = "1", max = "4")]
    pub schedulers: u32,
    /// Policy that chooses among the ready warps.
    #[param(default = <GreedyThenOldest as Variant<dyn WarpPolicy>>::NAME)]
    pub warp_scheduler: Slot<dyn WarpPolicy>,
    /// Instructions of one warp that a scheduler issues in a cycle.
    #[param(default = "1", min = "1", max = "2")]
    pub issue_width: u32,
    /// Rule for two instructions that are issued in one cycle.
    #[param(default = "different-units")]
    pub pairing: Pairing,
    /// Whether every scheduler has its own collectors, register banks and units.
    #[param(default = "false")]
    pub sub_cores: bool,
    /// Instruction buffers that are filled in a cycle, two instructions each.
    #[param(default = "1", min = "1", max = "16")]
    pub fetch_width: u32,
    /// Limit of a warp's instructions, beyond which the run ends and names the warp. 0 means no limit; loops that provably never end are
    /// always reported.
    #[param(default = "0")]
    pub instruction_limit: u64,
    /// Whether iterations of a loop that polls a word of shared memory are only timed until the word changes. `off` executes every
    /// iteration, with the same results.
    #[param(default = "on")]
    pub remember_polls: bool,
    /// Bytes of a block's context that are saved or restored in a cycle, where the CTA scheduler preempts blocks.
    #[param(default = "16 B", min = "1 B")]
    pub context_rate: Bytes,
    /// The L1 data cache.
    pub l1d: L1Params,
    /// The instruction cache (GPGPU-Sim 4, GTX 480, gpgpu_cache:il1).
    #[param(default = "{ capacity: 2 KiB, ways: 4, mshrs: 2, merges: 32 }")]
    pub l1i: ReadCacheParams,
    /// The cache of constants and kernel parameters (gpgpu_const_cache:l1, whose lines have 64 bytes).
    #[param(default = "{ capacity: 8 KiB, ways: 2, mshrs: 2, merges: 32 }")]
    pub l1c: ReadCacheParams,
    /// The texture cache (gpgpu_tex_cache:l1).
    #[param(default = "{ capacity: 12 KiB, ways: 24, mshrs: 128, merges: 4 }")]
    pub l1t: ReadCacheParams,
    /// The TLB.
    pub tlb: TlbParams,
    /// Rule by which lanes of a global access become one transaction.
    #[param(default = "lines")]
    pub coalescing: Coalescing,
    /// Whether an access to several lines, or one for which the L1 has no room, is replayed: other accesses pass it. `off`: accesses are
    /// served in the order of their issue (GPGPU-Sim).
    #[param(default = "off")]
    pub replay: bool,
    /// From the access to its value, in shared memory without bank conflicts.
    #[param(default = "26 cycles", min = "1 cycle", max = "500 cycles")]
    pub shared_latency: Cycles,
    /// Banks of shared memory, four bytes wide each.
    #[param(default = "32", min = "1", max = "32")]
    pub shared_banks: u32,
    /// Parts of a warp whose lanes shared memory serves one after another, in a cycle each at least (`gpgpu_shmem_warp_parts`).
    #[param(default = "1", min = "1", max = "32")]
    pub shared_parts: u32,
    /// Implementation of atomics on shared memory.
    #[param(default = "native")]
    pub shared_atomics: SharedAtomics,
    /// Cycles of a round of `shared_atomics: locks` besides its load: the operation, the store with its test, and the branch back.
    #[param(default = "20 cycles", max = "500 cycles")]
    pub shared_lock_round: Cycles,
    /// Integers, single precision and control.
    #[param(
        default = "{ units: 2, issue_width: 2, inputs: 2, collectors: 6, outputs: 2, dispatch_width: 2 }"
    )]
    pub sp: PipelinePathParams,
    /// Approximations, divisions and roots.
    #[param(default = "{ units: 1, issue_width: 1, collectors: 8, dispatch_width: 1 }")]
    pub sfu: PipelinePathParams,
    /// Double precision; without units it takes the path of approximations.
    #[param(default = "{ units: 0, issue_width: 1, collectors: 0, dispatch_width: 1 }")]
    pub dp: PipelinePathParams,
    /// Products of matrices.
    #[param(default = "{ units: 0, collectors: 0 }")]
    pub tensor: TensorParams,
    /// Memory accesses; their one unit is the load-store unit.
    #[param(default = "{ units: 1, issue_width: 1, collectors: 2, dispatch_width: 1 }")]
    pub memory: PipelinePathParams,
    /// Operand collectors that serve every sort of instruction.
    #[param(default = "0", max = "64")]
    pub collectors: u32,
    /// Results of fixed latency that are written in a cycle (the width of GPGPU-Sim's EX_WB).
    #[param(default = "2", min = "1", max = "64")]
    pub results: u32,
    /// Latency of integer instructions (GPGPU-Sim 3.1.1, GTX 480, opcode_latency_int).
    #[param(default = "{ add: 4, max: 13, mul: 4, mad: 5, div: 145, shuffle: 32 }")]
    pub int_latency: IntCycles,
    /// Initiation interval of integer instructions (opcode_initiation_int).
    #[param(default = "{ add: 1, max: 2, mul: 2, mad: 1, div: 8, shuffle: 4 }")]
    pub int_initiation: IntCycles,
    /// Latency of single-precision instructions (opcode_latency_fp).
    #[param(default = "{ add: 4, max: 13, mul: 4, mad: 5, div: 39, root: 8 }")]
    pub fp_latency: FloatCycles,
    /// Initiation interval of single-precision instructions (opcode_initiation_fp).
    #[param(default = "{ add: 1, max: 2, mul: 1, mad: 1, div: 4, root: 8 }")]
    pub fp_initiation: FloatCycles,
    /// Latency of double-precision instructions (opcode_latency_dp).
    #[param(default = "{ add: 8, max: 19, mul: 8, mad: 8, div: 330, root: 8 }")]
    pub dp_latency: FloatCycles,
    /// Initiation interval of double-precision instructions (opcode_initiation_dp).
    #[param(default = "{ add: 8, max: 16, mul: 8, mad: 8, div: 130, root: 8 }")]
    pub dp_initiation: FloatCycles,
    /// Units that execute comparisons, conversions, absolute values and negations of double precision.
    #[param(default = "sp")]
    pub dp_other: DoubleOther,
    /// Latency of approximations.
    #[param(default = "8", min = "1", max = "500")]
    pub sfu_latency: u32,
    /// Initiation interval of approximations.
    #[param(default = "8", min = "1", max = "500")]
    pub sfu_initiation: u32,
}

impl SmParams {
    /// Resources that blocks share.
    ///
    /// # Errors
    /// If shared memory is beyond 4 GiB.
    pub fn resources(&self) -> Result<SmResources, Invalid> {
        Ok(SmResources {
            threads: self.threads,
            ctas: self.ctas,
            registers: self.registers,
            shared: u32::try_from(self.shared.get()).map_err(|_| "shared is beyond 4 GiB")?,
        })
    }

    /// Instructions that a warp may execute.
    pub fn instruction_limit(&self) -> u64 {
        if self.instruction_limit == 0 { u64::MAX } else { self.instruction_limit }
    }
}
