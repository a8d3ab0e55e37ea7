//! Waiting times of SMs for each other on the way to the L2 and back.
//!
//! The network is two crossbars (`interconnect/lane.rs`), whose inputs have a queue each: a message at the head waits until its
//! output is free, and holds back all behind it. So a message occupies the SM's port while it waits at its slice, and an answer occupies
//! the slice while it waits at its SM. An output serves the heads that want it in turn, a sector a cycle; heads that arrive at random have
//! the M/G/1 waiting time (Pollaczek and Khinchine) at the load of the other inputs. With even traffic of many inputs that gives the 58.6 %
//! of the ports' capacity at which such switches are known to saturate (Karol, Hluchyj, Morgan, "Input Versus Output Queueing on a
//! Space-Division Packet Switch", IEEE Trans. Communications 35(12), 1987). A switch with more steps a cycle has a packet for less than the
//! cycle for which slice and SM have it: then heads wait less. If the demand for a slice exceeds its capacity, heads wait until the SMs ask
//! for no more than the capacity.
//!
//! Messages leave a port one after another, and if all find their slices idle, their answers arrive one after another, too. Two answers
//! meet only if one of their messages found its slice busy with another, or held by the answer of another.
//!
//! The request rate of an SM follows from its waiting times. Here an SM is one rate of requests, and the response of that rate to a longer
//! wait; whenever the waits found differ from those assumed by the SM, it computes its rate again.

use super::search::{Grid, first};
use super::sm::{Load, Sm};
use super::traffic::{Traffic, Wait};

/// Rounds in which SMs compute their rates again before time advances.
const ROUNDS: usize = 16;
/// Of these, the ones in which they take the waits as they are found; then half of the way, if two of them lead to each other.
const WHOLE: usize = 4;
/// Times that each slice's wait is found, given those of the others.
const SWEEPS: usize = 16;
/// Rates are as exact as this part of them.
const EXACT: f64 = 2e-3;
/// Limit where theory has none: the utilisation of an output by others at most.
const MOST: f64 = 0.999;
/// Resolution of a slice's throughput, in parts of its capacity.
const PARTS: u32 = 1 << 16;
/// Grid of the waiting times of heads at a slice whose demand exceeds its capacity.
const HEADS: Grid = Grid { spacing: 1.0 / 65536.0, even: 16, doublings: 20 };

/// The network between SMs and slices.
#[derive(Clone, Debug, Default)]
pub(super) struct Network {
    clients: Vec<Client>,
    slices: Vec<Slice>,
}

/// Starting points of the searches for a slice: their last results.
#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    /// Throughput of the slice, in [`PARTS`].
    taken: u32,
    /// Additional wait of heads if the slice is saturated, a point of [`HEADS`].
    more: u32,
}

/// State of an SM in the network.
#[derive(Clone, Debug, Default)]
struct Client {
    /// For each slice, the average traffic there of each message of the SM; and the sum over all slices.
    shares: Vec<Traffic>,
    share: Traffic,
    /// Messages in a cycle at the last computation, and the other results of it.
    computed_rate: f64,
    response: f64,
    full: bool,
    /// The current waits, by slice. Those that its rate assumes are with the SM.
    waits: Vec<Wait>,
    /// For each slice, the part of its messages there that find it busy; and the part of all of them that do.
    late: Vec<f64>,
    lateness: f64,
    /// Messages in a cycle, by those waits.
    rate: f64,
    /// Cycles by which they make a message of it longer.
    longer: f64,
    /// For how much of a cycle a packet, which is a sector, has a switch.
    packet: f64,
}

/// The wait of a message behind other traffic, in cycles. A sector occupies a switch for `packet` cycles.
fn behind(others: &Traffic, packet: f64) -> f64 {
    if others.sectors <= 0.0 {
        return 0.0;
    }
    queue(packet * others.squares / others.sectors / 2.0, packet * others.sectors)
}

/// M/G/1 waiting time at utilisation `taken`, with a mean residual service time of `half` cycles.
fn queue(half: f64, taken: f64) -> f64 {
    let taken = taken.min(MOST);
    half * taken / (1.0 - taken)
}

