//! The L2 slice: latency of hits and misses, sectors, order behind a miss, write-backs, atomics.

use std::collections::BTreeMap;

use counterpoint_framework::kernel::Socket;
use counterpoint_framework::testing::Probe;
use counterpoint_hardware::memory::l2_slice::L2Slice;
use counterpoint_protocols::memory::{
    AtomicLane, AtomicOperation, AtomicType, MemAccess, MemReply, MemRequest, MemResult, Tag,
};

use super::*;

/// Eight lines in four sets of two.
const PARAMS: &str = "{ cache: { capacity: 1 KiB, ways: 2, mshrs: 4, merges: 4 }, hit_latency: 10 cycles }";
/// The same to be gone on with.
const SMALL: &str = "{ cache: { capacity: 1 KiB, ways: 2, mshrs: 4, merges: 4 }, hit_latency: 10 cycles";
/// From a request of the slice to the memory's answer.
const MEMORY: u64 = 50;

/// Runs a script; gives the replies and what went to memory.
fn run(script: Vec<(u64, MemRequest)>) -> (Probe<MemReply>, Vec<(u64, MemRequest)>) {
    let (replies, fetches, _) = run_and_count(script);
    (replies, fetches)
}

/// Runs a script on a slice with other parameters.
fn run_with(params: &str, script: Vec<(u64, MemRequest)>) -> (Probe<MemReply>, Vec<(u64, MemRequest)>) {
    let (replies, fetches, _) = run_and_count_with(params, script);
    (replies, fetches)
}

/// Runs a script; gives what was counted as well.
fn run_and_count(script: Vec<(u64, MemRequest)>) -> (Probe<MemReply>, Vec<(u64, MemRequest)>, BenchReport) {
    run_and_count_with(PARAMS, script)
}

fn run_and_count_with(
    params: &str,
    script: Vec<(u64, MemRequest)>,
) -> (Probe<MemReply>, Vec<(u64, MemRequest)>, BenchReport) {
    let mut bench = bench::<L2Slice>(params);
    let count = script.len();
    let replies = bench.client("requests", None, script, count);
    let fetches = bench.server("memory", None, |request| Some((MEMORY, numbered(&request))));
    let report = bench.run();
    assert_finished(&report);
    (replies, fetches.take(), report)
}

fn reads(fetches: &[(u64, MemRequest)]) -> Vec<(u64, u64, ByteMask)> {
    let read = |(cycle, request): &(u64, MemRequest)| match request.access {
        MemAccess::Read(mask) => Some((*cycle, request.line, mask)),
        _ => None,
    };
    fetches.iter().filter_map(read).collect()
}

#[test]
fn a_miss_fetches_at_once_and_answers_one_cycle_after_the_fill_and_a_hit_takes_its_latency() {
    let (replies, fetches) = run(vec![(5, read(1, 256, ALL)), (100, read(2, 256, ALL))]);
    assert_eq!(reads(&fetches), [(5, 256, ALL)]);
    // The script sees the fetch one link later, answers MEMORY after that, and the reply leaves a cycle later.
    replies.assert_earliest(5 + 1 + MEMORY + 1, tagged(1));
    replies.assert_earliest(100 + 10, tagged(2));
    let replies = replies.take();
    assert_eq!(line(&replies, 1), [2; 128]);
    assert_eq!(line(&replies, 2), [2; 128]);
}

#[test]
fn hits_follow_each_other_every_cycle() {
    let mut script = vec![(5, read(99, 0, 1))];
    script.extend((0..5).map(|n| (100 + n, read(n as u32, 0, 1))));
    let (replies, _) = run(script);
    assert_eq!(replies.cycles()[1..], [110, 111, 112, 113, 114]);
}

#[test]
fn written_bytes_are_read_back_without_a_fetch() {
    let (replies, fetches) = run(vec![(5, write(1, 0, 0xff0, 7)), (6, read(2, 0, 0xff0))]);
    assert!(fetches.is_empty());
    replies.assert_earliest(15, tagged(1));
    replies.assert_earliest(16, tagged(2));
    assert_eq!(line(&replies.take(), 2)[4..12], [7; 8]);
}

