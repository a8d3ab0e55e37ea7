//! The `counterpoint` command, called in process: its output, its files, its exit status.

use counterpoint_cli::{FAILURE, INTERRUPTED, NOT_VERIFIED, SUCCESS};

pub(crate) use crate::command::{Called, call, call_with};
pub(crate) use crate::support::application;
use crate::support::root;

pub(crate) fn tiny() -> String {
    root().join("topologies/systems/tiny.yaml").to_string_lossy().into_owned()
}

#[test]
fn a_run_is_verified_and_leaves_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let out = folder.path().join("out");
    let (tiny, out_text) = (tiny(), out.to_string_lossy().into_owned());
    let arguments =
        ["run", &tiny, &app, "--set", "app.n=1000", "--out", &out_text, "--hash", "--spans", "ctas"];
    let first = call(&arguments);
    assert_eq!(first.status, SUCCESS, "{}{}", first.out, first.err);
    assert!(first.err.contains("a_1000.f32 did not exist; it was made by its generator"), "{}", first.err);
    for part in
        ["prelude", "H2D a", "vecadd", "D2H", "postlude", "total", "verified, 1000 elements", "cycles/s"]
    {
        assert!(first.out.contains(part), "{part} is missing in\n{}", first.out);
    }
    assert_eq!(std::fs::read(out.join("c.f32")).unwrap().len(), 4000);
    let manifest = std::fs::read_to_string(out.join("manifest.yaml")).unwrap();
    assert!(manifest.contains("partial: false") && manifest.contains("\"n\": 1000"), "{manifest}");
    assert!(manifest.contains("generated: true"), "{manifest}");
    assert!(std::fs::read_to_string(out.join("stats.txt")).unwrap().contains("gpu.scheduler.ctas"));
    for name in ["stats.json", "spans.perfetto.json"] {
        let text = std::fs::read_to_string(out.join(name)).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{name}");
    }

    // The resolved machine runs unchanged, and gives the same hash with the files that are there now.
    let machine = folder.path().join("machine.yaml");
    std::fs::copy(out.join("machine.yaml"), &machine).unwrap();
    let machine = machine.to_string_lossy().into_owned();
    let again = call(&[
        "run",
        &machine,
        &app,
        "--set",
        "app.n=1000",
        "--out",
        &out_text,
        "--hash",
        "--threads",
        "2",
        "--force-threads",
        "--quiet",
    ]);
    let hash = first.out.lines().find_map(|line| line.trim_start().strip_prefix("hash  "));
    assert_eq!(again.err, "");
    assert_eq!(hash.map(str::trim_start), again.out.strip_suffix('\n'), "the hash alone");
}

#[test]
fn wrong_results_are_told_apart_from_failures() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let text = std::fs::read_to_string(&app).unwrap();
    std::fs::write(&app, text.replace("reference: vecadd", "file: golden.f32")).unwrap();
    std::fs::write(folder.path().join("golden.f32"), [0; 400]).unwrap();
    let out = folder.path().join("out").to_string_lossy().into_owned();
    let called = call(&["run", &tiny(), &app, "--set", "app.n=100", "--out", &out, "--quiet"]);
    assert_eq!(called.status, NOT_VERIFIED, "{}", called.err);
    assert!(called.err.contains("error: verification failed: c against file "), "{}", called.err);
    assert!(called.err.contains("help: `--functional` computes the same without time"), "{}", called.err);
    assert!(
        called.err.contains("golden.f32: 100 of 100 elements differ, first [0]: expected 0.0, found "),
        "{}",
        called.err
    );
    assert_eq!(called.out, "");
}

