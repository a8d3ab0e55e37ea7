//! Atomics a cycle by what they want: one word, the words of one line, or a word for each thread, so that each warp has a line.

use counterpoint_tests::probe::{Configured, Probe};

/// Threads of a block; each SM has one block.
const THREADS: u64 = 256;
/// Atomics of a thread in the shorter of two launches.
const ATOMICS: u64 = 4;

/// Atomics a cycle of all SMs of a card; `place` computes the offset of a thread's word into `%r4`, from its number in `%r3` and that of
/// its block in `%r5`.
fn rate(machine: &str, place: &str) -> f64 {
    let card = Configured::of(machine, &[]);
    let sms = card.count("gpu.sm[") as u64;
    let end = |times: u64| {
        let body = format!(
            "mov.u32 %r5, %ctaid.x;\n{place}\ncvt.u64.u32 %rd2, %r4;\nadd.s64 %rd2, %rd1, %rd2;\n{}",
            "red.global.add.u32 [%rd2], 1;\n".repeat((times * ATOMICS) as usize)
        );
        let (blocks, buffer) = (sms as u32, sms * THREADS * 4);
        Probe { machine, body: &body, blocks, threads: THREADS as u32, buffer, ..Probe::default() }
            .run(None)
            .end()
    };
    let more = (end(2) - end(1)).as_secs_f64() * 1e6 * card.megahertz("gpu.scheduler");
    (sms * THREADS * ATOMICS) as f64 / more
}

#[test]
fn atomics_on_one_word_are_slower_than_on_one_line_and_these_than_on_lines_of_their_own() {
    // Kepler does nine times as many on one word as Fermi, with one a clock.
    for (machine, expected) in [("c2050", 1.0 / 9.0), ("gtx680", 1.0)] {
        let word = rate(machine, "mov.u32 %r4, 0;");
        let line = rate(machine, "and.b32 %r4, %r3, 31;\nshl.b32 %r4, %r4, 2;");
        let own = rate(machine, &format!("mad.lo.u32 %r4, %r5, {THREADS}, %r3;\nshl.b32 %r4, %r4, 2;"));
        assert!(word < 0.6 * line && line < 0.2 * own, "{machine}: {word}, {line}, {own} a cycle");
        assert!((word / expected - 1.0).abs() < 0.05, "{machine}: {word} a cycle on one word");
    }
}
