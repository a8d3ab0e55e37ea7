//! The TLB of an SM: pages that the MMU has translated. An access to global or local memory asks for its page when it
//! enters the L1's pipeline, and must have it at its end.

use std::collections::VecDeque;

use counterpoint_framework::kernel::Out;
use counterpoint_framework::model::{Counter, Invalid, Stats};
use counterpoint_protocols::translation::Translate;

use crate::gpu::pages::Pages;
use crate::gpu::sm::params::TlbParams;

/// What a TLB counts.
#[derive(Default, Stats)]
pub(in crate::gpu::sm) struct TlbStats {
    /// Transactions whose page was looked up.
    accesses: Counter,
    /// Those whose page was not here.
    misses: Counter,
    /// Pages asked for.
    requests: Counter,
}

/// The TLB of an SM.
pub(super) struct Tlb {
    pages: Pages,
    shift: u32,
    /// Pages that have been asked for and have not come.
    pending: Vec<u64>,
    /// How many of these there may be.
    most: usize,
    requests: VecDeque<Translate>,
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
            requests: VecDeque::new(),
        }))
    }

    /// Looks up the page of a transaction that enters the pipeline.
    pub(super) fn enter(&mut self, line: u64, stats: &TlbStats) -> bool {
        stats.accesses.add(1);
        let found = self.translate(line, stats);
        stats.misses.add(u64::from(!found));
        found
    }

    /// Whether the page of a line is here. If it is not, it is asked for.
    pub(super) fn translate(&mut self, line: u64, stats: &TlbStats) -> bool {
        let page = line >> self.shift;
        if self.pages.find(page) {
            return true;
        }
        if self.pending.len() < self.most && !self.pending.contains(&page) {
            self.pending.push(page);
            self.requests.push_back(Translate { page });
            stats.requests.add(1);
        }
        false
    }

    /// Whether a request waits for credit.
    pub(super) fn wants_credit(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Sends the requests that have not left, as far as there is credit.
    pub(super) fn send(&mut self, mmu: &mut Out<Translate>) {
        while !self.requests.is_empty()
            && let Some(permit) = mmu.try_reserve()
            && let Some(request) = self.requests.pop_front()
        {
            permit.send(request);
        }
    }

    /// A page has come.
    pub(super) fn fill(&mut self, page: u64) {
        self.pending.retain(|&pending| pending != page);
        self.pages.insert(page);
    }
}
