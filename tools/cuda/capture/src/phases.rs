//! The steps of an application, and its phases.

use std::collections::BTreeSet;

use crate::fold::{Item, Piece};
use crate::record::Way;
use crate::text;

/// Work of the host between calls, in nanoseconds, that has no line of its own. So short a time cannot be told from that of a switch between
/// processes, which a call that runs a kernel mostly ends with, and of first calls of functions.
pub(crate) const LITTLE: f64 = 50_000.0;

pub(crate) enum RecordedStep {
    /// The host computes or reads what it puts into a buffer.
    Into { buffer: String, part: Option<BufferPart>, source: Source, time: f64, whole: bool },
    /// The host reads data for its computation, or writes a result.
    Files { line: Vec<Piece>, before: f64, reads: bool },
    /// A copy of a whole buffer on the default stream, after work of the host.
    WholeCopy { way: Way, buffer: String, before: f64 },
    /// Anything else, after work of the host.
    Other { line: Vec<Piece>, before: f64 },
    /// The host waits for everything.
    SynchronizeAll { before: f64 },
}

/// The origin of bytes that the host puts into a buffer.
pub(crate) enum Source {
    /// Bytes that the host has computed.
    Computed(Contents),
    /// Bytes of a file that the program reads: its name and their offset.
    File(String, u64),
}

/// Part of a buffer, in its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferPart {
    pub(crate) element: u64,
    pub(crate) elements: u64,
    pub(crate) rows: u64,
    pub(crate) pitch: u64,
}

/// Contents in the form of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// A rule makes them.
    Rule(String),
    /// Bytes in the file of data, from this offset on.
    Data(u64),
}

/// Steps as the phases of an application: what the host does first, copies to the device, all else, copies back, and what the host does last.
/// The copies back wait for all streams but those that are non-blocking; where there are such, a wait in front of them stays.
pub(crate) fn phases(steps: Vec<RecordedStep>, non_blocking: bool) -> [Vec<RecordedStep>; 5] {
    let mut phases: [Vec<RecordedStep>; 5] = Default::default();
    let mut steps = steps.into_iter().peekable();
    let (mut seen, mut waits) = (BTreeSet::new(), false);
    while let Some(step) = steps.peek() {
        let phase = match step {
            RecordedStep::Into { whole: true, buffer, .. } if !seen.contains(buffer) => Some(0),
            RecordedStep::Files { reads: true, .. } => Some(0),
            RecordedStep::WholeCopy { way: Way::In, buffer, before }
                if *before < LITTLE && seen.insert(buffer.clone()) =>
            {
                Some(1)
            }
            // The copies are waited for where the launches begin.
            RecordedStep::SynchronizeAll { before } if *before < LITTLE => {
                waits = true;
                None
            }
            _ => break,
        };
        if let (Some(step), Some(phase)) = (steps.next(), phase) {
            phases[phase].push(step);
        }
    }
    let mut rest: Vec<RecordedStep> = steps.collect();
    // No implicit wait exists if the host continues on its own memory, so an explicit one is inserted.
    if waits && of_host_before_a_wait(&rest) {
        rest.insert(0, RecordedStep::SynchronizeAll { before: 0.0 });
    }
    while let Some(RecordedStep::Files { reads: false, .. }) = rest.last() {
        phases[4].extend(rest.pop());
    }
    phases[4].reverse();
    let (mut seen, mut waits) = (BTreeSet::new(), false);
    while let Some(step) = rest.last() {
        match step {
            RecordedStep::WholeCopy { way: Way::Out, buffer, before }
                if *before < LITTLE && seen.insert(buffer.clone()) =>
            {
                phases[3].extend(rest.pop());
            }
            RecordedStep::SynchronizeAll { before } if *before < LITTLE => {
                waits |= non_blocking && !phases[3].is_empty();
                drop(rest.pop());
            }
            _ => break,
        }
    }
    if waits {
        rest.push(RecordedStep::SynchronizeAll { before: 0.0 });
    }
    phases[3].reverse();
    phases[2] = rest;
    phases
}

/// Whether the host fills or reads memory of its own before it waits for everything.
fn of_host_before_a_wait(steps: &[RecordedStep]) -> bool {
    let mut before = steps.iter().take_while(|step| !matches!(step, RecordedStep::SynchronizeAll { .. }));
    before.any(|step| matches!(step, RecordedStep::Into { .. } | RecordedStep::Files { .. }))
}

pub(crate) fn copied(steps: &[RecordedStep]) -> Vec<&str> {
    let mut names = Vec::new();
    for step in steps {
        if let RecordedStep::WholeCopy { buffer, .. } = step {
            names.push(buffer.as_str());
        }
    }
    names
}

pub(crate) fn lines(steps: Vec<RecordedStep>) -> Vec<Item> {
    steps.into_iter().map(|step| Item::Line(text::step(step))).collect()
}
