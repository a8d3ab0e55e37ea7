//! Roles of components: summaries, totals, curves, studies, cost reports and `characterise` find a component by its role, whatever its
//! kind.
//!
//! A component of another crate takes part if it declares a role ([`Component::ROLE`]) and has the statistics of the role, under the
//! names given here.
//!
//! [`Component::ROLE`]: counterpoint_framework::model::Component::ROLE

/// An SM that is stepped: `active_cycles`, `warp_insn`, `gpu_sim_insn`, `L1D_total_cache_accesses`, `L1D_total_cache_misses`. Its clock counts
/// the cycles of a machine.
pub const SM: &str = "sm";

/// A model of a GPU's throughput, with the statistics and the clock of SMs.
pub const THROUGHPUT_MODEL: &str = "throughput-model";

/// A scheduler of thread blocks: `ctas`. Its parameter `policy` is what `--policy` sets.
pub const CTA_SCHEDULER: &str = "cta-scheduler";

/// A part of the L2, which all SMs share: `L2_total_cache_accesses`, `L2_total_cache_misses`. Its parameter `cache.capacity` is its size.
pub const L2: &str = "l2";

/// A cache of another level: `cache_accesses`, `cache_misses`.
pub const CACHE: &str = "cache";

/// A DRAM channel: `total_dram_reads`, `total_dram_writes`, `n_rd`, `n_wr`, `n_act`, `row_hits`, `row_misses`, `row_conflicts`, `bytes`.
pub const DRAM: &str = "dram";

/// A network between SMs and the L2.
pub const NETWORK: &str = "network";

/// A link of PCI Express: `downstream_bytes`, `upstream_bytes`.
pub const PCIE: &str = "pcie";

/// Storage: `busy`.
pub const STORAGE: &str = "storage";

/// An engine of a device that copies: `bytes`.
pub const COPY_ENGINE: &str = "copy-engine";

/// A host: `task_latency`. Its parameter `runtime` is what `--runtime` sets.
pub const HOST: &str = "host";
