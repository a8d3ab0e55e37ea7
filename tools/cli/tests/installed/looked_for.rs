//! Search for files: the folders and their order, and the cache of generated files.

use std::process::Stdio;

use crate::installed::{WorkFolder, called};

const MACHINE: &str = "counterpoint: 1
machine: own
include: [gpu, host]
components:
  host: { module: host }
  pcie: { type: io/pcie-link }
  gpu: { module: gpu, set: { sms: 1, controllers: 2, slices: 2, memory: 16 MiB } }
links: [\"host.bus[0] -> pcie.upstream\", pcie.downstream -> gpu.bus]
";

#[test]
fn a_machine_of_ones_own_uses_built_in_modules() {
    let place = WorkFolder::empty();
    place.write("own.yaml", MACHINE);
    assert!(place.works(&["run", "own.yaml", "vecadd"]).contains("verified"));
    // A module beside it is taken first, and its problems have its place.
    place.write("gpu", "counterpoint: 1\nmodule: gpu\nbad: 1\n");
    let called = place.call(&["check", "own.yaml"]);
    assert_eq!(called.status, Some(2));
    assert!(called.err.contains("gpu:3:1: error: "), "{}", called.err);
    std::fs::remove_file(place.path("gpu")).unwrap();
    place.write("own.yaml", &MACHINE.replace("[gpu, host]", "[gpu, hots]"));
    let called = place.call(&["check", "own.yaml"]);
    let (message, rest) = called.err.split_once("= help: ").unwrap();
    assert!(message.starts_with("own.yaml:3:16: error: there is no module `hots`"), "{message}");
    assert!(
        rest.starts_with("did you mean `host`? looked for `hots`, `topologies/modules/hots.yaml`, "),
        "{rest}"
    );
}

#[test]
fn problems_in_built_in_files_have_a_place() {
    let place = WorkFolder::empty();
    let called = place.call(&["check", "tiny", "--set", "gpu.sms=0"]);
    assert_eq!(called.status, Some(2));
    let called = place.call(&["check", "tiny", "--with", "built-in:topologies/modules/gpu.yaml"]);
    assert!(called.err.starts_with("built-in:topologies/modules/gpu.yaml:"), "{}", called.err);
    let called = place.call(&["check", "built-in:topologies/systems/tinny.yaml"]);
    assert!(
        called.err.starts_with("error: no such file: `built-in:topologies/systems/tinny.yaml` (machine)"),
        "{}",
        called.err
    );
}

#[test]
fn files_of_a_user_come_before_those_of_the_variable_and_of_the_program() {
    let place = WorkFolder::empty();
    let more = place.beside("more");
    std::fs::create_dir_all(more.join("machines")).unwrap();
    std::fs::write(more.join("machines/own.yaml"), MACHINE).unwrap();
    let list = || {
        let mut command = place.command(&["list", "machines", "--paths"]);
        called({
            command.env("COUNTERPOINT_PATH", format!("/nowhere:{}", more.display()));
            command
        })
        .out
    };
    let of = |name: &str| {
        let list = list();
        let mut lines = list.lines().filter(|line| line.split_whitespace().next() == Some(name));
        let path = lines.next().and_then(|line| line.split_whitespace().nth(1)).map(str::to_owned);
        assert!(lines.next().is_none(), "{name} is there twice:\n{list}");
        path.unwrap_or_else(|| panic!("no {name}:\n{list}"))
    };
    assert_eq!(of("own"), more.join("machines/own.yaml").display().to_string());
    assert!(!place.works(&["list", "machines"]).lines().any(|line| line.starts_with("own ")));
    let mut run = place.command(&["run", "own", "vecadd", "--set", "app.n=100"]);
    run.env("COUNTERPOINT_PATH", &more);
    assert!(called(run).out.contains("verified"));

    let sms = || place.works(&["resolve", "tiny"]).matches("gpu.sm[").count();
    let built_in = sms();
    assert_eq!(of("tiny"), "built-in:topologies/systems/tiny.yaml");
    std::fs::write(more.join("machines/tiny.yaml"), MACHINE).unwrap();
    assert_eq!(of("tiny"), more.join("machines/tiny.yaml").display().to_string());
    place.write("topologies/systems/tiny.yaml", &MACHINE.replace("machine: own", "machine: tiny"));
    assert_eq!(of("tiny"), "topologies/systems/tiny.yaml");
    assert_ne!(sms(), built_in);
}

#[test]
fn who_names_nothing_reads_where_it_was_looked_for() {
    let place = WorkFolder::empty();
    for (arguments, expected) in [
        (
            &["run", "tinny", "vecadd"][..],
            "error: there is no machine `tinny`\n  help: did you mean `tiny`?\n",
        ),
        (
            &["run", "tiny", "vecad"],
            "error: there is no application `vecad`\n  help: did you mean `vecadd`?\n",
        ),
        (
            &["check", "tiny", "--with", "crcs-pcs"],
            "error: there is no overlay `crcs-pcs`\n  help: did you mean `crcs-ppcs`?\n",
        ),
        (
            &["study", "sm-scalin"],
            "error: there is no study `sm-scalin`\n  help: did you mean `sm-scaling`?\n",
        ),
        (&["ptx", "show", "none.ptx"], "error: there is no PTX file `none.ptx`\n"),
    ] {
        let mut command = place.command(arguments);
        command.env("COUNTERPOINT_PATH", "/more");
        let called = called(command);
        assert_eq!((called.status, called.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(called.err.starts_with(expected), "{}", called.err);
        let folders = format!(
            "in {} and the folders above it, in those of COUNTERPOINT_PATH (/more)",
            place.path("").display().to_string().trim_end_matches('/')
        );
        assert!(called.err.contains(&folders) && called.err.contains("built-in files"), "{}", called.err);
    }
}

#[test]
fn inputs_of_built_in_applications_are_made_once_and_kept_among_the_caches() {
    let place = WorkFolder::empty();
    let start = |number: usize| {
        let out = format!("out{number}");
        let mut command = place.command(&["run", "tiny", "vecadd", "--functional", "--out", &out]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..4).map(start).collect();
    let ended: Vec<_> = running.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let made = |output: &std::process::Output| {
        String::from_utf8_lossy(&output.stderr).contains("a_10000.f32 did not exist")
    };
    assert!(ended.iter().all(|output| output.status.success()), "{ended:?}");
    assert_eq!(ended.iter().filter(|output| made(output)).count(), 1, "{ended:?}");
    let inputs = place.beside("cache/counterpoint/inputs");
    let mut names: Vec<String> = Vec::new();
    for folder in std::fs::read_dir(&inputs).unwrap() {
        let files = std::fs::read_dir(folder.unwrap().path()).unwrap();
        names.extend(files.map(|file| file.unwrap().file_name().into_string().unwrap()));
    }
    names.sort();
    assert_eq!(names, ["a_10000.f32", "b_10000.f32"]);
    // Another size is another file, and existing files are not generated again.
    let again = place.call(&["run", "tiny", "vecadd", "--functional"]);
    assert_eq!((again.status, again.err.as_str()), (Some(0), ""));
    place.works(&["run", "tiny", "vecadd", "--functional", "--set", "app.n=10"]);
    assert_eq!(std::fs::read_dir(&inputs).unwrap().count(), 4);
}

#[test]
fn a_folder_of_caches_that_cannot_be_written_is_named_with_its_variable() {
    let place = WorkFolder::empty();
    std::fs::write(place.beside("cache"), "a file").unwrap();
    let called = place.call(&["run", "tiny", "vecadd"]);
    assert_eq!(called.status, Some(2), "{called:?}");
    let path = place.beside("cache/counterpoint/inputs").display().to_string();
    assert!(called.err.starts_with(&format!("error: cannot write `{path}")), "{}", called.err);
    assert!(called.err.contains("XDG_CACHE_HOME names another folder"), "{}", called.err);
}
