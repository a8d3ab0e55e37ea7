//! Whole runs, from prelude to postlude, on the tiny machine: `cargo bench -p counterpoint-experiments`.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use counterpoint_simulation::registry;
use counterpoint_simulation::run::{Progress, RunRequest, run};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn whole_run(criterion: &mut Criterion) {
    let registry = Arc::new(registry());
    let mut group = criterion.benchmark_group("whole_run");
    group.sample_size(10);
    for (application, setting) in [("vecadd", "app.n=65536"), ("hotspot", "app.n=128")] {
        let request = RunRequest {
            folder: Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
            sets: vec![setting.to_owned()],
            ..RunRequest::new("tiny", application)
        };
        let once = || {
            run(&request, &registry, &Progress::default()).unwrap_or_else(|_| panic!("{application} runs"))
        };
        let summary = once();
        assert!(summary.is_good());
        group.throughput(Throughput::Elements(summary.figures.count("warp instructions").unwrap_or(1)));
        group.bench_function(application, |bencher| bencher.iter(|| black_box(once().wall)));
    }
}

criterion_group!(benches, whole_run);
criterion_main!(benches);
