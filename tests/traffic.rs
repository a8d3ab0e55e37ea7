//! Memory components under random traffic and random back-pressure: nothing is lost, every request is answered once, the
//! values are those of a memory without caches and networks, and a repetition is the same to the last event.
//!
//! Two kinds of components make the traffic. A client requests lines of its own and knows each right answer; a server
//! answers late and out of order, and sometimes stops receiving.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use counterpoint_framework::kernel::{Fault, Outcome, RunOptions, Sharing, Source};
use counterpoint_framework::model::{
    Component, Context, Counter, Environment, Invalid, Params, Ports, Registry, StatValue, Stats,
};
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::{self, RunReport};
use counterpoint_hardware::memory::atomic;
use counterpoint_protocols::memory::{
    AtomicLane, AtomicOperation, AtomicType, ByteMask, LINE_BYTES, Label, Line, MemAccess, MemReply,
    MemRequest, MemResult, MemoryClient, MemoryServer, Tag, merge, sectors,
};

/// Parameters of a client.
#[derive(Clone, Debug, Params)]
struct ClientParams {
    /// Requests to send.
    #[param(default = "1500")]
    number: u32,
    /// Lines that are asked for.
    #[param(default = "24")]
    lines: u64,
    /// Address of the first line.
    #[param(default = "0")]
    first: u64,
}

/// The ports of a client.
#[derive(Ports)]
struct ClientPorts {
    /// The memory.
    memory: MemoryClient,
}

/// Statistics of a client.
#[derive(Default, Stats)]
struct ClientStats {
    /// Answers taken.
    answers: Counter,
    /// Bytes whose value was known and compared.
    compared: Counter,
}

/// A line as it must be: its values, and which of them are known.
#[derive(Clone, Copy)]
struct Model {
    line: Line,
    known: ByteMask,
}

/// The expected answer to a request.
enum Expected {
    Line(ByteMask, Model),
    Written,
    Old(Box<[(u8, u64)]>),
}

struct Client {
    params: ClientParams,
    lines: BTreeMap<u64, Model>,
    expected: BTreeMap<u32, (u64, Expected)>,
}

impl Client {
    /// Makes a request of random numbers, and its expected answer.
    fn request(&mut self, tag: u32, mut random: impl FnMut() -> u64) -> MemRequest {
        let line = self.params.first + random() % self.params.lines * LINE_BYTES;
        let model = self.lines.entry(line).or_insert(Model { line: [0; LINE_BYTES as usize], known: 0 });
        let mask = match random() % 4 {
            0 => ByteMask::MAX,
            1 => 0xf << (random() % 32 * 4),
            _ => u128::from(random()) << 64 | u128::from(random()),
        };
        let (access, expected) = match random() % 5 {
            0 | 1 => {
                let values = std::array::from_fn(|_| random() as u8);
                merge(&mut model.line, mask, &values);
                model.known |= mask;
                (MemAccess::Write(mask, values.into()), Expected::Written)
            }
            // The result of an atomic on bytes that nobody wrote is unknown.
            2 if model.known == ByteMask::MAX => {
                let lanes: Box<[AtomicLane]> = (0..3)
                    .map(|lane| AtomicLane {
                        lane,
                        offset: (random() % 4 * 4) as u8,
                        operation: AtomicOperation::Add,
                        kind: AtomicType::U32,
                        operand: random() % 1000,
                        swap: 0,
                    })
                    .collect();
                let old = atomic::execute(&mut model.line, &lanes);
                (MemAccess::Atomic(lanes), Expected::Old(old))
            }
            _ => (MemAccess::Read(mask), Expected::Line(mask, *model)),
        };
        self.expected.insert(tag, (line, expected));
        MemRequest { line, tag: Tag(tag), client: 0, label: Label::default(), fresh: 0, access }
    }

