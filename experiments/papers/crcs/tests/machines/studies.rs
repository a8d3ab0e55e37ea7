//! The studies: a few points of each, and the values in their columns.

use std::collections::BTreeMap;
use std::path::Path;

use counterpoint::application::{self, RealFiles};
use counterpoint::component::Registry;
use counterpoint::machine::Disk;
use counterpoint::run::{RunRequest, load_machine, registry_with};
use counterpoint::study::{Chosen, KnownValues, Point, Results, Row, load};
use counterpoint::time::BytesPerSecond;
use counterpoint_tests::pages::study;
use counterpoint_tests::points::assert_sound;

#[test]
fn every_study_can_be_run_and_its_points_are_sound() {
    assert_sound(&[
        ("crcs-figure-9", "/ laplace /", 3, &["no_copy", "single_kernel", "crcs_fifo", "crcs_ppcs", "best"]),
        ("crcs-figure-10", "/ hotspot /", 2, &["prelude_share"]),
        ("crcs-figure-11", "/ laplace /", 1, &["prelude", "other"]),
        ("crcs-figure-12", "/ 5 /", 3, &["single_kernel", "crcs_ppcs", "kernels_percent"]),
        ("crcs-random", "/ laplace /", 7, &["ppcs_at_random", "lost_percent"]),
        ("crcs-overhead", "/ laplace /", 1, &["profilers_percent"]),
        ("crcs-sensitivity", "/ hotspot / 8 /", 3, &["time_ms", "profilers_percent"]),
    ]);
}

#[test]
fn the_stages_of_two_programs_on_the_m2050_are_all_of_their_time() {
    let rows = study("crcs-figure-2", &[], &[" / 64 / "]);
    assert_eq!(
        rows.iter().map(|row| row["application"].as_str()).collect::<Vec<_>>(),
        ["gaussian", "hotspot"]
    );
    for (row, files) in rows.iter().zip([4 * (64 * 64 + 64) + 4 * (2 * 64 * 64 + 64), 4 * 3 * 64 * 64]) {
        let number = |name: &str| row[name].parse::<f64>().unwrap();
        let stages = ["prelude", "h2d", "kernels", "d2h", "postlude", "other"].map(number);
        assert!((stages.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{stages:?}");
        assert!(stages.iter().all(|share| *share > 0.0), "{stages:?}");
        // 500 MB/s, and the disks' additional time.
        let least = f64::from(files) / 500e6;
        let found = number("files_percent") / 100.0 * number("time");
        assert!(found > least && found < 1.1 * least, "{found} s, {least} s without latencies");
    }
}

/// Bandwidths of CRCS's machine in bytes a second: its reading disk, its writing disk, its bus.
fn bandwidths() -> [f64; 3] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
    let request = RunRequest { folder, ..RunRequest::new("crcs-64sm-pcie3-ssd", "") };
    let machine = load_machine(&request, &registry_with(&[counterpoint_crcs::register])).unwrap().machine;
    [("host.input", "read_bandwidth"), ("host.output", "write_bandwidth"), ("pcie", "bandwidth")].map(
        |(path, name)| {
            let instance = machine.instances.iter().find(|one| one.path == path).unwrap();
            let text = instance.params.get(name).and_then(|node| node.as_scalar()).unwrap();
            text.parse::<BytesPerSecond>().unwrap().get() as f64
        },
    )
}

/// The values of a study, by its name, from runs of HSP that last as long as the paper's numbers say: files
/// and copies at the machine's bandwidths, and kernels, five of which take 9.0 % of the baseline. By number
/// of launches.
fn computed(study: &str, machine: [f64; 3]) -> BTreeMap<u32, Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let hotspot = folder.join("../../applications/hotspot/hotspot.yaml").display().to_string();
    let hotspot = application::load(&hotspot, &[], &RealFiles, &Registry::default()).unwrap();
    let read: usize = hotspot.files().map(|file| file.bytes as usize).sum();
    let written = read / 2;
    let [input, output, bus] = machine;
    let prelude = read as f64 / input;
    let postlude = written as f64 / output;
    let [h2d, d2h] = [read, written].map(|bytes| bytes as f64 / bus);
    let milliseconds = [prelude, postlude, h2d, d2h].map(|time| (time * 1e6).round() / 1e3);
    assert_eq!(milliseconds, [4.194, 2.097, 0.133, 0.067]);
    let files = prelude + postlude + h2d + d2h;
    let kernel = files * 0.09 / 0.91 / 5.0;

    let path = folder.join("studies").join(study).display().to_string();
    let study = load(
        &path,
        &Disk,
        &Chosen { scale: Some("paper".to_owned()), machine: None },
        folder,
        &KnownValues::default(),
    )
    .unwrap();
    let launches = |labels: &[String]| {
        let place = study.dimensions.iter().position(|name| name == "app.launches");
        place.map_or(10, |place| labels[place].parse().unwrap())
    };
    let row = |point: &Point| {
        let kernels = f64::from(launches(&point.labels)) * kernel;
        let values = [
            ("time", files + kernels),
            ("busy_prelude", prelude),
            ("busy_h2d", h2d),
            ("busy_kernels", kernels),
            ("busy_d2h", d2h),
            ("busy_postlude", postlude),
            ("first_launch", kernel),
            ("last_launch", kernel),
        ];
        Row {
            labels: point.labels.clone(),
            values: values.map(|(name, value)| (name.to_owned(), value)).into(),
            growths: Vec::new(),
            key: serde_json::from_str("\"\"").unwrap(),
        }
    };
    let baseline = |point: &&Point| {
        let is = |name: &str| point.labels.iter().any(|label| label == name);
        is("baseline") && is("hotspot")
    };
    let rows = study.points.iter().filter(baseline).map(row).collect();
    let results = Results::compute(&study, rows);
    results.rows.into_iter().map(|row| (launches(&row.labels), row)).collect()
}

#[test]
fn the_papers_fractions_and_bounds_of_hsp_fit_together() {
    let machine = bandwidths();
    let rows = computed("crcs-figure-12.yaml", machine);
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), [5, 10, 20, 50, 100]);
    for (launches, name, expected, within) in [
        (5, "kernels_percent", 9.0, 1e-9),
        (100, "kernels_percent", 66.4, 0.05),
        (5, "single_kernel", 1.068, 5e-4),
        (100, "single_kernel", 1.024, 5e-4),
        // No overlapping exceeds this.
        (5, "best", 1.701, 5e-4),
        (10, "best", 1.854, 5e-4),
        (100, "best", 1.506, 5e-4),
    ] {
        let found = rows[&launches].values[name];
        assert!((found - expected).abs() < within, "{name} at {launches}: {found}");
    }
    // The figure of all programs has the same bound.
    let ninth = &computed("crcs-figure-9.yaml", machine)[&10].values;
    assert_eq!(ninth["single_kernel"], rows[&10].values["single_kernel"]);
    assert!(ninth["no_copy"] > 1.0 && ninth["no_copy"] < ninth["single_kernel"]);
}
