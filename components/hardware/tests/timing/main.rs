//! Timing of single components, to the cycle, and the values that travel through them.
//!
//! Every component runs at 1 GHz between scripts that are one cycle away, so that a cycle is a nanosecond and times add
//! up by hand.

mod caches;
mod control;
mod crcs;
mod crossbar;
mod dka;
mod dram;
mod endless;
mod io;
mod l2;
mod labels;
mod mix;
mod model;
mod order;
mod programs;
mod scheduling;
mod sm;
mod super_kernel;
mod translation;
mod waiting;

use counterpoint_framework::model::{Component, Environment, StatValue};
use counterpoint_framework::testing::{Bench, BenchReport};
use counterpoint_framework::time::Hertz;
use counterpoint_protocols::memory::{
    ByteMask, LINE_BYTES, Label, Line, MemAccess, MemReply, MemRequest, MemResult, Tag, sectors,
};

const CLOCK: Hertz = Hertz::new(1_000_000_000);
const ALL: ByteMask = ByteMask::MAX;

/// A bench around a component with parameters in YAML.
fn bench<C: Component>(params: &str) -> Bench {
    Bench::reading::<C>(CLOCK, Environment::default(), counterpoint_hardware::register, params)
}

fn request(tag: u32, line: u64, access: MemAccess) -> MemRequest {
    MemRequest { line, tag: Tag(tag), client: 0, label: Label::default(), access }
}

fn read(tag: u32, line: u64, mask: ByteMask) -> MemRequest {
    request(tag, line, MemAccess::Read(mask))
}

fn write(tag: u32, line: u64, mask: ByteMask, byte: u8) -> MemRequest {
    request(tag, line, MemAccess::Write(mask, [byte; LINE_BYTES as usize]))
}

/// What a memory answers in which every line holds its own number, and stores are taken for granted.
fn numbered(request: &MemRequest) -> MemReply {
    let result = match &request.access {
        MemAccess::Read(mask) => MemResult::Line(*mask, [number(request.line); LINE_BYTES as usize]),
        MemAccess::Write(mask, _) => MemResult::Written(sectors(*mask) as u8),
        MemAccess::Atomic(_) => panic!("an atomic reached the memory"),
    };
    MemReply { line: request.line, tag: request.tag, client: request.client, result }
}

fn number(line: u64) -> u8 {
    (line / LINE_BYTES) as u8
}

fn tagged(tag: u32) -> impl Fn(&MemReply) -> bool {
    move |reply| reply.tag == Tag(tag)
}

/// The line in the reply with this tag.
#[track_caller]
fn line(replies: &[(u64, MemReply)], tag: u32) -> Line {
    let found = replies.iter().find(|(_, reply)| reply.tag == Tag(tag));
    match found.map(|(_, reply)| &reply.result) {
        Some(MemResult::Line(_, line)) => *line,
        other => panic!("no line for tag {tag}: {other:?}"),
    }
}

/// The message of the fault that ended the run.
#[track_caller]
fn fault(report: &BenchReport) -> &str {
    match &report.outcome {
        counterpoint_framework::kernel::Outcome::Failed { fault, .. } if !fault.panicked => &fault.message,
        other => panic!("expected a fault: {other}"),
    }
}

/// A request on behalf of a launch, or of a copy, of a stream.
fn labelled(kernel: u32, stream: u32, request: MemRequest) -> MemRequest {
    MemRequest { label: Label { kernel, stream, ..Label::default() }, ..request }
}

/// Counters of a part of the component, such as `kernels[#1]`, in the order of their names here.
#[track_caller]
fn counted<const N: usize>(report: &BenchReport, part: &str, names: [&str; N]) -> [u64; N] {
    let path = format!("unit.{part}");
    names.map(|name| {
        let row = report.stats.iter().find(|row| row.path == path && row.label.name == name);
        match row.map(|row| row.value) {
            Some(StatValue::Count(count)) => count,
            other => panic!("no counter {name} of {part}: {other:?}"),
        }
    })
}

#[track_caller]
fn assert_finished(report: &BenchReport) {
    let finished = matches!(report.outcome, counterpoint_framework::kernel::Outcome::Finished(_));
    assert!(finished, "{}", report.outcome);
}
