//! CPU time of calls of the GPU's programming interface, before their command is on its way.
//!
//! Calls are made one after another: the driver has one lock for a context, so calls of several host threads do not
//! overlap.

use counterpoint_framework::model::Params;
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::Work;

/// Duration of calls that send commands to a device.
#[derive(Clone, Debug, Params)]
pub(crate) struct CallParams {
    /// `cudaLaunchKernel`.
    #[param(default = "0 us")]
    launch: SimTime,
    /// `cudaMemcpyAsync`, `cudaMemsetAsync` and their kin.
    #[param(default = "0 us")]
    copy: SimTime,
}

impl CallParams {
    /// Time of the call for a command. Commands that order streams, and commands that no program requests, take no time.
    pub(crate) fn time(&self, work: &Work) -> SimTime {
        match work {
            Work::Launch(_) => self.launch,
            Work::Copy(_) | Work::Move(_) | Work::Overlap(_) => self.copy,
            _ => SimTime::ZERO,
        }
    }
}
