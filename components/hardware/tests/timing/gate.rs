//! The gate of an SM: accesses that wait for the grant of their pages, and claims of blocks.

use std::sync::Arc;

use counterpoint_framework::testing::Probe;
use counterpoint_hardware::gpu::sm::Sm;
use counterpoint_protocols::launch::{Launch, LaunchId, Precedence, SmEvent};
use counterpoint_protocols::translation::{Change, MmuReply, MmuRequest, RangeClaim};

use super::programs::{BUFFER, Memory, launch};
use super::sm::{FETCHED, SAME_BANK, block};
use super::*;

const PAGE: u64 = 4096;

/// From a request to device memory to the answer.
const MEMORY: u64 = 50;

/// A launch of a block that takes part in the order of pages.
fn with(id: u32, precedence: Precedence, source: &str) -> Arc<Launch> {
    let launch = launch(id, source, 1, 32);
    Arc::new(Launch { precedence, ..Launch::clone(&launch) })
}

/// Runs a block whose page is granted after a number of cycles; returns the cycles of its accesses to memory,
/// and its questions to the MMU.
fn sm(
    params: &str,
    precedence: Precedence,
    source: &str,
    granted: u64,
) -> (Numbers, Vec<(u64, MmuRequest)>, BenchReport) {
    let fetched = FETCHED.trim_matches(|c| "{} ".contains(c));
    let mut bench = bench::<Sm>(&format!("{{ {fetched} }}, tlb: {{ entries: 8{params} }} }}"));
    let launch = with(4, precedence, source);
    let mut memory = Memory::default();
    let _events: Probe<SmEvent> = bench.client("work", None, vec![(5, block(&launch, 0))], 2);
    let requests = bench.server("memory", None, move |request| Some((MEMORY, memory.answer(&request))));
    let asked = bench.server("translation", None, move |request| match request {
        MmuRequest::Page { page, launch, .. } => {
            Some((granted, MmuReply::Page { page, launch, granted: true }))
        }
        MmuRequest::Claim(RangeClaim { tag, .. }) => Some((20, MmuReply::Claimed { tag })),
    });
    let report = bench.run();
    let requests = requests.take().into_iter().map(|(cycle, request)| (cycle, request.line));
    (requests.collect(), asked.take(), report)
}

type Numbers = Vec<(u64, u64)>;

/// A store to the first page of the buffer, and one to the second.
const STORES: &str = "st.global.u32 [%rd1+64], %r1;\nst.global.u32 [%rd1+4160], %r1;";

#[test]
fn an_access_issues_when_its_page_is_granted_and_the_warp_waits_with_it() {
    let source = super::programs::kernel(STORES);
    let (at_once, ..) = sm(", issue_rule: off", Precedence::Gated, &source, 0);
    let (held, asked, report) = sm("", Precedence::Gated, &source, 200);
    assert_finished(&report);
    let first_page = BUFFER / PAGE;
    let pages: Numbers = asked
        .iter()
        .map(|(cycle, request)| match request {
            MmuRequest::Page { page, bytes: PAGE, launch: LaunchId(4) } => (*cycle, *page),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!([pages[0].1, pages[1].1], [first_page, first_page + 1]);
    // The question leaves in the cycle behind the attempt, and the instruction issues in the cycle of the grant.
    const WAIT: u64 = 200 + 2;
    // Both read %rd1 and %r1 from one bank: where they issue one behind the other, the second waits a cycle for the first.
    assert_eq!(at_once[1].0 - at_once[0].0, 1 + SAME_BANK);
    assert_eq!(held[0].0 - at_once[0].0, WAIT);
    assert_eq!(held[1].0 - at_once[1].0, 2 * WAIT - SAME_BANK);
    assert_eq!(pages[1].0 - pages[0].0, WAIT + 1);
    assert_eq!(
        report.count("issue_slots.page"),
        2 * WAIT,
        "both attempts, and the cycles until their pages came"
    );
}

/// A kernel whose first thread releases a range at the end of its block.
fn releasing(body: &str) -> String {
    let source = super::programs::kernel(&format!(
        "{body}
{{ .param .b64 a; .param .b64 l; .param .b64 h; .param .b32 f;
mov.u32 %r4, %tid.x;
setp.ne.u32 %p1, %r4, 0;
@%p1 bra $done;
st.param.b64 [a], %rd1;
st.param.b64 [l], %rd1;
add.s64 %rd3, %rd1, 8192;
st.param.b64 [h], %rd3;
mov.u32 %r5, 2;
st.param.b32 [f], %r5;
call.uni __release_range, (a, l, h, f);
}}
$done:"
    ));
    let declaration =
        ".extern .func __release_range(.param .b64 a, .param .b64 l, .param .b64 h, .param .b32 f);\n";
    let at = source.find(".visible").expect("a kernel is visible");
    format!("{}{declaration}{}", &source[..at], &source[at..])
}

#[test]
fn releases_leave_when_the_stores_of_their_block_are_acknowledged() {
    let source = releasing(STORES);
    let release = |asked: &[(u64, MmuRequest)]| {
        let counts = asked.iter().filter(|(_, request)| matches!(request, MmuRequest::Claim(_)));
        counts.map(|(cycle, _)| *cycle).collect::<Vec<_>>()
    };
    let (stores, asked, report) = sm("", Precedence::Gated, &source, 10);
    assert_finished(&report);
    let (_, early, _) = sm(", release_behind_stores: off", Precedence::Gated, &source, 10);
    let last = stores.iter().map(|(cycle, _)| *cycle).max().unwrap();
    let released = release(&asked);
    assert_eq!(released.len(), 1, "{asked:?}");
    assert!(released[0] > last + MEMORY, "the last store is acknowledged: {released:?}, {stores:?}");
    assert!(release(&early)[0] < last + MEMORY, "without the rule it does not wait");
    let Some((_, MmuRequest::Claim(count))) = asked.iter().find(|(_, it)| matches!(it, MmuRequest::Claim(_)))
    else {
        panic!("{asked:?}")
    };
    let expected = (LaunchId(4), Change::Release, BUFFER, BUFFER + 8192, false, true);
    assert_eq!((count.kernel, count.change, count.start, count.end, count.reads, count.writes), expected);
}

#[test]
fn claims_of_an_ordinary_launch_and_gated_launches_without_a_tlb_are_faults() {
    let (.., report) = sm("", Precedence::Stream, &releasing(""), 10);
    assert_eq!(fault(&report), "k#4 claims ranges of memory, and is launched as a kernel that does not");
    let mut bench = bench::<Sm>("{}");
    let launch = with(1, Precedence::Gated, &super::programs::kernel(""));
    let _events: Probe<SmEvent> = bench.client("work", None, vec![(5, block(&launch, 0))], 2);
    let _requests = bench.server("memory", None, |request| Some((100, numbered(&request))));
    let message = "a gated launch needs an SM with a TLB (tlb.entries)";
    assert_eq!(fault(&bench.run()), message);
}