impl Network {
    /// `packet` is the part of a cycle for which a packet has a switch.
    pub(super) fn new(sms: usize, slices: usize, packet: f64) -> Self {
        let (shares, waits) = (vec![Traffic::default(); slices], vec![Wait::default(); slices]);
        let late = vec![0.0; slices];
        let client = Client { shares, waits, late, packet, ..Client::default() };
        Network { clients: vec![client; sms], slices: vec![Slice::default(); slices] }
    }

    /// Makes the waits and speeds of all SMs consistent, beginning with this cycle.
    pub(super) fn settle(&mut self, sms: &mut [Sm], cycle: u64) {
        for round in 0..ROUNDS {
            let mut changed = false;
            for (client, sm) in self.clients.iter_mut().zip(&mut *sms) {
                if let Some(load) = sm.load() {
                    changed |= client.take(load);
                }
            }
            if !changed {
                return;
            }
            self.clients.iter_mut().zip(&*sms).for_each(|(client, sm)| client.begin(sm.waits()));
            self.solve();
            let part = if round < WHOLE { 1.0 } else { 0.5 };
            for (client, sm) in self.clients.iter().zip(&mut *sms) {
                if client.is_elsewhere(sm.waits()) {
                    sm.advance(cycle);
                    sm.route(&client.waits, part);
                }
            }
        }
    }

    /// Finds the waits that are consistent with the request rates that result from them.
    fn solve(&mut self) {
        for _ in 0..SWEEPS {
            let before: Vec<f64> = self.clients.iter().map(|client| client.rate).collect();
            (0..self.slices.len()).for_each(|slice| self.solve_slice(slice));
            let moved =
                |(client, before): (&Client, f64)| (client.rate - before).abs() > EXACT / 4.0 * before;
            if !self.clients.iter().zip(before).any(moved) {
                return;
            }
        }
    }

    /// The waits at one slice, if those at the others are known.
    fn solve_slice(&mut self, slice: usize) {
        let clients = self.clients.iter_mut().filter(|client| client.shares[slice].messages > 0.0);
        let mut clients: Vec<&mut Client> = clients.collect();
        if !clients.is_empty() {
            let mut all = Traffic::default();
            clients.iter().for_each(|client| all.add(&client.traffic(slice), 1.0));
            let held = find_answers(&mut clients, slice);
            self.slices[slice].find_heads(&mut clients, slice, &all, all.sectors / held);
        }
    }
}

/// Finds how long answers of a slice wait. Gives for how many cycles those of one cycle hold it.
fn find_answers(clients: &mut [&mut Client], slice: usize) -> f64 {
    let mut held: f64 = clients.iter().map(|client| client.held(slice)).sum();
    let before = held;
    for client in clients {
        let own = client.held(slice);
        let late = (before - own).clamp(0.0, 1.0);
        client.lateness += client.shares[slice].messages * (late - client.late[slice]);
        client.late[slice] = late;
        // Half of the way: what a slice is held for makes SMs ask for less, so that it is held less.
        let answer = f64::midpoint(client.waits[slice].answer, client.answer(slice));
        client.wait(slice, Wait { answer, ..client.waits[slice] });
        held += client.held(slice) - own;
    }
    held
}

/// SMs that are computed together, as a processor may.
const BATCH: usize = 4;

/// Requests of SMs to a slice as a function of the wait at its heads.
#[derive(Clone, Copy, Default)]
struct Asking {
    /// Part of a cycle for which switches are busy with requests of other SMs, if a sector is taken; and half the length of a
    /// message of other SMs, in cycles.
    others: [f64; BATCH],
    half: [f64; BATCH],
    /// Sectors in a cycle, if none of the SM's messages took any longer.
    sectors: [f64; BATCH],
    /// Additional time of the SM's messages if heads do not wait here, and additional time for each cycle of their wait.
    longer: [f64; BATCH],
    by_cycle: [f64; BATCH],
}

impl Asking {
    /// Wait of an SM's heads behind others at throughput `taken`.
    fn behind(&self, at: usize, taken: f64) -> f64 {
        queue(self.half[at], self.others[at] * taken)
    }
}

/// Demand for a slice at throughput `taken`, if heads wait `more` longer than behind others.
fn asked(all: &[Asking], taken: f64, more: f64) -> f64 {
    let mut sums = [0.0; BATCH];
    for asking in all {
        for (at, sum) in sums.iter_mut().enumerate() {
            let head = asking.behind(at, taken) + more;
            *sum += asking.sectors[at] / slower(asking.longer[at] + asking.by_cycle[at] * head);
        }
    }
    sums.iter().sum()
}