#[test]
fn only_missing_sectors_are_fetched_and_newer_bytes_stay() {
    // The first sector of 32 bytes is written whole, the second in part.
    let (replies, fetches) = run(vec![(5, write(1, 128, (1 << 40) - 1, 9)), (20, read(2, 128, ALL))]);
    assert_eq!(reads(&fetches), [(20, 128, ALL << 32)]);
    let line = line(&replies.take(), 2);
    assert!(line[..40].iter().all(|&byte| byte == 9) && line[40..].iter().all(|&byte| byte == 1));
}

#[test]
fn two_reads_of_a_line_share_a_fetch() {
    let (replies, fetches) = run(vec![(5, read(1, 0, 1)), (6, read(2, 0, 2)), (7, read(3, 128, 1))]);
    assert_eq!(reads(&fetches), [(5, 0, 0xffff_ffff), (7, 128, 0xffff_ffff)]);
    replies.assert_earliest(57, tagged(1));
    replies.assert_earliest(57, tagged(2));
    replies.assert_earliest(59, tagged(3));
}

#[test]
fn a_read_that_joined_for_another_sector_fetches_it_when_the_first_has_come() {
    let (replies, fetches) = run(vec![(5, read(1, 0, 1)), (6, read(2, 0, 1 << 100))]);
    assert_eq!(reads(&fetches), [(5, 0, 0xffff_ffff), (56, 0, 0xffff_ffff << 96)]);
    replies.assert_earliest(57, tagged(1));
    replies.assert_earliest(56 + 1 + MEMORY + 1, tagged(2));
}

#[test]
fn a_store_behind_a_miss_does_not_overtake_it() {
    let script = vec![(5, read(1, 256, ALL)), (6, write(2, 256, 0b11, 9)), (7, read(3, 256, ALL))];
    let (replies, fetches) = run(script);
    assert_eq!(fetches.len(), 1);
    replies.assert_earliest(57, tagged(2));
    let replies = replies.take();
    assert_eq!(line(&replies, 1)[..3], [2, 2, 2]);
    assert_eq!(line(&replies, 3)[..3], [9, 9, 2]);
}

#[test]
fn an_evicted_line_takes_exactly_its_dirty_bytes_along() {
    // Lines 0, 512 and 1024 share a set of two ways.
    let script = vec![
        (5, write(1, 0, 0b1010, 7)),
        (20, read(2, 512, 1)),
        (100, read(3, 1024, 1)),
        (200, read(4, 0, ALL)),
    ];
    let (replies, fetches) = run(script);
    let written: Vec<(u64, u64)> = fetches
        .iter()
        .filter(|(_, request)| matches!(&request.access, MemAccess::Write(0b1010, data) if data[1] == 7 && data[3] == 7))
        .map(|(cycle, request)| (*cycle, request.line))
        .collect();
    assert_eq!(written, [(100, 0)], "the write-back leaves with the fetch that needs the way");
    // This memory drops what is written to it, so that the byte comes back as the line's number.
    assert_eq!(line(&replies.take(), 4), [0; 128]);
}

#[test]
fn a_clean_line_is_dropped() {
    let script = vec![(5, read(1, 0, 1)), (100, read(2, 512, 1)), (200, read(3, 1024, 1))];
    let (_, fetches) = run(script);
    assert_eq!(fetches.len(), reads(&fetches).len());
}

#[test]
fn lanes_of_an_atomic_take_turns() {
    let add = |lane, offset, operand| AtomicLane {
        lane,
        offset,
        operation: AtomicOperation::Add,
        kind: AtomicType::U32,
        operand,
        swap: 0,
    };
    let atomic = MemAccess::Atomic(Box::new([add(0, 8, 5), add(3, 8, 6), add(31, 12, 7)]));
    let mut script =
        vec![(5, write(1, 0, ALL, 0)), (20, request(2, 0, atomic.clone())), (30, read(3, 0, ALL))];
    // On a line that is not here the bytes are fetched first.
    script.push((40, request(4, 256, atomic)));
    let (replies, fetches) = run(script);
    assert_eq!(reads(&fetches), [(40, 256, 0xffff_ffff)]);
    replies.assert_earliest(30, tagged(2));
    replies.assert_earliest(40 + 1 + MEMORY + 1, tagged(4));
    let replies = replies.take();
    let old = |tag| match &replies.iter().find(|(_, reply)| reply.tag == Tag(tag)).unwrap().1.result {
        MemResult::Old(old) => old.to_vec(),
        other => panic!("{other:?}"),
    };
    assert_eq!(old(2), [(0, 0), (3, 5), (31, 0)]);
    assert_eq!(line(&replies, 3)[8..16], [11, 0, 0, 0, 7, 0, 0, 0]);
    let two = 0x0202_0202;
    assert_eq!(old(4), [(0, two), (3, two + 5), (31, two)]);
}

