//! Threads that make progress by themselves, on a whole machine and without time: locks end, and those that cannot end are named.

use counterpoint_framework::kernel::Outcome;
use counterpoint_framework::time::SimTime;
use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::support::{request, run_request};

/// Runs 4 blocks of 64 threads of a kernel with these instructions, which have the address of some words that are zero in `%rd1`.
fn run(body: &str, functional: bool, livelock_after: SimTime) -> RunSummary {
    let folder = tempfile::tempdir().unwrap();
    let source = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 words)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [words];\nmov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    );
    std::fs::write(folder.path().join("k.ptx"), source).unwrap();
    std::fs::write(folder.path().join("none.u32"), [0; 1024]).unwrap();
    let text = "counterpoint: 1
application: spins
code: { k: k.ptx }
buffers: { words: { type: u32, elements: 256 } }
preload: [ { load: { file: none.u32, into: words } } ]
kernels: [ { launch: k.k, grid: 4, block: 64, arguments: [words] } ]
copy_out: [words]
postlude: [ { write: { from: words, file: words.u32 } } ]
";
    let path = folder.path().join("spins.yaml");
    std::fs::write(&path, text).unwrap();
    run_request(&RunRequest {
        functional,
        livelock_after,
        ..request("tiny", &path.display().to_string(), &["gpu.sms=2"])
    })
}

const TAKE: &str = "A: atom.global.cas.b32 %r3, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra A;\n";
const COUNT: &str = "membar.gl;\nld.volatile.global.u32 %r4, [%rd1+256];\nadd.u32 %r4, %r4, 1;\nst.volatile.global.u32 [%rd1+256], %r4;\nmembar.gl;\n";

#[test]
fn a_lock_that_lanes_take_in_turn_ends_in_both_modes() {
    let body = format!("{TAKE}{COUNT}atom.global.exch.b32 %r3, [%rd1], 0;");
    for functional in [true, false] {
        let summary = run(&body, functional, SimTime::MAX);
        assert!(summary.is_good() && !summary.partial, "{}", summary.ending());
        let words = &summary.results.iter().find(|(file, _)| file == "words.u32").unwrap().1;
        assert_eq!(words[256..260], 256_u32.to_le_bytes(), "functional: {functional}");
    }
}

#[test]
fn a_lock_that_nobody_gives_back_is_named_in_both_modes() {
    let loops = "a loop that does not end";
    // Thread 5 of each block waits for the word that thread 5 of the first has set; the others wait at the barrier.
    let body = "setp.ne.u32 %p2, %r1, 5;\n@%p2 bra B;\nA: atom.global.cas.b32 %r3, [%rd1+64], 0, 7;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra A;\nB: bar.sync 0;";
    let functional = run(body, true, SimTime::MAX);
    let message = functional.ending();
    assert!(message.contains("block (1, 0, 0), warp 0, lane 5: ") && message.contains(loops), "{message}");
    assert!(
        message.contains("lane 5 goes round it (up to line 15)") && message.contains("which holds 0x7"),
        "{message}"
    );
    let timed = run(body, false, SimTime::from_ns(100_000_000));
    let Outcome::Livelock(_) = &timed.report.outcome else { panic!("{}", timed.report.outcome) };
    let message = timed.report.outcome.to_string();
    for block in 1..4 {
        assert!(message.contains(&format!("block ({block}, 0, 0), warp 0")), "{message}");
    }
    assert!(message.contains("lane 5 goes round a loop that does not end (up to line 15), and waits for the word of global memory at 0x"), "{message}");
    assert!(message.contains("where it reads 0x7") && !message.contains("block (0, 0, 0)"), "{message}");
}
