//! The state of an SM, which its stages read and change.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use counterpoint_framework::kernel::HangReason;
use counterpoint_framework::model::{Context, Slot};
use counterpoint_protocols::launch::{LaunchId, SmEvent, SmResources};
use counterpoint_protocols::page_log::PageLog;
use counterpoint_ptx::Access;

use super::frontend::cta::Cta;
use super::frontend::fetch::Fetch;
use super::frontend::moving::Moving;
use super::frontend::samples::Samples;
use super::frontend::warp::Warps;
use super::load_store::{LoadStore, SmContext};
use super::operands::collector::{OperandCollector, RegisterFile};
use super::operands::writeback::WritebackRing;
use super::params::{L1Params, Pairing};
use super::scheduler::WarpPolicy;
use super::stats::SmStats;

/// An access that waits for pages.
pub(super) struct HeldAccess {
    pub(super) access: Box<Access>,
    /// Lanes that take part.
    pub(super) lanes: u32,
    pub(super) missing: Vec<u64>,
}

/// A warp scheduler with its share of the warps.
pub(super) struct Scheduler {
    pub(super) policy: Box<dyn WarpPolicy>,
    /// Whether the policy is greedy, and the warp that it has chosen last.
    pub(super) greedy: bool,
    pub(super) last: u32,
    pub(super) share: u64,
    /// Its part of the SM: 0 but for sub-cores.
    pub(super) core: usize,
}

impl Scheduler {
    pub(super) fn new(policy: Box<dyn WarpPolicy>, share: u64, core: usize) -> Self {
        Scheduler { greedy: policy.is_greedy(), policy, last: 0, share, core }
    }
}

/// A streaming multiprocessor.
pub struct Sm {
    pub(super) resources: SmResources,
    pub(super) warps: Warps,
    pub(super) ctas: Vec<Option<Cta>>,
    pub(super) warp_scheduler: Slot<dyn WarpPolicy>,
    /// The L1 data cache, whose policies are built when the SM starts.
    pub(super) l1d: L1Params,
    /// Per warp scheduler its warps and its part of the SM, from which `schedulers` are built when the SM runs.
    pub(super) shares: Vec<(u64, usize)>,
    pub(super) schedulers: Vec<Scheduler>,
    pub(super) issue_width: u32,
    pub(super) pairing: Pairing,
    /// The paths of instructions, and per part of the SM its register file.
    pub(super) collectors: OperandCollector,
    pub(super) registers: Vec<RegisterFile>,
    pub(super) fetch: Fetch,
    /// No limit is `u64::MAX`.
    pub(super) instruction_limit: u64,
    pub(super) remember_polls: bool,
    pub(super) ring: WritebackRing,
    pub(super) load_store: LoadStore,
    pub(super) scratch: Box<Access>,
    pub(super) events: VecDeque<SmEvent>,
    /// Places of blocks that are occupied, and of those that may have ended: bits.
    pub(super) occupied: u32,
    pub(super) ended: u32,
    /// Warps that wait at a fence, a release or an acquire, and those that wait for pages.
    pub(super) fenced: u64,
    pub(super) at_page: u64,
    /// For each slot, accesses that have had to wait for pages.
    pub(super) held: BTreeMap<u32, HeldAccess>,
    /// Warps that have returned to an earlier state without an effect in between; whether all warps have, or wait at barriers; and
    /// the loop of each.
    pub(super) repeating: u64,
    pub(super) in_vain: bool,
    pub(super) told: Rc<RefCell<BTreeMap<u32, HangReason>>>,
    /// Blocks release their pages behind their stores.
    pub(super) release_behind_stores: bool,
    /// Observer of accesses to pages and of ends of blocks.
    pub(super) page_log: Option<Arc<PageLog>>,
    /// Blocks that leave, or come back, and the bytes of their contexts that are saved or restored in a cycle.
    pub(super) moving: Vec<Moving>,
    pub(super) context_rate: u64,
    /// Samples of its launches, if the CTA scheduler wants them.
    pub(super) samples: Option<Samples>,
    /// The launch whose data the L1 holds.
    pub(super) launch: Option<LaunchId>,
    /// Up to which cycle `active` and the issue slots have been counted.
    pub(super) counted: u64,
}

impl Sm {
    /// Whether a block is on the SM.
    #[inline]
    pub(super) fn resident(&self) -> bool {
        self.occupied != 0
    }

    /// The load-store unit, and the other parts of the SM that it uses.
    #[inline]
    pub(super) fn load_store<'a>(
        &'a mut self,
        sim: &'a Context<SmStats>,
        cycle: u64,
    ) -> (&'a mut LoadStore, SmContext<'a>) {
        let Sm { load_store, warps, ctas, registers, collectors, ring, ended, .. } = self;
        (load_store, SmContext { warps, ctas, registers, collectors, ring, ended, sim, cycle })
    }
}
