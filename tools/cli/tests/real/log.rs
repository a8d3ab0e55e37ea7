//! The log of components, as a real process writes it: its subscriber belongs to the whole process.

use std::process::Output;

use super::run;

fn log(filter: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "vecadd", &["--set", "app.n=2048", "--quiet", "--log", filter]).output().unwrap()
}

/// The lines of components in the log of a run that ends well.
fn lines(filter: &str) -> Vec<String> {
    let output = log(filter);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    text.lines().filter(|line| line.contains("path=")).map(str::to_owned).collect()
}

/// Asserts that a component has a line of a level with a message, after the time.
fn has(lines: &[String], path: &str, level: &str, message: &str) {
    let path = format!("path=\"{path}\"");
    let found = lines.iter().find(|line| line.contains(&path) && line.contains(message));
    let line = found.unwrap_or_else(|| panic!("no line of {path} has `{message}`: {lines:#?}"));
    assert!(line.trim_start().starts_with(level) && line.contains("time="), "{line}");
}

#[test]
fn a_component_logs_at_its_own_level_and_others_do_not() {
    let lines = lines("gpu.l2[0]=trace");
    for message in ["miss 0x", "hit 0x", "fill 0x"] {
        has(&lines, "gpu.l2[0]", "TRACE", message);
    }
    assert!(lines.iter().all(|line| line.contains("path=\"gpu.l2[0]\"")), "{lines:#?}");
}

#[test]
fn a_write_to_a_sector_that_is_not_there_is_a_miss() {
    let lines = lines("gpu.l2[0]=trace");
    let first = |line: &&String| line.contains(" on a write of client");
    let found = lines.iter().find(first).unwrap_or_else(|| panic!("no write: {lines:#?}"));
    assert!(found.contains("miss 0x"), "{found}");
}

#[test]
fn every_family_has_lines() {
    let lines = lines("trace,hyper=off,host=trace,gpu=trace,pcie=trace");
    let expected = [
        ("host.cpu", "DEBUG", "sends command"),
        ("host.input", "TRACE", "reads 4096 bytes"),
        ("host.memory", "TRACE", "access of the CPU to"),
        ("host.bridge", "TRACE", "passes a message to device 0"),
        ("pcie", "TRACE", "downstream: a message with"),
        ("gpu.front", "DEBUG", "takes command"),
        ("gpu.front", "DEBUG", "launch 1 is done"),
        ("gpu.copy", "DEBUG", "begins to copy 8192 bytes, host to device"),
        ("gpu.copy", "TRACE", "chunk 0: 4096 bytes, row 0 from byte 0 on"),
        ("gpu.scheduler", "DEBUG", "takes vecadd#1 of stream 0 with"),
        ("gpu.scheduler", "TRACE", "places block 0 of vecadd#1 on SM"),
        ("gpu.sm[0]", "DEBUG", "begins block"),
        ("gpu.sm[0]", "DEBUG", "ends block"),
        ("gpu.sm[0]", "TRACE", "L1: miss 0x"),
        ("gpu.sm[1]", "TRACE", "L1: fill 0x"),
        ("gpu.network", "TRACE", "request: 4 sectors from"),
        ("gpu.l2[1]", "TRACE", "hit 0x"),
        ("gpu.dram[0]", "TRACE", "activate bank"),
        ("gpu.dram[0]", "TRACE", "queues a read of 0x"),
    ];
    for (path, level, message) in expected {
        has(&lines, path, level, message);
    }
}

#[test]
fn a_level_for_all_and_one_for_a_part() {
    let lines = lines("debug,gpu.sm=off,gpu.scheduler=trace");
    has(&lines, "gpu.scheduler", "TRACE", "places block");
    has(&lines, "gpu.copy", "DEBUG", "begins to copy");
    assert!(
        lines.iter().all(|line| !line.contains("path=\"gpu.sm[") && !line.contains("chunk 0")),
        "{lines:#?}"
    );
    // One level for all components works as well.
    has(&self::lines("debug"), "gpu.sm[1]", "DEBUG", "begins block");
}

#[test]
fn what_is_not_there_is_an_error_before_the_run() {
    for (filter, expected) in [
        ("gpu.l3[0]=trace", "error: --log: no component `gpu.l3[0]`; did you mean `gpu.l2[0]`?"),
        ("gpu.l2[*]=trase", "error: --log: `trase` is not a level of the log; did you mean `trace`?"),
        ("debgu", "error: --log: `debgu` is not a level of the log; did you mean `debug`?"),
    ] {
        let output = log(filter);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), text.trim()), (Some(2), expected), "{filter}");
    }
}
