//! Ctrl-C and what batch systems send, as real signals to real processes.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use counterpoint_simulation::output::RECORDS;

use crate::real::{ENDLESS, out, run};

/// Starts hotspot on the tiny machine, to run until it is ended.
fn start(folder: &Path, options: &[&str]) -> Child {
    let mut child = run(folder, "hotspot", &[&ENDLESS, options].concat()).spawn().unwrap();
    await_folder(&mut child, folder);
    child
}

/// Waits for the folder of results, which is made right before the simulation begins, and long after the handler of signals is set.
fn await_folder(child: &mut Child, folder: &Path) {
    while !out(folder).exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run does not end by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal; whether there was a process to take it. One that has ended and that nobody has waited for counts.
fn signal(child: &Child, name: &str) -> bool {
    Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success()
}

/// Files of an interrupted run: every file whole, and marked as part of a run that did not finish.
fn assert_whole(folder: &Path, status: Option<i32>, stdout: &str, stderr: &str) {
    assert_eq!(status, Some(130), "{stdout}{stderr}");
    assert!(stderr.contains("interrupted: the results so far are partial"), "{stderr}");
    assert!(stdout.contains("interrupted at "), "{stdout}");
    let read = |name: &str| std::fs::read_to_string(out(folder).join(name)).expect(name);
    let manifest = read("manifest.yaml");
    assert!(
        manifest.contains("partial: true") && manifest.contains("outcome: interrupted at "),
        "{manifest}"
    );
    // The last list of a manifest: it is there if all is.
    assert!(manifest.contains("\nchecks:"), "{manifest}");
    assert!(read("stats.txt").contains("(partial)"));
    for name in ["stats.json", "spans.perfetto.json"] {
        assert!(serde_json::from_str::<serde_json::Value>(&read(name)).is_ok(), "{name}");
    }
    assert!(!read("machine.yaml").is_empty());
    for entry in std::fs::read_dir(out(folder)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // The application's output keeps the name of an incomplete file.
        let own = ["manifest.yaml", "machine.yaml", "temperature_out.f32.partial"];
        assert!(own.contains(&name.as_str()) || RECORDS.contains(&name.as_str()), "{name}");
    }
}

#[track_caller]
fn assert_ends(child: Child, folder: &Path) {
    let begun = Instant::now();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?} to end", begun.elapsed());
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert_whole(folder, status.code(), &stdout, &stderr);
}

#[test]
fn ctrl_c_ends_a_run_with_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), &[]);
    assert!(signal(&child, "-INT"));
    assert_ends(child, folder.path());
}

/// Whether this process ignores the end of its terminal, as Linux tells it.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 != 0)
}

#[test]
fn what_batch_systems_and_terminals_send_ends_a_run_with_what_there_is() {
    // If the tests themselves ignore SIGHUP, their children inherit that.
    let names = if ignores_hang_up() { &["-TERM"][..] } else { &["-TERM", "-HUP"] };
    for name in names {
        let folder = tempfile::tempdir().unwrap();
        let child = start(folder.path(), &[]);
        assert!(signal(&child, name));
        assert_ends(child, folder.path());
    }
}

#[test]
fn a_run_that_is_to_outlive_its_terminal_does() {
    let folder = tempfile::tempdir().unwrap();
    let own = run(folder.path(), "hotspot", &ENDLESS);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(own.get_program()).args(own.get_args());
    command.current_dir(own.get_current_dir().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    await_folder(&mut child, folder.path());
    assert!(signal(&child, "-HUP"));
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "it goes on");
    assert!(signal(&child, "-TERM"));
    assert_ends(child, folder.path());
}

#[test]
fn a_second_ctrl_c_breaks_nothing_whenever_it_comes() {
    // Pauses range from before the run has seen the first Ctrl-C to after it has written its files.
    for pause in [0, 1, 3, 10, 30] {
        let folder = tempfile::tempdir().unwrap();
        let child = start(folder.path(), &[]);
        assert!(signal(&child, "-INT"));
        std::thread::sleep(Duration::from_millis(pause));
        assert!(signal(&child, "-INT"));
        assert_ends(child, folder.path());
    }
}

#[test]
fn ctrl_c_ends_a_warm_up_too() {
    for times in [1, 2] {
        let folder = tempfile::tempdir().unwrap();
        let child = start(folder.path(), &["--warm-up", "1000 s"]);
        for _ in 0..times {
            assert!(signal(&child, "-INT"));
        }
        assert_ends(child, folder.path());
    }
}
