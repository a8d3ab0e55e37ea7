//! The studies at their smallest scale.

use counterpoint_tests::points::assert_sound;

#[test]
fn every_study_can_be_run_and_its_points_are_sound() {
    assert_sound(&[
        ("kernelet-table-4", "/", 16, &["pur", "mur", "occupancy"]),
        (
            "kernelet-kernels",
            "C2050",
            16,
            &["measured", "predicted", "queue_time", "profile_pur", "profile_mur"],
        ),
        ("kernelet-pairs", "C2050 / PC/TEA", 8, &["queue_time"]),
        (
            "kernelet-figure-4",
            "T1/T5",
            4,
            &["warp_rate_1", "warp_rate_2", "pur_difference", "mur_difference"],
        ),
        ("kernelet-figure-6", "C2050 / SAD", 9, &["queue_time"]),
    ]);
}
