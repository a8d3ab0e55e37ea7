//! `counterpoint cuda`: a program written without Counterpoint runs without a GPU, and then on machines with
//! time.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(super) fn here(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda/launch/tests").join(file)
}

pub(super) fn counterpoint(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_counterpoint"));
    command.current_dir(folder).env("XDG_CACHE_HOME", folder.join("cache")).args(words).output().unwrap()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Builds the program in a folder, with the libraries that the command installs there.
fn build(folder: &Path) {
    build_of(folder, "program.c");
}

/// Builds a program from another source.
pub(super) fn build_of(folder: &Path, source: &str) {
    build_with(folder, source, "libcudart.so.12");
}

/// Builds a program that needs this one of the libraries.
pub(super) fn build_with(folder: &Path, source: &str, library: &str) {
    let installed = counterpoint(folder, &["cuda", "--install", "libraries"]);
    assert!(installed.status.success(), "{}", text(&installed.stderr));
    let libraries = [library, "libcounterpoint_cuda.so"].map(|name| folder.join("libraries").join(name));
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler
        .args(["-pthread", "-Wl,--no-as-needed"])
        .arg(here(source))
        .args(libraries)
        .arg("-o")
        .arg(folder.join("program"));
    let compiled = compiler.output().unwrap();
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
}

#[test]
fn a_program_runs_without_a_gpu_and_then_on_machines() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    build(folder);
    let kernel = here("kernel.ptx");
    let words = ["cuda", "--sms", "4", "--", "./program", kernel.to_str().unwrap(), "steps", "500"];
    let captured = counterpoint(folder, &words);
    assert!(captured.status.success(), "{}", text(&captured.stderr));
    assert_eq!(text(&captured.stdout), "9 rounds, 0 wrong\n");
    let said = text(&captured.stderr);
    assert!(said.contains("9 launches, 2 004 bytes to the device, 2 036 bytes back"), "{said}");
    assert!(said.contains("wrote out/cuda/program/program.yaml"), "{said}");
    let application = "out/cuda/program/program.yaml";
    let runs: [&[&str]; 4] = [
        &["tiny", application, "--functional"],
        &["tiny", application],
        &["gtx480", application, "--set", "host.cpu.runtime=streams"],
        &["crcs-64sm-pcie3-ssd", application],
    ];
    for words in runs {
        let ran = counterpoint(folder, &[&["run"], words].concat());
        let (out, err) = (text(&ran.stdout), text(&ran.stderr));
        assert!(ran.status.success(), "{words:?}: {out}{err}");
        assert!(out.contains("b1           verified, 2000 elements"), "{words:?}: {out}");
    }
    // A kernel reads a texture, or writes an array through a surface, of which rows come back, and reads it by a texture.
    let modes: [(&str, &[&str]); 2] = [
        ("texture", &["b2           verified, 40 elements"]),
        ("layers", &["b1[50..119]  verified, 40 elements", "b2           verified, 120 elements"]),
    ];
    for (mode, lines) in modes {
        let words = ["cuda", "--name", mode, "--", "./program", kernel.to_str().unwrap(), mode];
        let captured = counterpoint(folder, &words);
        assert!(captured.status.success(), "{}", text(&captured.stderr));
        let application = format!("out/cuda/{mode}/{mode}.yaml");
        for more in [&["--functional"][..], &[]] {
            let ran = counterpoint(folder, &[&["run", "tiny", &application], more].concat());
            let out = text(&ran.stdout);
            for line in lines {
                assert!(out.contains(line), "{out}{}", text(&ran.stderr));
            }
        }
    }
}

#[test]
fn one_recording_at_a_time_has_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    build_of(folder, "calls.c");
    let ptx = here("calls.ptx");
    let mut first = Command::new(env!("CARGO_BIN_EXE_counterpoint"));
    first.current_dir(folder).env("XDG_CACHE_HOME", folder.join("cache"));
    first.args(["cuda", "--name", "same", "--", "./program"]).arg(&ptx).arg("stays");
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the first does not begin", || folder.join("out/cuda/same/record/record.jsonl").exists());
    let words = ["cuda", "--name", "same", "--", "./program", ptx.to_str().unwrap(), "cost"];
    let second = counterpoint(folder, &words);
    let said = text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(said.contains("records into out/cuda/same now") && said.contains("--name"), "{said}");
    first.kill().unwrap();
    first.wait().unwrap();
    let third = counterpoint(folder, &words);
    assert!(third.status.success(), "its holder is gone: {}", text(&third.stderr));
}