    /// Compares an answer with the expected one.
    fn check(&mut self, reply: &MemReply, stats: &ClientStats) -> Result<(), Fault> {
        let tag = reply.tag.0;
        let (line, expected) =
            self.expected.remove(&tag).ok_or_else(|| Fault::new(format!("nobody waits for answer {tag}")))?;
        let right = match (&reply.result, expected) {
            (MemResult::Line(_, found), Expected::Line(mask, model)) => {
                let mask = mask & model.known;
                stats.compared.add(u64::from(mask.count_ones()));
                (0..128).all(|byte| mask >> byte & 1 == 0 || found[byte] == model.line[byte])
            }
            (MemResult::Written(_), Expected::Written) => true,
            (MemResult::Old(found), Expected::Old(old)) => *found == old,
            _ => false,
        };
        stats.answers.add(1);
        if right && reply.line == line {
            return Ok(());
        }
        Err(Fault::new(format!("wrong answer {tag} for line {line:#x}: {reply:?}")))
    }
}

impl Component for Client {
    const KIND: &'static str = "test/memory-client";
    const DOC: &'static str = "Asks at random and checks every answer.";
    type Params = ClientParams;
    type Ports = ClientPorts;
    type Stats = ClientStats;

    fn new(params: ClientParams) -> Result<Self, Invalid> {
        Ok(Client { params, lines: BTreeMap::new(), expected: BTreeMap::new() })
    }

    async fn run(&mut self, io: &mut ClientPorts, sim: &Context<ClientStats>) -> Result<(), Fault> {
        let mut sent = 0;
        while sent < self.params.number || !self.expected.is_empty() {
            let choice = sim.random();
            if choice & 3 != 0
                && sent < self.params.number
                && let Some(permit) = io.memory.tx.try_reserve()
            {
                permit.send(self.request(sent, || sim.random()));
                sent += 1;
            }
            if choice & 12 != 0
                && let Some(reply) = io.memory.rx.try_recv()
            {
                self.check(&reply, &sim.stats)?;
            }
            // Sometimes no message is accepted for a long time, so that all queues behind fill up.
            sim.cycles(if choice >> 8 & 63 == 0 { 150 } else { 1 }).await;
        }
        // An answer too many would come now.
        sim.cycles(2000).await;
        io.memory.rx.try_recv().map_or(Ok(()), |reply| self.check(&reply, &sim.stats))
    }
}

/// The ports of a server.
#[derive(Ports)]
struct ServerPorts {
    /// Those who ask.
    clients: Vec<MemoryServer>,
}

struct Server(BTreeMap<u64, Line>);

impl Component for Server {
    const KIND: &'static str = "test/memory-server";
    const DOC: &'static str = "Does what it is asked in order, and answers late and out of order.";
    const DAEMON: bool = true;
    type Params = ();
    type Ports = ServerPorts;
    type Stats = ();

    fn new((): ()) -> Result<Self, Invalid> {
        Ok(Server(BTreeMap::new()))
    }

    async fn run(&mut self, io: &mut ServerPorts, sim: &Context<()>) -> Result<(), Fault> {
        let mut answers: VecDeque<(usize, MemReply)> = VecDeque::new();
        loop {
            if answers.is_empty() {
                let requests = io.clients.iter().map(|client| client.rx.when(true));
                sim.wait(SimTime::MAX, requests).await;
            }
            for (index, client) in io.clients.iter_mut().enumerate() {
                if sim.random() & 1 == 0 || answers.len() > 12 {
                    continue;
                }
                let Some(MemRequest { line, tag, client, access, .. }) = client.rx.try_recv() else {
                    continue;
                };
                let values = self.0.entry(line).or_insert([0xee; LINE_BYTES as usize]);
                let result = match access {
                    MemAccess::Read(mask) => MemResult::Line(mask, (&*values).into()),
                    MemAccess::Write(mask, data) => {
                        merge(values, mask, &data);
                        MemResult::Written(sectors(mask) as u8)
                    }
                    MemAccess::Atomic(lanes) => MemResult::Old(atomic::execute(values, &lanes)),
                };
                answers.push_back((index, MemReply { line, tag, client, result, far: 0 }));
            }
            let chosen = sim.random() as usize % answers.len().max(1);
            if let Some(&(client, _)) = answers.get(chosen)
                && sim.random() & 3 == 0
                && let Some(permit) = io.clients[client].tx.try_reserve()
                && let Some((_, reply)) = answers.remove(chosen)
            {
                permit.send_after(sim.span(sim.random() % 40), reply);
            }
            sim.cycles(if sim.random() & 63 == 0 { 80 } else { 1 }).await;
        }
    }
}

