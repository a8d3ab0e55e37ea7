//! Bus, storage and copy engine: exact times without drift, and bytes that belong to others.

use std::sync::{Arc, Mutex};

use counterpoint_framework::kernel::{Socket, Source};
use counterpoint_framework::model::Resources;
use counterpoint_framework::testing::Probe;
use counterpoint_framework::time::SimTime;
use counterpoint_hardware::io::copy_engine::CopyEngine;
use counterpoint_hardware::io::pcie::PcieLink;
use counterpoint_hardware::io::storage::{Disk, Storage, Stored};
use counterpoint_protocols::bus::{
    BusMessage, CommandId, Copy, Direction, FromCopyEngine, Move, RowSource, RowTarget, Rows, ToCopyEngine,
};
use counterpoint_protocols::extra::LineTag;
use counterpoint_protocols::host::{FileIndex, StorageReply, StorageRequest};
use counterpoint_protocols::memory::{MemReply, MemRequest};

use super::programs::Memory;
use super::*;

fn page(tag: u32, bytes: usize) -> BusMessage {
    BusMessage::Values { tag: Tag(tag), data: vec![0; bytes].into() }
}

/// Sends messages towards the device, all ready at cycle 5; gives the cycles in which they leave the link.
fn downstream(params: &str, messages: Vec<BusMessage>) -> Vec<u64> {
    let mut bench = bench::<PcieLink>(params);
    let count = messages.len();
    bench.capacity(2000);
    let script = messages.into_iter().map(|message| (5, message)).collect();
    bench.client::<BusMessage, BusMessage>("upstream", None, script, 0);
    let log = bench.client::<BusMessage, BusMessage>("downstream", None, vec![], count);
    assert_finished(&bench.run());
    log.cycles()
}

#[test]
fn a_message_takes_its_packets_and_the_latency() {
    // 1 GB/s is a byte a cycle. 300 B are two packets.
    let params = "{ bandwidth: 1 GB/s, latency: 50 ns, payload: 256 B, header: 24 B }";
    assert_eq!(downstream(params, vec![page(1, 300)]), [5 + 300 + 48 + 50]);
    assert_eq!(downstream(params, vec![page(1, 0)]), [5 + 24 + 50], "a header without data");
}

#[test]
fn answers_to_reads_pass_one_another_where_the_link_lets_them_and_nothing_else_does() {
    let order = |reordering: &str, seed: u64| {
        let params = format!("{{ bandwidth: 1 GB/s, latency: 50 ns, reordering: {reordering} }}");
        let environment = Environment { seed, ..Environment::default() };
        let mut bench =
            Bench::reading::<PcieLink>(CLOCK, environment, counterpoint_hardware::register, &params);
        bench.capacity(2000);
        let messages = (0..100).flat_map(|tag| [page(tag, 64), BusMessage::Written { tag: Tag(tag) }]);
        let script = messages.map(|message| (5, message)).collect();
        bench.client::<BusMessage, BusMessage>("upstream", None, script, 0);
        let log = bench.client::<BusMessage, BusMessage>("downstream", None, vec![], 200);
        assert_finished(&bench.run());
        let (mut answers, mut others) = (Vec::new(), Vec::new());
        for (cycle, message) in log.take() {
            match message {
                BusMessage::Values { tag, .. } => answers.push((tag.0, cycle)),
                BusMessage::Written { tag } => others.push((tag.0, cycle)),
                other => panic!("{other:?}"),
            }
        }
        (answers, others)
    };
    // 64 B and a header, then a header alone.
    let sent = |tag: u32| 5 + u64::from(tag) * 112 + 88 + 50;
    let (answers, others) = order("0 ns", 1);
    assert!(answers.iter().copied().eq((0..100).map(|tag| (tag, sent(tag)))), "{answers:?}");
    let (late, unmoved) = order("1 us", 1);
    assert_eq!(unmoved, others);
    assert!(late.iter().all(|&(tag, cycle)| (sent(tag)..=sent(tag) + 1001).contains(&cycle)), "{late:?}");
    assert!(late.windows(2).filter(|pair| pair[0].0 > pair[1].0).count() > 20, "{late:?}");
    assert_eq!(order("1 us", 1), (late.clone(), unmoved), "the seed's times");
    assert_ne!(order("1 us", 2).0, late);
}

