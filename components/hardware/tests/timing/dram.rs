//! The DRAM controller with the GDDR5 table: tRCD 12, tCL 12, tRP 12, tRAS 28, tCCD 2, tCCDL 3, tRRD 6; two bursts of
//! 64 B and two cycles each for a line. Sixteen banks of 2-KiB rows in groups of four: row r of bank b starts at
//! (16 r + b) × 2 KiB.

use counterpoint_framework::testing::Probe;
use counterpoint_hardware::memory::dram::controller::DramController;
use counterpoint_protocols::memory::{MemReply, MemRequest, MemoryClient};

use super::*;

const PARAMS: &str = "{ timing: { standard: gddr5 }, capacity: 1 MiB }";
/// From a column command to the end of a line's second burst, tCCDL later.
const LINE: u64 = 3 + 12 + 2;

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

/// The sum of what requests waited for their last column command.
fn latencies(report: &BenchReport) -> u64 {
    let row = report.stats.iter().find(|row| row.label.name == "mrq_latency");
    match row.map(|row| row.value) {
        Some(StatValue::Distribution { sum, .. }) => sum,
        other => panic!("no latencies: {other:?}"),
    }
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
    assert_eq!(row.cycles(), [34, 40, 46, 52], "a bank, and so a group, reads a burst every tCCDL");
    let groups = run((0..4).map(|n| (5, read(n, place(4 * u64::from(n), 0, 0), 1))).collect());
    // Rows of four groups are opened tRRD apart; only the third gives way to the first's read, which takes the bus.
    assert_eq!(groups.cycles(), [31, 37, 44, 50]);
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
    let (replies, report) =
        run_with("{ capacity: 1 MiB, scheduler: { fr-fcfs: { overtaking: 10 } } }", script);
    assert_finished(&report);
    let replies = replies.take();
    let place = replies.iter().position(|(_, reply)| reply.tag == Tag(1)).unwrap();
    assert_eq!(place, 1 + 10, "ten younger accesses go first, and no more");
}

