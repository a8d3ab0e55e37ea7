//! The crossbar's switches: flits, routing, and the order of what they merge.

use counterpoint_hardware::interconnect::client_switch::ClientSwitch;
use counterpoint_hardware::interconnect::server_switch::ServerSwitch;
use counterpoint_protocols::memory::{MemReply, MemRequest, MemResult};

use super::*;

const CLIENT: &str = "{ requests: { flit: 32 B, packet: 128 B }, replies: { flit: 32 B, packet: 128 B },
    map: { slices: 2, interleave: 256 B } }";
const SERVER: &str = "{ requests: { flit: 32 B, packet: 128 B }, replies: { flit: 32 B, packet: 128 B } }";

fn reply(tag: u32, client: u32, mask: ByteMask) -> MemReply {
    MemReply { line: 0, tag: Tag(tag), client, result: MemResult::Line(mask, [0; LINE_BYTES as usize]) }
}

#[test]
fn requests_go_to_the_slice_of_their_address_and_occupy_the_switch_flit_by_flit() {
    let mut bench = bench::<ClientSwitch>(CLIENT);
    // Header 8 B: a read is one flit, a whole line's write five, that of a sector two.
    let script = vec![
        (5, write(1, 0, ALL, 0)),
        (5, read(2, 256, ALL)),
        (6, read(3, 512, ALL)),
        (30, write(4, 256, (1 << 24) - 1, 0)),
        (30, write(5, 256, (1 << 25) - 1, 0)),
    ];
    bench.client::<MemRequest, MemReply>("client", None, script, 0);
    bench.drive::<MemReply>("replies", None, vec![]);
    let probes = [0, 1].map(|index| bench.probe::<MemRequest>("requests", Some(index)));
    bench.lasts(100);
    assert_finished(&bench.run());
    let log = probes.map(|probe| probe.take().iter().map(|(c, r)| (*c, r.tag.0)).collect::<Vec<_>>());
    // A message has gone when its last flit has; the next one starts a cycle after that.
    assert_eq!(log[0], [(5 + 4, 1), (11, 3)]);
    assert_eq!(log[1], [(10, 2), (30 + 1, 4), (32 + 1, 5)]);
}

#[test]
fn replies_to_a_client_are_merged_oldest_first() {
    let mut bench = bench::<ClientSwitch>(CLIENT);
    bench.drive("replies", None, vec![(5, reply(1, 0, ALL)), (8, reply(4, 0, 0))]);
    bench.drive("replies", None, vec![(5, reply(2, 0, 0)), (6, reply(3, 0, 0))]);
    for index in [0, 1] {
        bench.probe::<MemRequest>("requests", Some(index));
    }
    let log = bench.client::<MemRequest, MemReply>("client", None, vec![], 4);
    assert_finished(&bench.run());
    let log: Vec<(u64, u32)> = log.take().iter().map(|(cycle, reply)| (*cycle, reply.tag.0)).collect();
    assert_eq!(log, [(9, 1), (10, 2), (11, 3), (12, 4)]);
}

#[test]
fn a_reply_returns_to_the_client_that_asked() {
    let mut bench = bench::<ServerSwitch>(SERVER);
    bench.drive("requests", None, vec![(5, read(1, 0, ALL)), (7, read(4, 0, ALL))]);
    bench.drive("requests", None, vec![(5, write(2, 0, ALL, 0)), (6, read(3, 0, ALL))]);
    let probes = [0, 1].map(|index| bench.probe::<MemReply>("replies", Some(index)));
    let served = bench.server("server", None, |request: MemRequest| Some((20, numbered(&request))));
    bench.lasts(100);
    assert_finished(&bench.run());
    // Two in the same cycle: the first sender's goes first. The write takes five flits, what came meanwhile waits.
    let requests: Vec<_> = served.take().iter().map(|(c, r)| (*c, r.tag.0, r.client)).collect();
    assert_eq!(requests, [(5, 1, 0), (10, 2, 1), (11, 3, 1), (12, 4, 0)]);
    let log = probes.map(|probe| probe.take().iter().map(|(c, r)| (*c, r.tag.0)).collect::<Vec<_>>());
    // Each answer can be taken 20 cycles after the request reached the script, five flits of 136 B for a line, one for an
    // acknowledgement; the switch is busy with one at a time.
    assert_eq!(log[0], [(5 + 1 + 20 + 4, 1), (31 + 1 + 5 + 4, 4)]);
    assert_eq!(log[1], [(10 + 1 + 20, 2), (32 + 4, 3)]);
}

#[test]
fn a_client_that_is_not_there_is_a_fault() {
    let mut bench = bench::<ServerSwitch>("{}");
    bench.drive("requests", None, vec![(5, read(1, 0, ALL))]);
    bench.probe::<MemReply>("replies", Some(0));
    bench.server("server", None, |request: MemRequest| {
        Some((1, MemReply { client: 3, ..numbered(&request) }))
    });
    bench.lasts(100);
    assert_eq!(fault(&bench.run()), "a reply to client 3 of 1");
}

#[test]
fn a_message_is_several_packets_if_they_carry_less() {
    let packets = "{ requests: { flit: 40 B, packet: 32 B }, replies: { flit: 40 B }, map: { slices: 1 } }";
    let mut bench = bench::<ClientSwitch>(packets);
    // Four requests of a sector each, two, and a store of three.
    let three = ALL >> 32;
    let script = vec![(5, read(1, 0, ALL)), (6, read(2, 0, 0b11 << 63)), (7, write(3, 0, three, 1))];
    let script = script.into_iter().chain([(8, read(4, 0, 1))]).collect();
    bench.client::<MemRequest, MemReply>("client", None, script, 0);
    bench.drive::<MemReply>("replies", None, vec![]);
    let probe = bench.probe::<MemRequest>("requests", Some(0));
    bench.lasts(50);
    assert_finished(&bench.run());
    assert_eq!(probe.cycles(), [8, 10, 13, 14]);
}
