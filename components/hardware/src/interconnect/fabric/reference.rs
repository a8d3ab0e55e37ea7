//! A second network, written from the description of the first with lists and searches, and the comparison of both.

use std::collections::{BTreeMap, VecDeque};

use counterpoint_framework::kernel::Inputs;
use counterpoint_framework::model::Registry;
use counterpoint_framework::testing::params;
use proptest::prelude::*;

use super::{Exits, Fabric, FabricShape};
use crate::interconnect::lane::Cut;
use crate::interconnect::network::NetworkParams;
use crate::interconnect::topology::{Ends, Hop, Topology, Wiring};

/// A message to send: cycle, ends, and packets.
#[derive(Clone, Copy, Debug)]
struct Message {
    cycle: u64,
    from: usize,
    to: usize,
    cut: Cut,
}

/// The sender of an input's flits, or the receiver of an output's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    End(usize),
    Link(usize),
}

#[derive(Clone, Copy)]
struct NaiveFlit {
    message: usize,
    packet: u64,
    is_head: bool,
    is_tail: bool,
    ready: u64,
}

#[derive(Default)]
struct NaiveQueue {
    flits: VecDeque<NaiveFlit>,
    /// Cycles in which flits left the queue.
    departures: Vec<u64>,
    /// The message and packet that hold the virtual channel of the link.
    owner: Option<(usize, u64)>,
    /// The virtual channel behind the output of the packet that passes.
    next: Option<usize>,
}

impl NaiveQueue {
    fn has_room(&self, cycle: u64, shape: &FabricShape, delay: u64) -> bool {
        let returning = self.departures.iter().filter(|&&left| left + delay > cycle).count();
        self.flits.len() + returning < shape.buffer
    }
}

