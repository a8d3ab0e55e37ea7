//! Warp instructions per second without time, by application: `cargo bench -p counterpoint-experiments --bench functional`.
//! Criterion's elements are warp instructions.

use std::path::Path;

use counterpoint_experiments::application::{RealFiles, load};
use counterpoint_framework::telemetry::Meter;
use counterpoint_host_model::Journal;
use counterpoint_host_model::functional::{FunctionalHost, Launched};
use counterpoint_host_model::program::Application;
use counterpoint_ptx::functional::Options;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const APPLICATIONS: [&str; 9] = [
    "vecadd",
    "matmul-naive",
    "matmul-tiled",
    "laplace",
    "mandelbrot",
    "hotspot",
    "pathfinder",
    "spmv",
    "bfs",
];

/// Runs an application and returns what its launches executed.
fn once(application: &Application, inputs: &[&[u8]]) -> Vec<Launched> {
    let (journal, meter) = (Journal::default(), Meter::default());
    let mut host = FunctionalHost::new(application, &journal, &meter, Options::default(), 0);
    let ended = host.run(inputs, |_, _| {});
    assert!(ended.is_ok_and(|flow| flow.is_continue()), "{} runs", application.name);
    host.into_results().0
}

fn functional(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("functional");
    group.sample_size(10);
    for name in APPLICATIONS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("applications/{name}/{name}.yaml"));
        let loaded = load(&path.display().to_string(), &[], &RealFiles)
            .unwrap_or_else(|report| panic!("{}", report.render()));
        let inputs: Vec<&[u8]> = loaded.inputs.iter().map(|input| &*input.contents).collect();
        let launched = once(&loaded.application, &inputs);
        group.throughput(Throughput::Elements(launched.iter().map(|launch| launch.warp_instructions).sum()));
        group.bench_function(name, |bencher| bencher.iter(|| once(&loaded.application, &inputs)));
    }
}

criterion_group!(benches, functional);
criterion_main!(benches);
