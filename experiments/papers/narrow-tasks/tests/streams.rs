//! Tasks as kernels in streams.

use counterpoint::run::RunRequest;
use counterpoint_tests::quarters::Quarters;
use counterpoint_tests::support::assert_verified;

use crate::run_request;

fn quarters() -> Quarters {
    Quarters::with("quarters", "quarters")
}

#[test]
fn tasks_compute_what_they_do_one_after_another() {
    for runtime in ["hyperq", "{ hyperq: { streams: 3, copies: apart } }"] {
        assert_verified(&run_request(&quarters().request("tiny", &[&format!("host.cpu.runtime={runtime}")])));
    }
}

#[test]
fn tasks_in_streams_run_side_by_side() {
    let summary = |sets: &[&str]| {
        // A task is shorter than the call that launches the next one.
        let sets = [sets, &["host.cpu.calls.launch=0 us"]].concat();
        let request = quarters();
        let request =
            RunRequest { overlays: vec!["hyperq".to_owned()], ..request.request("titanx-maxwell", &sets) };
        let summary = run_request(&request);
        assert_verified(&summary);
        let spans = summary.report.trace.spans.iter();
        let kernels = spans.filter(|span| span.name.starts_with("vecadd"));
        let mut kernels: Vec<_> = kernels.map(|span| (span.start, span.end)).collect();
        kernels.sort();
        let copies = summary.report.trace.spans.iter().filter(|span| span.name.starts_with("H2D "));
        (kernels, copies.map(|span| span.end).max().unwrap())
    };
    let runtime = "host.cpu.runtime={ hyperq: { copies: apart } }";
    let (kernels, copied) = summary(&[runtime]);
    let [first, .., fourth, last] = &kernels[..] else { panic!("{kernels:?}") };
    assert!(copied <= first.0, "all inputs are there before the first kernel");
    assert!(fourth.0 < first.1, "the four tasks run together");
    assert!(kernels[..4].iter().all(|kernel| kernel.1 < last.0), "and what comes behind them waits");
    // With one stream, or one concurrent kernel, the kernels run one after another.
    let streams = "host.cpu.runtime={ hyperq: { streams: 1, copies: apart } }";
    for set in [streams, "gpu.scheduler.concurrent_kernels=1"] {
        let (kernels, _) = summary(&[runtime, set]);
        assert!(kernels.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{set}: {kernels:?}");
    }
}
