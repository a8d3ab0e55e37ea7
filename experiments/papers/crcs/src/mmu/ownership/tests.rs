//! The lists and owners of the paper's vector addition, early releases, and waits.

use counterpoint::messages::extra::LineTag;

use super::*;

const K0: LaunchId = LaunchId(2);
const K1: LaunchId = LaunchId(4);
const PAGE: u64 = 4096;
/// Arrays of the paper's vector addition: 4 pages each.
const A: u64 = 0x10;
const B: u64 = 0x20;
const C: u64 = 0x30;
const D: u64 = 0x40;

fn ownership() -> Ownership {
    Ownership::new(12, EarlyRelease::Table, Available::HandedOver)
}

fn count(
    kernel: LaunchId,
    change: Change,
    page: u64,
    bytes: std::ops::Range<u64>,
    access: &str,
) -> RangeClaim {
    let (start, end) = (page * PAGE + bytes.start, page * PAGE + bytes.end);
    let (reads, writes) = (access.contains('R'), access.contains('W'));
    RangeClaim { kernel, change, start, end, reads, writes, tag: 0 }
}

fn copy(direction: Direction, page: u64, pages: u64) -> Copy {
    Copy {
        direction,
        host: page * PAGE + (1 << 30),
        device: page * PAGE,
        bytes: pages * PAGE,
        tag: LineTag::NONE,
    }
}

/// Block `index` of `C = A + B` (kernel 0) or `D = C + A` (kernel 1): a quarter of a page of each array.
fn block(kernel: LaunchId, change: Change, index: u64) -> [RangeClaim; 3] {
    let arrays = if kernel == K0 { [(A, "R"), (B, "R"), (C, "W")] } else { [(C, "R"), (A, "R"), (D, "W")] };
    let bytes = 1024 * index..1024 * (index + 1);
    arrays.map(|(page, access)| count(kernel, change, page, bytes.clone(), access))
}

fn apply(ownership: &mut Ownership, counts: impl IntoIterator<Item = RangeClaim>) -> Vec<Consequence> {
    let mut out = Vec::new();
    counts.into_iter().for_each(|count| ownership.count(&count, &mut out).unwrap());
    out
}

/// The paper's vector addition, profiled, with its inputs on the device.
fn vector_addition() -> Ownership {
    let mut pages = ownership();
    let mut out = Vec::new();
    pages.overlap(copy(Direction::DeviceToHost, D, 4));
    pages.overlap(copy(Direction::HostToDevice, A, 4));
    pages.overlap(copy(Direction::HostToDevice, B, 4));
    for kernel in [K0, K1] {
        pages.launched(kernel, false);
        apply(&mut pages, (0..16).flat_map(|index| block(kernel, Change::Claim, index)));
    }
    pages.end_of_launches(&mut out);
    pages.profiled(K0, &mut out);
    pages.profiled(K1, &mut out);
    for page in [A, B] {
        pages.arrived(copy(Direction::HostToDevice, page, 4), &mut out).unwrap();
    }
    pages
}

/// Section 4.3 of the specification: entries, owners, and the effect of the fourth block's end.
#[test]
fn vector_addition_has_the_lists_and_owners_of_the_paper() {
    let mut pages = vector_addition();
    let first = |pages: &Ownership| [A, B, C, D].map(|page| pages.describe(page));
    assert_eq!(
        first(&pages),
        [
            "launch 2 (R 4, W 0), then launch 4 (R 4, W 0)",
            "launch 2 (R 4, W 0)",
            "launch 2 (R 0, W 4), then launch 4 (R 4, W 0)",
            "launch 4 (R 0, W 4)",
        ]
    );
    apply(&mut pages, (0..3).flat_map(|index| block(K0, Change::Release, index)));
    assert_eq!(pages.describe(C), "launch 2 (R 0, W 1), then launch 4 (R 4, W 0)", "three of four");
    let moved = apply(&mut pages, block(K0, Change::Release, 3));
    assert_eq!(first(&pages)[..3], ["launch 4 (R 4, W 0)", "nobody", "launch 4 (R 4, W 0)"]);
    let is_move = |from, to, appears| Consequence::Moved(PageMoved { from, to, appears });
    let expected = [
        is_move(Some(K0), Some(K1), false),
        is_move(Some(K0), None, false),
        // C is no input: it becomes available with its first hand-over.
        is_move(None, Some(K1), true),
    ];
    assert_eq!(moved, expected);
    let left = apply(&mut pages, (0..4).flat_map(|index| block(K1, Change::Release, index)));
    let leaves: Vec<_> = left.into_iter().filter(|it| matches!(it, Consequence::Leave(_))).collect();
    assert_eq!(leaves, [Consequence::Leave(copy(Direction::DeviceToHost, D, 1))], "D's page goes to DMA");
}