/// Slowdown of an SM whose time for a message becomes longer by this part.
fn slower(longer: f64) -> f64 {
    (1.0 + longer).max(EXACT)
}

impl Slice {
    /// Finds how long messages to a slice of a number wait at the heads of ports, if `all` is the demand and
    /// it serves `capacity` sectors a cycle. Longer waits bring fewer messages: there is one wait at which
    /// both agree.
    fn find_heads(&mut self, clients: &mut [&mut Client], number: usize, all: &Traffic, capacity: f64) {
        let asking = |clients: &[&mut Client]| {
            let mut asking = Asking::default();
            for (at, client) in clients.iter().enumerate() {
                let others = all.without(&client.traffic(number));
                let Traffic { messages, sectors, .. } = client.shares[number];
                if others.sectors > 0.0 {
                    asking.others[at] = client.packet * others.sectors / all.sectors;
                    asking.half[at] = client.packet * others.squares / others.sectors / 2.0;
                }
                asking.sectors[at] = sectors * client.computed_rate;
                asking.longer[at] = client.response * (client.longer - messages * client.waits[number].head);
                asking.by_cycle[at] = client.response * messages;
            }
            asking
        };
        let all_asking: Vec<Asking> = clients.chunks(BATCH).map(asking).collect();
        let part = |part| capacity * f64::from(part) / f64::from(PARTS);
        self.taken = first(PARTS + 1, self.taken, |it| asked(&all_asking, part(it), 0.0) - part(it));
        let taken = part(self.taken);
        let more = if self.taken < PARTS || asked(&all_asking, taken, 0.0) <= taken {
            0.0
        } else {
            let excess = |it| asked(&all_asking, taken, HEADS.point(it)) - taken;
            self.more = first(HEADS.points(), self.more, excess);
            HEADS.point(self.more)
        };
        for (clients, asking) in clients.chunks_mut(BATCH).zip(&all_asking) {
            for (at, client) in clients.iter_mut().enumerate() {
                let head = asking.behind(at, taken) + more;
                client.wait(number, Wait { head, ..client.waits[number] });
            }
        }
    }
}

impl Client {
    /// Takes the current load of the SM; returns whether it has changed noticeably.
    fn take(&mut self, load: Load) -> bool {
        let Load { mut traffic, response, full } = load;
        let (rate, before) = (traffic.iter().map(|it| it.messages).sum::<f64>(), self.computed_rate);
        let pairs = traffic.iter().zip(&self.shares);
        let moved = pairs.map(|(now, share)| (now.sectors - before * share.sectors).abs());
        let changed = moved.sum::<f64>() > EXACT * before.max(EXACT) || full != self.full;
        if rate > 0.0 {
            for it in &mut traffic {
                *it = Traffic {
                    messages: it.messages / rate,
                    sectors: it.sectors / rate,
                    squares: it.squares / rate,
                };
            }
        }
        self.share = Traffic::default();
        traffic.iter().for_each(|it| self.share.add(it, 1.0));
        self.shares = traffic;
        (self.computed_rate, self.response, self.full) = (rate, response, full);
        changed
    }

    /// Begins with the rate that the SM has found, and the waits with which it did.
    fn begin(&mut self, assumed: &[Wait]) {
        self.rate = self.computed_rate;
        self.waits.copy_from_slice(assumed);
        self.longer = 0.0;
        self.lateness = self.shares.iter().zip(&self.late).map(|(share, late)| share.messages * late).sum();
    }

    /// Traffic of the SM to a slice in a cycle.
    fn traffic(&self, slice: usize) -> Traffic {
        self.shares[slice].times(self.rate)
    }

    /// The part of a cycle for which the SM holds a slice.
    fn held(&self, slice: usize) -> f64 {
        let Traffic { messages, sectors, .. } = self.traffic(slice);
        sectors.max(self.packet * sectors + messages * self.waits[slice].answer)
    }

    /// Wait of an answer of a slice behind answers of other slices.
    fn answer(&self, slice: usize) -> f64 {
        let others = self.share.without(&self.shares[slice]).times(self.rate);
        let in_step = (1.0 - self.late[slice]) * (1.0 - self.lateness);
        behind(&others, self.packet) * (1.0 - in_step)
    }

    /// Part of a wait that lengthens a message.
    fn cycles(&self, wait: Wait) -> f64 {
        if self.full { wait.head } else { wait.head + wait.answer }
    }

