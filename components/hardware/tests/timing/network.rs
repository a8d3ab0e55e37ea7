//! Networks of routers: the latency of each topology without load, saturation without deadlock, and parameters that do not suit.

use counterpoint_framework::testing::Probe;
use counterpoint_hardware::interconnect::network::Network;
use counterpoint_protocols::memory::{MemReply, MemRequest};

use super::*;

/// Flits of 32 B without a header: a flit for each sector that is written, and one for everything else.
const PACKETS: &str = "requests: { flit: 32 B, header: 0 B, packet: 128 B }, replies: { flit: 32 B, header: 0 B, packet: 128 B }";

const CLIENTS: u32 = 12;
const SERVERS: u32 = 6;

/// Links between the routers of a client and a server.
type Hops = fn(u32, u32) -> u64;

/// The routers of a client and a server if both are spread over a number of routers.
fn routers(client: u32, server: u32, routers: u32) -> [u32; 2] {
    [client * routers / CLIENTS, server * routers / SERVERS]
}

fn around(client: u32, server: u32, number: u32) -> u64 {
    let [from, to] = routers(client, server, number);
    let distance = from.abs_diff(to);
    distance.min(number - distance).into()
}

fn manhattan(client: u32, server: u32, [columns, rows]: [u32; 2]) -> u64 {
    let [from, to] = routers(client, server, columns * rows);
    ((from % columns).abs_diff(to % columns) + (from / columns).abs_diff(to / columns)).into()
}

const TOPOLOGIES: [(&str, Hops); 9] = [
    ("crossbar", |_, _| 0),
    ("ring", |client, server| around(client, server, 12)),
    ("ring: { routers: 7 }", |client, server| around(client, server, 7)),
    ("ring: { routers: 1 }", |_, _| 0),
    ("ring: { routers: 2 }", |client, server| around(client, server, 2)),
    ("mesh", |client, server| manhattan(client, server, [4, 3])),
    ("mesh: { columns: 3, rows: 2 }", |client, server| manhattan(client, server, [3, 2])),
    ("hierarchy", |_, _| 1),
    ("hierarchy: { clusters: 3, links: 2 }", |_, _| 1),
];

/// A topology as a parameter: some have parameters of their own.
fn slot(topology: &str) -> String {
    if topology.contains(':') { format!("{{ {topology} }}") } else { topology.to_owned() }
}

#[test]
fn latency_without_load_is_that_of_the_formula() {
    const APART: u64 = 200;
    const DELAY: u64 = 20;
    for (topology, hops) in TOPOLOGIES {
        for (router, link, packet) in [(3, 1, 128), (0, 1, 32), (1, 5, 64)] {
            let params = format!(
                "{{ topology: {}, router: {router} cycles, link: {link} cycles, {}, map: {{ slices: {SERVERS} }} }}",
                slot(topology),
                PACKETS.replace("128 B", &format!("{packet} B")),
            );
            let mut bench = bench::<Network>(&params);
            let begin = |client: u32, server: u32| {
                APART * u64::from(1 + client * SERVERS + (server + client) % SERVERS)
            };
            let sectors = |client: u32, server: u32| 1 + (client + server) % 4;
            let request = |client: u32, server: u32| {
                let (line, mask) = (u64::from(server) * 256, ALL >> (128 - 32 * sectors(client, server)));
                let tag = client * SERVERS + server;
                let is_read = tag.is_multiple_of(2);
                let request = if is_read { read(tag, line, mask) } else { write(tag, line, mask, 0) };
                (begin(client, server), request)
            };
            let clients: Vec<Probe<MemReply>> = (0..CLIENTS)
                .map(|client| {
                    let mut script: Vec<(u64, MemRequest)> =
                        (0..SERVERS).map(|server| request(client, server)).collect();
                    script.sort_by_key(|(cycle, _)| *cycle);
                    bench.client("clients", Some(client), script, SERVERS as usize)
                })
                .collect();
            let servers: Vec<Probe<MemRequest>> = (0..SERVERS)
                .map(|server| {
                    let answer = move |request: MemRequest| Some((DELAY, numbered(&request)));
                    bench.server("servers", Some(server), answer)
                })
                .collect();
            assert_finished(&bench.run());
            for (server, probe) in (0..).zip(&servers) {
                for client in 0..CLIENTS {
                    let tag = client * SERVERS + server;
                    let is_read = tag.is_multiple_of(2);
                    let (hops, data) = (hops(client, server), u64::from(sectors(client, server)));
                    let flits = |carries: bool| if carries { data } else { data.div_ceil(packet / 32) };
                    let passing = |carries: bool| (hops + 1) * router + hops * link + flits(carries) - 1;
                    let out = begin(client, server) + passing(!is_read);
                    probe.assert_earliest(out, |request| request.tag.0 == tag);
                    let back = out + 1 + DELAY + passing(is_read);
                    clients[client as usize].assert_earliest(back, tagged(tag));
                }
            }
        }
    }
}

#[test]
fn parameters_that_do_not_suit_are_refused_with_the_reason() {
    for (topology, reason) in [
        ("ring: { routers: 19 }", "a ring of 19 routers has more of them than the 18 ends"),
        ("mesh: { columns: 20 }", "a mesh of 20 x 1 routers has more of them than the 18 ends"),
        ("mesh: { columns: 5, rows: 4 }", "a mesh of 5 x 4 routers has more of them than the 18 ends"),
        ("hierarchy: { clusters: 13 }", "12 clients cannot fill 13 clusters"),
    ] {
        let mut bench = bench::<Network>(&format!("{{ topology: {} }}", slot(topology)));
        for client in 0..CLIENTS {
            bench.client::<MemRequest, MemReply>("clients", Some(client), vec![(5, read(1, 0, ALL))], 1);
        }
        for server in 0..SERVERS {
            bench.server("servers", Some(server), |request: MemRequest| Some((1, numbered(&request))));
        }
        assert_eq!(fault(&bench.run()), reason);
    }
}

#[test]
#[should_panic(expected = "virtual_channels is 3, and `ring` needs a multiple of its 2 classes")]
fn virtual_channels_that_do_not_suit_the_classes_are_refused() {
    bench::<Network>("{ topology: ring, virtual_channels: 3 }").run();
}
