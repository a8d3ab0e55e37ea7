//! The studies at their smallest scale.

use counterpoint_tests::pages::{find, study, value};
use counterpoint_tests::points::assert_sound;

#[test]
fn studies_can_be_run_and_their_points_are_sound() {
    const ACCESSES: [&str; 4] = ["accesses", "dka_produced", "produced_of_through", "produced_of_around"];
    assert_sound(&[
        ("dka-figure-11", "mummer-matches", 10, &ACCESSES),
        ("dka-l2", "/ 64 /", 7, &["accesses", "flush_of_through", "flush_of_around"]),
        ("dka-figure-4-causes", "[12]", 6, &["gain", "gain_with_clock", "gain_with_l2", "dram_used"]),
        ("dka-figure-12-pairs", "/", 10, &["ipc", "of_pairs"]),
    ]);
}

#[test]
fn what_is_dirty_at_the_end_counts_as_written() {
    // Everything fits into the L2 and no batch shares a line with another one: each rule writes the same, now or later.
    for program in ["mersenne-twister", "dct-pipeline"] {
        let points = study("dka-figure-11", &["--scale", "small"], &[program]);
        let of = |run: &str, column: &str| value(find(&points, &[("run", run)]).unwrap(), column).unwrap();
        let serial = of("serial", "accesses");
        assert!(of("serial", "left_dirty") > 0.0, "{program}");
        for run in ["flush", "produced", "half", "protect"] {
            assert_eq!(of(run, "left_dirty"), 0.0, "{program} {run}");
            assert_eq!(of(run, "accesses"), serial, "{program} {run}");
        }
    }
}
