//! A warm-up measures in wall-clock time how to cut the machine, and changes no result.

use std::process::Output;

use crate::real::run;

/// The lines of what a run prints that do not depend on how fast it was.
fn results(options: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let options = [&["--set", "app.n=1000", "--hash"], options].concat();
    let Output { status, stdout, stderr } = run(folder.path(), "vecadd", &options).output().unwrap();
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("verified, 1000 elements"), "{stdout}");
    let varies = ["wall time", "wrote", "results in"];
    let lines = stdout.lines().filter(|line| !varies.iter().any(|word| line.trim_start().starts_with(word)));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_warm_up_changes_no_result() {
    let plain = results(&[]);
    assert!(plain.iter().any(|line| line.trim_start().starts_with("hash  ")), "{plain:?}");
    // Half of the run, and more than all of it.
    for time in ["18 us", "1 ms"] {
        for threads in ["1", "2"] {
            assert_eq!(
                results(&["--warm-up", time, "--threads", threads, "--force-threads"]),
                plain,
                "{time}, {threads} threads"
            );
        }
    }
}
