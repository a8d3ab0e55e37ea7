//! Warp instructions per second without time, by application: `cargo bench -p counterpoint-experiments --bench functional`.
//! Criterion's elements are warp instructions. The kernels are measured, not the reading and copying of their inputs.

use std::path::Path;

use counterpoint_framework::model::Registry;
use counterpoint_framework::telemetry::Meter;
use counterpoint_host_model::Journal;
use counterpoint_host_model::functional::{FunctionalHost, Launched};
use counterpoint_host_model::program::Application;
use counterpoint_ptx::functional::Options;
use counterpoint_simulation::application::{LoadedApplication, RealFiles, load};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

/// Names of applications, and the folders in which they are.
const APPLICATIONS: [(&str, &str); 12] = [
    ("vecadd", "applications/vecadd"),
    ("matmul-naive", "applications/matmul-naive"),
    ("matmul-tiled", "applications/matmul-tiled"),
    ("laplace", "applications/laplace"),
    ("mandelbrot", "applications/mandelbrot"),
    ("hotspot", "applications/hotspot"),
    ("pathfinder", "applications/pathfinder"),
    ("spmv", "applications/spmv"),
    ("bfs", "applications/bfs"),
    ("line-of-sight", "applications/line-of-sight"),
    ("products-by-fragments", "benches/products"),
    ("products-by-tiles", "benches/products"),
];

/// A device that holds the inputs, and kernels that have not run.
fn ready<'a>(
    kernels: &'a Application,
    loaded: &LoadedApplication,
    watch: &'a (Journal, Meter),
) -> FunctionalHost<'a> {
    let host = FunctionalHost::new(kernels, &watch.0, &watch.1, Options::default(), 0);
    let mut host = host.expect("there is room for small buffers");
    for (transfer, input) in loaded.application.reads().zip(&loaded.inputs) {
        host.load(transfer.part.buffer.0, &input.contents().expect("the input is there"))
            .expect("every buffer has its place");
    }
    host
}

/// Runs the kernels and returns what they executed.
fn run(mut host: FunctionalHost<'_>) -> Vec<Launched> {
    let ended = host.run((|_, _, _: &mut [u8]| Ok(()), |_, _, _| {}));
    assert!(ended.is_ok_and(|flow| flow.is_continue()), "the kernels run");
    host.into_results().0
}

fn functional(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("functional");
    group.sample_size(10);
    for (name, folder) in APPLICATIONS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{folder}/{name}.yaml"));
        let loaded = load(&path.display().to_string(), &[], &RealFiles, &Registry::default())
            .unwrap_or_else(|report| panic!("{}", report.render()));
        let Application { name: full_name, buffers, modules, steps, .. } = loaded.application.clone();
        let kernels = Application { name: full_name, buffers, modules, steps, ..Application::default() };
        let watch = (Journal::default(), Meter::default());
        let launched = run(ready(&kernels, &loaded, &watch));
        group.throughput(Throughput::Elements(launched.iter().map(|launch| launch.warp_instructions).sum()));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(|| ready(&kernels, &loaded, &watch), run, BatchSize::PerIteration);
        });
    }
}

criterion_group!(benches, functional);
criterion_main!(benches);
