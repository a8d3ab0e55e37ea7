//! A DRAM channel under three kinds of traffic, each as dense as the channel takes it: host time for an access.
//!
//! `-- --profile-time 1` repeats one of them for a profiler.

use counterpoint_framework::model::Environment;
use counterpoint_framework::testing::Bench;
use counterpoint_framework::time::Hertz;
use counterpoint_hardware::memory::dram::controller::DramController;
use counterpoint_protocols::memory::{ByteMask, LINE_BYTES, Label, MemAccess, MemReply, MemRequest, Tag};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const ACCESSES: u64 = 4096;
const LINES: u64 = (16 << 20) / LINE_BYTES;
/// Lines of a row of all banks, with the default order of rows, banks and columns.
const LINES_OF_A_ROW: u64 = 16 * 2048 / LINE_BYTES;

/// Reads of these lines, one every other cycle, and how long the channel takes.
fn run(line: fn(u64) -> u64) {
    let mut bench = Bench::reading::<DramController>(
        Hertz::new(924_000_000),
        Environment::default(),
        counterpoint_hardware::register,
        "{ capacity: 16 MiB }",
    );
    let script = (0..ACCESSES).map(|number| {
        let access = MemAccess::Read(ByteMask::MAX);
        let (line, tag) = (line(number) % LINES * LINE_BYTES, Tag(number as u32));
        (1 + 2 * number, MemRequest { line, tag, client: 0, label: Label::default(), fresh: 0, access })
    });
    let replies =
        bench.client::<MemRequest, MemReply>("clients", Some(0), script.collect(), ACCESSES as usize);
    bench.run();
    assert_eq!(replies.cycles().len() as u64, ACCESSES);
}

fn dram(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dram");
    group.throughput(Throughput::Elements(ACCESSES)).sample_size(10);
    group.bench_function("stream", |bencher| bencher.iter(|| run(|number| number)));
    group.bench_function("random", |bencher| {
        bencher.iter(|| run(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20));
    });
    group.bench_function("row-conflict", |bencher| {
        bencher.iter(|| run(|number| number % 8 * LINES_OF_A_ROW + number / 512));
    });
    group.finish();
}

criterion_group!(benches, dram);
criterion_main!(benches);
