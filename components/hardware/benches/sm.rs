//! The hot paths of an SM, between scripts: host time for a warp instruction, an access or a block.
//!
//! `-- --profile-time 1` repeats one of them for a profiler.

use std::sync::Arc;

use counterpoint_framework::kernel::{Outcome, Socket};
use counterpoint_framework::model::Environment;
use counterpoint_framework::telemetry::SpanId;
use counterpoint_framework::testing::Bench;
use counterpoint_framework::time::Hertz;
use counterpoint_hardware::gpu::sm::Sm;
use counterpoint_protocols::launch::{Launch, RunCta, SmEvent, ToSm};
use counterpoint_protocols::memory::MemRequest;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use programs::{Memory, kernel, launch};

#[allow(dead_code, unused_imports, reason = "the tests of timing use the rest")]
#[path = "../tests/timing/programs.rs"]
mod programs;

/// Blocks that an SM holds at once.
const RESIDENT: u32 = 2;

/// Runs all blocks of a launch on a GTX 480's SM, before a memory that answers after a hundred cycles; gives a statistic.
fn run(launch: &Arc<Launch>, statistic: &str) -> u64 {
    let mut bench = Bench::reading::<Sm>(
        Hertz::new(700_000_000),
        Environment::default(),
        counterpoint_hardware::register,
        "{ fetch_width: 2, l1i: { perfect: on }, l1c: { perfect: on } }",
    );
    let work = Arc::clone(launch);
    bench.script("work", None, false, move |socket, _| {
        let Socket { mut tx, mut rx } = socket;
        async move {
            let blocks = work.grid[0];
            let block = |index| {
                ToSm::Run(RunCta { launch: Arc::clone(&work), index, sm: 0, sms: 1, span: SpanId(0) })
            };
            // The first event is what the SM has.
            rx.recv().await;
            for index in 0..blocks.min(RESIDENT) {
                tx.send(block(index)).await;
            }
            for ended in 0..blocks {
                let _: SmEvent = rx.recv().await;
                if ended + RESIDENT < blocks {
                    tx.send(block(ended + RESIDENT)).await;
                }
            }
            Ok(())
        }
    });
    let mut memory = Memory::default();
    bench.server("memory", None, move |request: MemRequest| Some((100, memory.answer(&request))));
    let report = bench.run();
    assert!(matches!(report.outcome, Outcome::Finished(_)), "{}", report.outcome);
    report.count(statistic)
}

/// Times a kernel, by the number that a statistic says.
fn path(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, launch: &Arc<Launch>, statistic: &str) {
    group.throughput(Throughput::Elements(run(launch, statistic)));
    group.bench_function(name, |bencher| bencher.iter(|| run(launch, statistic)));
}

/// A block of 32 warps that execute these instructions again and again, each time with another number.
fn warps(times: u32, line: impl Fn(u32) -> String) -> Arc<Launch> {
    let body: Vec<String> = (0..times).map(line).collect();
    launch(1, &kernel(&body.join("\n")), 1, 1024)
}

fn sm(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sm");
    group.sample_size(10);
    let chains = warps(512, |n| format!("fma.rn.f32 %f{0}, %f{0}, %f{0}, %f1;", 2 + n % 14));
    path(&mut group, "arithmetic of many ready warps", &chains, "warp_insn");
    // Each warp has a line of its own, which stays.
    let hits = warps(128, |n| format!("ld.global.u32 %r{}, [%rd2];", 3 + n % 12));
    path(&mut group, "L1 hits", &hits, "L1D_total_cache_accesses");
    // 64 KiB in turn, four times what the L1 holds.
    let misses = warps(128, |n| format!("ld.global.u32 %r{}, [%rd2+{}];", 3 + n % 12, n % 16 * 4096));
    path(&mut group, "L1 misses", &misses, "L1D_total_cache_misses");
    // Lanes are eight words apart, so that eight of them meet in a bank.
    let conflicts = warps(128, |n| match n {
        0 => "and.b32 %r2, %r1, 31;\nshl.b32 %r2, %r2, 5;\nmov.u32 %r3, scratch;\nadd.u32 %r2, %r2, %r3;"
            .to_owned(),
        _ => format!("ld.shared.u32 %r{}, [%r2];", 4 + n % 12),
    });
    path(&mut group, "shared memory with conflicts", &conflicts, "shared_accesses");
    path(&mut group, "blocks", &launch(1, &kernel(""), 512, 64), "ctas");
    group.finish();
}

criterion_group!(benches, sm);
criterion_main!(benches);
