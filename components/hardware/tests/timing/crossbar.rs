//! The crossbar: packets and flits, routing, and arbitration.

use counterpoint_hardware::interconnect::crossbar::Crossbar;
use counterpoint_protocols::memory::{MemReply, MemRequest, MemResult};

use super::*;

const LINES: &str = "{ requests: { flit: 32 B, packet: 128 B }, replies: { flit: 32 B, packet: 128 B },
    map: { slices: 2, interleave: 256 B } }";

type Log = Vec<(u64, u32)>;

fn log(messages: &[(u64, MemRequest)]) -> Log {
    messages.iter().map(|(cycle, request)| (*cycle, request.tag.0)).collect()
}

/// Requests that two servers, which answer after `delay`, receive of the clients' scripts, and events of the
/// clients.
fn run(params: &str, scripts: Vec<Vec<(u64, MemRequest)>>, delay: u64) -> ([Log; 2], Vec<Log>) {
    let mut bench = bench::<Crossbar>(params);
    let clients: Vec<_> = (0..)
        .zip(scripts)
        .map(|(index, script)| {
            let count = script.len();
            bench.client::<MemRequest, MemReply>("clients", Some(index), script, count)
        })
        .collect();
    let servers = [0, 1].map(|index| {
        bench.server("servers", Some(index), move |request: MemRequest| Some((delay, numbered(&request))))
    });
    assert_finished(&bench.run());
    let replies = |client: &counterpoint_framework::testing::Probe<MemReply>| {
        client.take().iter().map(|(cycle, reply)| (*cycle, reply.tag.0)).collect()
    };
    (servers.map(|server| log(&server.take())), clients.iter().map(replies).collect())
}

#[test]
fn requests_go_to_the_slice_of_their_address_flit_by_flit() {
    // Header 8 B: a read is one flit, a line's store five, a sector's two. A step allocates, one passes a flit, and two
    // make a cycle: the switch is done with the store after six steps, the channel behind it after five cycles.
    let script = vec![
        (5, write(1, 0, ALL, 0)),
        (6, read(2, 256, ALL)),
        (7, read(3, 512, ALL)),
        (30, write(4, 256, 0xffff_ffff, 0)),
        (31, write(5, 256, 0xffff_ffff, 0)),
    ];
    let (servers, _) = run(LINES, vec![script], 1);
    assert_eq!(servers[0], [(5 + 4, 1), (9 + 1, 3)]);
    assert_eq!(servers[1], [(5 + 3, 2), (30 + 1, 4), (31 + 2, 5)]);
}

#[test]
fn outputs_take_turns_among_inputs() {
    let script = |first: u32| (0..3).map(|n| (5, read(first + n, 0, ALL))).collect::<Vec<_>>();
    let (servers, _) = run(LINES, vec![script(10), script(20), script(30)], 1);
    // Two steps a packet: one a cycle. A script offers one message a cycle.
    let order: Vec<u32> = servers[0].iter().map(|(_, tag)| *tag).collect();
    assert_eq!(order, [10, 20, 30, 11, 21, 31, 12, 22, 32]);
    assert_eq!(servers[0].iter().map(|(cycle, _)| *cycle).collect::<Vec<_>>(), (5..14).collect::<Vec<_>>());
}

#[test]
fn a_crossbar_has_any_number_of_clients() {
    for clients in [1, 63, 64, 65, 128, 129, 200] {
        let scripts = (0..clients).map(|client| vec![(5, read(client, 0, ALL))]).collect();
        let (servers, replies) = run(LINES, scripts, 1);
        // The requests pass in the order of their clients, one a cycle until replies, which are longer, hold them up.
        assert!(servers[0].iter().map(|(_, tag)| *tag).eq(0..clients), "of {clients}");
        let turns = (0..clients.min(100)).map(|client| 5 + u64::from(client));
        assert!(
            servers[0].iter().map(|(cycle, _)| *cycle).zip(turns).skip(1).all(|(cycle, turn)| cycle == turn)
        );
        assert!((0..).zip(&replies).all(|(client, log)| matches!(log[..], [(_, tag)] if tag == client)));
    }
}

#[test]
fn the_head_of_a_queue_holds_back_those_behind_it() {
    // Both clients want the first server; the second one's other request waits although its server is idle.
    let first = vec![(5, write(1, 0, ALL, 0))];
    let second = vec![(5, read(2, 0, 1)), (6, read(3, 256, 1))];
    let (servers, _) = run(LINES, vec![first, second], 1);
    assert_eq!(servers[0], [(9, 1), (10, 2)]);
    assert_eq!(servers[1], [(9, 3)]);
}

#[test]
fn replies_return_to_the_client_that_asked() {
    let scripts = vec![vec![(5, read(1, 0, ALL))], vec![(5, read(2, 256, ALL)), (6, write(3, 0, ALL, 1))]];
    let (_, clients) = run(LINES, scripts, 20);
    // A request reaches its server a cycle after it has passed, and its answer the crossbar 20 cycles later; a line is
    // five flits.
    assert_eq!(clients[0], [(5 + 1 + 20 + 4, 1)]);
    assert_eq!(clients[1], [(5 + 1 + 20 + 4, 2), (10 + 1 + 20, 3)]);
}

#[test]
fn a_message_is_several_packets_if_they_carry_less() {
    let params = "{ requests: { flit: 40 B, packet: 32 B }, replies: { flit: 40 B }, map: { slices: 2 } }";
    // Four requests of a sector each, two, a store of three, and one.
    let script = vec![
        (5, read(1, 0, ALL)),
        (6, read(2, 0, 0b11 << 63)),
        (7, write(3, 0, ALL >> 32, 1)),
        (8, read(4, 0, 1)),
    ];
    let (servers, clients) = run(params, vec![script], 50);
    assert_eq!(servers[0], [(8, 1), (10, 2), (13, 3), (14, 4)]);
    // Replies of four, two and one sector, and the acknowledgement of three.
    let base = 8 + 1 + 50;
    assert_eq!(clients[0], [(base + 3, 1), (base + 5, 2), (base + 8, 3), (base + 9, 4)]);
}

#[test]
fn an_end_that_is_not_there_is_a_fault() {
    let mut bench = bench::<Crossbar>(LINES);
    bench.client::<MemRequest, MemReply>("clients", Some(0), vec![(5, read(1, 0, ALL))], 1);
    bench.server("servers", Some(0), |request: MemRequest| {
        Some((1, MemReply { client: 3, ..numbered(&request) }))
    });
    assert_eq!(fault(&bench.run()), "a reply to client 3 of 1");

    let mut bench = self::bench::<Crossbar>(LINES);
    bench.client::<MemRequest, MemReply>("clients", Some(0), vec![(5, read(1, 256, ALL))], 1);
    bench.server("servers", Some(0), |request: MemRequest| Some((1, numbered(&request))));
    assert_eq!(fault(&bench.run()), "the map names slice 1 of 1");
}

#[test]
fn an_acknowledgement_of_nothing_is_a_packet() {
    let reply = MemReply { line: 0, tag: Tag(1), client: 0, result: MemResult::Written(0), far: 0 };
    let mut bench = bench::<Crossbar>(LINES);
    let client = bench.client::<MemRequest, MemReply>("clients", Some(0), vec![(5, write(1, 0, 0, 1))], 1);
    bench.server("servers", Some(0), move |_: MemRequest| Some((10, reply.clone())));
    assert_finished(&bench.run());
    assert_eq!(client.cycles(), [5 + 1 + 10]);
}