#[test]
fn what_is_cut_off_is_marked_partial() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let out = folder.path().join("out");
    let out_text = out.to_string_lossy().into_owned();
    let run = |more: &[&str], interrupt| {
        let tiny = tiny();
        let mut arguments = vec!["run", &tiny, &app, "--out", &out_text];
        arguments.extend(more);
        call_with(&arguments, interrupt)
    };
    assert_eq!(run(&[], false).status, SUCCESS);
    assert!(out.join("c.f32").exists());
    // The last results are still being written at this time.
    let stopped = run(&["--stop-at", "220 us"], false);
    assert_eq!(stopped.status, SUCCESS, "{}", stopped.err);
    assert!(stopped.out.contains("(partial)") && stopped.out.contains("the run did not finish"));
    assert!(stopped.err.contains("no result has been verified"), "{}", stopped.err);
    assert!(!out.join("c.f32").exists() && out.join("c.f32.partial").exists());
    let manifest = std::fs::read_to_string(out.join("manifest.yaml")).unwrap();
    assert!(
        manifest.contains("partial: true") && manifest.contains("outcome: stopped at 220 us"),
        "{manifest}"
    );
    let interrupted = run(&[], true);
    assert_eq!(interrupted.status, INTERRUPTED);
    assert!(interrupted.err.contains("interrupted: the results so far are partial"));
    assert!(std::fs::read_to_string(out.join("stats.txt")).unwrap().contains("(partial)"));
}

#[test]
fn the_guard_against_livelocks_can_be_impatient_or_off() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let out = folder.path().join("out");
    let out_text = out.to_string_lossy().into_owned();
    let run = |patience| {
        call(&["run", &tiny(), &app, "--set", "app.n=100", "--out", &out_text, "--livelock-after", patience])
    };
    let manifest = || std::fs::read_to_string(out.join("manifest.yaml")).unwrap();
    // The SM computes for longer than this without a message.
    let impatient = run("50 ns");
    assert_eq!(impatient.status, FAILURE, "{}{}", impatient.out, impatient.err);
    assert!(impatient.err.contains("error: livelock at "), "{}", impatient.err);
    assert!(manifest().contains("livelock_after: 50 ns"), "{}", manifest());
    for never in ["off", "0 s"] {
        assert_eq!(run(never).status, SUCCESS, "{never}");
        assert!(!manifest().contains("livelock_after:"), "{}", manifest());
    }
}

#[test]
fn a_failure_in_the_machine_is_reported_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let text = std::fs::read_to_string(&app).unwrap();
    // Twice as many threads as elements: the kernel leaves its buffers.
    std::fs::write(
        &app,
        text.replace("c, \"${n}\"]", "c, \"${2 * n}\"]").replace("ceil(n /", "ceil(2 * n /"),
    )
    .unwrap();
    let out = folder.path().join("out").to_string_lossy().into_owned();
    let called = call(&["run", &tiny(), &app, "--set", "app.n=1024", "--out", &out]);
    assert_eq!(called.status, FAILURE, "{}{}", called.out, called.err);
    assert!(called.err.contains("error: gpu.sm["), "{}", called.err);
    assert!(folder.path().join("out/manifest.yaml").exists());
}

#[test]
fn problems_of_machine_and_application_come_together() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let tiny = tiny();
    let settings = ["--set", "app.m=1", "--set", "gpu.smz=3", "--runtime", "seriel"];
    let called = call(&[&["check", &tiny, &app][..], &settings].concat());
    assert_eq!(called.status, FAILURE);
    let expected = "\
--set gpu.smz=3: error: there is nothing named `smz` to set in `gpu`
 1 | gpu.smz=3
   |     ^^^
   = help: did you mean `gpu.sms`?

--set app.m=1: error: the application has no parameter `m`
 1 | app.m=1
   |     ^
   = help: did you mean `app.n`?