/// An atomic on these words of a line, a lane each.
fn atomic(tag: u32, line: u64, words: &[u8]) -> MemRequest {
    let lane = |(lane, word): (usize, &u8)| AtomicLane {
        lane: lane as u8,
        offset: 4 * word,
        operation: AtomicOperation::Add,
        kind: AtomicType::U32,
        operand: 1,
        swap: 0,
    };
    request(tag, line, MemAccess::Atomic(words.iter().enumerate().map(lane).collect()))
}

/// Latency of a read of the slice from its request to its answer, on a hit.
const HIT: u64 = 10;

#[test]
fn atomics_take_as_long_as_their_lanes_have_words_in_common() {
    let words: Vec<u8> = (0..32).collect();
    let at = |script: Vec<(u64, MemRequest)>, atomics: &str| {
        let mut all = vec![(5, write(100, 0, ALL, 0)), (6, write(101, 128, ALL, 0))];
        all.extend(script);
        run_with(&format!("{SMALL}, atomics: {{ {atomics} }} }}"), all).0
    };
    // Fermi: two lanes a cycle, nine cycles on a word.
    let fermi = "lanes: 2, same_word: 9";
    at(vec![(50, atomic(1, 0, &words))], fermi).assert_earliest(50 + 15 + HIT, tagged(1));
    at(vec![(50, atomic(1, 0, &[7; 32]))], fermi).assert_earliest(50 + 31 * 9 + HIT, tagged(1));
    at(vec![(50, atomic(1, 0, &[7]))], fermi).assert_earliest(50 + HIT, tagged(1));
    // Kepler: four lanes a cycle, one on a word.
    let kepler = "lanes: 4";
    at(vec![(50, atomic(1, 0, &words))], kepler).assert_earliest(50 + 7 + HIT, tagged(1));
    at(vec![(50, atomic(1, 0, &[7; 32]))], kepler).assert_earliest(50 + 31 + HIT, tagged(1));
    // Without a unit they are as fast as reads.
    at(vec![(50, atomic(1, 0, &[7; 32]))], "lanes: 0").assert_earliest(50 + HIT, tagged(1));

    // Atomics of single lanes on a word follow each other as the lanes of one do; reads pass them.
    let script = vec![
        (50, atomic(1, 0, &[7])),
        (51, atomic(2, 0, &[7])),
        (52, atomic(3, 0, &[7])),
        (53, atomic(4, 128, &[7])),
        (54, read(5, 128, 1)),
    ];
    let replies = at(script, fermi);
    for (tag, ready) in [(1, 50), (2, 59), (3, 68), (4, 69), (5, 54)] {
        replies.assert_earliest(ready + HIT, tagged(tag));
    }
    let replies = replies.take();
    let old = |tag| match &replies.iter().find(|(_, reply)| reply.tag == Tag(tag)).unwrap().1.result {
        MemResult::Old(old) => old.to_vec(),
        other => panic!("{other:?}"),
    };
    assert_eq!([old(1), old(2), old(3)], [vec![(0, 0)], vec![(0, 1)], vec![(0, 2)]]);
}

#[test]
fn a_full_unit_of_atomics_holds_the_slice_up() {
    let script = vec![
        (5, write(100, 0, ALL, 0)),
        (50, atomic(1, 0, &[7; 32])),
        (51, atomic(2, 0, &[7; 32])),
        (52, atomic(3, 0, &[7; 32])),
        (53, read(4, 0, 1)),
    ];
    let (replies, _) = run_with(&format!("{SMALL}, atomics: {{ lanes: 4, queue: 1 }} }}"), script);
    // One is in the unit and one in front of it. The third one is taken when the first is through, and the read behind it then.
    for (tag, ready) in [(1, 81), (2, 113), (3, 145), (4, 83)] {
        replies.assert_earliest(ready + HIT, tagged(tag));
    }
}

