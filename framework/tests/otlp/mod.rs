//! Spans on their way to a server, which is a real one: arrivals, and the fate of the rest on failure.

mod broken_files;
mod contents;
mod receiver;
mod trouble;

use std::time::{Duration, SystemTime};

use counterpoint_framework::telemetry::sinks::otlp::{
    Endpoint, Exported, Identity, Options, Outbox, RunTrace, Scale, Service, Setting, send,
};
use counterpoint_framework::telemetry::{Attribute, Lane, Level, Span, SpanId};
use counterpoint_framework::time::SimTime;

use receiver::Receiver;

/// Seconds since 1970 at which every trace here begins.
pub(crate) const EPOCH: u64 = 1_700_000_000;
/// The number of every trace here.
pub(crate) const TRACE: u128 = 0x0123_4567_89ab_cdef_0011_2233_4455_6677;

pub(crate) fn setting(scale: u64) -> Setting {
    let epoch = SystemTime::UNIX_EPOCH + Duration::from_secs(EPOCH);
    Setting {
        identity: Identity { trace: TRACE, epoch },
        scale: Scale::new(scale).unwrap(),
        facts: vec![("sim.machine", "toy".to_owned())],
    }
}

/// The first part of a path is service and instance.
pub(crate) fn service(path: &str) -> Service {
    let first = path.split('.').next().unwrap();
    Service { name: first.split('[').next().unwrap().to_owned(), instance: first.to_owned() }
}

pub(crate) fn trace(spans: &[Span]) -> RunTrace<'_> {
    RunTrace::new(spans, &setting(1000), &service).unwrap()
}

pub(crate) fn span(id: u64, parent: Option<u64>, path: &str, start: u64, end: u64) -> Span {
    Span {
        id: SpanId(id),
        parent: parent.map(SpanId),
        level: Level::Kernels,
        name: format!("span {id}").into(),
        path: path.to_owned(),
        lane: Lane::Only,
        start: SimTime::from_ps(start),
        end: SimTime::from_ps(end),
        partial: false,
        aggregated: 0,
        attributes: Vec::new(),
    }
}

/// A run with kernels and their blocks on several components: `count` spans in all, by start.
pub(crate) fn tree(count: u64) -> Vec<Span> {
    const BLOCKS: u64 = 99;
    let mut spans = vec![span(0, None, "host.cpu", 0, 100 * count)];
    for id in 1..count {
        let first = id - (id - 1) % (BLOCKS + 1);
        spans.push(if id == first {
            span(id, Some(0), "gpu.scheduler", 100 * id, 100 * (id + BLOCKS).min(count))
        } else {
            let path = match id % 3 {
                0 => "memory[0].dram".to_owned(),
                1 => "memory[1].dram".to_owned(),
                _ => format!("gpu.sm[{}]", id % 8),
            };
            let mut block = span(id, Some(first), &path, 100 * id, 100 * id + id % 100);
            block.attributes =
                vec![("block", Attribute::Number(id)), ("kernel", Attribute::Text("k".into()))];
            block
        });
    }
    spans
}

/// An export that does not wait for long.
pub(crate) fn quick() -> Options {
    Options { timeout: Duration::from_secs(5), retries: 2, ..Options::default() }
}

pub(crate) fn send_to(receiver: &Receiver, outbox: &dyn Outbox) -> Exported {
    send(outbox, &Endpoint::new(&receiver.url()).unwrap(), &quick())
}