#[test]
fn a_thousand_messages_take_exactly_their_bytes() {
    let cycles = downstream("{}", (0..1000).map(|tag| page(tag, 100)).collect());
    let left = |messages: u64| {
        // 124 B each at 15.75 GB/s, 500 ns of latency, and then the next cycle.
        let ps = messages * 124 * 1_000_000 / 15_750;
        (5_000 + ps + 500_000).div_ceil(1000)
    };
    assert!(cycles.iter().copied().eq((1..=1000).map(left)), "the last one leaves at {:?}", cycles.last());
}

#[test]
fn the_directions_do_not_share_their_bandwidth() {
    let mut bench = bench::<PcieLink>("{ bandwidth: 1 GB/s, latency: 50 ns }");
    let up = bench.client::<BusMessage, BusMessage>(
        "upstream",
        None,
        vec![(5, page(1, 100)), (5, page(2, 100))],
        1,
    );
    let down = bench.client::<BusMessage, BusMessage>("downstream", None, vec![(5, page(3, 100))], 2);
    assert_finished(&bench.run());
    assert_eq!((up.cycles(), down.cycles()), (vec![179], vec![179, 303]));
}

#[test]
fn a_link_that_holds_back_gives_its_credits_back_as_it_takes_messages() {
    let mut bench = bench::<PcieLink>("{ bandwidth: 1 GB/s, latency: 1 ns }");
    // A buffer of one, and two that cover the way there and back.
    bench.capacity(1);
    let sent = Probe::default();
    let log = sent.clone();
    bench.script::<BusMessage, BusMessage, _>(
        "upstream",
        None,
        false,
        move |mut socket, process| async move {
            process.until(process.cycles_from_now(4)).await;
            for tag in 0..7 {
                socket.tx.send(page(tag, 0)).await;
                log.log(process.cycle(), tag);
            }
            Ok(())
        },
    );
    let arrived = bench.client::<BusMessage, BusMessage>("downstream", None, vec![], 7);
    assert_finished(&bench.run());
    // The link takes a message at 5 and then every 24 cycles, one before its wire is free; the credit takes a cycle.
    assert_eq!(sent.cycles(), [4, 4, 4, 5 + 1, 28 + 1, 52 + 1, 76 + 1]);
    assert_eq!(arrived.cycles(), (1..=7).map(|n| 5 + 24 * n + 1).collect::<Vec<_>>());
}

/// Reads of a file of zeros, all requested at cycle 5.
fn storage(params: &str, requests: Vec<StorageRequest>) -> (Vec<u64>, Arc<Disk>) {
    let mut resources = Resources::default();
    let disk = Arc::new(Disk::new([Stored::Held(vec![7; 1 << 20].into()), Stored::default()]));
    resources.insert(Arc::clone(&disk));
    let environment = Environment { resources: Arc::new(resources), ..Environment::default() };
    let mut bench = Bench::reading::<Storage>(CLOCK, environment, counterpoint_hardware::register, params);
    bench.capacity(2000);
    let count = requests.len();
    let script = requests.into_iter().map(|request| (5, request)).collect();
    let log = bench.client::<StorageRequest, StorageReply>("host", None, script, count);
    assert_finished(&bench.run());
    (log.cycles(), disk)
}

fn disk_read(tag: u32, bytes: u32) -> StorageRequest {
    StorageRequest::Read { tag: Tag(tag), file: FileIndex(0), offset: 0, bytes }
}

#[test]
fn storage_gives_exactly_its_bandwidth() {
    // A third of a nanosecond a byte.
    let (cycles, _) =
        storage("{ read_bandwidth: 3 GB/s }", (0..1000).map(|tag| disk_read(tag, 100)).collect());
    let left = |requests: u64| (5_000 + requests * 100_000 / 3).div_ceil(1000);
    assert!(cycles.iter().copied().eq((1..=1000).map(left)), "the last one leaves at {:?}", cycles.last());
}