#[test]
fn without_time_of_the_host_the_same_program_is_the_same_application() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    build(folder);
    let kernel = here("kernel.ptx");
    let record = |out: &str, more: &[&str]| {
        let program = ["--", "./program", kernel.to_str().unwrap(), "steps", "500"];
        let words = [&["cuda", "--name", "steps", "--out", out], more, &program].concat();
        let recorded = counterpoint(folder, &words);
        assert!(recorded.status.success(), "{}", text(&recorded.stderr));
        let read = |name: &str| std::fs::read(folder.join(out).join(name)).unwrap();
        (text(&read("steps.yaml")), read("data.gz"), text(&recorded.stderr))
    };
    let (first, data, _) = record("first", &["--host-time", "none"]);
    assert_eq!(
        (&first, &data),
        (&record("second", &["--host-time", "none"]).0, &record("second", &["--host-time", "none"]).1)
    );
    assert!(!first.contains("time: 1"), "{first}");
    assert!(record("third", &["--host-time", "0.5"]).0.contains("compute"), "scaled");
    let wrong = counterpoint(folder, &["cuda", "--host-time", "soon", "--", "./program"]);
    assert!(
        text(&wrong.stderr).contains("expected `measured`, `none` or a factor"),
        "{}",
        text(&wrong.stderr)
    );
    // The first copy has 2000 bytes.
    let (short, _, said) = record("short", &["--limit", "2100 B"]);
    assert!(said.contains("the data of copies have reached 2.1 KB") && said.contains("`--limit`"), "{said}");
    assert!(short.contains("launch: m1.step") && !short.contains("- { buffer: b1"), "{short}");
    let ran = counterpoint(folder, &["run", "tiny", "short/steps.yaml"]);
    assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
}

#[test]
fn files_of_a_program_are_those_of_its_application() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    build(folder);
    let values: Vec<u8> = (0..3000_u32).flat_map(|index| (80 + index % 50).to_le_bytes()).collect();
    std::fs::write(folder.join("in.bin"), &values).unwrap();
    let kernel = here("kernel.ptx");
    let words =
        ["cuda", "--name", "f", "--", "./program", kernel.to_str().unwrap(), "files", "in.bin", "out.bin"];
    let captured = counterpoint(folder, &words);
    assert!(captured.status.success(), "{}", text(&captured.stderr));
    let written = std::fs::read(folder.join("out.bin")).unwrap();
    let expected =
        (0..3000_u32).map(|index| 80 + index % 50).map(|value| if value > 100 { value - 7 } else { value });
    assert_eq!(written, expected.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let application = std::fs::read_to_string(folder.join("out/cuda/f/f.yaml")).unwrap();
    assert!(application.contains("read: { file: \"input/in.bin\", into: b1, offset: 0 }"), "{application}");
    assert!(application.contains("write: { from: b1, file: \"out.bin\""), "{application}");
    for machine in [&["tiny"][..], &["crcs-64sm-pcie3-ssd", "--with", "crcs-ppcs"]] {
        let ran =
            counterpoint(folder, &[&["run"], machine, &["out/cuda/f/f.yaml", "--out", "results"]].concat());
        assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
        assert_eq!(std::fs::read(folder.join("results/out.bin")).unwrap(), written);
        std::fs::remove_dir_all(folder.join("results")).unwrap();
    }
}

#[test]
fn the_status_of_the_command_is_that_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    build(folder);
    let kernel = here("kernel.ptx");
    let run = |what: &str| counterpoint(folder, &["cuda", "--", "./program", kernel.to_str().unwrap(), what]);
    let beyond = run("beyond");
    let said = text(&beyond.stderr);
    assert_eq!(beyond.status.code(), Some(3), "{said}");
    assert!(said.contains("outside of every buffer") && said.contains("PTX line"), "{said}");
    assert!(said.contains("the application ends with the kernel that failed"), "{said}");
    assert_eq!(run("crash").status.code(), Some(134));
    let missing = counterpoint(folder, &["cuda", "--", "./gone"]);
    assert_eq!(
        (missing.status.code(), text(&missing.stderr)),
        (Some(2), "error: there is no program `./gone`\n".to_owned())
    );
}

/// Waits until something holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processes that have a text in their environment.
fn with_environment(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let environments = processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
    environments.filter(|bytes| String::from_utf8_lossy(bytes).contains(text)).count()
}

