//! The studies, a few points each.

use std::path::Path;

use counterpoint_tests::points::{assert_sound, assert_sound_on};
use counterpoint_tests::support::root;

/// Writes the machine of most studies with four SMs, and gives its path: on all 24, warps that poll take most of the time of a run.
fn titan_x_of_four_sms(folder: &Path) -> String {
    let topologies = root().join("topologies");
    let machine = std::fs::read_to_string(topologies.join("systems/titanx-maxwell.yaml")).unwrap();
    let fewer = machine.replace("sms: 24 ", "sms: 4 ");
    assert_ne!(fewer, machine);
    let path = folder.join("titanx-of-four-sms.yaml");
    std::fs::write(&path, fewer.replace("../", &format!("{}/", topologies.display()))).unwrap();
    path.display().to_string()
}

#[test]
fn every_study_can_be_run_and_its_points_are_sound() {
    let folder = tempfile::tempdir().unwrap();
    let machine = titan_x_of_four_sms(folder.path());
    assert_sound_on(
        &["--machine", &machine],
        &[
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
            (
                "pagoda-figure-9",
                "/ narrow-matmul /",
                4,
                &["fusion_speed_up", "pagoda_speed_up", "pthreads_speed_up"],
            ),
            ("pagoda-table-3", "/ narrow-dct /", 1, &["copies_percent"]),
            ("pagoda-table-5", "/ narrow-matmul /", 3, &["speed_up"]),
        ],
    );
}

#[test]
fn studies_of_the_k40_and_of_the_model_are_sound() {
    assert_sound(&[
        ("pagoda-32k", "/ narrow-dct /", 6, &["whole_us", "speed_up", "over_gemtc"]),
        ("pagoda-k40", "/ narrow-matmul /", 5, &["over_hyperq", "over_fusion"]),
    ]);
}

#[test]
fn studies_of_long_polls_are_sound_on_the_model_of_throughput() {
    // Stepped SMs would spend a minute on polls alone.
    assert_sound_on(
        &["--machine", "titanx-maxwell-model"],
        &[
            ("pagoda-scan", "/ narrow-matmul /", 5, &["compute_us", "over_hyperq"]),
            ("pagoda-slud", "/", 6, &["speed_up"]),
        ],
    );
}