#[test]
fn storage_adds_overhead_to_every_request_and_latency_to_its_answer() {
    let write =
        StorageRequest::Write { tag: Tag(1), file: FileIndex(1), offset: 2, data: Box::new([1, 2, 3]) };
    let params = "{ read_bandwidth: 1 GB/s, write_bandwidth: 100 MB/s, overhead: 10 ns, latency: 1 us }";
    let (cycles, disk) = storage(params, vec![disk_read(0, 100), write]);
    assert_eq!(cycles, [5 + 110 + 1000, 5 + 110 + 40 + 1000]);
    assert_eq!(disk.written(FileIndex(1))[..], [0, 0, 1, 2, 3]);
}

const UNHARMED: &str = "no script has panicked";

struct Copies {
    done: Probe<CommandId>,
    host: Arc<Mutex<Vec<u8>>>,
    memory: Arc<Mutex<Memory>>,
    requests: Vec<(u64, MemRequest)>,
}

const HOST_LATENCY: u64 = 40;

/// Makes copies between a host memory of ascending bytes and a device memory of zeros, each on a stream of its own.
fn copy(params: &str, copies: Vec<(u64, Copy)>) -> Copies {
    let message = |(number, (due, copy)): (u32, (u64, Copy))| {
        (due, ToCopyEngine::Copy { id: CommandId(number), stream: number, copy, title: None })
    };
    send(params, (0..).zip(copies).map(message).collect())
}

/// The same for rows.
fn rows(params: &str, moves: Vec<(u64, Move)>) -> Copies {
    let message = |(number, (due, rows)): (u32, (u64, Move))| {
        (due, ToCopyEngine::Move { id: CommandId(number), stream: number, rows: Box::new(rows), title: None })
    };
    send(params, (0..).zip(moves).map(message).collect())
}

fn send(params: &str, copies: Vec<(u64, ToCopyEngine)>) -> Copies {
    let mut bench = bench::<CopyEngine>(params);
    let host = Arc::new(Mutex::new((0..8192).map(|n| (n % 251) as u8).collect::<Vec<u8>>()));
    let memory = Arc::new(Mutex::new(Memory::default()));
    let done = Probe::default();
    let (log, bytes) = (done.clone(), Arc::clone(&host));
    bench.script("control", None, false, move |socket, process| {
        let Socket { mut tx, mut rx } = socket;
        async move {
            let mut missing = copies.len();
            let mut copies = copies.into_iter().peekable();
            while missing > 0 {
                let cycle = process.cycle();
                if let Some((_, message)) = copies.next_if(|(due, _)| due - 1 <= cycle) {
                    tx.send(message).await;
                    continue;
                }
                let Some(message) = rx.try_recv() else {
                    let due = copies.peek().map(|(due, _)| process.cycles_from_now(due - 1 - cycle));
                    process.wait(due.unwrap_or(SimTime::MAX), [rx.when(true)]).await;
                    continue;
                };
                let answer = match message {
                    FromCopyEngine::Copied(id) => {
                        log.log(process.cycle() - 1, id);
                        missing -= 1;
                        continue;
                    }
                    FromCopyEngine::Bus(BusMessage::Read { tag, address, bytes: count }) => {
                        let range = address as usize..address as usize + count as usize;
                        BusMessage::Values { tag, data: bytes.lock().expect(UNHARMED)[range].into() }
                    }
                    FromCopyEngine::Bus(BusMessage::Write { tag, address, data }) => {
                        let range = address as usize..address as usize + data.len();
                        bytes.lock().expect(UNHARMED)[range].copy_from_slice(&data);
                        BusMessage::Written { tag }
                    }
                    other => panic!("{other:?}"),
                };
                tx.send_after(process.span(HOST_LATENCY), ToCopyEngine::Bus(answer)).await;
            }
            Ok(())
        }
    });
    let device = Arc::clone(&memory);
    let requests = bench.server::<MemReply, MemRequest>("memory", None, move |request| {
        Some((20, device.lock().expect(UNHARMED).answer(&request)))
    });
    assert_finished(&bench.run());
    Copies { done, host, memory, requests: requests.take() }
}

fn to_device(host: u64, device: u64, bytes: u64) -> Copy {
    Copy { direction: Direction::HostToDevice, host, device, bytes, tag: LineTag::NONE }
}

