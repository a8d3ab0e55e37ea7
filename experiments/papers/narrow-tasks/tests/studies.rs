//! The studies, a few points each: on the model of throughput, where polls cost nothing, and in the slow tests where SMs are stepped.

use counterpoint_tests::points::{Sound, assert_sound, assert_sound_on, assert_sound_on_four_sms};

use crate::MODEL;

/// Studies of the Titan X whose points are short.
const SHORT: [Sound; 7] = [
    (
        "pagoda-figure-5",
        "/ narrow-dct /",
        6,
        &["hyperq_speed_up", "gemtc_speed_up", "pagoda_speed_up", "over_gemtc"],
    ),
    ("pagoda-figure-8", "/ narrow-convolution / 2 / 16 /", 2, &["compute_us", "over_hyperq"]),
    ("pagoda-figure-10", "/ narrow-matmul / 4 /", 2, &["latency_us"]),
    ("pagoda-calls", "/ narrow-dct / 1 us /", 3, &["whole_us", "speed_up"]),
    ("pagoda-figure-9", "/ narrow-matmul /", 4, &["fusion_speed_up", "pagoda_speed_up", "pthreads_speed_up"]),
    ("pagoda-table-3", "/ narrow-dct /", 1, &["copies_percent"]),
    ("pagoda-table-5", "/ narrow-matmul /", 3, &["speed_up"]),
];

/// Others, whose points are like some of these and longer.
const LONG: [Sound; 3] = [
    ("pagoda-figure-6", "/ narrow-matmul / 4 /", 3, &["whole_us", "over_hyperq"]),
    ("pagoda-figure-7", "/ narrow-dct / 32 /", 3, &["compute_us", "over_hyperq"]),
    ("pagoda-figure-11", "/ narrow-matmul /", 3, &["batching_speed_up", "pagoda_speed_up"]),
];

/// Studies of the K40, and of a longer queue.
const OTHERS: [Sound; 2] = [
    ("pagoda-k40", "/ narrow-matmul /", 5, &["over_hyperq", "over_fusion"]),
    ("pagoda-32k", "/ narrow-dct /", 6, &["whole_us", "speed_up", "over_gemtc"]),
];

/// Studies of long polls, on which stepped SMs would spend a minute.
const POLLS: [Sound; 2] = [
    ("pagoda-scan", "/ narrow-matmul /", 5, &["compute_us", "over_hyperq"]),
    ("pagoda-slud", "/", 6, &["speed_up"]),
];

/// Runs on the model of throughput, with four SMs in place of 24.
fn assert_sound_on_model(studies: &[Sound]) {
    assert_sound_on_four_sms(MODEL, "sms: 24", studies);
}

#[test]
fn studies_can_be_run_and_their_points_are_sound() {
    assert_sound_on_model(&SHORT);
}

#[test]
fn a_study_of_the_k40_can_be_run_and_its_points_are_sound() {
    assert_sound_on_model(&OTHERS[..1]);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn points_of_studies_are_sound_where_sms_are_stepped() {
        assert_sound_on_four_sms("titanx-maxwell", "sms: 24", &SHORT);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn points_of_longer_studies_are_sound_where_sms_are_stepped() {
        assert_sound_on_four_sms("titanx-maxwell", "sms: 24", &LONG);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn studies_of_the_k40_are_sound_on_it() {
        assert_sound(&OTHERS);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn studies_of_long_polls_are_sound_on_the_model_of_throughput() {
        assert_sound_on(&["--machine", MODEL], &POLLS);
    }
}