/// Runs a machine of traffic: alone, again, on two threads, and with another seed. Every answer is checked.
fn traffic(components: &str, links: &str, clients: u64) -> RunReport {
    let mut registry = Registry::default();
    counterpoint_hardware::register(&mut registry);
    registry.component::<Client>().component::<Server>();
    let registry = Arc::new(registry);
    let text = format!(
        "counterpoint: 1\nmachine: traffic\nclocks: {{ fast: 1 GHz, slow: 700 MHz }}\ncomponents:\n{components}\nlinks:\n{links}\n"
    );
    let files = BTreeMap::from([("traffic.yaml".to_owned(), text)]);
    let loaded = topology::load("traffic.yaml", &[], &[], &registry.catalogue, &files)
        .unwrap_or_else(|report| panic!("{}", report.render()));
    let run = |seed: u64, threads: usize| {
        let environment = Environment { seed, ..Environment::default() };
        let options = RunOptions { hash: true, threads, sharing: Sharing::Always, ..RunOptions::default() };
        let report = topology::run(&loaded.machine, &registry, &environment, &options);
        assert!(matches!(report.outcome, Outcome::Finished(_)), "seed {seed}: {}", report.outcome);
        let sum = |name: &str| {
            let rows = report.stats.iter().filter(|row| row.label.name == name);
            rows.map(|row| if let StatValue::Count(count) = row.value { count } else { 0 }).sum::<u64>()
        };
        assert_eq!(sum("answers"), clients * 1500);
        assert!(sum("compared") > clients * 1500 * 10, "only {} bytes were compared", sum("compared"));
        report
    };
    let first = run(0, 1);
    assert!(first.hash.is_some());
    assert_eq!(first.hash, run(0, 1).hash, "a repetition");
    assert_eq!(first.hash, run(0, 2).hash, "two threads");
    for seed in 1..6 {
        assert_ne!(run(seed, 1).hash, first.hash, "another seed is another run");
    }
    first
}

const CLIENT: &str = "type: test/memory-client, clock: fast";
const L2: &str = "type: memory/l2-slice, clock: slow, cache: { capacity: 1 KiB, ways: 2, mshrs: 3, merges: 3 }, hit_latency: 7 cycles";

#[test]
fn a_client_and_a_server() {
    // The traffic itself, with nothing between.
    let components =
        format!("  client: {{ {CLIENT} }}\n  server: {{ type: test/memory-server, clock: slow }}");
    traffic(
        &components,
        "  - { from: client.memory, to: \"server.clients[0]\", latency: 3 ns, capacity: 1 }",
        1,
    );
}

