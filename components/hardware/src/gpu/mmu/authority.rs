//! Authorities over pages: they decide which launch may access a page of device memory, and when.
//!
//! The MMU asks its authority once a page is translated. An authority that does not grant at once grants later, by another answer. It
//! may have ports of its own, receive the claims of blocks, and keep tables in device memory behind those of the MMU.

use std::collections::VecDeque;

use counterpoint_framework::kernel::Source;
use counterpoint_framework::model::{Registry, Variant};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::launch::LaunchId;
use counterpoint_protocols::memory::{Label, MemAccess, MemRequest, Tag};
use counterpoint_protocols::translation::{MmuReply, RangeClaim};

pub(crate) fn register(registry: &mut Registry) {
    registry.variant::<dyn Authority, Any>();
}

/// Tags of an authority's requests to memory begin here; those of walkers are below.
pub(super) const OWN_TAGS: u32 = 1 << 16;

/// The page tables and the latency of an MMU, for its authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Bytes of a page, a power of two.
    pub page: u64,
    /// Address of the entry of page 0 in the lowest tables, 8 bytes each.
    pub entries: u64,
    /// Address behind the page tables.
    pub end: u64,
    /// Cycles from a message of an SM to its lookup.
    pub latency: u64,
}

/// Messages that leave an MMU.
#[derive(Debug, Default)]
pub struct Outbox {
    /// By SM.
    pub(super) answers: Vec<VecDeque<MmuReply>>,
    pub(super) requests: VecDeque<MemRequest>,
}

impl Outbox {
    /// An empty outbox, for this number of SMs.
    pub(super) fn new(sms: usize) -> Self {
        Outbox { answers: vec![VecDeque::new(); sms], requests: VecDeque::new() }
    }

    /// An answer to an SM.
    pub fn answer(&mut self, sm: usize, answer: MmuReply) {
        self.answers[sm].push_back(answer);
    }

    /// A request of the authority to memory; its answer has this number ([`Authority::answered`]).
    pub fn request(&mut self, line: u64, number: u32, access: MemAccess) {
        self.ask(line, Tag(OWN_TAGS + number), access);
    }

    pub(super) fn ask(&mut self, line: u64, tag: Tag, access: MemAccess) {
        let (label, fresh) = (Label::default(), 0);
        self.requests.push_back(MemRequest { line, tag, client: 0, label, fresh, access });
    }
}

/// Decides which launch may access a page. The MMU calls it in each of its steps in the order of the methods.
pub trait Authority {
    /// Called first, before all other methods.
    fn begin(&mut self, _tables: Tables) {}

    /// A block on an SM claims a range in this cycle, or releases it. [`MmuReply::Claimed`] is the answer.
    ///
    /// # Errors
    /// A sentence with the reason for which the authority cannot serve the claim.
    fn claim(&mut self, cycle: u64, sm: usize, claim: RangeClaim) -> Result<(), String>;

    /// Receives through the authority's own ports.
    ///
    /// # Errors
    /// A sentence with the reason for which the authority cannot continue.
    fn hear(&mut self, _outbox: &mut Outbox) -> Result<(), String> {
        Ok(())
    }

    /// Memory has answered a request of the authority.
    fn answered(&mut self, _number: u32, _cycle: u64, _outbox: &mut Outbox) {}

    /// Whether a launch may access a page now; 0 is for launches that are not gated, which always may. If
    /// not, the SM gets another [`MmuReply::Page`] when it may.
    fn ask(&mut self, page: u64, launch: LaunchId, sm: usize) -> bool;

    /// Executes the work of this cycle.
    ///
    /// # Errors
    /// A sentence with the reason for which the authority cannot continue.
    fn work(&mut self, _cycle: u64, _outbox: &mut Outbox) -> Result<(), String> {
        Ok(())
    }

    /// Sends through the authority's own ports; messages on changes of pages leave after this time.
    fn send(&mut self, _notification: SimTime) {}

    /// The cycle in which [`Authority::work`] has something to do next.
    fn due(&self) -> Option<u64> {
        None
    }

    /// Inputs of its ports that wake the MMU.
    fn awaits(&self) -> Vec<Option<&dyn Source>> {
        Vec::new()
    }

    /// Whether an SM waits for it.
    fn is_busy(&self) -> bool {
        false
    }

    /// Gives the reasons for which SMs wait, in a run that hangs.
    fn reasons(&self) -> Box<dyn Fn() -> Vec<String>> {
        Box::new(Vec::new)
    }
}

/// The authority `any`.
pub(super) struct Any;

impl Variant<dyn Authority> for Any {
    const NAME: &'static str = "any";
    const DOC: &'static str = "Any launch may access any page.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Authority>, String> {
        Ok(Box::new(Any))
    }
}

impl Authority for Any {
    fn claim(&mut self, _cycle: u64, sm: usize, claim: RangeClaim) -> Result<(), String> {
        Err(format!(
            "a block of launch {} on SM {sm} claims a range, and the MMU's `authority` keeps none",
            claim.kernel.0
        ))
    }

    fn ask(&mut self, _page: u64, _launch: LaunchId, _sm: usize) -> bool {
        true
    }
}
