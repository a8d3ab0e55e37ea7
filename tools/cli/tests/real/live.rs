//! `counterpoint cuda --machine`: events, clocks and queries of a program are the machine's, and the record has the same times when it runs again.

use std::path::Path;

use super::cuda::{build_with, counterpoint, here, text};

/// Microseconds of the kernels of a run's table, by row.
fn kernels(out: &str) -> Vec<f64> {
    let rows = out
        .lines()
        .filter(|line| line.trim_start().starts_with("add#") || line.trim_start().starts_with("wait#"));
    rows.map(|row| row.split_whitespace().nth(1).unwrap().parse().unwrap()).collect()
}

/// Numbers behind the colons of a program's lines.
fn numbers(out: &str) -> Vec<f64> {
    let lines = out.lines().filter(|line| line.starts_with("launch ") || line.starts_with("load"));
    lines.map(|line| line.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()).collect()
}

fn live(folder: &Path, options: &[&str]) -> (String, String) {
    let [code, clock] = ["live.ptx", "clock.ptx"].map(|file| here(file).to_string_lossy().into_owned());
    let ran = counterpoint(folder, &[&["cuda"], options, &["--", "./program", &code, &clock]].concat());
    let (out, err) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{out}{err}");
    (out, err)
}

#[test]
fn a_program_sees_simulated_time_and_its_record_has_the_same_times() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    build_with(folder, "live.c", "libcuda.so.1");
    let (out, _) = live(folder, &["--machine", "gtx480"]);
    let (said, simulated) = (numbers(&out), kernels(&out));
    assert_eq!((said.len(), simulated.len()), (4, 5), "{out}");
    for (event, kernel) in said.iter().zip(&simulated).take(3) {
        assert!(
            event > kernel && event - kernel < 0.1,
            "between events a kernel and little more: {said:?} {simulated:?}"
        );
    }
    assert!((400.0..1200.0).contains(&said[3]), "a load that misses all caches: {}", said[3]);
    assert!(out.contains("polls: some\n"), "{out}");
    let again = live(folder, &["--machine", "gtx480"]).0;
    assert_eq!(numbers(&again), said, "times do not depend on the computer");
    let ran =
        counterpoint(folder, &["run", "gtx480", "out/cuda/program/program.yaml", "--runtime", "streams"]);
    let out = text(&ran.stdout);
    assert!(ran.status.success(), "{out}{}", text(&ran.stderr));
    // The first kernel begins a few cycles of the memory's clock apart: the host of the record does not wait for the copy before it. Behind the third
    // the program has polled, which no record has.
    let recorded = kernels(&out);
    assert!((recorded[0] / simulated[0] - 1.0).abs() < 0.02, "{recorded:?} {simulated:?}");
    assert_eq!(recorded[1..3], simulated[1..3], "the record has the same times");
    // Without a machine no time passes, and only some launches may have time.
    assert_eq!(numbers(&live(folder, &[]).0)[..3], [0.0; 3]);
    let (out, err) = live(folder, &["--machine", "gtx480", "--timed", "2..3"]);
    let timed = numbers(&out);
    assert!(timed[0] == 0.0 && timed[1] > 1.0 && timed[2] > 1.0, "{timed:?}");
    assert_eq!(kernels(&out).len(), 2, "{out}");
    assert!(err.contains("launches 2 to 3 of 5 had time, the others had none"), "{err}");
    // The program's clocks, if they are the machine's: a launch takes its kernel and its way, and a loop of readings ends on time.
    let clocks = |out: &str| -> Vec<f64> {
        let lines =
            out.lines().filter_map(|line| line.strip_prefix("clock: ").or(line.strip_prefix("waited: ")));
        lines.map(|line| line.trim_end_matches(" ns").parse().unwrap()).collect()
    };
    let (out, _) = live(folder, &["--machine", "gtx480", "--program-clock"]);
    let (by_clock, kernel) = (clocks(&out), 1e3 * kernels(&out)[3]);
    assert!(by_clock[0] > kernel && by_clock[0] < kernel + 10_000.0, "{by_clock:?} {kernel}");
    assert_eq!(by_clock[1], 10_000.0);
    assert_eq!(clocks(&live(folder, &["--machine", "gtx480", "--program-clock"]).0), by_clock);
    let wrong = counterpoint(folder, &["cuda", "--machine", "gtx4800", "--", "./program"]);
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("gtx480"), "{}", text(&wrong.stderr));
}
