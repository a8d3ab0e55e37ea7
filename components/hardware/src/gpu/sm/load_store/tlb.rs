//! The TLB of an SM: pages that the MMU has translated. An access to global or local memory requests the translation of its
//! page when it enters the L1's pipeline, and needs it at the end of the pipeline; a global access of a gated launch needs
//! its pages, granted to that launch, before it is issued.

use std::collections::VecDeque;

use counterpoint_framework::kernel::Out;
use counterpoint_framework::model::Invalid;
use counterpoint_protocols::launch::LaunchId;
use counterpoint_protocols::translation::{MmuRequest, RangeClaim};
use counterpoint_ptx::Access;

use crate::gpu::pages::Pages;
use crate::gpu::sm::params::TlbParams;
use crate::gpu::sm::stats::TlbStats;

pub(super) struct Tlb {
    pages: Pages,
    shift: u32,
    /// Pages that have been requested and have not arrived.
    pending: Vec<u64>,
    /// Maximum number of these.
    most: usize,
    /// Pages that have been requested for the kernel on this SM, and that it may not access yet.
    awaited: Vec<u64>,
    requests: VecDeque<MmuRequest>,
    /// Accesses of gated launches wait for the grant of their pages.
    pub(super) issue_rule: bool,
}

impl Tlb {
    /// `None` if addresses are not translated.
    pub(super) fn new(params: &TlbParams) -> Result<Option<Self>, Invalid> {
        let page = params.page.get();
        if !page.is_power_of_two() {
            return Err("tlb.page must be a power of two".into());
        }
        Ok((params.entries > 0).then(|| Tlb {
            pages: Pages::new(params.entries),
            shift: page.trailing_zeros(),
            pending: Vec::new(),
            most: params.misses as usize,
            awaited: Vec::new(),
            requests: VecDeque::new(),
            issue_rule: params.issue_rule,
        }))
    }

    /// The pages of an access that have not been granted to its launch. The TLB requests them from the MMU.
    pub(super) fn missing(&mut self, access: &Access, kernel: LaunchId, stats: &TlbStats) -> Vec<u64> {
        let (shift, behind) = (self.shift, u64::from(access.width) - 1);
        let (low, high) = access.extent();
        let mut missing = Vec::new();
        if low >> shift == (high + behind) >> shift {
            self.want(low >> shift, kernel, &mut missing, stats);
            return missing;
        }
        let mut last = None;
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let address = access.addresses[lane];
            for page in [address >> shift, (address + behind) >> shift] {
                if last.replace(page) != Some(page) && !missing.contains(&page) {
                    self.want(page, kernel, &mut missing, stats);
                }
            }
        }
        missing
    }

    fn want(&mut self, page: u64, kernel: LaunchId, missing: &mut Vec<u64>, stats: &TlbStats) {
        stats.accesses.add(1);
        if self.pages.find(page, kernel.0) {
            return;
        }
        stats.misses.add(1);
        missing.push(page);
        if !self.awaited.contains(&page) {
            self.awaited.push(page);
            self.requests.push_back(MmuRequest::Page { page, bytes: 1 << self.shift, launch: kernel });
            stats.requests.add(1);
        }
    }

    /// Sends a block's claim of a range, or its release.
    pub(super) fn claim(&mut self, claim: RangeClaim) {
        self.requests.push_back(MmuRequest::Claim(claim));
    }

    /// Looks up the page of a transaction that enters the pipeline.
    pub(super) fn enter(&mut self, line: u64, stats: &TlbStats) -> bool {
        stats.accesses.add(1);
        let found = self.translate(line, stats);
        stats.misses.add(u64::from(!found));
        found
    }

    /// Whether the translation of a line is here. If it is not, the TLB requests it from the MMU.
    pub(super) fn translate(&mut self, line: u64, stats: &TlbStats) -> bool {
        let page = line >> self.shift;
        if self.pages.find(page, 0) {
            return true;
        }
        if self.pending.len() < self.most && !self.pending.contains(&page) {
            self.pending.push(page);
            self.requests.push_back(MmuRequest::Page { page, bytes: 1 << self.shift, launch: LaunchId(0) });
            stats.requests.add(1);
        }
        false
    }

    /// Whether a request waits for credit.
    pub(super) fn wants_credit(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Sends the requests that have not left, as far as there is credit.
    pub(super) fn send(&mut self, mmu: &mut Out<MmuRequest>) {
        while !self.requests.is_empty()
            && let Some(permit) = mmu.try_reserve()
            && let Some(request) = self.requests.pop_front()
        {
            permit.send(request);
        }
    }

    /// The translation of a page has arrived, which a launch may access.
    pub(super) fn fill(&mut self, page: u64, launch: LaunchId) {
        let asked = if launch == LaunchId(0) { &mut self.pending } else { &mut self.awaited };
        asked.retain(|&asked| asked != page);
        self.pages.insert(page, launch.0);
    }
}