#[test]
fn an_l2_slice_under_back_pressure() {
    let components = format!(
        "  client: {{ {CLIENT} }}\n  l2: {{ {L2} }}\n  server: {{ type: test/memory-server, clock: slow }}"
    );
    for capacity in [1, 2, 40] {
        let links = format!(
            "  - {{ from: client.memory, to: l2.requests, latency: 3 ns, capacity: {capacity} }}
  - {{ from: l2.memory, to: \"server.clients[0]\", latency: 3 ns, capacity: 1 }}"
        );
        traffic(&components, &links, 1);
    }
}

/// Three clients with lines of their own that share sets and rows, before a crossbar to two servers.
fn crossbar(behind: &str, links: &str) -> RunReport {
    before_network("type: interconnect/crossbar, map: { slices: 2 }", 3, behind, links)
}

/// Clients with lines of their own before a network.
fn before_network(network: &str, clients: u64, behind: &str, links: &str) -> RunReport {
    let mut components = String::new();
    for number in 0..clients {
        components += &format!("  client{number}: {{ {CLIENT}, first: {} }}\n", number * 24 * 128);
    }
    components += &format!("  network: {{ {network}, clock: slow }}\n");
    components += behind;
    let mut wires = String::new();
    for number in 0..clients {
        wires += &format!(
            "  - {{ from: client{number}.memory, to: \"network.clients[{number}]\", latency: 3 ns, capacity: 1 }}\n"
        );
    }
    traffic(&components, &(wires + links), clients)
}

#[test]
fn networks_of_every_topology_under_back_pressure() {
    for parameters in [
        "topology: crossbar, virtual_channels: 2, buffer: 1",
        "topology: ring, virtual_channels: 2, buffer: 1, router: 0 cycles, requests: { packet: 64 B }",
        "topology: { ring: { routers: 3 } }, buffer: 2, link: 4 cycles",
        "topology: mesh, virtual_channels: 1, buffer: 3",
        "topology: { mesh: { columns: 3, rows: 2 } }, replies: { flit: 16 B, packet: 128 B }",
        "topology: { hierarchy: { clusters: 2, links: 2 } }, virtual_channels: 3, router: 1 cycle",
    ] {
        before_network(
            &format!("type: interconnect/network, {parameters}, map: {{ slices: 4, interleave: 128 B }}"),
            5,
            "  server: { type: test/memory-server, count: 4, clock: fast }",
            "  - { from: \"network.servers[i]\", to: \"server[i].clients[0]\", latency: 3 ns, capacity: 1 }",
        );
    }
}

#[test]
fn a_crossbar_under_back_pressure() {
    crossbar(
        "  server: { type: test/memory-server, count: 2, clock: fast }",
        "  - { from: \"network.servers[i]\", to: \"server[i].clients[0]\", latency: 3 ns, capacity: 1 }",
    );
}

/// Two crossbars with two clients each, before another network to two servers.
fn behind_crossbars(outer: &str) {
    let mut components = String::new();
    let mut links = String::new();
    for number in 0..4 {
        components += &format!("  client{number}: {{ {CLIENT}, first: {} }}\n", number * 24 * 128);
        links += &format!(
            "  - {{ from: client{number}.memory, to: \"inner[{}].clients[{}]\", latency: 3 ns, capacity: 1 }}\n",
            number / 2,
            number % 2
        );
    }
    components += &format!(
        "  inner: {{ type: interconnect/crossbar, count: 2, clock: fast }}
  outer: {{ type: {outer}, clock: slow, map: {{ slices: 2 }} }}
  server: {{ type: test/memory-server, count: 2, clock: fast }}"
    );
    links += "  - { from: \"inner[i].servers[0]\", to: \"outer.clients[i]\", latency: 3 ns, capacity: 1 }
  - { from: \"outer.servers[i]\", to: \"server[i].clients[0]\", latency: 3 ns, capacity: 1 }";
    traffic(&components, &links, 4);
}

#[test]
fn two_networks_in_series() {
    behind_crossbars("interconnect/crossbar");
    behind_crossbars("interconnect/network");
}

#[test]
fn every_policy_of_a_cache() {
    for policies in [
        "replacement: fifo, prefetcher: next-line",
        "replacement: { random: { seed: 3 } }, write: through",
        "replacement: srrip, write: { through: { allocate: on } }, bypass: { fraction: { one_in: 3 } }",
        "replacement: bimodal, write: around, prefetcher: { stride: { confidence: 1 } }",
        "write: { back: { allocate: off } }, bypass: all, write_miss: fetch",
    ] {
        let components = format!(
            "  client: {{ {CLIENT} }}\n  l2: {{ {L2}, {policies} }}\n  server: {{ type: test/memory-server, clock: slow }}"
        );
        let links = "  - { from: client.memory, to: l2.requests, latency: 3 ns, capacity: 2 }
  - { from: l2.memory, to: \"server.clients[0]\", latency: 3 ns, capacity: 1 }";
        traffic(&components, links, 1);
    }
}

#[test]
fn caches_with_lines_of_every_size() {
    const CACHE: &str = "clock: slow, cache: { capacity: 2 KiB, ways: 2, mshrs: 3, merges: 3";
    for (near, far, more) in [
        (32, 64, ""),
        (64, 32, "write: { through: { allocate: on } }, prefetcher: next-line"),
        (32, 32, "replacement: srrip, bypass: { fraction: { one_in: 3 } }"),
        (256, 64, "write: around, prefetcher: { stride: { confidence: 1 } }"),
        (128, 256, "sector: 128 B, replacement: fifo"),
        (64, 256, "sector: 64 B, prefetcher: next-line, write_miss: fetch"),
        (256, 256, "sector: 256 B, prefetcher: next-line"),
    ] {
        let components = format!(
            "  client: {{ {CLIENT} }}
  near: {{ type: memory/cache, {CACHE}, line: {near} B }}, {more} }}
  l2: {{ type: memory/l2-slice, {CACHE}, line: {far} B }} }}
  server: {{ type: test/memory-server, clock: slow }}"
        );
        let links = "  - { from: client.memory, to: near.requests, latency: 3 ns, capacity: 2 }
  - { from: near.memory, to: l2.requests, latency: 3 ns, capacity: 1 }
  - { from: l2.memory, to: \"server.clients[0]\", latency: 3 ns, capacity: 1 }";
        traffic(&components, links, 1);
    }
}

#[test]
fn caches_of_other_levels() {
    const LEVEL: &str =
        "type: memory/cache, clock: slow, cache: { capacity: 1 KiB, ways: 2, mshrs: 3, merges: 3 }";
    // Two private ones in front of a shared L2, and one behind it.
    for (near, far) in [
        ("write: through", "replacement: srrip"),
        (
            "write: { through: { allocate: on } }, prefetcher: next-line",
            "prefetcher: next-line, write: through",
        ),
        (
            "write: around, bypass: { fraction: { one_in: 2 } }",
            "write: { back: { allocate: off } }, bypass: all",
        ),
    ] {
        let mut components = String::new();
        let mut links = String::new();
        for number in 0..2 {
            components += &format!("  client{number}: {{ {CLIENT}, first: {} }}\n", number * 24 * 128);
            links += &format!(
                "  - {{ from: client{number}.memory, to: \"near[{number}].requests\", latency: 3 ns, capacity: 1 }}\n"
            );
        }
        components += &format!(
            "  near: {{ {LEVEL}, count: 2, private: on, {near} }}
  network: {{ type: interconnect/crossbar, clock: slow }}
  l2: {{ {L2} }}
  far: {{ {LEVEL}, {far} }}
  dram: {{ type: memory/dram-controller, clock: fast, queue: 4 }}"
        );
        links += "  - { from: \"near[i].memory\", to: \"network.clients[i]\", latency: 3 ns, capacity: 2 }
  - { from: \"network.servers[0]\", to: l2.requests, latency: 3 ns, capacity: 1 }
  - { from: l2.memory, to: far.requests, latency: 3 ns, capacity: 1 }
  - { from: far.memory, to: \"dram.clients[0]\", latency: 3 ns, capacity: 1 }";
        traffic(&components, &links, 2);
    }
}

#[test]
fn every_policy_of_a_dram() {
    for dram in [
        "scheduler: fcfs, row_policy: closed, timing: { standard: ddr4-3200 }",
        "scheduler: fr-fcfs-write-drain, row_policy: { timeout: { after: 20 cycles } }, timing: { standard: hbm2e }",
        "scheduler: { bliss: { clear: 500 cycles } }, refresh: per-bank, timing: { standard: gddr6 }",
        "refresh: same-bank, timing: { standard: ddr5-4800 }",
    ] {
        let components = format!(
            "  client: {{ {CLIENT} }}\n  l2: {{ {L2} }}\n  dram: {{ type: memory/dram-controller, clock: fast, queue: 8, {dram} }}"
        );
        let links = "  - { from: client.memory, to: l2.requests, latency: 3 ns, capacity: 2 }
  - { from: l2.memory, to: \"dram.clients[0]\", latency: 3 ns, capacity: 8 }";
        traffic(&components, links, 1);
    }
}

#[test]
fn a_whole_memory_system() {
    let behind = format!(
        "  l2: {{ {L2}, count: 2, map: {{ slices: 2, slices_per_channel: 2 }} }}
  dram: {{ type: memory/dram-controller, clock: fast, map: {{ slices: 2, slices_per_channel: 2 }}, queue: 4 }}"
    );
    let report = crossbar(
        &behind,
        "  - { from: \"network.servers[i]\", to: \"l2[i].requests\", latency: 3 ns, capacity: 1 }
  - { from: \"l2[i].memory\", to: \"dram.clients[i]\", latency: 3 ns, capacity: 1 }",
    );
    let conflicts = report.stats.iter().find(|row| row.label.name == "row_conflicts");
    assert!(conflicts.is_some());
}
