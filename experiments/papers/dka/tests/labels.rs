//! L2 lines with the labels of task pipelines: the last writer, and the lines written back, dropped and kept.

use counterpoint::gpu::l2::L2Slice;
use counterpoint::messages::memory::{Label, MemAccess, MemReply, MemRequest};
use counterpoint::testing::BenchReport;
use counterpoint::testing::gpu::*;
use counterpoint_dka::labels::{Flush, TaskLabel};

/// Eight lines in four sets of two.
const CACHE: &str = "cache: { capacity: 1 KiB, ways: 2, mshrs: 4, merges: 4 }, hit_latency: 10 cycles";
const MEMORY: u64 = 50;

/// Kernel and batch, as a launch of a pipeline labels its accesses.
fn by(kernel: u32, batch: u32, request: MemRequest) -> MemRequest {
    let label = Label { kernel: kernel + 1, stream: 1, tag: TaskLabel::new(kernel, batch).into() };
    MemRequest { label, ..request }
}

/// A request with the label of the last kernel of a pipeline.
fn by_last(kernel: u32, batch: u32, request: MemRequest) -> MemRequest {
    let label = Label { kernel: kernel + 1, stream: 1, tag: TaskLabel::new(kernel, batch).last().into() };
    MemRequest { label, ..request }
}

/// Requests to memory, and replies.
struct Ran {
    memory: Vec<(u64, MemRequest)>,
    replies: Vec<(u64, MemReply)>,
    report: BenchReport,
}

impl Ran {
    fn writes(&self) -> Vec<(u64, u64)> {
        let write = |(cycle, request): &(u64, MemRequest)| {
            matches!(request.access, MemAccess::Write(..)).then_some((*cycle, request.line))
        };
        self.memory.iter().filter_map(write).collect()
    }

    fn reads(&self) -> Vec<(u64, u64)> {
        let read = |(cycle, request): &(u64, MemRequest)| {
            matches!(request.access, MemAccess::Read(_)).then_some((*cycle, request.line))
        };
        self.memory.iter().filter_map(read).collect()
    }
}

/// Runs requests, and messages that kernels' lines are done with.
fn run(params: &str, script: Vec<(u64, MemRequest)>, flushes: Vec<(u64, Flush)>) -> Ran {
    let mut bench = bench_with::<L2Slice>(counterpoint_dka::register, &format!("{{ {CACHE}, {params} }}"));
    let count = script.len();
    let replies = bench.client("requests", None, script, count);
    if params.contains("labels") {
        bench.drive("labels", None, flushes);
    }
    let memory = bench.server("memory", None, |request| Some((MEMORY, numbered(&request))));
    let report = bench.run();
    assert_finished(&report);
    Ran { memory: memory.take(), replies: replies.take(), report }
}

fn flush(kernel: u32, batch: u32) -> Flush {
    Flush(TaskLabel::new(kernel, batch))
}

#[test]
fn the_last_writer_labels_a_line_and_a_message_flushes_exactly_its_lines() {
    let script = vec![
        (5, by(0, 1, write(1, 0, ALL, 7))),
        (10, by(0, 1, write(2, 128, 0xff, 8))),
        (15, by(0, 1, write(3, 256, ALL, 9))),
        (20, by(0, 2, write(4, 384, ALL, 6))),
        // The next kernel reads, which changes no label, and writes over a part of the third line.
        (30, by(1, 1, read(5, 0, ALL))),
        (35, by(1, 1, write(6, 256, 1, 5))),
        // After the message: the first two lines are gone, the others are here.
        (300, read(7, 256, ALL)),
        (301, read(8, 384, ALL)),
        (302, read(9, 0, 1)),
    ];
    let ran = run("tags: { labels: { keep: none } }", script, vec![(100, flush(0, 1))]);
    // The message is on its way for a cycle; then a line a cycle is written back.
    assert_eq!(ran.writes(), [(100, 0), (101, 128)]);
    // Two reads of four sectors occupy the slice before.
    assert_eq!(ran.reads(), [(308, 0)], "the read hit, and what another batch or kernel wrote stayed");
    let third = line(&ran.replies, 7);
    assert_eq!((third[0], third[1]), (5, 9));
    assert_eq!(line(&ran.replies, 5), [7; 128]);
    assert_eq!(ran.report.count("flushed"), 2);
}

