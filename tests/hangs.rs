//! Kernels that wait for ever, on whole machines: the report names the loop, the values on both sides of a cache, and the blocks that have
//! no place.

use std::path::Path;

use crate::command::call;
use crate::support::request;

/// Runs a grid of blocks of 32 threads of a kernel with these instructions, which has the address of some words that are zero in `%rd1` and
/// the thread and the block in `%r1` and `%r2`. The result is the lines of the report.
fn report(folder: &Path, machine: &str, settings: &[&str], body: &str, grid: u32) -> Vec<String> {
    let source = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 words)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [words];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
         {body}\nret;\n}}\n"
    );
    std::fs::write(folder.join("k.ptx"), source).unwrap();
    std::fs::write(folder.join("none.u32"), [0; 65536]).unwrap();
    let text = format!(
        "counterpoint: 1\napplication: waits\ncode: {{ k: k.ptx }}\nbuffers: {{ words: {{ type: u32, elements: 16384 }} }}\n\
         preload: [ {{ load: {{ file: none.u32, into: words }} }} ]\n\
         kernels: [ {{ launch: k.k, grid: {grid}, block: 32, arguments: [words] }} ]\ncopy_out: [words]\n\
         postlude: [ {{ write: {{ from: words, file: words.u32 }} }} ]\n"
    );
    let path = folder.join("waits.yaml");
    std::fs::write(&path, text).unwrap();
    let (machine, application) = (request(machine, "", &[]).machine, path.display().to_string());
    let out = folder.join("out").display().to_string();
    let settings: Vec<String> = settings.iter().map(|setting| format!("--set={setting}")).collect();
    let mut words = vec!["run", &machine, &application, "--out", &out];
    words.extend(settings.iter().map(String::as_str));
    let ran = call(&words);
    assert!(ran.status == 2 && ran.err.contains("livelock"), "{}", ran.err);
    let executed: u64 = ran
        .out
        .lines()
        .find_map(|line| line.trim().strip_prefix("warp instructions"))
        .map_or(0, |number| number.split_whitespace().collect::<String>().parse().unwrap());
    assert!((1..1_000_000).contains(&executed), "the hang is found soon: {}", ran.out);
    ran.err.lines().map(str::to_owned).collect()
}

/// The first thread of each block but the first polls a word, which the first block sets after a while.
fn poll(load: &str, after: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra E;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra A;\n\
         W: {load} %r3, [%rd1];\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra W;\nbra E;\n\
         A: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, 500;\n@%p3 bra A;\nmov.u32 %r5, 7;\nst.global.u32 [%rd1], %r5;\n{after}\nE:"
    )
}

#[test]
fn a_stale_copy_is_told_with_its_age_and_with_the_value_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let stale = poll("ld.global.ca.u32", "");
    let lines = report(folder.path(), "tiny", &["gpu.sms=2"], &stale, 2);
    let line = lines.iter().find(|line| line.contains("gpu.sm[1]: ")).unwrap();
    assert!(line.contains("lane 0 goes round a loop that does not end"), "{line}");
    let seen = "waits for the word of global memory at 0x10000, where it reads 0x0; the L1 has had its copy of 0x10000 since ";
    assert!(line.contains(seen) && line.contains(" holds 0x7 there now"), "{line}");
    let age: u64 =
        line.split(" ns, for ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    assert!((25_000..60_000).contains(&age), "{line}");
    assert!(line.contains("; gpu.l2"), "{line}");
    // The report is the same when the L2 has written the line back: the L2 has two ways per set, and the writer's loads evict the line.
    let evicts = "mov.u32 %r4, 0;\nmov.b64 %rd2, %rd1;\n\
         F: ld.global.cg.u32 %r5, [%rd2+4096];\nadd.s64 %rd2, %rd2, 128;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, 400;\n@%p3 bra F;";
    let small = ["gpu.sms=2", "gpu.l2.cache.capacity=2 KiB", "gpu.l2.cache.ways=2"];
    let lines = report(folder.path(), "tiny", &small, &poll("ld.global.ca.u32", evicts), 2);
    let line = lines.iter().find(|line| line.contains("gpu.sm[1]: ")).unwrap();
    assert!(line.contains("; gpu.dram") && line.contains(" holds 0x7 there now"), "{line}");
}

#[test]
fn a_grid_barrier_without_room_is_told_in_ten_lines() {
    let folder = tempfile::tempdir().unwrap();
    let barrier = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra E;\nfence.acq_rel.gpu;\natom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1;\n\
         mov.u32 %r4, %nctaid.x;\nW: ld.acquire.gpu.global.u32 %r3, [%rd1];\nsetp.lt.u32 %p2, %r3, %r4;\n@%p2 bra W;\nE: bar.sync 0;";
    let lines = report(folder.path(), "titanx-sm6", &[], barrier, 1200);
    assert!(lines.len() <= 10, "{lines:#?}");
    let cause = "gpu.scheduler: 304 of the 1200 blocks have no place on an SM until one of the 896 blocks of k#1 that have one ends";
    assert!(lines.iter().any(|line| line.contains(cause)), "{lines:#?}");
    let loops = lines.iter().find(|line| line.contains("goes round a loop that does not end")).unwrap();
    assert!(
        loops.contains("where it reads 0x380; the same of block (") && loops.ends_with(", and 891 more"),
        "{loops}"
    );
}