";
    assert_eq!(called.err, expected);
    // The help names the path whose end equals or resembles the written one; the error repeats the user's
    // words.
    for (setting, error, help) in [
        (["--set", "l1d.latency=9 cycles"], "--set l1d.latency=9 cycles: error: ", "`gpu.sm.l1d.latency`"),
        (["--set", "slises=2"], "--set slises=2: error: ", "`gpu.slices`"),
        (
            ["--set", "gpu.sm.l1d.latncy=9 cycles"],
            "there is no parameter `latncy` to set",
            "`gpu.sm.l1d.latency`",
        ),
        (["--runtime", "seriel"], "--runtime seriel: error: there is no runtime `seriel`", "`serial`"),
        (["--policy", "fofo"], "--policy fofo: error: there is no CTA policy `fofo`", "`fifo`"),
        (["--set", "gpu.sm.warp_scheduler=lr"], "error: there is no warp policy `lr`", "`lrr`"),
    ] {
        let called = call(&[&["check", &tiny, &app][..], &setting].concat());
        let help = format!("did you mean {help}?");
        assert!(called.err.contains(error) && called.err.contains(&help), "{setting:?}: {}", called.err);
    }
    let called = call(&["check", &tiny, &app, "--runtime", "seriel", "--policy", "fofo"]);
    assert!(called.err.contains("did you mean `serial`?") && called.err.contains("did you mean `fifo`?"));
    let called = call(&["check", "no-such-machine"]);
    assert_eq!(called.status, FAILURE);
    assert!(called.err.contains("there is no machine `no-such-machine`"), "{}", called.err);
}

#[test]
fn the_other_commands_print_what_they_should() {
    let tiny = tiny();
    let checked = call(&["check", &tiny]);
    assert_eq!((checked.status, checked.err.as_str()), (SUCCESS, ""));
    assert!(checked.out.starts_with("machine tiny: "), "{}", checked.out);
    assert!(
        checked.out.contains("\n  lookahead of two threads ") && checked.out.contains("limited by"),
        "{}",
        checked.out
    );
    let islands = call(&["graph", &tiny, "--islands", "--threads", "2", "--force-threads"]);
    assert!(islands.out.contains("islands on 2 threads, lookahead"), "{}", islands.out);
    assert!(islands.out.contains("\nthreads meet every "), "{}", islands.out);
    assert!(islands.out.contains("thread 1: ") && islands.out.contains("gpu.sm[1]"), "{}", islands.out);
    let picture = call(&["graph", &tiny, "--islands", "--dot"]);
    assert!(picture.out.starts_with("digraph \"tiny\" {"), "{}", picture.out);
    assert!(picture.out.contains("subgraph cluster_0") && picture.out.ends_with("}\n"), "{}", picture.out);
    assert!(call(&["graph", &tiny]).out.contains("gpu.l2[0].memory -> gpu.dram[0].clients[0] (1 cycle)"));
    let resolved = call(&["resolve", &tiny, "--set", "gpu.sms=3"]);
    assert!(resolved.out.contains("machine: tiny"), "{}", resolved.out);
    assert!(resolved.out.contains("count: 3"), "{}", resolved.out);
    let explained = call(&["explain", "memory/l2-slice"]);
    assert!(explained.out.starts_with("memory/l2-slice\n"), "{}", explained.out);
    let near = call(&["explain", "memory/l2-slise"]);
    assert_eq!(near.status, FAILURE);
    assert!(near.err.contains("did you mean `memory/l2-slice`?"), "{}", near.err);
    for of in ["machine", "application"] {
        assert!(serde_json::from_str::<serde_json::Value>(&call(&["schema", of]).out).is_ok(), "{of}");
    }
    assert!(call(&["explain", "application"]).out.contains("One for each parameter of the kernel"));
}

