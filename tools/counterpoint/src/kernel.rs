//! Ports and processes: the waits in the `run` of a component, and the end of a run.
//!
//! A component receives through [`In`] and sends through [`Out`]; [`any()`] and [`first()`] wait for several of them. Simulated
//! time passes during these waits, and nowhere else.

#[doc(inline)]
pub use counterpoint_framework::kernel::{
    Either, Fairness, Fault, Hang, HangKind, HangReason, In, Islands, Message, Out, Outcome, Permit, Process,
    RunOptions, Sharing, Shown, SnapshotTimes, Socket, Source, any, first,
};
