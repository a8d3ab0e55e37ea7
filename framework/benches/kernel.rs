//! The kernel on its own, beside hand-written loops that do the same: a ring of tokens, a pipeline with back-pressure,
//! PHOLD, clocked components. See [`graph`] for their definitions. Then the cost of islands, busy ones and idle ones.
//!
//! `cargo bench -p counterpoint-framework` prints operations per second. `cargo xtask bench-peers` adds other kernels.

use std::hint::black_box;

use counterpoint_framework::kernel::{
    Endpoint, Islands, LinkOptions, LinkSpec, ProcessNetwork, ProcessSpec, RunOptions, Sharing,
};
use counterpoint_framework::time::{Clock, Hertz, Latency, SimTime};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use graph::{RING, Work};
use workloads::Clocks;

mod floors;
mod graph;
mod workloads;

const HOPS: u64 = 160 * (RING * RING) as u64;
const ITEMS: u64 = 50_000;
const EVENTS: u64 = 200_000;
const COMPONENTS: usize = 256;
const CYCLES: u64 = 2_000;

/// Times one workload: the loop, and the kernel with one clock and with three. All three must do the same work;
/// with three clocks PHOLD's times, and so its work, are other ones.
fn compare(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    floor: impl Fn() -> Work,
    machine: impl Fn(Clocks) -> ProcessNetwork,
) {
    let options = RunOptions::default();
    let expected = floor();
    assert_eq!(workloads::work(machine(Clocks::Unit).run(&options)), expected, "{name}: the kernel differs");
    group.throughput(Throughput::Elements(expected.operations));
    group.bench_function(format!("{name}/loop"), |bencher| bencher.iter(|| black_box(floor())));
    for clocks in [Clocks::Unit, Clocks::Mixed] {
        let operations = workloads::work(machine(clocks).run(&options)).operations;
        group.throughput(Throughput::Elements(operations));
        group.bench_function(format!("{name}/kernel, {clocks:?} clocks"), |bencher| {
            bencher.iter_with_setup(|| machine(clocks), |machine| black_box(machine.run(&options)).islands);
        });
    }
}

fn kernel(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kernel");
    group.sample_size(10);
    compare(&mut group, "ring", || floors::ring(HOPS), |clocks| workloads::ring(clocks, HOPS));
    compare(&mut group, "pipeline", || floors::pipeline(ITEMS), |clocks| workloads::pipeline(clocks, ITEMS));
    compare(&mut group, "phold", || floors::phold(EVENTS), |clocks| workloads::phold(clocks, EVENTS));
    compare(
        &mut group,
        "clocked",
        || floors::clocked(COMPONENTS, CYCLES),
        |clocks| workloads::clocked(clocks, COMPONENTS, CYCLES),
    );
}

/// Number of hops large enough to hide the start of some thousand components.
const MANY_HOPS: u64 = 24 * HOPS;

/// Rings with links of 1, 10 and 100 cycles, and larger rings, on one thread and on two, cut as they are by default.
fn islands(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("islands");
    group.sample_size(10);
    for (nodes, cycles) in [(RING, 1), (RING, 10), (RING, 100), (256, 10), (4_096, 10)] {
        let hops = MANY_HOPS.next_multiple_of((nodes * cycles) as u64);
        group.throughput(Throughput::Elements(hops));
        for threads in [1, 2] {
            let options = RunOptions { threads, sharing: Sharing::Always, ..RunOptions::default() };
            group.bench_function(
                format!("{nodes} components, links of {cycles}, {threads} threads"),
                |bencher| {
                    let machine = || workloads::long_ring(Clocks::Unit, nodes, cycles as u64, hops);
                    bencher.iter_with_setup(machine, |machine| black_box(machine.run(&options)).islands);
                },
            );
        }
    }
}

/// Adds `count` components in a ring of their own, each waiting for a message that none of them will ever send.
fn add_idle(machine: &mut ProcessNetwork, count: usize) {
    let first = machine.processes.len();
    let end = |node: usize, port: &str| Endpoint { process: first + node, port: port.into(), index: None };
    let clock = Clock::new(Hertz::new(1_000_000_000));
    for node in 0..count {
        let idle = ProcessSpec::new(format!("idle[{node}]"), clock, true, |wiring| {
            let (mut input, mut out) = (wiring.input::<u64>("in", None), wiring.output::<u64>("out", None));
            async move {
                loop {
                    let token = input.recv().await;
                    out.send(token).await;
                }
            }
        });
        machine.processes.push(idle);
        let (from, to) = (end(node, "out"), end((node + 1) % count, "in"));
        let options = LinkOptions { latency: Latency::Cycles(10), capacity: 4, bandwidth: None };
        machine.links.push(LinkSpec { from, to, sender: 0, options });
    }
}

/// A busy ring beside islands in which nothing happens: the rate per hop is the same in all rows if those cost nothing.
fn idle(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("idle");
    group.sample_size(10);
    let cycles = 10;
    let hops = MANY_HOPS.next_multiple_of(RING as u64 * cycles);
    group.throughput(Throughput::Elements(hops));
    for islands in [0, 1_000, 10_000] {
        let machine = || {
            let mut machine = workloads::long_ring(Clocks::Unit, RING, cycles, hops);
            add_idle(&mut machine, islands);
            machine
        };
        // A cut at every link.
        let options =
            RunOptions { islands: Islands::AtLatency(SimTime::from_ns(1)), ..RunOptions::default() };
        assert_eq!(machine().run(&options).islands, RING + islands);
        group.bench_function(format!("{RING} busy components and {islands} idle islands"), |bencher| {
            bencher.iter_with_setup(machine, |machine| black_box(machine.run(&options)).islands);
        });
    }
}

criterion_group!(benches, kernel, islands, idle);
criterion_main!(benches);
