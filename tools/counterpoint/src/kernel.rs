//! Ports and processes: what the `run` of a component waits for, and how a run ends.
//!
//! A component receives through [`In`] and sends through [`Out`]; [`any()`] and [`first()`] wait for several of them. Time passes
//! while it waits, and at no other place.

#[doc(inline)]
pub use counterpoint_framework::kernel::{
    Either, Fairness, Fault, Hang, HangKind, HangReason, In, Islands, Message, Out, Outcome, Permit, Process,
    RunOptions, Sharing, Shown, SnapshotTimes, Socket, Source, any, first,
};
