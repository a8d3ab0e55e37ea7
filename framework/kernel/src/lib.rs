//! The simulation kernel: processes that exchange messages over links, in simulated time. It knows no hardware and no
//! files.
//!
//! A [`ProcessNetwork`] is cut into islands; each runs on its own through a window of simulated time no longer than the
//! shortest latency between islands, so nothing that happens elsewhere can reach it meanwhile. Windows, islands and
//! threads change how fast a machine runs and nothing else.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

mod channel;
mod control;
mod machine;
mod observe;
mod process;
mod windows;

pub mod time;

pub use channel::ends::{Endpoint, LinkSpec};
pub use channel::inputs::{Inputs, Words, members};
pub use channel::link::LinkOptions;
pub use channel::port::{Either, Fairness, In, Message, Out, Permit, Receiving, Sending, Socket, any, first};
pub use channel::watch::Watch;
pub use channel::wiring::Wiring;
pub use control::held::{Held, State};
pub use control::run::{Finished, WorkerPool};
pub use machine::{
    Body, DEFAULT_WEIGHT, ProcessNetwork, ProcessSpec, Sampler, Shown, Start, Started, Viewer,
};
pub use observe::inspect::{Inspection, PortInspection, Waits};
pub use observe::outcome::{Blocked, Hang, HangKind, Outcome, WaitKind, Waiting};
pub use observe::sample_log::SampleLog;
pub use observe::samples::Sample;
pub use observe::snapshot::{Snapshot, SnapshotTimes, hash_at};
pub use observe::throughput::Throughput;
pub use observe::watchdog::{Stuck, Watchdog};
pub use process::fault::{Fault, Reason};
pub use process::hang_reasons::{HangReason, Recall};
pub use process::hash::EventHasher;
pub use process::state::{Process, Source, Tick, UntilEdge, Wait};
pub use process::tried::{Tries, WaitTried};
pub use windows::options::{RunOptions, Sharing};
pub use windows::partition::{Cut, CutIsland, Fewer, Islands};