    /// Messages in a cycle if each takes `longer` cycles more than assumed.
    fn rate_if(&self, longer: f64) -> f64 {
        self.computed_rate / slower(self.response * longer)
    }

    /// Sets the wait of messages to a slice.
    fn wait(&mut self, slice: usize, wait: Wait) {
        self.longer += self.shares[slice].messages * (self.cycles(wait) - self.cycles(self.waits[slice]));
        self.waits[slice] = wait;
        self.rate = self.rate_if(self.longer);
    }

    /// Whether the current waits make the SM noticeably faster or slower than those that its rate assumes.
    fn is_elsewhere(&self, assumed: &[Wait]) -> bool {
        let waits = self.waits.iter().zip(assumed).zip(&self.shares);
        let moved =
            waits.map(|((now, then), share)| share.messages * (self.cycles(*now) - self.cycles(*then)).abs());
        self.response * moved.sum::<f64>() > EXACT
    }
}

#[cfg(test)]
mod tests {
    use super::super::demands::{Demands, RESOURCES};
    use super::super::sm::Worker;
    use super::*;

    /// Sectors in a cycle of each SM, if 64 warps of it are always on their way to one of its slices, with
    /// messages of `sectors` sectors.
    fn saturated(sms: usize, slices: usize, sectors: u64, of: impl Fn(usize) -> Vec<usize>) -> Vec<f64> {
        let mut all = vec![Sm::new([1.0; RESOURCES], slices); sms];
        let mut network = Network::new(sms, slices, 1.0);
        for (number, sm) in all.iter_mut().enumerate() {
            let (mut demands, to) = (Demands::default(), of(number));
            to.iter().for_each(|slice| demands.message(*slice, sectors));
            let cycles = 16.0 * sectors as f64 * to.len() as f64;
            (0..64).for_each(|warp| sm.begin(Worker::Warp(warp), 1e9, demands.rates(cycles)));
        }
        network.settle(&mut all, 0);
        let sectors = |client: &Client| client.shares.iter().map(|it| it.sectors).sum::<f64>();
        network.clients.iter().map(|client| client.computed_rate * sectors(client)).collect()
    }

    /// Asserts that all have a rate, to a fortieth.
    #[track_caller]
    fn all_have(found: &[f64], rate: f64) {
        assert!(found.iter().all(|found| (found / rate - 1.0).abs() < 0.025), "{found:?}, not {rate}");
    }

    #[test]
    fn even_traffic_saturates_where_input_queues_do() {
        // Karol et al., table I, by the size of the switch.
        let known = [1.0, 0.75, 0.6825, 0.6553, 0.6399, 0.6302, 0.6234, 0.6184];
        for (size, known) in (1..).zip(known) {
            all_have(&saturated(size, size, 1, |_| (0..size).collect()), known);
        }
        // Theirs, for any number of inputs: 2 - sqrt(2). However long messages are.
        for sectors in [1, 4] {
            all_have(&saturated(64, 64, sectors, |_| (0..64).collect()), 0.586);
        }
    }

    #[test]
    fn a_slice_gives_a_sector_a_cycle() {
        all_have(&saturated(24, 24, 4, |sm| vec![sm]), 1.0);
        all_have(&saturated(24, 24, 4, |sm| vec![sm / 2]), 0.5);
        all_have(&saturated(24, 24, 1, |_| vec![3]), 1.0 / 24.0);
        // Three of ten messages go to one slice: what waits for it holds back the others, and these meet its answers, a part in twenty.
        let mixed = saturated(24, 24, 1, |_| vec![3, 3, 3, 4, 5, 6, 7, 8, 9, 10]);
        all_have(&mixed, 10.0 / 3.0 / 24.0 / 1.05);
    }

    #[test]
    fn few_sectors_do_not_wait() {
        let (mut demands, mut sms) = (Demands::default(), vec![Sm::new([1.0; RESOURCES], 2); 2]);
        demands.message(0, 1);
        for sm in &mut sms {
            sm.begin(Worker::Warp(0), 1000.0, demands.rates(1000.0));
        }
        Network::new(2, 2, 1.0).settle(&mut sms, 0);
        assert_eq!(sms.iter_mut().map(Sm::due).collect::<Vec<_>>(), [Some(1000); 2]);
    }
}
