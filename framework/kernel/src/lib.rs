//! The simulation kernel: processes that exchange messages over links, in simulated time. It knows no hardware and no
//! files.
//!
//! A [`ProcessNetwork`] is cut into islands; each runs on its own through a window of simulated time no longer than the
//! shortest latency between islands, so nothing that happens elsewhere can reach it meanwhile. Windows, islands and
//! threads change how fast a machine runs and nothing else.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

mod credits;
mod domain;
mod hang_reasons;
mod hash;
mod held;
mod inputs;
mod inspect;
mod island;
mod link;
mod livelock;
mod local;
mod machine;
mod outcome;
mod pace;
mod parallel;
mod partition;
mod port;
mod process;
mod queue;
#[cfg(test)]
mod random;
mod remote;
mod ring;
mod run_control;
mod sample_log;
mod samples;
mod shares;
mod simulation;
mod sleepers;
mod snapshot;
mod standstill;
mod throughput;
mod wake_registration;
mod watch;
mod watchdog;
mod wheel;
mod wiring;
mod worker;
mod worker_pool;

pub mod time;

pub use hang_reasons::{HangReason, Recall};
pub use hash::EventHasher;
pub use held::{Held, State};
pub use inputs::{Inputs, Words, members};
pub use inspect::{Inspection, PortInspection, Shown, Viewer, Waits};
pub use island::Body;
pub use link::LinkOptions;
pub use machine::{DEFAULT_WEIGHT, Endpoint, LinkSpec, ProcessNetwork, ProcessSpec, Start, Started};
pub use outcome::{Blocked, Fault, Hang, HangKind, Outcome, Reason, WaitKind, Waiting};
pub use partition::{Cut, CutIsland, Fewer, Islands};
pub use port::{Either, Fairness, In, Message, Out, Permit, Receiving, Sending, Socket, any, first};
pub use process::{Process, Source, Tick, UntilEdge, Wait};
pub use sample_log::SampleLog;
pub use samples::{Sample, Sampler};
pub use simulation::{Finished, RunOptions, Sharing, WorkerPool};
pub use snapshot::{Snapshot, SnapshotTimes, hash_at};
pub use throughput::Throughput;
pub use watch::Watch;
pub use watchdog::{Stuck, Watchdog};
pub use wiring::Wiring;
