//! The path of one sort of instruction through operand collectors to its units, and the bookings of instructions there.
//!
//! Instructions enter the collectors in order and leave them when they have their operands: an instruction that waits
//! for a bank does not hold back those behind it. What happens behind the collectors is in `exit.rs`.

use super::exit::Exit;
use super::pipeline_slots::{InOrderSlots, PipelineSlots};
use crate::gpu::sm::params::PipelinePathParams;

/// The path of one sort of instruction: from when on its slots are free.
pub(super) struct PipelinePath {
    /// Cycles from which on an instruction can be issued into the pipeline registers in front of the collectors.
    pub(super) entries: InOrderSlots,
    /// Turns in which the ports into the collectors are free, if there are fewer than entries.
    pub(super) inputs: Option<InOrderSlots>,
    /// Turns in which the collectors are free.
    pub(super) collectors: PipelineSlots,
    pub(super) exit: Exit,
}

impl PipelinePath {
    /// A path of a part of an SM: `share` gives the part's share of a number of the SM.
    pub(super) fn new(params: &PipelinePathParams, share: impl Fn(u32) -> u32, first_unit: u32) -> Self {
        let (entries, inputs) = (share(params.issue_width), share(params.inputs));
        PipelinePath {
            entries: InOrderSlots::new(entries),
            inputs: (inputs < entries).then(|| InOrderSlots::new(inputs)),
            collectors: PipelineSlots::new(share(params.collectors)),
            exit: Exit::new(params, share, first_unit),
        }
    }

    /// The first cycle in which an entry is free.
    #[inline(always)]
    pub(super) fn accepts_from(&self) -> u64 {
        self.entries.earliest()
    }
}
