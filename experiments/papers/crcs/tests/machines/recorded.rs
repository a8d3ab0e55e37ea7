//! A CUDA program that was recorded: its host computes before its kernels and behind them.

use counterpoint_tests::support::root;

use super::{FIFO, PPCS, assert_right, on_crcs, run_request};

#[test]
fn a_recorded_program_is_overlapped_and_its_work_waits_where_it_must() {
    is_overlapped(&[(FIFO, &[(150, 50)]), (PPCS, &[(50, 150)])]);
}

/// A recorded program is overlapped by policies, and longer work of the host before and behind it makes it longer by as much.
fn is_overlapped(policies: &[(&str, &[(u32, u32)])]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("work.yaml").display().to_string();
    let program = root().join("experiments/applications/captured-stages");
    let here = |file: &str| program.join(file).display().to_string();
    let postlude = |time: u32| {
        format!(
            "postlude: [ {{ compute: {{ time: {time} us }} }}, {{ write: {{ from: b3, file: edges.raw }} }} ]\n"
        )
    };
    // The host works before it reads the images, and before it writes their edges.
    let run = |overlay: Option<&str>, before: u32, behind: u32| {
        let prelude = format!(
            "prelude: [ {{ compute: {{ into: weights, file: {}, time: 1 us }} }}, {{ compute: {{ time: {before} us }} }}, \
             {{ read: {{ file: {}, into: b1, offset: 0 }} }} ]\n",
            here("input/weights.bin"),
            here("input/stages.raw")
        );
        let text = format!("counterpoint: 1\napplication: work\ninclude: {}\n", here("captured-stages.yaml"));
        std::fs::write(&path, text + &prelude + &postlude(behind)).unwrap();
        let summary = run_request(&on_crcs(overlay, &path, &[]));
        assert_right(&summary, if overlay.is_some() { 12 } else { 0 });
        let phase = |name: &str| {
            let spans = &summary.report.trace.spans;
            let found = spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name}"));
            (found.start.as_ps(), found.end.as_ps())
        };
        (phase("prelude"), phase("kernels"), phase("postlude"), summary.report.outcome.time().as_ps())
    };
    let us = |time: u32| u64::from(time) * 1_000_000;
    let (prelude, kernels, _, serial) = run(None, 50, 50);
    assert!(kernels.0 >= prelude.1);
    for &(overlay, works) in policies {
        let (prelude, kernels, postlude, whole) = run(Some(overlay), 50, 50);
        assert!(
            kernels.0 < prelude.1 && whole < serial,
            "{overlay}: {whole} ps, one thing after another {serial} ps"
        );
        assert!(postlude.0 < kernels.1, "the thread waits for its results from the beginning");
        // The reading waits for the host, and the writing; nothing else has changed.
        for &(before, behind) in works {
            let (.., longer) = run(Some(overlay), before, behind);
            assert_eq!(longer - whole, us(100), "{overlay} {before} {behind}");
        }
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn work_before_and_behind_waits_under_both_policies() {
        is_overlapped(&[(FIFO, &[(150, 50), (50, 150)]), (PPCS, &[(150, 50), (50, 150)])]);
    }
}
