//! Host memory with the data availability tracker, to the cycle: when a page is sent on its way to the device.

use counterpoint_framework::model::Environment;
use counterpoint_framework::testing::{Bench, BenchReport};
use counterpoint_framework::time::Hertz;
use counterpoint_host_model::memory::HostMemory;
use counterpoint_protocols::bus::{BusMessage, Copy, Direction};
use counterpoint_protocols::extra::LineTag;
use counterpoint_protocols::host::{DeviceMessage, HostAccess, HostReply};
use counterpoint_protocols::memory::Tag;

/// 1 GB/s at 1 GHz: a byte a cycle. Answers come 60 cycles behind the end of a transfer.
const PARAMS: &str = "{ bandwidth: 1 GB/s, latency: 60 ns, dat: { page: 4 KiB, entries: 2 } }";
const LATENCY: u64 = 60;
/// Bytes of the tracker's entry for a page: frame and counter, and 1024 bits.
const ENTRY: u64 = 136;

fn write(tag: u32, address: u64, bytes: usize) -> HostAccess {
    HostAccess::Write { tag: Tag(tag), address, data: vec![7; bytes].into() }
}

fn track(host: u64, bytes: u64) -> HostAccess {
    let copy = Copy {
        direction: Direction::HostToDevice,
        host,
        device: host + (1 << 20),
        bytes,
        tag: LineTag::NONE,
    };
    HostAccess::Track { device: 3, copy }
}

/// The `pages` pages that leave for devices, each with its cycle, and the report.
fn sent(script: Vec<(u64, HostAccess)>, pages: usize) -> (Vec<(u64, Copy)>, BenchReport) {
    let mut bench = Bench::reading::<HostMemory>(
        Hertz::new(1_000_000_000),
        Environment::default(),
        counterpoint_host_model::register,
        PARAMS,
    );
    let writes = script.iter().filter(|(_, access)| matches!(access, HostAccess::Write { .. })).count();
    bench.client::<HostAccess, HostReply>("cpu", None, script, writes);
    let devices = bench.client::<DeviceMessage, DeviceMessage>("devices", None, vec![], pages);
    bench.lasts(20_000);
    let report = bench.run();
    let pages = devices.take().into_iter().map(|(cycle, DeviceMessage { device, message })| {
        let BusMessage::Page(copy) = message else { panic!("{message:?}") };
        assert_eq!(device, 3);
        (cycle, copy)
    });
    (pages.collect(), report)
}

#[test]
fn a_page_leaves_when_its_last_word_lies_in_memory_and_the_rest_of_an_array_with_its_own() {
    let script = vec![
        (1, track(0x4000, 4096 + 10)),
        // All words but one, one of them twice, and what is behind the array.
        (1000, write(0, 0x4000, 4092)),
        (6000, write(1, 0x4000, 400)),
        (8000, write(2, 0x4ffc, 4)),
        (9000, write(3, 0x5000, 10)),
    ];
    let (pages, report) = sent(script, 2);
    let copy = |host, bytes| Copy {
        direction: Direction::HostToDevice,
        host,
        device: host + (1 << 20),
        bytes,
        tag: LineTag::NONE,
    };
    // Behind the write come the entry's way from memory (the second page's alone: the first is on chip) and the latency.
    let first = 8000 + 4 + LATENCY;
    let second = 9000 + 10 + ENTRY + LATENCY;
    assert_eq!(pages, [(first, copy(0x4000, 4096)), (second, copy(0x5000, 10))]);
    let count = |name| report.count(name);
    assert_eq!((count("dat_pages"), count("dat_fetches"), count("dat_spills")), (2, 2, 2));
}

#[test]
fn entries_beyond_those_on_chip_cost_memory_bandwidth() {
    // Three pages in turn with room for two entries: every write fetches one and spills one.
    let mut script: Vec<(u64, HostAccess)> =
        (0..3).map(|page| (1 + page, track(page * 4096, 4096))).collect();
    script.extend((0..6).map(|n| (1000 + 400 * n, write(n as u32, n % 3 * 4096 + 4 * (n / 3), 4))));
    let (_, report) = sent(script, 0);
    assert_eq!(report.count("dat_pages"), 0);
    assert_eq!((report.count("dat_fetches"), report.count("dat_spills")), (6, 3 + 4));
}

#[test]
fn two_copies_in_a_page_are_a_fault() {
    let (_, report) = sent(vec![(1, track(0x4000, 100)), (2, track(0x4100, 100))], 0);
    let outcome = report.outcome.to_string();
    assert!(outcome.contains("the page at 0x4000 holds words of two copies"), "{outcome}");
}
