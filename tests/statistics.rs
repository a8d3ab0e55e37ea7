//! Statistics of the whole machine, and the form of its numbers in files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use counterpoint_cli::SUCCESS;
use counterpoint_framework::model::StatValue;
use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::cli::call;
use crate::support::{assert_verified, request, root, run_request};

/// The lines of a run's `stats.csv`: value and unit by path and name.
type Rows = BTreeMap<(String, String), (String, String)>;

fn rows(folder: &Path) -> Rows {
    let mut table = csv::Reader::from_path(folder.join("stats.csv")).unwrap();
    let lines = table.records().map(|line| line.unwrap());
    lines
        .map(|line| {
            let cell = |place: usize| line[place].to_owned();
            ((cell(0), cell(1)), (cell(2), cell(3)))
        })
        .collect()
}

fn number(rows: &Rows, path: &str, name: &str) -> f64 {
    let row = rows.get(&(path.to_owned(), name.to_owned()));
    row.unwrap_or_else(|| panic!("no {path}.{name}")).0.parse().unwrap()
}

/// The sum over the components of an array, such as `gpu.l2[0]`, `gpu.l2[1]`.
fn over(rows: &Rows, array: &str, name: &str) -> f64 {
    let of_array = |path: &str| {
        let index = path.strip_prefix(array).and_then(|rest| rest.strip_prefix('[')?.strip_suffix(']'));
        index.is_some_and(|index| index.parse::<u32>().is_ok())
    };
    let own = rows.iter().filter(|((path, known), _)| known == name && of_array(path));
    own.map(|(_, (value, _))| value.parse::<f64>().unwrap()).sum()
}

fn run_in(folder: &Path, machine: &str, application: &str, sets: &[&str]) -> (RunSummary, Rows) {
    let out = folder.join("out");
    let summary = run_request(&RunRequest { out: Some(out.clone()), ..request(machine, application, sets) });
    assert_verified(&summary);
    (summary, rows(&out))
}

#[test]
fn a_machine_has_the_sums_of_its_parts_and_rates_over_run_and_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["app.n=40", "app.launches=3", "gpu.l2.cache.capacity=2 KiB"];
    let (summary, rows) = run_in(folder.path(), "tiny", "hotspot", &sets);
    let time = summary.report.outcome.time().as_ps() as f64;
    assert_eq!(number(&rows, "run", "simulated_time"), time);
    // Launches come one after another.
    let kernels = summary.phases.iter().filter(|phase| phase.work.is_some());
    let kernels: f64 = kernels.map(|phase| phase.busy.as_ps() as f64).sum();
    assert_eq!(number(&rows, "run", "kernel_time"), kernels);
    let l2 = ["L2_total_cache_accesses", "L2_total_cache_misses", "reads", "writes", "write_backs"];
    let dram =
        ["total_dram_reads", "total_dram_writes", "row_hits", "row_conflicts", "bytes", "peak_bandwidth"];
    for (array, sum, names) in [
        ("gpu.l2", "machine.l2", &l2[..]),
        ("gpu.dram", "machine.dram", &dram),
        ("gpu.sm", "machine.sms", &["warp_insn"]),
    ] {
        for name in names {
            let expected = over(&rows, array, name);
            assert_eq!(number(&rows, sum, name), expected, "{sum}.{name}");
            assert!(expected > 0.0 || *name == "row_conflicts", "{sum}.{name}");
        }
    }
    let close = |found: f64, expected: f64| {
        assert!((found - expected).abs() <= 1e-6 * expected.max(1.0), "{found} {expected}")
    };
    let bytes = number(&rows, "machine.dram", "bytes");
    close(number(&rows, "machine.dram", "bandwidth"), (bytes * 1e12 / time).floor());
    let peak = number(&rows, "machine.dram", "peak_bandwidth");
    close(number(&rows, "machine.dram", "bandwidth_of_peak"), bytes * 1e12 / time / peak);
    let copied: f64 = rows
        .iter()
        .filter(|((path, name), _)| {
            path.starts_with("gpu.dram[") && path.ends_with(".no_kernel") && name == "bytes"
        })
        .map(|(_, (value, _))| value.parse::<f64>().unwrap())
        .sum();
    close(number(&rows, "machine.dram", "kernel_bandwidth"), ((bytes - copied) * 1e12 / kernels).floor());
    // SMs of 700 MHz.
    let clock = number(&rows, "run.clocks[gpu.core]", "frequency");
    assert_eq!(number(&rows, "run.clocks[gpu.core]", "cycles"), (time * clock / 1e12).floor());
    let cycles = (kernels * clock / 1e12).floor();
    close(number(&rows, "machine.sms", "ipc"), number(&rows, "machine.sms", "gpu_sim_insn") / cycles);
    // Each instruction of each SM has one class.
    let mix = |path: &str| -> f64 {
        let of_mix = rows.iter().filter(|((known, _), _)| *known == format!("{path}.mix"));
        of_mix.map(|(_, (value, _))| value.parse::<f64>().unwrap()).sum()
    };
    for path in ["gpu.sm[0]", "gpu.sm[1]", "machine.sms"] {
        assert_eq!(mix(path), number(&rows, path, "warp_insn"), "{path}");
    }
    let loads = over(&rows, "gpu.sm", "load_latency::sum") / over(&rows, "gpu.sm", "load_latency::count");
    close(number(&rows, "machine.sms", "mean_load_latency"), loads);
}

