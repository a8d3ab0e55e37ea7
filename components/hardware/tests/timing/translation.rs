//! Address translation: the MMU's TLB and walkers, and the TLB of an SM.

use std::sync::Arc;

use counterpoint_framework::testing::Probe;
use counterpoint_hardware::gpu::mmu::Mmu;
use counterpoint_hardware::gpu::sm::Sm;
use counterpoint_protocols::launch::LaunchId;
use counterpoint_protocols::launch::SmEvent;
use counterpoint_protocols::memory::MemRequest;
use counterpoint_protocols::translation::{MmuReply, MmuRequest};

use super::programs::{Memory, kernel, launch};
use super::sm::{ENDED, SAME_BANK, block};
use super::*;

/// From a request for an entry of a table to the answer.
const MEMORY: u64 = 50;
/// From an SM's question to the MMU's lookup.
const LATENCY: u64 = 10;
/// Where the tables begin: 1 GiB has 512 tables of pages, and one table of these.
const TABLES: u64 = 1 << 30;

fn page_of(asked: &MmuRequest) -> u64 {
    let MmuRequest::Page { page, .. } = asked else { panic!("{asked:?}") };
    *page
}

fn ask(page: u64) -> MmuRequest {
    MmuRequest::Page { page, bytes: 4096, launch: LaunchId(0) }
}

/// Lets SMs ask an MMU for pages; gives what each is answered, and what is asked of memory.
fn walk(
    params: &str,
    sms: [Vec<(u64, MmuRequest)>; 2],
) -> ([Probe<MmuReply>; 2], Vec<(u64, MemRequest)>, BenchReport) {
    let mut bench = bench::<Mmu>(&format!("{{ memory: 1 GiB, latency: 10 cycles{params} }}"));
    let mut index = 0;
    let answers = sms.map(|script| {
        let count = script.len();
        index += 1;
        bench.client("sms", Some(index - 1), script, count)
    });
    let requests = bench.server("memory", None, |request| Some((MEMORY, numbered(&request))));
    let report = bench.run();
    assert_finished(&report);
    (answers, requests.take(), report)
}

#[test]
fn a_walk_reads_an_entry_a_level_and_the_next_question_hits() {
    let ([answers, _], requests, report) = walk("", [vec![(5, ask(1000)), (300, ask(1000))], vec![]]);
    let read: Vec<(u64, u64)> = requests.iter().map(|(cycle, request)| (*cycle, request.line)).collect();
    // Page 1000 is entry 488 of table 1; its entry is in the 62nd line of the pages' tables.
    let begins = 5 + LATENCY;
    assert_eq!(read, [(begins, TABLES), (begins + 1 + MEMORY, TABLES + 4096 + 62 * 128)]);
    let MemAccess::Read(mask) = requests[1].1.access else { panic!("{requests:?}") };
    assert_eq!(mask, 0xff << (1000 * 8 % 128));
    assert_eq!(answers.cycles(), [begins + 2 * (1 + MEMORY), 300 + LATENCY]);
    assert_eq!((report.count("accesses"), report.count("misses"), report.count("walks")), (2, 1, 1));
}

#[test]
fn sms_share_a_walk_and_walks_share_the_walkers() {
    let params = ", walkers: 1";
    let ([first, second], ..) = walk(params, [vec![(5, ask(1)), (6, ask(600))], vec![(7, ask(1))]]);
    let walk = 2 * (1 + MEMORY);
    assert_eq!(first.cycles(), [15 + walk, 15 + 2 * walk]);
    assert_eq!(second.cycles(), [15 + walk]);
}

#[test]
fn the_mmu_evicts_the_page_that_was_used_longest_ago() {
    let asked = [1, 2, 1, 3, 1, 2].into_iter().enumerate().map(|(n, page)| (200 * n as u64, ask(page)));
    let (_, _, report) = walk(", entries: 2", [asked.collect(), vec![]]);
    assert_eq!((report.count("accesses"), report.count("misses")), (6, 4));
}

/// Messages of an SM to memory and to the MMU, and its end.
type Sent = (Vec<(u64, MemRequest)>, Vec<(u64, MmuRequest)>, BenchReport);

/// Runs a block of one warp on an SM whose pages come after `cycles` cycles.
fn run(params: &str, body: &str, cycles: u64) -> Sent {
    let mut bench = bench::<Sm>(&format!(
        "{{ fetch_width: 8, l1i: {{ perfect: on }}, l1c: {{ perfect: on }}, {params} }}"
    ));
    let mut memory = Memory::default();
    let launch: Arc<_> = launch(1, &kernel(body), 1, 32);
    let _events: Probe<SmEvent> = bench.client("work", None, vec![(5, block(&launch, 0))], 2);
    let requests = bench.server("memory", None, move |request| Some((100, memory.answer(&request))));
    let pages = bench.server("translation", None, move |request| match request {
        MmuRequest::Page { page, launch, .. } => {
            Some((cycles, MmuReply::Page { page, launch, granted: true }))
        }
        MmuRequest::Claim(_) => None,
    });
    let report = bench.run();
    (requests.take(), pages.take(), report)
}

#[test]
fn an_access_waits_for_its_page_and_the_next_one_to_it_does_not() {
    let body =
        "ld.global.u32 %r3, [%rd1+512];\nst.global.u32 [%rd1+4096], %r1;\nst.global.u32 [%rd1+4352], %r1;";
    let left = |(requests, ..): &Sent| -> Vec<u64> { requests.iter().map(|(cycle, _)| *cycle).collect() };
    let without = run("tlb: { entries: 0 }", body, 0);
    assert!(without.1.is_empty());
    let with = run("tlb: { entries: 4 }", body, 200);
    let pages: Vec<u64> = with.1.iter().map(|(_, asked)| page_of(asked)).collect();
    assert_eq!(pages, [0x10, 0x11], "the load's, and the stores'");
    let [load, store, last] = <[u64; 3]>::try_from(left(&without)).unwrap();
    // The page is asked for as the access enters the L1's pipeline of 35 cycles; question and answer take a cycle more.
    let late = 200 + 1 - 35;
    // Stores read %rd1 and %r1 from one bank and so come every second cycle, unless they have read while they waited.
    assert_eq!(last - store, 1 + SAME_BANK);
    assert_eq!(left(&with), [load + late, store + late, store + late + 1]);
    let count = |name: &str| with.2.count(&format!("TLB.{name}"));
    assert_eq!((count("accesses"), count("misses"), count("requests")), (3, 3, 2));
}

#[test]
fn a_page_that_is_evicted_meanwhile_is_asked_for_again() {
    // One entry, and two pages in turn: every access needs the page that has just gone.
    let touch = "st.global.u32 [%rd1+512], %r1;\nst.global.u32 [%rd1+4096], %r1;\n".repeat(4);
    let (requests, pages, report) = run("tlb: { entries: 1, misses: 2 }", &touch, 30);
    assert_finished(&report);
    assert_eq!(requests.len(), 8);
    assert!(pages.len() >= 8, "{}", pages.len());
    assert!(requests.iter().any(|(_, request)| request.line == ENDED));
}

#[test]
fn a_tlb_without_an_mmu_is_a_fault() {
    let mut bench = bench::<Sm>("{ tlb: { entries: 4 } }");
    let launch = launch(1, &kernel(""), 1, 32);
    let _events: Probe<SmEvent> = bench.client("work", None, vec![(5, block(&launch, 0))], 2);
    let _requests = bench.server("memory", None, |request| Some((100, numbered(&request))));
    let report = bench.run();
    assert_eq!(fault(&report), "a TLB with entries needs `translation` to be linked to an MMU");
}