fn to_host(host: u64, device: u64, bytes: u64) -> Copy {
    Copy { direction: Direction::DeviceToHost, host, device, bytes, tag: LineTag::NONE }
}

#[test]
fn an_unaligned_copy_keeps_its_neighbours() {
    let copies = copy(
        "{ chunk: 128 B, outstanding: 3 }",
        vec![(5, to_device(0, 512, 512)), (1000, to_device(1000, 612, 200)), (2000, to_host(5000, 600, 300))],
    );
    let ascending = |at: u64| (at % 251) as u8;
    let mut memory = copies.memory.lock().unwrap();
    let expected = |at: u64| match at {
        612..812 => ascending(at - 612 + 1000),
        512..1024 => ascending(at - 512),
        _ => 0,
    };
    for at in 384..1152 {
        assert_eq!(memory.byte(at), expected(at), "device {at}");
    }
    let host = copies.host.lock().unwrap();
    for at in 4900..5400 {
        let copied = (5000..5300).contains(&at);
        assert_eq!(
            host[at as usize],
            if copied { expected(at - 5000 + 600) } else { ascending(at) },
            "host {at}"
        );
    }
}

#[test]
fn a_copy_takes_its_round_trips() {
    let copies = copy("{ chunk: 256 B }", vec![(5, to_device(0, 0, 256)), (500, to_host(0, 0, 256))]);
    // To the host and back, then two lines a cycle apart to the memory and back.
    copies.done.assert_earliest(5 + 1 + HOST_LATENCY + 1 + 1 + 1 + 20, |id| id.0 == 0);
    copies.done.assert_earliest(500 + 1 + 1 + 20 + 1 + HOST_LATENCY + 1, |id| id.0 == 1);
}

#[test]
fn a_copy_that_waits_begins_when_the_one_before_it_is_done() {
    let copies =
        copy("{}", vec![(5, to_device(0, 0, 128)), (5, to_host(128, 0, 128)), (6, to_device(0, 0, 128))]);
    let done: Vec<u32> = copies.done.take().iter().map(|(_, id)| id.0).collect();
    assert_eq!(done, [0, 1, 2]);
    assert_eq!(copies.host.lock().unwrap()[128..256], (0..128).collect::<Vec<u8>>());
}

#[test]
fn two_engines_make_a_copy_each_way_at_a_time() {
    let copies = || vec![(5, to_device(0, 0, 128)), (5, to_host(128, 512, 128)), (6, to_device(0, 256, 128))];
    let done = |params: &str| -> Vec<(u64, u32)> {
        copy(params, copies()).done.take().into_iter().map(|(cycle, id)| (cycle, id.0)).collect()
    };
    let (there, back) = (1 + HOST_LATENCY + 1 + 1 + 20, 1 + 20 + 1 + HOST_LATENCY + 1);
    // The report of one copy goes to the host before the first request of the next.
    let one = [(5 + there, 0), (5 + there + back, 1), (5 + there + back + 1 + there, 2)];
    assert_eq!(done("{ engines: 1 }"), one);
    // The copy to the host is taken a cycle later, and waits for nobody; but that same request comes before its report.
    assert_eq!(done("{ engines: 2 }"), [(5 + there, 0), (6 + back + 1, 1), (5 + there + 1 + there, 2)]);
}

#[test]
fn accesses_of_a_copy_bear_its_stream() {
    let copies = copy("{ engines: 2 }", vec![(5, to_device(0, 0, 256)), (5, to_host(256, 512, 128))]);
    let mut labels: Vec<(u64, Label)> =
        copies.requests.iter().map(|(_, request)| (request.line, request.label)).collect();
    labels.sort();
    let label = |stream| Label { stream, ..Label::default() };
    assert_eq!(labels, [(0, label(0)), (128, label(0)), (512, label(1))]);
}

fn on_device(first: u64, pitch: u64) -> RowTarget {
    RowTarget::Device(Rows { first, pitch })
}

fn fill(first: u64, bytes: u64, value: [u8; 8]) -> Move {
    Move { from: RowSource::Value(value), to: on_device(first, 0), bytes, rows: 1 }
}

fn within(from: u64, to: u64, bytes: u64) -> Move {
    Move { from: RowSource::Device(Rows { first: from, pitch: 0 }), to: on_device(to, 0), bytes, rows: 1 }
}

