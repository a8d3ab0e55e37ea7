//! `counterpoint bisect`: equal runs are reported as equal, and a difference is found where the runs
//! themselves show it.

use counterpoint_cli::{FAILURE, NOT_VERIFIED, SUCCESS};
use counterpoint_framework::time::{Quantity, SimTime};
use counterpoint_simulation::run::RunRequest;

use crate::cli::{application, call, tiny};
use crate::support::run_request;

const SIZE: &str = "app.n=300";
const SLOWER: &str = "gpu.dram.timing.tRCD=60";

#[test]
fn equal_runs_have_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let called = call(&["bisect", &tiny(), &app, "--set", SIZE, "--vs", "--threads 2"]);
    assert_eq!(called.status, SUCCESS, "{}{}", called.out, called.err);
    assert!(called.out.starts_with("no difference: "), "{}", called.out);
}

/// The two times in "between A and B, in".
fn interval(text: &str) -> (SimTime, SimTime) {
    let (_, rest) = text.split_once("first difference: between ").unwrap();
    let (interval, _) = rest.split_once(", in ").unwrap();
    let (from, to) = interval.split_once(" and ").unwrap();
    (SimTime::parse(from).unwrap(), SimTime::parse(to).unwrap())
}

#[test]
fn a_difference_is_found_to_the_cycle() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let change = format!("--set '{SLOWER}'");
    let called = call(&["bisect", &tiny(), &app, "--set", SIZE, "--vs", &change]);
    assert_eq!(called.status, NOT_VERIFIED, "{}{}", called.out, called.err);
    let (from, to) = interval(&called.out);
    assert!((to - from).as_ps() <= 2_000, "{}", called.out);
    // Only a DRAM controller can differ first: the controllers were changed.
    assert!(called.out.contains(", in gpu.dram["), "{}", called.out);
    // The hash of a run that stops there says the same without any snapshot.
    let hash = |sets: &[&str], stop_at: SimTime| {
        let sets = sets.iter().map(|&set| set.to_owned()).collect();
        let request =
            RunRequest { sets, hash: true, stop_at: Some(stop_at), ..RunRequest::new(tiny(), &app) };
        run_request(&request).report.hash
    };
    assert_eq!(hash(&[SIZE], from), hash(&[SIZE, SLOWER], from));
    assert_ne!(hash(&[SIZE], to), hash(&[SIZE, SLOWER], to));
}

#[test]
fn a_run_writes_its_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let [out, file] = ["out", "hashes.jsonl"].map(|name| folder.path().join(name).display().to_string());
    let run = ["run", &tiny(), &app, "--set", SIZE, "--out", &out, "--quiet"];
    let called = call(&[&run[..], &["--hash-every", "1 us", "--hashes", &file]].concat());
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.lines().count() > 20, "{text}");
    assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    let alone = call(&[&run[..], &["--hashes", &file]].concat());
    assert_eq!(alone.status, FAILURE);
    assert!(alone.err.contains("--hash-every"), "{}", alone.err);
}

#[test]
fn what_cannot_run_is_said() {
    let problem = |arguments: &[&str]| {
        let called = call(&[&["bisect", &tiny(), "vecadd"], arguments].concat());
        assert_eq!(called.status, FAILURE, "{}", called.out);
        called.err
    };
    assert!(problem(&["--vs", "--set 'x"]).contains("a ' is not closed"));
    assert!(problem(&["--vs", "--thread 2"]).contains("--threads"));
    let missing = problem(&["--vs-binary", "/no/such/program", "--stop-at", "1 us"]);
    assert!(missing.contains("--vs-binary: `/no/such/program`: "), "{missing}");
}
