//! The DRAM controller with the GDDR5 table: tRCD 12, tCL 12, tRP 12, tRAS 28, tCCD 2, tRRD 6; two bursts of 64 B and
//! two cycles each for a line. Sixteen banks of 2-KiB rows: row r of bank b starts at (16 r + b) × 2 KiB.

use counterpoint_framework::testing::Probe;
use counterpoint_hardware::memory::dram::controller::DramController;
use counterpoint_protocols::memory::{MemReply, MemRequest};

use super::*;

const PARAMS: &str = "{ timing: { standard: gddr5 }, capacity: 1 MiB }";
/// From a column command to the end of a line's second burst.
const LINE: u64 = 2 + 12 + 2;

fn place(bank: u64, row: u64, line: u64) -> u64 {
    (row * 16 + bank) * 2048 + line * LINE_BYTES
}

fn run_with(params: &str, script: Vec<(u64, MemRequest)>) -> (Probe<MemReply>, BenchReport) {
    let mut bench = bench::<DramController>(params);
    let count = script.len();
    let replies = bench.client("clients", Some(0), script, count);
    let report = bench.run();
    (replies, report)
}

fn run(script: Vec<(u64, MemRequest)>) -> Probe<MemReply> {
    let (replies, report) = run_with(PARAMS, script);
    assert_finished(&report);
    replies
}

#[test]
fn a_closed_bank_takes_activate_and_read() {
    let replies = run(vec![(5, read(1, place(0, 0, 0), ALL))]);
    replies.assert_earliest(5 + 12 + LINE, tagged(1));
}

#[test]
fn half_a_line_is_one_burst() {
    let replies = run(vec![(5, read(1, place(0, 0, 0), 1))]);
    replies.assert_earliest(5 + 12 + 12 + 2, tagged(1));
}

#[test]
fn an_open_row_takes_a_read_only() {
    let replies = run(vec![(5, read(1, place(0, 0, 0), ALL)), (100, read(2, place(0, 0, 3), ALL))]);
    replies.assert_earliest(100 + LINE, tagged(2));
}

#[test]
fn another_open_row_is_closed_first() {
    let replies = run(vec![(5, read(1, place(0, 0, 0), ALL)), (100, read(2, place(0, 1, 0), ALL))]);
    replies.assert_earliest(100 + 12 + 12 + LINE, tagged(2));
}

#[test]
fn a_row_stays_open_for_its_minimum() {
    let (replies, report) =
        run_with(PARAMS, vec![(5, read(1, place(0, 0, 0), ALL)), (6, read(2, place(0, 1, 0), ALL))]);
    // Activate at 5, precharge at 5 + tRAS, activate tRP later.
    replies.assert_earliest(5 + 28 + 12 + 12 + LINE, tagged(2));
    assert_eq!(report.count("row_misses"), 1);
    assert_eq!(report.count("row_conflicts"), 1);
}

#[test]
fn banks_overlap_and_share_the_bus() {
    let replies = run(vec![(5, read(1, place(0, 0, 0), ALL)), (5, read(2, place(1, 0, 0), ALL))]);
    replies.assert_earliest(5 + 12 + LINE, tagged(1));
    // The second bank is activated tRRD later, its first read waits for nothing else.
    replies.assert_earliest(5 + 6 + 12 + LINE, tagged(2));
    let row = run((0..4).map(|n| (5, read(n, place(0, 0, n.into()), ALL))).collect());
    assert_eq!(row.cycles(), [33, 37, 41, 45], "a line every two bursts");
}

#[test]
fn a_younger_row_hit_goes_before_an_older_conflict() {
    let script = vec![
        (5, read(1, place(0, 0, 0), ALL)),
        (40, read(2, place(0, 1, 0), ALL)),
        (40, read(3, place(1, 1, 0), ALL)),
        (41, read(4, place(0, 0, 1), ALL)),
    ];
    let replies = run(script);
    // The older conflict had precharged at 40 already: it could go on at once.
    replies.assert_earliest(40 + 12 + 12 + LINE, tagged(2));
    let script = vec![
        (5, read(1, place(0, 0, 0), ALL)),
        (20, read(2, place(0, 1, 0), ALL)),
        (24, read(3, place(0, 0, 1), ALL)),
    ];
    let replies = run(script);
    replies.assert_earliest(24 + LINE, tagged(3));
    // The row stays open for tRAS in any case.
    replies.assert_earliest(5 + 28 + 12 + 12 + LINE, tagged(2));
}

#[test]
fn row_hits_do_not_starve_a_conflict() {
    let mut script = vec![(5, read(0, place(0, 0, 0), ALL)), (20, read(1, place(0, 1, 0), ALL))];
    script.extend((0..600).map(|n| (20 + 4 * n, read(2 + n as u32, place(0, 0, n % 16), ALL))));
    let (replies, report) = run_with("{ capacity: 1 MiB, overtaking: 10 }", script);
    assert_finished(&report);
    let replies = replies.take();
    let place = replies.iter().position(|(_, reply)| reply.tag == Tag(1)).unwrap();
    assert_eq!(place, 1 + 10, "ten younger accesses go first, and no more");
}

#[test]
fn reads_see_earlier_writes() {
    let replies = run(vec![(5, write(1, place(2, 0, 1), 0b110, 9)), (5, read(2, place(2, 0, 1), ALL))]);
    // tWL 4, then the read after the bus has turned round and tCDLR 5 have passed.
    replies.assert_earliest(5 + 12 + 4 + 2, tagged(1));
    replies.assert_earliest(5 + 12 + 4 + 2 + 5 + LINE, tagged(2));
    let line = line(&replies.take(), 2);
    assert_eq!(line[1..3], [9, 9]);
    assert!(line[0] >= 0x80 && line[3] >= 0x80, "bytes that nobody wrote are poison");
}

#[test]
fn an_address_beyond_the_capacity_is_a_fault() {
    let (_, report) = run_with(PARAMS, vec![(5, read(1, (1 << 20) - 128, 1)), (9, read(2, 1 << 20, 1))]);
    assert_eq!(fault(&report), "address 0x100000 lies beyond the memory");
}

#[test]
fn the_way_back_takes_its_latency() {
    let (replies, _) =
        run_with("{ capacity: 1 MiB, latency: 100 cycles }", vec![(5, read(1, place(0, 0, 0), ALL))]);
    replies.assert_earliest(5 + 12 + LINE + 100, tagged(1));
}