#[test]
fn an_early_release_changes_the_list_and_an_empty_entry_is_skipped() {
    let mut pages = ownership();
    let (k2, mut out) = (LaunchId(6), Vec::new());
    for (kernel, blocks) in [(K0, 2), (K1, 1), (k2, 3)] {
        pages.launched(kernel, false);
        apply(&mut pages, (0..blocks).map(|_| count(kernel, Change::Claim, A, 0..4096, "RW")));
        pages.profiled(kernel, &mut out);
    }
    let release = |kernel| [count(kernel, Change::Release, A, 0..4096, "RW")];
    apply(&mut pages, release(K0));
    assert!(apply(&mut pages, release(K1)).is_empty());
    assert!(apply(&mut pages, release(k2)).is_empty());
    assert_eq!(
        pages.describe(A),
        "launch 2 (R 1, W 1), then launch 4 (R 0, W 0), then launch 6 (R 2, W 2)",
        "the owner's counts are its own"
    );
    apply(&mut pages, release(K0));
    assert_eq!(pages.describe(A), "launch 6 (R 2, W 2)", "three counted, less one that ended early");
    assert_eq!(pages.tally, Tally { set: 6, released: 4, early: 2, handovers: 2, given_up: 1, skipped: 1 });
    apply(&mut pages, [release(k2), release(k2)].concat());
    assert!(pages.is_done());
    let error = pages.count(&release(k2)[0], &mut out).unwrap_err();
    assert_eq!(error, "more blocks of launch 6 have ended for page 0x10 than were counted");
}

/// Without the rule for early releases, an early release decrements the owner's count, and the owner loses a
/// page that it still needs.
#[test]
fn without_the_rule_for_early_releases_a_page_is_given_away_too_soon() {
    let mut pages = Ownership::new(12, EarlyRelease::Owner, Available::HandedOver);
    let mut out = Vec::new();
    for kernel in [K0, K1] {
        pages.launched(kernel, false);
        apply(&mut pages, [count(kernel, Change::Claim, A, 0..8, "W")]);
        pages.profiled(kernel, &mut out);
    }
    apply(&mut pages, [count(K1, Change::Release, A, 0..8, "W")]);
    assert_eq!(pages.describe(A), "launch 4 (R 0, W 1)", "kernel 0 has not ended");
}

#[test]
fn a_page_passes_no_kernel_that_is_not_profiled_and_leaves_behind_the_last_one() {
    let mut pages = ownership();
    let mut out = Vec::new();
    pages.overlap(copy(Direction::DeviceToHost, A, 1));
    pages.launched(K0, false);
    pages.launched(K1, false);
    let of = |kernel, change| [count(kernel, change, A, 0..8, "W")];
    apply(&mut pages, of(K0, Change::Claim));
    pages.profiled(K0, &mut out);
    assert!(pages.ask(A, K0, 3) && !pages.ask(A, K1, 5));
    let reason = "SM 5 waits for page 0x10 for launch 4; it belongs to launch 2 (R 0, W 1)";
    assert_eq!(pages.reasons(), [reason]);
    assert!(apply(&mut pages, of(K0, Change::Release)).contains(&Consequence::Moved(PageMoved {
        from: None,
        to: None,
        appears: true
    })));
    pages.end_of_launches(&mut out);
    assert_eq!(pages.describe(A), "nobody");
    assert!(!out.iter().any(|it| matches!(it, Consequence::Leave(_))), "kernel 1 may yet want it");
    apply(&mut pages, of(K1, Change::Claim));
    out.clear();
    pages.profiled(K1, &mut out);
    let grant = Consequence::Grant { sm: 5, page: A, launch: K1 };
    assert_eq!(out, [Consequence::Moved(PageMoved { from: None, to: Some(K1), appears: false }), grant]);
    let left = apply(&mut pages, of(K1, Change::Release));
    assert!(left.contains(&Consequence::Leave(copy(Direction::DeviceToHost, A, 1))));
}

#[test]
fn a_page_is_granted_when_all_that_the_host_copies_there_has_come() {
    let mut pages = ownership();
    let mut out = Vec::new();
    // Two arrays share the page.
    let part = |start: u64, bytes| Copy {
        direction: Direction::HostToDevice,
        host: start,
        device: A * PAGE + start,
        bytes,
        tag: LineTag::NONE,
    };
    pages.overlap(part(0, 512));
    pages.overlap(part(512, 100));
    pages.launched(K0, true);
    assert!(!pages.ask(A, K0, 1));
    assert!(pages.ask(A, LaunchId(0), 1), "it is not tracked");
    assert!(pages.ask(B, K0, 1), "an irregular kernel owns all, and this is ready");
    pages.arrived(part(0, 512), &mut out).unwrap();
    assert!(out.is_empty() && pages.is_waited_for());
    let reason = "SM 1 waits for page 0x10 for launch 2; 100 bytes of it have not come from the host";
    assert_eq!(pages.reasons(), [reason]);
    pages.arrived(part(512, 100), &mut out).unwrap();
    assert_eq!(out[0], Consequence::Grant { sm: 1, page: A, launch: K0 });
    assert!(pages.arrived(part(512, 100), &mut out).is_err());
}