#[test]
fn without_labels_a_line_stays() {
    let script = vec![(5, by(0, 1, write(1, 0, ALL, 7))), (200, read(2, 0, ALL))];
    let ran = run("tags: none", script, vec![(100, flush(0, 1))]);
    assert!(ran.memory.is_empty());
}

#[test]
fn a_line_that_is_written_anew_before_its_turn_stays() {
    // Two lines bear the label; the second one is written by another kernel in the cycle in which the first is dropped.
    let script = vec![
        (5, by(0, 1, write(1, 0, ALL, 7))),
        (10, by(0, 1, write(2, 128, ALL, 8))),
        (100, by(1, 1, write(3, 128, 1, 9))),
        (200, read(4, 128, ALL)),
    ];
    let ran = run("tags: { labels: { keep: none } }", script, vec![(100, flush(0, 1))]);
    assert_eq!(ran.writes(), [(100, 0)]);
    let kept = line(&ran.replies, 4);
    assert_eq!((kept[0], kept[1]), (9, 8));
}

#[test]
fn a_line_with_a_fetch_under_way_is_dropped_when_it_has_come() {
    let script = vec![(5, by(0, 1, write(1, 0, 1, 7))), (98, by(1, 1, read(2, 0, ALL)))];
    let ran = run("tags: { labels: { keep: none } }", script, vec![(100, flush(0, 1))]);
    assert_eq!(ran.reads(), [(98, 0)]);
    // The fill comes MEMORY and a link later, and the line leaves then.
    assert_eq!(ran.writes(), [(98 + MEMORY + 1, 0)]);
    assert_eq!(line(&ran.replies, 2)[..2], [7, 0]);
}

#[test]
fn a_write_that_misses_costs_one_read_and_one_write_back() {
    let script = vec![(5, by(0, 1, write(1, 128, ALL, 7))), (100, by(0, 1, write(2, 128, 1, 8)))];
    let ran = run(
        "tags: { labels: { keep: none } }, write_miss: fetch, sector: 128 B",
        script.clone(),
        vec![(200, flush(0, 1))],
    );
    assert_eq!((ran.reads(), ran.writes()), (vec![(5, 128)], vec![(200, 128)]));
    // The store is done when the line is here.
    assert_eq!(ran.replies[0].0, 5 + 1 + MEMORY + 1);
    let lazy = run("tags: { labels: { keep: none } }", script, vec![(200, flush(0, 1))]);
    assert_eq!((lazy.reads(), lazy.writes()), (vec![], vec![(200, 128)]));
}

/// A producer writes four lines, other lines of the same sets pass through, and a consumer reads.
fn produced_and_consumed(labels: &str) -> Ran {
    let lines: [u64; 4] = [0, 128, 256, 384];
    let mut script: Vec<(u64, MemRequest)> = Vec::new();
    let mut tag = 0;
    let mut cycle = 0;
    let mut next = |script: &mut Vec<(u64, MemRequest)>, request: &dyn Fn(u32) -> MemRequest| {
        (tag, cycle) = (tag + 1, cycle + 100);
        script.push((cycle, request(tag)));
    };
    for at in lines {
        next(&mut script, &|tag| by(0, 1, write(tag, at, ALL, 7)));
    }
    // Three lines of input for every set.
    for at in (1024..1024 + 12 * 128).step_by(128) {
        next(&mut script, &|tag| by(1, 1, read(tag, at, ALL)));
    }
    for at in lines {
        next(&mut script, &|tag| by(1, 1, read(tag, at, ALL)));
    }
    run(labels, script, vec![(3000, flush(0, 1))])
}

