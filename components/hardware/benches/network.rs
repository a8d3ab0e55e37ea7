//! The crossbar and an L2 slice under dense traffic between scripts: host time for a message and for an access.
//!
//! `-- --profile-time 1` repeats one of them for a profiler.

use counterpoint_framework::model::{Component, Environment};
use counterpoint_framework::testing::{Bench, Probe};
use counterpoint_framework::time::Hertz;
use counterpoint_hardware::interconnect::crossbar::Crossbar;
use counterpoint_hardware::memory::l2_slice::L2Slice;
use counterpoint_protocols::memory::{
    ByteMask, LINE_BYTES, Label, MemAccess, MemReply, MemRequest, MemResult, Tag,
};
use counterpoint_protocols::values::Values;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const REQUESTS: u64 = 4096;

fn bench<C: Component>(params: &str) -> Bench {
    let clock = Hertz::new(700_000_000);
    Bench::reading::<C>(clock, Environment::default(), counterpoint_hardware::register, params)
}

/// Reads of `sectors` sectors of these lines, one every `apart` cycles.
fn reads(sectors: u32, apart: u64, line: impl Fn(u64) -> u64) -> Vec<(u64, MemRequest)> {
    let access = MemAccess::Read(ByteMask::MAX >> (LINE_BYTES as u32 - 32 * sectors));
    let request = |number| {
        let (line, tag) = (line(number) * LINE_BYTES, Tag(number as u32));
        (
            1 + apart * number,
            MemRequest { line, tag, client: 0, label: Label::default(), fresh: 0, access: access.clone() },
        )
    };
    (0..REQUESTS).map(request).collect()
}

/// The answer of a memory in which nothing is.
fn answer(request: &MemRequest) -> MemReply {
    let result = match request.access {
        MemAccess::Read(mask) => MemResult::Line(mask, Values::zero()),
        MemAccess::Write(..) | MemAccess::Atomic(_) => MemResult::Written(1),
    };
    MemReply { line: request.line, tag: request.tag, client: request.client, result, far: 0 }
}

const CLIENTS: u64 = 15;
const SLICES: u32 = 12;

/// A crossbar with the number of clients and slices of the GTX 480. Every client reads its own lines, which go to the slices in
/// turn.
fn crossbar() {
    let mut bench =
        bench::<Crossbar>(&format!("{{ requests: {{ packet: 128 B }}, map: {{ slices: {SLICES} }} }}"));
    let probes: Vec<Probe<MemReply>> = (0..CLIENTS)
        .map(|client| {
            let script = reads(1, 1, |number| 1000 * client + 7 * number);
            bench.client("clients", Some(client as u32), script, REQUESTS as usize)
        })
        .collect();
    for slice in 0..SLICES {
        bench.server("servers", Some(slice), |request: MemRequest| Some((100, answer(&request))));
    }
    bench.run();
    assert!(probes.iter().all(|probe| probe.cycles().len() as u64 == REQUESTS));
}

/// Whole lines of a slice before a memory that answers after a hundred cycles.
fn l2_slice(line: fn(u64) -> u64) {
    let mut bench =
        bench::<L2Slice>("{ cache: { capacity: 64 KiB, ways: 8, mshrs: 256 }, hit_latency: 1 cycle }");
    let replies = bench.client::<_, MemReply>("requests", None, reads(4, 4, line), REQUESTS as usize);
    bench.server("memory", None, |request: MemRequest| Some((100, answer(&request))));
    bench.run();
    assert_eq!(replies.cycles().len() as u64, REQUESTS);
}

fn network(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("network");
    group.sample_size(10);
    // A request and a reply each.
    group.throughput(Throughput::Elements(2 * CLIENTS * REQUESTS));
    group.bench_function("crossbar", |bencher| bencher.iter(crossbar));
    group.throughput(Throughput::Elements(REQUESTS));
    group.bench_function("L2 hits", |bencher| bencher.iter(|| l2_slice(|number| number % 64)));
    group.bench_function("L2 misses", |bencher| bencher.iter(|| l2_slice(|number| number)));
    group.finish();
}

criterion_group!(benches, network);
criterion_main!(benches);