/// The deliveries of all messages: cycle, end and message.
fn naive(
    wiring: &Wiring,
    shape: &FabricShape,
    topology: &dyn Topology,
    messages: &[Message],
    is_open: impl Fn(usize, u64) -> bool,
) -> Vec<(u64, usize, usize)> {
    let routers = wiring.routers;
    let virtual_channels = shape.lanes * shape.classes;
    let inputs: Vec<Vec<Side>> = (0..routers)
        .map(|router| {
            let ends = (0..wiring.clients.len()).filter(|&end| wiring.clients[end] == router).map(Side::End);
            let links =
                (0..wiring.links.len()).filter(|&link| wiring.links[link].to == router).map(Side::Link);
            ends.chain(links).collect()
        })
        .collect();
    let outputs: Vec<Vec<Side>> = (0..routers)
        .map(|router| {
            let ends = (0..wiring.servers.len()).filter(|&end| wiring.servers[end] == router).map(Side::End);
            let links =
                (0..wiring.links.len()).filter(|&link| wiring.links[link].from == router).map(Side::Link);
            ends.chain(links).collect()
        })
        .collect();
    // Queues by what is before them and by virtual channel.
    let mut queues: BTreeMap<(Side, usize), NaiveQueue> = BTreeMap::new();
    for side in inputs.iter().flatten() {
        (0..virtual_channels).for_each(|channel| {
            queues.insert((*side, channel), NaiveQueue::default());
        });
    }
    let lane_of = |message: usize| (messages[message].from + messages[message].to) % shape.lanes;
    let mut output_turns: BTreeMap<(u32, Side), usize> = BTreeMap::new();
    let mut input_turns: BTreeMap<Side, usize> = BTreeMap::new();
    let mut lane_turns: BTreeMap<Side, usize> = BTreeMap::new();
    let mut head_turns: BTreeMap<(Side, usize), usize> = BTreeMap::new();
    let mut rest: Vec<VecDeque<NaiveFlit>> = vec![VecDeque::new(); wiring.clients.len()];
    let mut lanes = vec![shape.lanes - 1; wiring.clients.len()];
    let mut packets: Vec<u64> = messages.iter().map(|message| message.cut.packets).collect();
    let mut waiting: VecDeque<usize> = (0..messages.len()).collect();
    let mut delivered = Vec::new();
    for cycle in 0.. {
        if delivered.len() == messages.len() {
            break;
        }
        assert!(cycle < 200_000, "the reference does not end");
        let mut later = VecDeque::new();
        for message in waiting {
            let Message { cycle: begin, from, cut, .. } = messages[message];
            if begin > cycle || !rest[from].is_empty() {
                later.push_back(message);
                continue;
            }
            for packet in 0..cut.packets {
                let flits = if packet + 1 == cut.packets { cut.last } else { cut.flits };
                rest[from].extend((0..flits).map(|flit| NaiveFlit {
                    message,
                    packet,
                    is_head: flit == 0,
                    is_tail: flit + 1 == flits,
                    ready: 0,
                }));
            }
        }
        waiting = later;
        for (end, rest) in rest.iter_mut().enumerate() {
            let Some(flit) = rest.front().copied() else { continue };
            let has_room = |lane: &usize| queues[&(Side::End(end), *lane)].has_room(cycle, shape, 0);
            let mut choices = (1..=shape.lanes).map(|by| (lanes[end] + by) % shape.lanes);
            let lane = match (flit.is_head, shape.ordered) {
                (false, _) => Some(lanes[end]).filter(has_room),
                (true, true) => Some(lane_of(flit.message)).filter(has_room),
                (true, false) => choices.find(has_room),
            };
            let Some(lane) = lane else { continue };
            lanes[end] = lane;
            rest.pop_front();
            let queue = queues.get_mut(&(Side::End(end), lane)).unwrap();
            queue.flits.push_back(NaiveFlit { ready: cycle + shape.router, ..flit });
        }
        // All grants are of the state before the first move.
        let mut moves = Vec::new();
        for router in 0..routers {
            let (inputs, outputs) = (&inputs[router as usize], &outputs[router as usize]);
            let places: Vec<(Side, usize)> =
                inputs.iter().flat_map(|&side| (0..virtual_channels).map(move |vc| (side, vc))).collect();
            let number_of = places.len();
            let round = |turn: usize| (turn..turn + number_of).map(move |place| place % number_of);
            // The output that the front flit of a queue wants, and the class of virtual channels there.
            let wants = |queue: &NaiveQueue, channel: usize| {
                let flit = *queue.flits.front().filter(|flit| flit.ready <= cycle)?;
                let end = messages[flit.message].to;
                let target = wiring.servers[end];
                if target == router {
                    return Some((flit, Side::End(end), 0));
                }
                let class = (channel / shape.lanes) as u32;
                let route = topology.route(&Hop { router, target, end: end as u32, class });
                let is_link = |link: &usize| {
                    (wiring.links[*link].from, wiring.links[*link].port) == (router, route.port)
                };
                let link = (0..wiring.links.len()).find(is_link).unwrap();
                Some((flit, Side::Link(link), route.class as usize))
            };
            for &output in outputs.iter().filter(|output| matches!(output, Side::Link(_))) {
                let begin = lane_turns.get(&output).copied().unwrap_or(0);
                for next in (begin..begin + virtual_channels).map(|next| next % virtual_channels) {
                    let behind = &queues[&(output, next)];
                    if behind.owner.is_some() || !behind.has_room(cycle, shape, shape.link) {
                        continue;
                    }
                    let turn = head_turns.get(&(output, next)).copied().unwrap_or(0);
                    let fits = |place: &usize| {
                        let queue = &queues[&places[*place]];
                        wants(queue, places[*place].1).is_some_and(|(flit, wanted, class)| {
                            let of_lane = !shape.ordered || lane_of(flit.message) == next % shape.lanes;
                            let is_head = flit.is_head && queue.next.is_none();
                            is_head && (wanted, class) == (output, next / shape.lanes) && of_lane
                        })
                    };
                    if let Some(place) = round(turn).find(fits) {
                        let flit = queues[&places[place]].flits[0];
                        head_turns.insert((output, next), place + 1);
                        lane_turns.insert(output, (next + 1) % virtual_channels);
                        queues.get_mut(&(output, next)).unwrap().owner = Some((flit.message, flit.packet));
                        queues.get_mut(&places[place]).unwrap().next = Some(next);
                    }
                }
            }
            let mut grants = Vec::new();
            for (number, &output) in outputs.iter().enumerate() {
                let turn = output_turns.get(&(router, output)).copied().unwrap_or(0);
                let passes = |place: &usize| {
                    let queue = &queues[&places[*place]];
                    let wanted = wants(queue, places[*place].1).map(|(_, wanted, _)| wanted);
                    let has_room = |next: usize| queues[&(output, next)].has_room(cycle, shape, shape.link);
                    wanted == Some(output)
                        && match output {
                            Side::End(end) => is_open(end, cycle),
                            Side::Link(_) => queue.next.is_some_and(has_room),
                        }
                };
                if let Some(place) = round(turn).find(passes) {
                    let next = queues[&places[place]].next;
                    grants.push((number, place, next.unwrap_or(0)));
                }
            }
            for (number, &side) in inputs.iter().enumerate() {
                let turn = input_turns.get(&side).copied().unwrap_or(0);
                let own = grants.iter().filter(|(_, place, _)| place / virtual_channels == number);
                let best = own.min_by_key(|(output, ..)| (output + outputs.len() - turn) % outputs.len());
                if let Some(&(output, place, next)) = best {
                    input_turns.insert(side, (output + 1) % outputs.len());
                    output_turns.insert((router, outputs[output]), place + 1);
                    moves.push((places[place], outputs[output], next));
                }
            }
        }
        for (from, output, next) in moves {
            let queue = queues.get_mut(&from).unwrap();
            let flit = queue.flits.pop_front().unwrap();
            queue.departures.push(cycle);
            queue.next = queue.next.filter(|_| !flit.is_tail);
            match output {
                Side::End(end) => {
                    packets[flit.message] -= u64::from(flit.is_tail);
                    if packets[flit.message] == 0 {
                        delivered.push((cycle, end, flit.message));
                    }
                }
                Side::Link(_) => {
                    let queue = queues.get_mut(&(output, next)).unwrap();
                    queue.owner = (!flit.is_tail).then_some((flit.message, flit.packet));
                    let ready = cycle + shape.link + shape.router;
                    queue.flits.push_back(NaiveFlit { ready, ..flit });
                }
            }
        }
    }
    delivered.sort_unstable();
    delivered
}