#[test]
fn a_program_that_something_else_starts_has_a_server_that_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    build_of(folder, "calls.c");
    let record = folder.join("record");
    std::fs::create_dir(&record).unwrap();
    let program = |what: &str| {
        let mut program = Command::new(folder.join("program"));
        program.arg(here("calls.ptx")).arg(what).env("LD_LIBRARY_PATH", folder.join("libraries"));
        program.env("COUNTERPOINT_CUDA_RECORD", &record);
        program
    };
    let ran = program("calls").output().unwrap();
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let written = std::fs::read_to_string(record.join("record.jsonl")).unwrap();
    assert_eq!(written.matches("\"launch\"").count(), 2000);
    // A child of the program does not keep the server, nor does a kernel that nobody needs.
    for (what, status) in [("daemons", Some(0)), ("leaves", Some(5)), ("returns", Some(4)), ("dies", None)] {
        let ran = program(what).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(ran.code(), status, "{what}");
        // A child of `daemons` sleeps two seconds itself.
        until("a process is left", || with_environment(record.to_str().unwrap()) == 0);
    }
    std::fs::remove_file(folder.join("libraries/counterpoint")).unwrap();
    let alone = program("cost").output().unwrap();
    assert_eq!(alone.status.code(), Some(1), "the call fails");
    assert!(text(&alone.stderr).contains("every call of CUDA fails"), "{}", text(&alone.stderr));
}

#[test]
fn a_program_whose_command_is_killed_ends_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    build_of(folder, "calls.c");
    let output = folder.join("output.txt");
    let script = "\"$0\" \"$1\" stays; echo status $?";
    let mut command = Command::new(env!("CARGO_BIN_EXE_counterpoint"));
    command.current_dir(folder).env("XDG_CACHE_HOME", folder.join("cache")).args(["cuda", "--name", "stays"]);
    command.args(["--", "sh", "-c", script, "./program"]).arg(here("calls.ptx"));
    command.stdout(std::fs::File::create(&output).unwrap()).stderr(Stdio::null());
    let mut command = command.spawn().unwrap();
    let printed = || std::fs::read_to_string(&output).unwrap_or_default();
    until("the kernel does not begin", || printed().contains("begun"));
    command.kill().unwrap();
    command.wait().unwrap();
    until("the program does not end", || printed().contains("status"));
    assert_eq!(printed(), "begun\ncudaErrorInitializationError\nstatus 6\n");
}

/// Begin and end of the launches of a kernel in a run's folder, in picoseconds.
fn launches(results: &Path, kernel: &str) -> Vec<(u64, u64)> {
    let spans = std::fs::read_to_string(results.join("spans.perfetto.json")).unwrap();
    let number = |text: &str, key: &str| {
        let rest = text.split_once(&format!("\"{key}\": ")).unwrap().1;
        rest.split(|one: char| !one.is_ascii_digit()).next().unwrap().parse::<u64>().unwrap()
    };
    let name = format!("\"name\": \"{kernel}#");
    let parts = spans.split(&name).skip(1);
    parts.map(|part| (number(part, "start_ps"), number(part, "end_ps"))).collect()
}

#[test]
fn streams_of_a_program_overlap_on_a_machine_as_on_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    build_of(folder, "codes.c");
    let kernel = here("codes.ptx");
    let run = |what: &str| {
        let captured = counterpoint(
            folder,
            &["cuda", "--name", what, "--", "./program", kernel.to_str().unwrap(), what],
        );
        assert!(captured.status.success(), "{}", text(&captured.stderr));
        let application = format!("out/cuda/{what}/{what}.yaml");
        let sets = ["--set", "host.cpu.runtime=streams", "--set", "gpu.scheduler.policy=concurrent"];
        let words = ["run", "gtx680", &application, "--out", what];
        let ran = counterpoint(folder, &[&words[..], &sets].concat());
        assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
        launches(&folder.join(what), "work")
    };
    // The short kernel on the default stream begins 6 cycles behind the long one on a non-blocking stream.
    let found = run("non-blocking");
    let [long, short] = found[..] else { panic!("{found:?}") };
    // The difference is 5964.2 ps at 1006 MHz, which rounds down or up depending on the time of the
    // beginning.
    assert!([5964, 5965].contains(&(short.0 - long.0)), "{found:?}");
    assert!(short.1 < long.1, "{found:?}");
    // Three streams begin before the first one ends; the legacy one waits for all of them.
    let found = run("threads");
    let [first, second, third, last] = found[..] else { panic!("{found:?}") };
    assert!([5964, 5965].contains(&(second.0 - first.0)), "{found:?}");
    assert!(third.0 < first.1 && last.0 > first.1.max(second.1).max(third.1), "{found:?}");
}
