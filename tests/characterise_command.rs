//! `counterpoint characterise`: the table, the file, and the machines and applications that have nothing for it.

use std::path::Path;

use counterpoint_cli::{FAILURE, NOT_VERIFIED, SUCCESS};

use crate::cli::{Called, application, call, tiny};

/// Characterises an application on the tiny machine.
fn characterise(application: &str, more: &[&str]) -> Called {
    let tiny = tiny();
    call(&[&["characterise", &tiny, application][..], more].concat())
}

/// The small BFS in a folder. It has two kernels, each launched once a level.
fn bfs(folder: &Path, more: &[&str]) -> Called {
    let called =
        characterise(&application(folder, "bfs"), &[&["--set", "app.size=small"][..], more].concat());
    assert_eq!(called.status, SUCCESS, "{}{}", called.out, called.err);
    called
}

/// The cells of a table, between which are two blanks or more.
fn cells(text: &str) -> Vec<Vec<&str>> {
    let parts = |line| str::split(line, "  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    text.lines().map(parts).collect()
}

/// Columns of both.
const KERNEL: usize = 0;
const ALU_INSN: usize = 4;
const MEM_INSN: usize = 5;
const DENSITY: usize = 6;
const ALU_LATENCY: usize = 7;
const MEM_LATENCY: usize = 8;
const IDEAL_WARPS: usize = 9;
const TYPE: usize = 10;
const BLOCKS_PER_SM: usize = 11;
const L1_MISS_RATE: usize = 12;

#[test]
fn each_kernel_is_a_line_of_the_table_and_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels.csv");
    let called = bfs(folder.path(), &["--csv", &path.display().to_string()]);
    let table = cells(&called.out);
    // Kernels are in the order of their first launches, with launches, blocks and warps of a block of 128
    // threads.
    let begin: Vec<&[&str]> = table.iter().map(|line| &line[..4]).collect();
    let expected: [&[&str]; 3] = [
        &["kernel", "launches", "blocks", "warps/block"],
        &["visit", "18", "72", "4"],
        &["advance", "18", "72", "4"],
    ];
    assert_eq!(begin, expected);
    let text = std::fs::read_to_string(&path).unwrap();
    let file: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((file.len(), file[0][TYPE]), (3, "type"));
    // Warp instructions that the application file states.
    let warp_insn = [15_324.0, 6_960.0];
    for ((shown, exact), warp_insn) in table[1..].iter().zip(&file[1..]).zip(warp_insn) {
        let number = |column: usize| exact[column].parse::<f64>().unwrap();
        let (alu, mem) = (number(ALU_INSN), number(MEM_INSN));
        assert_eq!(alu + mem, warp_insn);
        assert_eq!(number(DENSITY), alu / mem);
        assert_eq!(number(IDEAL_WARPS), (number(ALU_LATENCY) + number(MEM_LATENCY)) / number(DENSITY));
        for column in [DENSITY, ALU_LATENCY, MEM_LATENCY, IDEAL_WARPS] {
            assert_eq!(shown[column], format!("{:.2}", number(column)));
        }
        for column in [KERNEL, ALU_INSN, MEM_INSN, TYPE, BLOCKS_PER_SM] {
            assert_eq!(shown[column], exact[column]);
        }
        assert_eq!(shown[L1_MISS_RATE], format!("{:.2} %", 100.0 * number(L1_MISS_RATE)));
        // The SM has 8 block slots, and room for 12 of 4 warps.
        assert_eq!(exact[BLOCKS_PER_SM], "8");
        // Six cycles of the pipeline and one of the unit are the least; the L1 takes 40, and shared memory is not used.
        assert!(number(ALU_LATENCY) > 7.0 && number(MEM_LATENCY) > 40.0, "{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&bfs(folder.path(), &["--json"]).out).unwrap();
    assert_eq!((&json[1]["kernel"], &json[1]["type"]), (&"advance".into(), &"memory".into()));
    assert_eq!(
        json[0]["density"].as_f64().map(|density| density.to_string()).as_deref(),
        Some(file[1][DENSITY])
    );
}

#[test]
fn the_threshold_parts_the_types() {
    let folder = tempfile::tempdir().unwrap();
    let types = |more: &[&str]| {
        let called = bfs(folder.path(), more);
        let table = cells(&called.out);
        let warps: Vec<f64> = table[1..].iter().map(|line| line[IDEAL_WARPS].parse().unwrap()).collect();
        (warps, [1, 2].map(|line| table[line][TYPE].to_owned()))
    };
    let (warps, bound) = types(&[]);
    assert!(warps.iter().all(|&warps| warps > 9.0), "{warps:?}");
    assert_eq!(bound, ["memory", "memory"]);
    // Between both: `advance` has need of fewer.
    let between = ((warps[0] + warps[1]) / 2.0).to_string();
    assert_eq!(
        types(&["--threshold", &between, "--threads", "2"]),
        (warps, ["memory", "compute"].map(str::to_owned))
    );
    let called = characterise("bfs", &["--threshold", "0"]);
    assert_eq!(called.status, FAILURE);
    assert!(called.err.contains("--threshold") && called.err.contains("a number above 0"), "{}", called.err);
    let help = call(&["characterise", "--help"]).out;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("[default: 9]") && words.contains("Awatramani et al., Table I"), "{help}");
}

/// A copy of `vecadd` with another text.
fn changed(folder: &Path, change: impl Fn(&str) -> String) -> String {
    let app = application(folder, "vecadd");
    let text = std::fs::read_to_string(&app).unwrap();
    std::fs::write(&app, change(&text)).unwrap();
    app
}

#[test]
fn an_application_without_launches_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let app = changed(folder.path(), |text| {
        let (head, rest) = text.split_once("kernels:").unwrap();
        let tail = rest.split_once("copy_out:").unwrap().1.split_once("expect:").unwrap().0;
        format!("{head}kernels: []\ncopy_out:{tail}")
    });
    let called = characterise(&app, &["--set", "app.n=100"]);
    assert_eq!((called.status, called.out.as_str()), (FAILURE, ""), "{}", called.err);
    assert!(called.err.ends_with("error: `vecadd` launches no kernel on `tiny`\n"), "{}", called.err);
}

#[test]
fn a_run_that_does_not_verify_has_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let app = changed(folder.path(), |text| text.replace("reference: vecadd", "file: golden.f32"));
    std::fs::write(folder.path().join("golden.f32"), [0; 400]).unwrap();
    let called = characterise(&app, &["--set", "app.n=100"]);
    assert_eq!((called.status, called.out.as_str()), (NOT_VERIFIED, ""));
    assert!(called.err.contains("error: verification failed: c against file "), "{}", called.err);
    let called = characterise("no-such-application", &["--policy", "fofo"]);
    assert_eq!((called.status, called.out.as_str()), (FAILURE, ""));
    for part in ["did you mean `fifo`?", "no-such-application"] {
        assert!(called.err.contains(part), "{}", called.err);
    }
}