/// The deliveries of [`Fabric`], which is stepped only in the cycles that it asks for.
fn stepped(
    wiring: &Wiring,
    shape: &FabricShape,
    topology: &dyn Topology,
    messages: &[Message],
    is_open: impl Fn(usize, u64) -> bool,
) -> Vec<(u64, usize, usize)> {
    struct Log<F>(u64, F, Vec<(u64, usize, usize)>);
    impl<F: Fn(usize, u64) -> bool> Exits for Log<F> {
        fn is_open(&self, end: usize) -> bool {
            self.1(end, self.0)
        }
        fn deliver(&mut self, end: usize, slot: usize) {
            self.2.push((self.0, end, slot));
        }
    }
    let mut fabric = Fabric::new(wiring, (&wiring.clients, &wiring.servers), *shape).unwrap();
    let mut idle = Inputs::<Box<[u64]>>::all(wiring.clients.len());
    let mut log = Log(0, is_open, Vec::new());
    let mut waiting: VecDeque<usize> = (0..messages.len()).collect();
    let mut cycle = 0;
    let flits = |cut: Cut| cut.flits * (cut.packets - 1) + cut.last;
    let mut left = 0;
    while log.2.len() < messages.len() {
        waiting.retain(|&message| {
            let Message { cycle: begin, from, to, cut } = messages[message];
            let begins = begin <= cycle && idle.words()[0] >> from & 1 == 1;
            if begins {
                idle.remove(from);
                fabric.send(message, from, to, cut);
            }
            !begins
        });
        log.0 = cycle;
        let (next, gone) = fabric.step(cycle, topology, &mut log, &mut idle).unwrap();
        left += gone;
        // An idle end waits for its next message.
        let begin = |message: &usize| idle.words()[0] >> messages[*message].from & 1 == 1;
        let begins = waiting.iter().filter(|message| begin(message));
        let begins = begins.map(|&message| messages[message].cycle.max(cycle + 1)).min();
        let all = [next, begins].into_iter().flatten().min();
        cycle = all.filter(|_| cycle < 200_000).unwrap_or_else(|| panic!("{:?} at cycle {cycle}", log.2));
    }
    assert_eq!(left, messages.iter().map(|message| flits(message.cut)).sum::<u64>());
    log.2.sort_unstable();
    log.2
}

