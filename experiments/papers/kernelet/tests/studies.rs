//! The studies at their smallest scale.

use counterpoint_tests::points::{Sound, assert_sound};

const PROFILE: &[&str] = &["pur", "mur", "occupancy"];
const RATES: &[&str] = &["measured", "predicted", "queue_time", "profile_pur", "profile_mur"];
/// Studies of one kernel, and of all.
const ONE: [Sound; 2] =
    [("kernelet-table-4", "C2050 / PC", 1, PROFILE), ("kernelet-kernels", "C2050 / PC", 2, RATES)];
const ALL: [Sound; 2] = [("kernelet-table-4", "/", 16, PROFILE), ("kernelet-kernels", "C2050", 16, RATES)];

/// Studies of queues of kernels.
const QUEUES: [Sound; 3] = [
    ("kernelet-pairs", "C2050 / PC/TEA", 8, &["queue_time"]),
    ("kernelet-figure-6", "C2050 / SAD", 10, &["queue_time"]),
    ("kernelet-queues", "C2050 / MIX", 7, &["time"]),
];

#[test]
fn studies_of_kernels_can_be_run_and_their_points_are_sound() {
    assert_sound(&ONE);
    let columns = &["warp_rate_1", "warp_rate_2", "pur_difference", "mur_difference"];
    assert_sound(&[("kernelet-figure-4", "T1/T5", 4, columns)]);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn studies_of_all_kernels_are_sound() {
        assert_sound(&ALL);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn studies_of_queues_are_sound() {
        assert_sound(&QUEUES);
    }
}
