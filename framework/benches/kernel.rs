//! The kernel on its own: a ring of tokens, a pipeline with back-pressure, clocked components.
//!
//! `cargo bench -p counterpoint-framework` prints operations per second. Clocks run at 1 GHz, links take one cycle.

use std::hint::black_box;

use counterpoint_framework::kernel::{
    Endpoint, Islands, LinkOptions, LinkSpec, Machine, ProcessSpec, RunOptions,
};
use counterpoint_framework::time::{Clock, Hertz, Latency, SimTime};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const CLOCK: Clock = Clock::new(Hertz::new(1_000_000_000));

fn join(machine: &mut Machine, from: usize, to: usize, capacity: u32) {
    let end = |process, port: &str| Endpoint { process, port: port.into(), index: None };
    let options = LinkOptions { latency: Latency::Cycles(1), capacity, bandwidth: None };
    machine.links.push(LinkSpec { from: end(from, "out"), to: end(to, "in"), sender: 0, options });
}

/// `nodes` components in a ring, a token each, until one of them has passed on `hops / nodes` tokens.
fn ring(nodes: usize, hops: u64) -> Machine {
    let mut machine = Machine::default();
    for node in 0..nodes {
        machine.processes.push(ProcessSpec::new(format!("n[{node}]"), CLOCK, node > 0, move |wiring| {
            let (mut input, mut out) = (wiring.input::<u64>("in", None), wiring.output::<u64>("out", None));
            async move {
                out.send(node as u64).await;
                for _ in 0..hops / nodes as u64 {
                    let token = input.recv().await;
                    out.send(token).await;
                }
                Ok(())
            }
        }));
        join(&mut machine, node, (node + 1) % nodes, 4);
    }
    machine
}

/// A source, eight stages and a sink, one cycle an item each, behind buffers of four.
fn pipeline(items: u64) -> Machine {
    let mut machine = Machine::default();
    for stage in 0..10 {
        machine.processes.push(ProcessSpec::new(format!("s[{stage}]"), CLOCK, stage != 9, move |wiring| {
            let mut input = (stage > 0).then(|| wiring.input::<u64>("in", None));
            let mut out = (stage < 9).then(|| wiring.output::<u64>("out", None));
            let process = wiring.process();
            async move {
                for number in 0..items {
                    let item = match &mut input {
                        Some(input) => input.recv().await,
                        None => number,
                    };
                    process.tick().await;
                    if let Some(out) = &mut out {
                        out.send(item).await;
                    }
                }
                Ok(())
            }
        }));
    }
    (0..9).for_each(|stage| join(&mut machine, stage, stage + 1, 4));
    machine
}

/// Components that wake at every edge and do a little arithmetic.
fn clocked(components: usize, cycles: u64) -> Machine {
    let mut machine = Machine::default();
    for component in 0..components {
        machine.processes.push(ProcessSpec::new(format!("c[{component}]"), CLOCK, false, move |wiring| {
            let process = wiring.process();
            async move {
                let mut state = component as u64 + 1;
                for _ in 0..cycles {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    process.tick().await;
                }
                black_box(state);
                Ok(())
            }
        }));
    }
    machine
}

fn kernel(criterion: &mut Criterion) {
    let options = RunOptions { islands: Islands::One, ..RunOptions::default() };
    let mut group = criterion.benchmark_group("kernel");
    group.sample_size(10);
    let mut bench = |name: &str, operations: u64, machine: &dyn Fn() -> Machine| {
        group.throughput(Throughput::Elements(operations));
        group.bench_function(name, |bencher| {
            bencher.iter_with_setup(machine, |machine| black_box(machine.run(&options).outcome.time()));
        });
    };
    bench("ring", 640_000, &|| ring(64, 640_000));
    bench("pipeline", 9 * 50_000, &|| pipeline(50_000));
    bench("clocked", 256 * 2_000, &|| clocked(256, 2_000));
    assert!(clocked(1, 5).run(&options).outcome.time() == SimTime::from_ns(5));
}

criterion_group!(benches, kernel);
criterion_main!(benches);