/// The topology of this name.
fn built(name: &str) -> Box<dyn Topology> {
    let mut registry = Registry::default();
    crate::register(&mut registry);
    let params: NetworkParams = params(registry.families(), &format!("{{ topology: {name} }}"));
    params.topology().build_detached().unwrap()
}

#[test]
fn everything_arrives_after_saturation() {
    let patterns: [fn(usize) -> usize; 4] =
        [|from| from % 4 * 4 + from / 4, |from| 15 - from, |from| (from + 7) % 16, |from| from * 7 % 16];
    for name in ["crossbar", "ring", "mesh", "hierarchy"] {
        for (number, (lanes, buffer)) in (0..).zip([(1, 1), (1, 4), (2, 2)]) {
            let ordered = number % 2 == 0;
            let mut topology = built(name);
            let classes = topology.classes() as usize;
            let shape = FabricShape { lanes, classes, buffer, router: 2, link: 1, ordered };
            let wiring = topology.wire(Ends { clients: 16, servers: 16 }).unwrap();
            let cut = Cut { packets: 2, flits: 4, last: 3 };
            for to in patterns {
                let message =
                    |number: usize| Message { cycle: 0, from: number % 16, to: to(number % 16), cut };
                let messages: Vec<Message> = (0..800).map(message).collect();
                let delivered = stepped(&wiring, &shape, &*topology, &messages, |_, _| true);
                assert_eq!(delivered.len(), messages.len());
            }
        }
    }
}

fn shapes() -> impl Strategy<Value = FabricShape> {
    (1..4_usize, 1..5_usize, 0..4_u64, 1..4_u64, any::<bool>()).prop_map(
        |(lanes, buffer, router, link, ordered)| FabricShape {
            lanes,
            classes: 1,
            buffer,
            router,
            link,
            ordered,
        },
    )
}

type Drawn = (u64, usize, usize, u64, u64);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn both_networks_deliver_the_same_in_the_same_cycles(
        (topology, clients, servers) in (0..4_usize, 1..7_u32, 1..7_u32),
        shape in shapes(),
        drawn in prop::collection::vec((0..60_u64, 0..6_usize, 0..6_usize, 1..4_u64, 1..6_u64), 1..60),
        closed in 0..4_u64,
    ) {
        let name = ["crossbar", "ring", "mesh", "{ hierarchy: { clusters: 1, links: 2 } }"][topology];
        let mut topology = built(name);
        let shape = FabricShape { classes: topology.classes() as usize, ..shape };
        let wiring = topology.wire(Ends { clients, servers }).unwrap();
        let message = |(cycle, from, to, packets, flits): Drawn| Message {
            cycle,
            from: from % clients as usize,
            to: to % servers as usize,
            cut: Cut { packets, flits, last: 1 + flits / 2 },
        };
        let mut messages: Vec<Message> = drawn.into_iter().map(message).collect();
        messages.sort_by_key(|message| message.cycle);
        // Ends are closed now and then, all in their own cycles.
        let is_open = |end: usize, cycle: u64| !(cycle / 3 + end as u64).is_multiple_of(closed + 2);
        let reference = naive(&wiring, &shape, &*topology, &messages, is_open);
        prop_assert_eq!(stepped(&wiring, &shape, &*topology, &messages, is_open), reference.clone());
        if shape.ordered {
            let same = |one: &Message, other: &Message| (one.from, one.to) == (other.from, other.to);
            for (place, (cycle, _, message)) in reference.iter().enumerate() {
                for (_, _, earlier) in &reference[place + 1..] {
                    let overtakes = earlier < message && same(&messages[*earlier], &messages[*message]);
                    prop_assert!(!overtakes, "{} overtakes {} in cycle {}", message, earlier, cycle);
                }
            }
        }
    }
}
