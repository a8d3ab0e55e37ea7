//! Lines of 32 to 256 bytes: what an SM asks for, and what an L2 slice does with requests about several of its lines.

use counterpoint_framework::testing::Probe;
use counterpoint_hardware::memory::l2_slice::L2Slice;
use counterpoint_protocols::memory::{AtomicLane, AtomicOperation, AtomicType, MemResult, SECTOR_BYTES};

use super::programs::{Memory, launch};
use super::sm::{ENDED, MEMORY, block, run_blocks};
use super::*;

/// Requests of an SM for data, with the bytes that they are about.
fn asked(line: u64, body: &str) -> Vec<(u64, u64, ByteMask)> {
    let params = format!(
        "{{ l1d: {{ line: {line} B, set_index: linear }}, fetch_width: 8, l1i: {{ perfect: on }}, l1c: {{ perfect: on }} }}"
    );
    let launch = launch(1, &kernel(body), 1, 32);
    let run = run_blocks(&params, Memory::default(), vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    let of = |(cycle, request): &(u64, MemRequest)| match request.access {
        MemAccess::Read(mask) | MemAccess::Write(mask, _) => (*cycle, request.line, mask),
        MemAccess::Atomic(_) => panic!("{request:?}"),
    };
    run.requests.iter().map(of).collect()
}

/// The bytes from one to another.
fn bytes(from: u32, to: u32) -> ByteMask {
    ALL >> (128 - (to - from)) << from
}

#[test]
fn a_warp_access_is_a_transaction_a_line_and_a_cycle() {
    // 128 bytes from the middle of a sector on, and a store of them to where they do not lie.
    let body = "ld.global.u32 %r3, [%rd2+528];\nst.global.u32 [%rd2+4096], %r3;";
    let (first, second) = (BUFFER + 512, BUFFER + 640);
    let reads = |line| -> Vec<(u64, u64, ByteMask)> {
        let all = asked(line, body);
        let start = all[0].0;
        all.into_iter()
            .filter(|(_, line, _)| *line < ENDED)
            .map(|(cycle, line, mask)| (cycle - start, line, mask))
            .collect()
    };
    assert_eq!(
        reads(32),
        [
            (0, first, bytes(0, 32)),
            (1, first, bytes(32, 64)),
            (2, first, bytes(64, 96)),
            (3, first, bytes(96, 128)),
            (4, second, bytes(0, 32))
        ]
    );
    let halves = [(0, first, bytes(0, 64)), (1, first, bytes(64, 128)), (2, second, bytes(0, 64))];
    assert_eq!(reads(64), halves);
    assert_eq!(reads(128), [(0, first, ALL), (1, second, ALL)]);
    // The other half of a line of 256 bytes comes with the first, and the second transaction waits for it.
    assert_eq!(reads(256), [(0, first, ALL), (0, second, ALL)]);
    let stores = |line| asked(line, body).iter().filter(|(_, line, _)| *line >= ENDED).count();
    assert_eq!([32, 64, 128, 256].map(stores), [4, 2, 1, 1]);
}

#[test]
fn a_store_evicts_its_line_and_no_other() {
    // Words of two neighbouring sectors are read, the first is written, and both are read again.
    let body = "ld.global.u32 %r3, [%rd1+512];
        ld.global.u32 %r4, [%rd1+544];
        add.u32 %r3, %r3, %r4;
        st.global.u32 [%rd1+512], %r3;
        membar.cta;
        ld.global.u32 %r5, [%rd1+544];
        ld.global.u32 %r6, [%rd1+512];
        add.u32 %r5, %r5, %r6;
        st.global.u32 [%rd1+4096], %r5;";
    let again = |line| {
        let all = asked(line, body);
        let store = all.iter().position(|(_, _, mask)| mask.count_ones() == 4).unwrap();
        all[store + 1..all.len() - 1].iter().map(|(_, _, mask)| *mask).collect::<Vec<_>>()
    };
    assert_eq!(again(32), [bytes(0, 32)], "the second sector is still here");
    assert_eq!(again(64), [bytes(0, 64)]);
    assert_eq!(again(256), [ALL, ALL], "both halves are gone");
}

/// Runs a script on an L2 slice of 1 KiB with two ways: its replies, the cycles of its fetches, and its statistics.
fn slice(line: u64, more: &str, script: Vec<(u64, MemRequest)>) -> (Probe<MemReply>, Vec<u64>, BenchReport) {
    let cache = format!("{{ capacity: 1 KiB, ways: 2, line: {line} B, mshrs: 4, merges: 4 }}");
    let mut bench = bench::<L2Slice>(&format!("{{ cache: {cache}, hit_latency: 10 cycles{more} }}"));
    let count = script.len();
    let replies = bench.client("requests", None, script, count);
    let mut memory = Memory::default();
    (0..1 << 12).step_by(4).for_each(|address| memory.set_word(address, address as u32));
    let fetches = bench.server("memory", None, move |request| Some((MEMORY, memory.answer(&request))));
    let report = bench.run();
    assert_finished(&report);
    let fetches = fetches.take().iter().map(|(cycle, _)| *cycle).collect();
    (replies, fetches, report)
}

#[test]
fn a_request_about_several_lines_is_divided_and_answered_once() {
    for (line, parts) in [(32, 4), (64, 2), (128, 1)] {
        let each = line / SECTOR_BYTES;
        let (replies, fetches, report) =
            slice(line, "", vec![(5, read(1, 256, ALL)), (300, read(2, 256, ALL))]);
        // A line is looked up a cycle a sector.
        assert_eq!(fetches, (0..parts).map(|part| 5 + part * each).collect::<Vec<_>>(), "{line}");
        let last = 5 + (parts - 1) * each;
        replies.assert_earliest(last + 1 + MEMORY + 1, tagged(1));
        replies.assert_earliest(300 + (parts - 1) * each + 10, tagged(2));
        assert_eq!(report.count("reads"), 2 * parts, "{line}");
        let replies = replies.take();
        assert_eq!(replies.len(), 2);
        for tag in [1, 2] {
            let line = super::line(&replies, tag);
            let words = line.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
            assert!(words.eq((256..384).step_by(4)));
        }
    }
}

#[test]
fn a_store_and_an_atomic_about_several_lines_are_answered_once() {
    let lane = |lane: u8, offset: u8| AtomicLane {
        lane,
        offset,
        operation: AtomicOperation::Add,
        kind: AtomicType::U32,
        operand: 1000,
        swap: 0,
    };
    let lanes = [lane(0, 100), lane(1, 4), lane(2, 4)];
    let script = vec![
        (5, write(1, 0, bytes(60, 70), 7)),
        (50, request(2, 0, MemAccess::Atomic(lanes.into()))),
        (400, read(3, 0, ALL)),
    ];
    let (replies, _, _) = slice(32, "", script);
    let replies = replies.take();
    let result =
        |tag| replies.iter().filter(move |(_, reply)| reply.tag == Tag(tag)).map(|(_, reply)| &reply.result);
    assert!(matches!(result(1).collect::<Vec<_>>()[..], [MemResult::Written(2)]));
    let [MemResult::Old(old)] = result(2).collect::<Vec<_>>()[..] else { panic!("{replies:?}") };
    let mut old = old.to_vec();
    old.sort_unstable();
    assert_eq!(old, [(0, 100), (1, 4), (2, 1004)]);
    let line = line(&replies, 3);
    assert_eq!((line[59], line[60], line[69], line[70]), (0, 7, 7, 0));
    let word = |at: usize| u32::from_le_bytes(line[at..at + 4].try_into().unwrap());
    assert_eq!((word(4), word(100)), (2004, 1100));
}

#[test]
fn a_line_of_256_bytes_leaves_with_both_halves() {
    // Two sets of two lines. Lines 0, 512 and 1024 share one.
    let script = vec![
        (5, write(1, 0, 0b11, 7)),
        (20, write(2, 128, 0b110, 8)),
        (40, write(3, 512, 1, 9)),
        (60, write(4, 1024, 1, 9)),
        (200, read(5, 0, 0b111)),
        (400, read(6, 128, 0b111)),
    ];
    let (replies, fetches, report) = slice(256, "", script);
    assert_eq!(fetches[..2], [60, 60], "the third line of the set needs room");
    assert_eq!(report.count("write_backs"), 3, "the fourth is that of 512 when 0 comes back");
    let replies = replies.take();
    assert_eq!(line(&replies, 5)[..3], [7, 7, 0]);
    assert_eq!(line(&replies, 6)[..3], [128, 8, 8]);
}

#[test]
fn a_sector_of_256_bytes_fetches_both_halves() {
    let script = vec![(5, read(1, 128, 1)), (6, read(2, 0, 1)), (300, read(3, 0, ALL))];
    let (replies, fetches, _) = slice(256, ", sector: 256 B", script);
    assert_eq!(fetches, [5, 5]);
    replies.assert_earliest(5 + 1 + MEMORY + 1, tagged(1));
    replies.assert_earliest(300 + 10, tagged(3));
}