#[test]
fn whatever_is_listed_has_a_line_and_a_page() {
    let list = call(&["list"]).out;
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('`')) {
        match (line.strip_prefix("  "), groups.last_mut()) {
            (Some(entry), Some((_, entries))) => entries.push(entry),
            _ => groups.push((line, Vec::new())),
        }
    }
    let order: Vec<&str> = groups.iter().map(|(group, _)| *group).collect();
    assert_eq!(order[..3], ["machines", "applications", "studies"], "beginners first");
    let entry = |group: &str, name: &str| {
        let (_, entries) = groups.iter().find(|(other, _)| *other == group).unwrap();
        entries.iter().any(|entry| entry.split_whitespace().next() == Some(name))
    };
    for (group, name) in [
        ("machines", "tiny"),
        ("applications", "hotspot"),
        ("runtimes", "serial"),
        ("policies", "fifo"),
        ("overlays", "translation"),
        ("modules", "gpu"),
        ("generations", "fermi"),
        ("kinds", "gpu/sm"),
        ("references", "bfs"),
        ("generators", "uniform"),
    ] {
        assert!(entry(group, name), "{group} lacks {name}:\n{list}");
    }
    assert!(!entry("modules", "fermi") && !entry("modules", "translation"), "overlays are no modules");
    for (group, entries) in groups {
        assert!(!entries.is_empty(), "{group}");
        for entry in &entries {
            let (_, line) = entry.split_once("  ").unwrap_or_else(|| panic!("{group}: {entry} has no line"));
            assert!(!line.trim().is_empty(), "{group}: {entry}");
        }
        // A page is made from its entry alone, so that the first and the last speak for all.
        for name in [entries.first(), entries.last()].into_iter().flatten() {
            let name = name.split_whitespace().next().unwrap();
            let page = call(&["explain", name]);
            assert_eq!(page.status, SUCCESS, "{name}: {}", page.err);
            assert!(page.out.contains(name), "{}", page.out);
        }
    }
    // An application and its reference have a page each.
    let both = call(&["explain", "hotspot"]).out;
    assert!(
        both.starts_with("hotspot: application\n") && both.contains("\nhotspot\n  Expected results of "),
        "{both}"
    );
}

#[test]
fn check_tells_what_every_link_carries() {
    let folder = tempfile::tempdir().unwrap();
    let machine = folder.path().join("narrow.yaml");
    let narrow = "{ from: pcie.downstream, to: gpu.bus, capacity: 1, bandwidth: 14 GB/s }";
    let text = std::fs::read_to_string(tiny()).unwrap();
    let modules = root().join("topologies/modules/").to_string_lossy().into_owned();
    let text = text.replace("../modules/", &modules).replace("pcie.downstream -> gpu.bus", narrow);
    std::fs::write(&machine, text).unwrap();
    let checked = call(&["check", &machine.to_string_lossy()]);
    assert_eq!((checked.status, checked.err.as_str()), (SUCCESS, ""));
    let row = |ends: &str| {
        let line = checked.out.lines().find(|line| line.contains(ends));
        let line = line.unwrap_or_else(|| panic!("no {ends} in\n{}", checked.out));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        row("gpu.sm[*].memory -> "),
        "2 gpu.sm[*].memory -> gpu.network.clients[*] 1 20 credits for a round trip of 16 cycles"
    );
    // 1 GHz to 700 MHz: two cycles there and back, and at worst more than one until the receiver's edge.
    assert_eq!(
        row("pcie.downstream -> "),
        "1 pcie.downstream -> gpu.front.bus 0.750 3 credits for a round trip of 4 cycles; messages of more than 14 B \
         take longer than a cycle"
    );
    assert_eq!(
        row("gpu.front.bus -> "),
        "1 gpu.front.bus -> pcie.downstream 1 3 credits for a round trip of 3 cycles; messages of more than 20 B take \
         longer than a cycle"
    );
}

#[test]
fn bad_arguments_are_explained() {
    let called = call(&["run", "tiny", "vecadd", "--stop-at", "12"]);
    assert_eq!(called.status, FAILURE);
    assert!(called.err.contains("--stop-at"), "{}", called.err);
    for wrong in ["12", "0 s", "never"] {
        let called = call(&["run", "tiny", "vecadd", "--watchdog", wrong]);
        assert_eq!(called.status, FAILURE);
        assert!(called.err.contains("--watchdog") && called.err.contains("or off"), "{}", called.err);
    }
    for wrong in ["12", "2 parsecs", "never"] {
        let called = call(&["run", "tiny", "vecadd", "--livelock-after", wrong]);
        assert_eq!(called.status, FAILURE);
        let place = format!("'{wrong}' for '--livelock-after <TIME>'");
        assert!(called.err.contains(&place) && called.err.contains("or off"), "{}", called.err);
    }
    let called = call(&["rum"]);
    assert_eq!(called.status, FAILURE);
    assert!(called.err.contains("run"), "{}", called.err);
    let called = call(&["--help"]);
    assert_eq!(called.status, SUCCESS);
    assert!(called.out.contains("explain"), "{}", called.out);
}
