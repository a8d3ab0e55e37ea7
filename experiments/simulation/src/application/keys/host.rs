//! The keys of the steps of the host, in `prelude` and `postlude` and among those on a device, and of the files before the run.

use counterpoint_framework::model::{Later, Params};

use super::PartKeys;
use super::data::LoadKeys;
use super::shapes::{Rule, Single, either};
use super::steps::{CopyWithinStep, LaunchStepKeys, LoopStep, MemsetStep, RepeatStep};

#[derive(Params)]
#[params(called = "a read")]
pub(in super::super) struct ReadStep {
    /// Reads a file into a buffer of the host.
    pub read: Later<ReadKeys>,
}

#[derive(Params)]
#[params(called = "read")]
pub(in super::super) struct ReadKeys {
    /// The file, relative to this one; as long as the buffer, or longer where a part or an offset is given.
    pub file: Single,
    /// The buffer.
    pub into: Single,
    #[param(flatten)]
    pub part: PartKeys,
    /// Where they begin in the file, in bytes; 0 if not given.
    pub offset: Option<Single>,
    /// How to make the file if it does not exist; an existing file stays.
    pub generate: Option<Later<Rule>>,
}

#[derive(Params)]
#[params(called = "a computation")]
pub(in super::super) struct ComputeStep {
    /// Has the CPU compute what fills a buffer of the host, or be busy for a time.
    pub compute: Later<ComputeKeys>,
}

#[derive(Params)]
#[params(called = "compute")]
pub(in super::super) struct ComputeKeys {
    /// The buffer; without it the CPU is busy for `time` and fills nothing.
    pub into: Option<Single>,
    /// What it is filled with.
    pub generate: Option<Later<Rule>>,
    /// A file that holds what it is filled with, in place of a rule; reading it takes no time.
    pub file: Option<Single>,
    /// Where they begin in the file, in bytes; 0 if not given.
    pub offset: Option<Single>,
    #[param(flatten)]
    pub part: PartKeys,
    /// How fast, such as `2 GB/s`.
    pub rate: Option<Single>,
    /// How long it takes, such as `3 ms`, in place of a rate.
    pub time: Option<Single>,
}

#[derive(Params)]
#[params(called = "a write")]
pub(in super::super) struct WriteStep {
    /// Writes a buffer of the host to a file.
    pub write: Later<WriteKeys>,
}

#[derive(Params)]
#[params(called = "write")]
pub(in super::super) struct WriteKeys {
    /// The buffer.
    pub from: Single,
    /// The file, in the folder of the run's results; several writes make one file.
    pub file: Single,
    #[param(flatten)]
    pub part: PartKeys,
    /// Where they begin in the file, in bytes; 0 if not given.
    pub offset: Option<Single>,
}

either! {
    /// Shape of a step of the host.
    HostStepShape = "a step of the host": ReadStep, ComputeStep, WriteStep;
}

/// A file in `preload`.
#[derive(Params)]
#[params(called = "a file of the preload")]
pub(in super::super) struct LoadStep {
    /// Puts a file into a buffer on its device.
    pub load: Later<LoadKeys>,
}

either! {
    /// Shape of a step before the run.
    PreloadShape = "a step before the run": LoadStep, LaunchStepKeys, RepeatStep, LoopStep, MemsetStep, CopyWithinStep;
}