#[test]
fn reads_see_earlier_writes() {
    let replies = run(vec![(5, write(1, place(2, 0, 1), 0b110, 9)), (5, read(2, place(2, 0, 1), ALL))]);
    // tRCDWR 7 and tWL 4, then the read after the bus has turned round and tCDLR 5 have passed.
    replies.assert_earliest(5 + 7 + 4 + 2, tagged(1));
    replies.assert_earliest(5 + 7 + 4 + 2 + 5 + LINE, tagged(2));
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

#[test]
fn other_groups_fill_the_gaps_between_columns_of_one() {
    // All rows are open; then two lines of two groups: a column command every tCCD.
    let opening = [0, 4].map(|bank| (5, read(bank as u32, place(bank, 0, 0), 1)));
    let lines = [(100, read(10, place(0, 0, 1), ALL)), (100, read(11, place(4, 0, 1), ALL))];
    let replies = run(opening.into_iter().chain(lines).collect());
    // Bank 0 reads at 100 and 104, bank 4 at 102 and 106.
    replies.assert_earliest(104 + 12 + 2, tagged(10));
    replies.assert_earliest(106 + 12 + 2, tagged(11));
}

#[test]
fn sectors_take_a_burst_each_where_access_says_so() {
    let params = "{ timing: { access: 32 B }, capacity: 1 MiB }";
    let (replies, report) = run_with(params, vec![(5, read(1, place(0, 0, 0), ALL))]);
    replies.assert_earliest(5 + 12 + 3 * 3 + 12 + 2, tagged(1));
    assert_eq!(["total_dram_reads", "n_rd", "n_req"].map(|name| report.count(name)), [4, 4, 1]);
    assert_eq!(["bwutil", "bytes"].map(|name| report.count(name)), [4 * 2, 128]);
    // Writes fill their bursts.
    let (replies, report) = run_with(params, vec![(5, write(1, place(0, 0, 0), ALL, 9))]);
    replies.assert_earliest(5 + 7 + 3 + 4 + 2, tagged(1));
    assert_eq!(["total_dram_writes", "n_wr"].map(|name| report.count(name)), [4, 2]);
}

#[test]
fn a_refresh_closes_the_rows_and_blocks_the_channel() {
    let params = "{ timing: { standard: hbm2 }, capacity: 1 MiB }";
    // The row is open when the refresh is due at 3900, and the read comes two cycles later.
    let script = vec![(3800, read(1, place(0, 0, 0), 1)), (3902, read(2, place(0, 0, 0), 1))];
    let (replies, report) = run_with(params, script.clone());
    replies.assert_earliest(3800 + 14 + 14 + 1, tagged(1));
    // tRP, tRFC, and all that a closed bank takes.
    replies.assert_earliest(3900 + 14 + 260 + 14 + 14 + 1, tagged(2));
    assert_eq!(["n_ref", "n_act", "row_misses"].map(|name| report.count(name)), [1, 2, 2]);
    let (replies, _) = run_with("{ timing: { standard: hbm2, tREFI: 0 }, capacity: 1 MiB }", script);
    replies.assert_earliest(3902 + 14 + 1, tagged(2));
}

#[test]
fn two_command_buses_open_a_row_while_another_is_read() {
    let script = vec![
        (5, read(1, place(0, 0, 0), 1)),
        (16, read(2, place(0, 0, 1), 1)),
        (17, read(3, place(8, 0, 0), 1)),
    ];
    let (replies, _) = run_with(PARAMS, script.clone());
    // The column command at 17 has the only bus: the activate follows at 18.
    replies.assert_earliest(18 + 12 + 12 + 2, tagged(3));
    let (replies, _) = run_with("{ timing: { dual_command_bus: on }, capacity: 1 MiB }", script);
    replies.assert_earliest(17 + 12 + 12 + 2, tagged(3));
}

#[test]
fn a_mask_lays_rows_out() {
    let mask = "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS";
    let params = format!("{{ capacity: 1 MiB, map: {{ dram: {mask} }} }}");
    // Byte 0x1e00 lies in row 0 of bank 0, as byte 0 does; byte 0x100 in bank 1; byte 0x10000 in row 1 of bank 0.
    for (address, class) in [(0x1e00, "row_hits"), (0x100, "row_misses"), (0x1_0000, "row_conflicts")] {
        let (_, report) = run_with(&params, vec![(5, read(1, 0, 1)), (100, read(2, address, 1))]);
        let before = u64::from(class == "row_misses");
        assert_eq!(report.count(class), 1 + before, "{address:#x}");
    }
}

#[test]
fn replies_without_credit_hold_the_data_back() {
    let late = |size: &str| {
        let mut bench = bench::<DramController>(&format!("{{ capacity: 1 MiB, return_queue: {size} }}"));
        bench.capacity(1);
        bench.script("clients", Some(0), false, |mut socket: MemoryClient, process| async move {
            for n in 0..8 {
                socket.tx.send(read(n, place(0, 0, n.into()), 1)).await;
            }
            process.cycles(200).await;
            for _ in 0..8 {
                socket.rx.recv().await;
            }
            Ok(())
        });
        let report = bench.run();
        assert_finished(&report);
        latencies(&report)
    };
    assert!(late("1") > late("116") + 4 * 150, "reads wait in the queue where replies must not pile up");
}

#[test]
fn what_is_counted_adds_up() {
    let script = vec![
        (5, read(1, place(0, 0, 0), ALL)),
        (100, write(2, place(0, 1, 0), ALL, 1)),
        (100, read(3, place(0, 1, 1), 1)),
    ];
    let (_, report) = run_with(PARAMS, script);
    let names = ["n_req", "n_act", "n_pre", "n_rd", "n_wr", "n_ref", "bytes", "bwutil"];
    assert_eq!(names.map(|name| report.count(name)), [3, 2, 1, 3, 2, 0, 128 + 128 + 1, 5 * 2]);
    assert_eq!(["row_hits", "row_misses", "row_conflicts"].map(|name| report.count(name)), [1, 1, 1]);
    // The first from 5 to its second read at 20. The second from 100: precharge, activate at 112, writes at 119 and 122.
    // The third, taken a cycle later, until the bus has turned round: 122 + 4 + 2 + 5.
    assert_eq!(latencies(&report), 15 + 22 + 32);
    assert_eq!(report.count("n_activity"), 16 + 34);
}

#[test]
fn commands_are_counted_for_the_launch_that_needs_them() {
    let script = vec![
        (5, labelled(1, 3, read(1, place(0, 0, 0), ALL))),
        (100, labelled(2, 4, write(2, place(0, 1, 0), ALL, 1))),
        (200, labelled(0, 4, read(3, place(0, 1, 1), 1))),
    ];
    let (_, report) = run_with(PARAMS, script);
    let names = ["n_req", "n_act", "n_pre", "n_rd", "n_wr", "bytes", "row_hits", "row_conflicts"];
    // The second launch closes the row that the first has opened; the copy finds that of the second.
    let (first, second, copy) =
        ([1, 1, 0, 2, 0, 128, 0, 0], [1, 1, 1, 0, 2, 128, 0, 1], [1, 0, 0, 1, 0, 1, 1, 0]);
    assert_eq!(counted(&report, "kernels[#1]", names), first);
    assert_eq!(counted(&report, "kernels[#2]", names), second);
    assert_eq!(counted(&report, "no_kernel", names), copy);
    assert_eq!(counted(&report, "streams[3]", names), first);
    let sum = |a: [u64; 8], b: [u64; 8]| std::array::from_fn::<u64, 8, _>(|place| a[place] + b[place]);
    assert_eq!(counted(&report, "streams[4]", names), sum(second, copy));
    assert_eq!(names.map(|name| report.count(name)), sum(first, sum(second, copy)));
}
