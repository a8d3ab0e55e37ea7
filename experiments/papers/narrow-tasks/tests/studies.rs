//! The studies, a few points each: on the model of throughput, where polls cost nothing, and in the slow tests where SMs are stepped.

use counterpoint_tests::points::{Sound, assert_sound, assert_sound_on, assert_sound_on_four_sms};

/// Studies of the Titan X.
const STUDIES: [Sound; 10] = [
    (
        "pagoda-figure-5",
        "/ narrow-dct /",
        6,
        &["hyperq_speed_up", "gemtc_speed_up", "pagoda_speed_up", "over_gemtc"],
    ),
    ("pagoda-figure-6", "/ narrow-matmul / 4 /", 3, &["whole_us", "over_hyperq"]),
    ("pagoda-figure-7", "/ narrow-dct / 32 /", 3, &["compute_us", "over_hyperq"]),
    ("pagoda-figure-8", "/ narrow-convolution / 2 / 16 /", 2, &["compute_us", "over_hyperq"]),
    ("pagoda-figure-10", "/ narrow-matmul / 4 /", 2, &["latency_us"]),
    ("pagoda-figure-11", "/ narrow-matmul /", 3, &["batching_speed_up", "pagoda_speed_up"]),
    ("pagoda-calls", "/ narrow-dct / 1 us /", 3, &["whole_us", "speed_up"]),
    ("pagoda-figure-9", "/ narrow-matmul /", 4, &["fusion_speed_up", "pagoda_speed_up", "pthreads_speed_up"]),
    ("pagoda-table-3", "/ narrow-dct /", 1, &["copies_percent"]),
    ("pagoda-table-5", "/ narrow-matmul /", 3, &["speed_up"]),
];

/// Studies of the K40, and of a longer queue.
const OTHERS: [Sound; 2] = [
    ("pagoda-32k", "/ narrow-dct /", 6, &["whole_us", "speed_up", "over_gemtc"]),
    ("pagoda-k40", "/ narrow-matmul /", 5, &["over_hyperq", "over_fusion"]),
];

/// Studies of long polls, on which stepped SMs would spend a minute.
const POLLS: [Sound; 2] = [
    ("pagoda-scan", "/ narrow-matmul /", 5, &["compute_us", "over_hyperq"]),
    ("pagoda-slud", "/", 6, &["speed_up"]),
];

const ON_MODEL: [&str; 2] = ["--machine", "titanx-maxwell-model"];

#[test]
fn every_study_can_be_run_and_its_points_are_sound() {
    assert_sound_on(&ON_MODEL, &STUDIES);
}

#[test]
fn studies_of_the_k40_and_of_long_polls_are_sound() {
    assert_sound_on(&ON_MODEL, &OTHERS);
    assert_sound_on(&ON_MODEL, &POLLS);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn points_of_every_study_are_sound_where_sms_are_stepped() {
        assert_sound_on_four_sms("titanx-maxwell", "sms: 24", &STUDIES);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn studies_of_the_k40_are_sound_on_it() {
        assert_sound(&OTHERS);
    }
}
