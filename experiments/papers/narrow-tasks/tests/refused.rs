//! Tasks that a runtime cannot take are refused before the run, by `check` and by `run` in the same words.

use std::path::Path;

use counterpoint_cli::FAILURE;
use counterpoint_tests::command::call;

#[test]
fn tasks_that_fit_nowhere_are_refused_as_their_runtime_runs_them() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    for (runtime, words) in [
        ("pagoda", "error: task `exchange`: a block of 32 warps "),
        ("gemtc", "error: task `exchange`: its blocks have 4096 bytes of shared memory, "),
    ] {
        let what = ["tiny", "narrow-exchange", "--with", runtime, "--set", "app.threads=1024"];
        let check = call(&[&["check"], &what[..]].concat());
        let run = call(&[&["run"], &what[..], &["--out", &out]].concat());
        for called in [&check, &run] {
            assert_eq!(called.status, FAILURE, "{runtime}: {}{}", called.out, called.err);
            assert!(called.err.contains(words), "`{words}` is missing in: {}", called.err);
        }
        assert_eq!(check.err, run.err);
        assert!(!Path::new(&out).exists());
    }
}