const VALUE: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

#[test]
fn a_fill_writes_and_a_copy_within_the_device_reads_first() {
    let moves = rows("{ chunk: 256 B }", vec![(5, fill(0, 256, VALUE)), (500, within(0, 1024, 256))]);
    // Two lines a cycle apart to the memory and back; a copy does it twice.
    moves.done.assert_earliest(5 + 1 + 1 + 20, |id| id.0 == 0);
    moves.done.assert_earliest(500 + 2 * (1 + 1 + 20), |id| id.0 == 1);
    let mut memory = moves.memory.lock().unwrap();
    for at in 0..256 {
        assert_eq!([memory.byte(at), memory.byte(1024 + at)], [VALUE[at as usize % 8]; 2], "{at}");
    }
}

#[test]
fn chunks_of_a_fill_wait_for_a_free_place() {
    // Chunks of a line: two are under way, the third begins when the first is acknowledged.
    let fills = rows("{ chunk: 128 B, outstanding: 2 }", vec![(5, fill(0, 512, VALUE))]);
    let cycles: Vec<u64> = fills.requests.iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, [5, 6, 5 + 21, 6 + 21]);
    fills.done.assert_earliest(6 + 2 * 21, |id| id.0 == 0);
}

#[test]
fn rows_keep_what_lies_between_them() {
    let pitched = |first, pitch| Rows { first, pitch };
    let moves = rows(
        "{ chunk: 64 B, outstanding: 3 }",
        vec![
            // Three rows of 100 B each way, and a fill of every other row.
            (
                5,
                Move {
                    from: RowSource::Host(pitched(10, 200)),
                    to: on_device(1000, 150),
                    bytes: 100,
                    rows: 3,
                },
            ),
            (2000, Move { from: RowSource::Value(VALUE), to: on_device(1000, 300), bytes: 24, rows: 2 }),
            (
                4000,
                Move {
                    from: RowSource::Device(pitched(1000, 150)),
                    to: on_device(3000, 128),
                    bytes: 100,
                    rows: 3,
                },
            ),
            (
                6000,
                Move {
                    from: RowSource::Device(pitched(3000, 128)),
                    to: RowTarget::Host(pitched(6000, 110)),
                    bytes: 100,
                    rows: 3,
                },
            ),
        ],
    );
    let ascending = |at: u64| (at % 251) as u8;
    let copied = |row: u64, byte: u64| match (row, byte) {
        (0 | 2, 0..24) => VALUE[byte as usize % 8],
        _ => ascending(10 + 200 * row + byte),
    };
    let mut memory = moves.memory.lock().unwrap();
    for at in 900..1500 {
        let (row, byte) = ((at.max(1000) - 1000) / 150, (at.max(1000) - 1000) % 150);
        let expected = if at >= 1000 && row < 3 && byte < 100 { copied(row, byte) } else { 0 };
        assert_eq!(memory.byte(at), expected, "device {at}");
    }
    let host = moves.host.lock().unwrap();
    for at in 5900..6500 {
        let (row, byte) = ((at.max(6000) - 6000) / 110, (at.max(6000) - 6000) % 110);
        let expected = if at >= 6000 && row < 3 && byte < 100 { copied(row, byte) } else { ascending(at) };
        assert_eq!(host[at as usize], expected, "host {at}");
    }
}

#[test]
fn what_stays_on_the_device_goes_with_copies_to_it() {
    let out = Move {
        from: RowSource::Device(Rows { first: 0, pitch: 0 }),
        to: RowTarget::Host(Rows { first: 0, pitch: 0 }),
        bytes: 128,
        rows: 1,
    };
    let moves = || vec![(5, fill(0, 1 << 16, VALUE)), (5, out.clone()), (6, within(0, 1 << 17, 128))];
    let order = |params: &str| -> Vec<u32> {
        rows(params, moves()).done.take().into_iter().map(|(_, id)| id.0).collect()
    };
    assert_eq!(order("{ engines: 1 }"), [0, 1, 2]);
    // The copy out has an engine of its own, and is shorter than the fill.
    assert_eq!(order("{ engines: 2 }"), [1, 0, 2]);
}
