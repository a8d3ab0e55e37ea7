//! What can be set of an SM.

use counterpoint_framework::model::{Choice, Choose, Params};
use counterpoint_framework::time::{Bytes, Cycles};

use super::scheduler::WarpPolicy;

/// When an SM forgets what its L1 data cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum L1Flush {
    /// Before the first block of another launch.
    LaunchChange,
    /// Never: what another launch has written meanwhile may be missed. For experiments.
    Never,
}

/// The L1 data cache: write-through, no allocation on writes, a written line is evicted.
#[derive(Clone, Debug, Params)]
pub struct L1Params {
    /// Data capacity.
    #[param(default = "16 KiB", min = "128 B")]
    pub capacity: Bytes,
    /// Lines per set.
    #[param(default = "4", min = "1", max = "1024")]
    pub ways: u32,
    /// Misses under way at most.
    #[param(default = "64", min = "1", max = "1024")]
    pub mshrs: u32,
    /// Accesses that one miss can serve.
    #[param(default = "8", min = "1")]
    pub merges: u32,
    /// From the access to its value, on a hit.
    #[param(default = "30 cycles", min = "1 cycle", max = "500 cycles")]
    pub hit_latency: Cycles,
    /// When everything is forgotten.
    #[param(default = "launch-change")]
    pub flush: L1Flush,
}

/// Cycles of the arithmetic classes that GPGPU-Sim's configurations distinguish.
#[derive(Clone, Debug, Params)]
pub struct ClassCycles {
    /// Additions, logic, moves, conversions, comparisons.
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
    /// Divisions.
    #[param(min = "1", max = "500")]
    pub div: u32,
}

/// Size and timing of an SM.
#[derive(Clone, Debug, Params)]
pub struct SmParams {
    /// Threads at most.
    #[param(default = "1536", min = "32", max = "2048")]
    pub threads: u32,
    /// Thread blocks at most.
    #[param(default = "8", min = "1", max = "32")]
    pub ctas: u32,
    /// 32-bit registers.
    #[param(default = "32768", min = "1024")]
    pub registers: u32,
    /// Shared memory.
    #[param(default = "48 KiB")]
    pub shared: Bytes,
    /// Warp schedulers; each issues one instruction a cycle from its share of the warps.
    #[param(default = "1", min = "1", max = "4")]
    pub schedulers: u32,
    /// Which of the ready warps issues.
    #[param(default = "lrr")]
    pub warp_scheduler: Choose<dyn WarpPolicy>,
    /// Instructions after which a warp is taken to run forever: the run ends and names it.
    #[param(default = "50000000", min = "1")]
    pub instruction_limit: u32,
    /// The L1 data cache.
    pub l1d: L1Params,
    /// From the access to its value, in shared memory without bank conflicts.
    #[param(default = "26 cycles", min = "1 cycle", max = "500 cycles")]
    pub shared_latency: Cycles,
    /// Banks of shared memory, four bytes wide each.
    #[param(default = "32", min = "1", max = "32")]
    pub shared_banks: u32,
    /// Units for integers and single precision.
    #[param(default = "2", min = "1", max = "8")]
    pub sp_units: u32,
    /// Units for approximations.
    #[param(default = "1", min = "1", max = "8")]
    pub sfu_units: u32,
    /// Units for double precision.
    #[param(default = "1", min = "1", max = "8")]
    pub dp_units: u32,
    /// Memory instructions that wait for the load-store unit at most.
    #[param(default = "2", min = "1", max = "64")]
    pub lsu_queue: u32,
    /// From issue to execution and from result to write-back, together: added to every latency.
    #[param(default = "5 cycles", min = "1 cycle", max = "100 cycles")]
    pub pipeline: Cycles,
    /// Latency of integer instructions (GPGPU-Sim 3.1.1, GTX 480, opcode_latency_int).
    #[param(default = "{ add: 4, max: 13, mul: 4, mad: 5, div: 145 }")]
    pub int_latency: ClassCycles,
    /// Cycles until the unit takes the next one (opcode_initiation_int).
    #[param(default = "{ add: 1, max: 2, mul: 2, mad: 1, div: 8 }")]
    pub int_initiation: ClassCycles,
    /// Latency of single-precision instructions (opcode_latency_fp).
    #[param(default = "{ add: 4, max: 13, mul: 4, mad: 5, div: 39 }")]
    pub fp_latency: ClassCycles,
    /// Cycles until the unit takes the next one (opcode_initiation_fp).
    #[param(default = "{ add: 1, max: 2, mul: 1, mad: 1, div: 4 }")]
    pub fp_initiation: ClassCycles,
    /// Latency of double-precision instructions (opcode_latency_dp).
    #[param(default = "{ add: 8, max: 19, mul: 8, mad: 8, div: 330 }")]
    pub dp_latency: ClassCycles,
    /// Cycles until the unit takes the next one (opcode_initiation_dp).
    #[param(default = "{ add: 8, max: 16, mul: 8, mad: 8, div: 130 }")]
    pub dp_initiation: ClassCycles,
    /// Latency of approximations.
    #[param(default = "8", min = "1", max = "500")]
    pub sfu_latency: u32,
    /// Cycles until the unit takes the next one.
    #[param(default = "8", min = "1", max = "500")]
    pub sfu_initiation: u32,
}