#[test]
fn a_request_without_a_way_waits_and_nothing_behind_it_overtakes() {
    let script = vec![(5, read(1, 0, 1)), (6, read(2, 512, 1)), (7, read(3, 1024, 1)), (8, read(4, 128, 1))];
    let (replies, fetches) = run(script);
    let cycles: BTreeMap<u64, u64> = fetches.iter().map(|(cycle, request)| (request.line, *cycle)).collect();
    // The first fill comes at 56 and frees a way; the held request takes it in the same cycle.
    assert_eq!(cycles, BTreeMap::from([(0, 5), (512, 6), (1024, 56), (128, 57)]));
    replies.assert_earliest(56 + 1 + MEMORY + 1, tagged(3));
}

#[test]
fn a_request_that_was_held_goes_on_when_replies_and_fills_meet_a_full_way_back() {
    // Hits fill the queue of replies, whose reader sleeps. Behind them a request waits for a way, and the fill that
    // frees it comes while the queue is full.
    let mut bench = bench::<L2Slice>(PARAMS);
    // Two more cover the way there and back.
    bench.capacity(16);
    let answers = Probe::default();
    let log = answers.clone();
    bench.script("requests", None, false, move |socket, process| {
        let Socket { mut tx, mut rx } = socket;
        async move {
            let hits = (0..33).map(|tag| write(tag, 128, 1, 1));
            let script =
                [read(50, 0, 1), read(51, 512, 1)].into_iter().chain(hits).chain([read(52, 1024, 1)]);
            for request in script {
                tx.send(request).await;
            }
            process.until(process.cycles_from_now(1000)).await;
            for _ in 0..36 {
                let reply: MemReply = rx.recv().await;
                log.log(process.cycle(), reply.tag.0);
            }
            Ok(())
        }
    });
    bench.server("memory", None, |request| Some((MEMORY, numbered(&request))));
    assert_finished(&bench.run());
    assert_eq!(answers.take().len(), 36);
}

#[test]
fn requests_are_counted_for_their_launch_and_a_write_back_for_who_wrote_last() {
    // Lines 0, 512 and 1024 share a set of two ways.
    let script = vec![
        (5, labelled(1, 3, write(1, 0, 1, 7))),
        (20, labelled(2, 4, write(2, 0, 2, 8))),
        (30, labelled(1, 3, read(3, 512, 1))),
        (31, labelled(2, 4, read(4, 512, 2))),
        (200, labelled(0, 4, read(5, 1024, ALL))),
    ];
    let (_, fetches, report) = run_and_count(script);
    let names = ["accesses", "misses", "pending_hits"].map(|name| format!("L2_total_cache_{name}"));
    let names = [&names[0], &names[1], &names[2], "reads", "writes", "write_backs"];
    assert_eq!(counted(&report, "kernels[#1]", names), [2, 2, 0, 1, 1, 0]);
    assert_eq!(counted(&report, "kernels[#2]", names), [2, 0, 1, 1, 1, 1]);
    assert_eq!(counted(&report, "no_kernel", names), [4, 4, 0, 1, 0, 0]);
    assert_eq!(counted(&report, "streams[3]", names), [2, 2, 0, 1, 1, 0]);
    assert_eq!(counted(&report, "streams[4]", names), [6, 4, 1, 2, 1, 1]);
    assert_eq!(names.map(|name| report.count(name)), [8, 6, 1, 3, 2, 1]);
    // Both wrote to one sector, which is dirty once.
    let sectors = ["dirtied", "cleaned"];
    assert_eq!(counted(&report, "kernels[#1]", sectors), [1, 0]);
    assert_eq!(counted(&report, "kernels[#2]", sectors), [0, 1]);
    let labels: Vec<_> = fetches.iter().map(|(_, request)| (request.line, request.label)).collect();
    let label = |kernel, stream| Label { kernel, stream, ..Label::default() };
    assert_eq!(labels, [(512, label(1, 3)), (0, label(2, 4)), (1024, label(0, 4))]);
}