#[test]
fn what_is_protected_is_read_without_memory() {
    let of = |ran: &Ran| {
        let reads = ran.reads();
        (reads.len(), reads.iter().filter(|(_, line)| *line < 1024).count(), ran.writes().len())
    };
    let (plain, flushed, kept) = (
        produced_and_consumed("tags: none"),
        produced_and_consumed("tags: { labels: { keep: none } }"),
        produced_and_consumed("tags: { labels: { keep: all } }"),
    );
    // Twelve lines of input, and the four of the producer if they had to make room; each is written back once.
    assert_eq!(of(&plain), (16, 4, 4));
    assert_eq!(of(&flushed), (16, 4, 4));
    assert_eq!(of(&kept), (12, 0, 4));
    assert_eq!(kept.writes().first().map(|(cycle, _)| *cycle), Some(3000), "not before nobody reads them");
}

#[test]
fn what_the_last_kernel_writes_makes_room_for_what_a_kernel_will_read() {
    // Three lines of a set of two ways: the producer's is older than the last kernel's.
    let script = vec![
        (5, by(0, 2, write(1, 0, ALL, 7))),
        (10, by_last(1, 1, write(2, 512, ALL, 8))),
        (20, by_last(1, 1, read(3, 1024, ALL))),
        (100, by(1, 2, read(4, 0, ALL))),
    ];
    let of = |labels: &str| run(labels, script.clone(), vec![]);
    let (all, produced) = (of("tags: { labels: { keep: all } }"), of("tags: labels"));
    assert_eq!((all.writes(), all.reads()), (vec![(20, 0)], vec![(20, 1024), (100, 0)]));
    assert_eq!((produced.writes(), produced.reads()), (vec![(20, 512)], vec![(20, 1024)]));
    // Both lines are flushed by their labels.
    let flushes = vec![(200, flush(0, 2)), (300, Flush(TaskLabel::new(1, 1).last()))];
    let script = script[..2].to_vec();
    assert_eq!(run("tags: labels", script, flushes).writes(), [(200, 0), (300, 512)]);
}

#[test]
fn a_set_protects_as_many_lines_as_it_may() {
    // The second line comes when one is protected: it is like others, and makes room although it is the newer one.
    let script = vec![
        (5, by(0, 1, write(1, 0, ALL, 7))),
        (10, by(0, 1, write(2, 512, ALL, 8))),
        (20, by(1, 1, read(3, 1024, ALL))),
        // When the first has been flushed, the next that is written is protected in its place.
        (300, by(0, 2, write(4, 512, ALL, 9))),
        (310, read(5, 1536, ALL)),
        (400, read(6, 2048, ALL)),
        (500, by(1, 2, read(7, 512, ALL))),
    ];
    let ran = run("tags: { labels: { keep: all } }, protected_ways: 1", script, vec![(200, flush(0, 1))]);
    assert_eq!(ran.writes(), [(20, 512), (200, 0)]);
    assert_eq!(ran.reads(), [(20, 1024), (310, 1536), (400, 2048)]);
}

#[test]
fn a_set_full_of_labels_still_makes_room() {
    // Lines 0, 512 and 1024 share a set of two ways: of two that are protected the least recently used goes.
    let script = vec![
        (5, by(0, 1, write(1, 0, ALL, 7))),
        (10, by(0, 1, write(2, 512, ALL, 8))),
        (20, by(1, 1, read(3, 1024, ALL))),
        (100, by(1, 1, read(4, 512, ALL))),
        (200, by(1, 1, read(5, 0, ALL))),
    ];
    let ran = run("tags: { labels: { keep: all } }", script, vec![]);
    assert_eq!(ran.writes(), [(20, 0)]);
    // The line that came for it has no label, and makes room in its turn.
    assert_eq!(ran.reads(), [(20, 1024), (200, 0)]);
}