#[test]
fn each_of_two_devices_has_sums_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (_, rows) = run_in(folder.path(), "two-gpus", "vecadd-two-devices", &["app.size=small"]);
    for (name, sum, statistic) in [
        ("l2", "machine.l2", "L2_total_cache_accesses"),
        ("dram", "machine.dram", "bytes"),
        ("sm", "machine.sms", "warp_insn"),
    ] {
        let of = |device: u32| {
            let array = format!("gpu[{device}].{name}");
            let own = number(&rows, &array, statistic);
            assert_eq!(own, over(&rows, &array, statistic), "{array}");
            own
        };
        assert_eq!(of(0) + of(1), number(&rows, sum, statistic), "{sum}");
    }
}

#[test]
fn launches_have_one_name_in_statistics_of_all_components_and_in_spans() {
    let folder = tempfile::tempdir().unwrap();
    let (summary, rows) = run_in(folder.path(), "tiny", "hotspot", &["app.n=40", "app.launches=2"]);
    for number in [1, 2] {
        let launch = format!("hotspot#{number}");
        let part = format!(".kernels[{launch}]");
        for component in ["gpu.scheduler", "gpu.l2[0]", "gpu.dram[0]"] {
            let path = format!("{component}{part}");
            assert!(rows.keys().any(|(known, _)| *known == path), "{path}");
        }
        assert!(summary.report.trace.spans.iter().any(|span| span.name == launch), "{launch}");
        assert!(summary.phases.iter().any(|phase| phase.name == launch), "{launch}");
    }
}

#[test]
fn every_number_has_a_unit_and_digits_that_mean_something() {
    let folder = tempfile::tempdir().unwrap();
    let (_, rows) = run_in(folder.path(), "tiny", "hotspot", &["app.n=40", "app.launches=2"]);
    assert!(rows.len() > 500);
    for ((path, name), (value, unit)) in &rows {
        assert!(!unit.is_empty(), "{path}.{name}");
        let digits = value.chars().filter(char::is_ascii_digit).count();
        assert!(!value.starts_with("-0") && (digits < 17 || !value.contains('.')), "{path}.{name} {value}");
    }
}

/// A run by the command line; the folder of its results.
fn command(folder: &Path, name: &str, more: &[&str]) -> PathBuf {
    let out = folder.join(name);
    let machine = root().join("topologies/systems/tiny.yaml").display().to_string();
    let application = root().join("experiments/applications/hotspot/hotspot.yaml").display().to_string();
    let path = out.display().to_string();
    let mut arguments = vec!["run", &machine, &application, "--out", &path];
    arguments.extend(["--set", "app.n=40", "--set", "app.launches=2"]);
    arguments.extend(more);
    let called = call(&arguments);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let line = called.out.lines().find(|line| line.trim_start().starts_with("hotspot#2")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells.len(), 8, "name, time, share, IPC, occupancy: {line}");
    // The same as in the statistics of the launch.
    let rows = rows(&out);
    let launch = "gpu.scheduler.kernels[hotspot#2]";
    assert_eq!(cells[5], format!("{:.3}", number(&rows, launch, "gpu_ipc")));
    assert_eq!(cells[6], format!("{:.2}", 100.0 * number(&rows, launch, "gpu_occupancy")));
    out
}

#[test]
fn the_same_run_leaves_the_same_files_but_for_the_seconds_that_it_took() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| command(folder.path(), name, &[]));
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    for name in ["stats.json", "stats.csv", "spans.perfetto.json", "exposure.csv", "critical_path.csv"] {
        assert_eq!(read(&a, name), read(&b, name), "{name}");
    }
    let text = |folder: &Path| {
        let text = read(folder, "stats.txt");
        let (seconds, rest): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with("host_seconds "));
        assert_eq!(seconds.len(), 1, "{text}");
        rest.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(text(&a), text(&b));
    let begin = text(&a);
    assert!(begin[1].starts_with("run.simulated_time "), "{begin:?}");
    assert!(
        begin
            .iter()
            .any(|line| line.starts_with("run.clocks[gpu.core].frequency ") && line.ends_with(" (Hz)"))
    );
}

#[test]
fn the_text_has_what_was_counted_unless_all_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let [counted, all] = [("counted", &[][..]), ("all", &["--stats", "all"])].map(|(name, more)| {
        std::fs::read_to_string(command(folder.path(), name, more).join("stats.txt")).unwrap()
    });
    let is_zero = |line: &&str| {
        let mut words = line.split_whitespace();
        words.next().is_some_and(|name| !name.contains("::")) && words.next().is_some_and(|word| word == "0")
    };
    assert_eq!(counted.lines().filter(is_zero).count(), 0);
    assert!(all.lines().filter(is_zero).count() > 100);
    assert!(counted.contains(" statistics are zero and left out (--stats all)"), "{counted}");
    assert!(all.contains("gpu.sm[0].TLB.accesses ") && !counted.contains("TLB"));
}

#[test]
fn thousands_of_launches_leave_as_many_rows_as_the_limit() {
    let counted = |launches: &str, launch_rows: u32| {
        let sets = ["app.n=8", &format!("app.launches={launches}")];
        let summary = run_request(&RunRequest { launch_rows, ..request("tiny", "hotspot", &sets) });
        let sum: u64 = summary
            .report
            .stats
            .iter()
            .filter(|row| row.path.starts_with("gpu.scheduler.kernels[") && row.label.name == "ctas")
            .map(|row| if let StatValue::Count(count) = row.value { count } else { 0 })
            .sum();
        (summary.report.stats.len(), sum, summary.launches.len())
    };
    let (few, many) = (counted("100", 10), counted("200", 10));
    assert_eq!((few.0, few.2, many.2), (many.0, 100, 200));
    assert_eq!(2 * few.1, many.1);
}
