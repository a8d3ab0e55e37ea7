//! The studies at their smallest scale.

use counterpoint_tests::points::assert_sound;

#[test]
fn every_study_can_be_run_and_its_points_are_sound() {
    assert_sound(&[("kernelet-table-4", "/", 16, &["pur", "mur", "occupancy"])]);
}
