//! An SM shared by its warps: the progress of each warp, and the time at which the next one ends.
//!
//! A warp is an amount of work: the cycles that it needs alone. While the warps on the SM stay the same, each advances
//! at a constant speed, which follows from the demands of all (`share.rs`); so nothing happens between the beginnings
//! and ends of warps.

use super::demands::{Demands, RESOURCES, Resource, Turns};
use super::share::{Demand, Waits};
use super::state_machine::Work;
use super::traffic::{Traffic, Wait};

/// Identifies work to the caller that put it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worker {
    /// A warp of an ordinary block, which the model names by a number.
    Warp(u32),
    /// Work of a state machine, by the position of that in the model.
    Machine(u32, Work),
}

/// Something at work.
#[derive(Clone, Debug)]
struct Resident {
    worker: Worker,
    /// Cycles of work that are left, alone.
    left: f64,
    rates: Demands,
    /// Work done in a cycle.
    speed: f64,
}

impl Resident {
    /// Cycles until its work is done, the last one as a whole; without `ceil`, which is a call where processors may lack the instruction.
    fn whole_cycles(&self) -> u64 {
        let exact = self.left.max(0.0) / self.speed;
        let begun = exact as u64;
        begun + u64::from((begun as f64) < exact)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Sm {
    capacity: Turns,
    residents: Vec<Resident>,
    /// Warps that spin until they get something to do, and the demands of one.
    pollers: u32,
    poll: Demands,
    /// Wait of an access to memory on its way.
    delay: f64,
    /// Wait of a message to each slice for messages of other SMs.
    waits: Vec<Wait>,
    /// Part of a cycle for which a packet holds a switch of the network.
    packet: f64,
    /// Whether the residents' requests to memory may differ from the last report.
    untold: bool,
    /// Whether the port is saturated.
    full: bool,
    /// Cycle up to which the work has been done.
    now: u64,
    /// Speeds are those of the residents.
    known: bool,
    visits: Waits,
    /// Cycle in which the next warp will have done its work, if nothing has changed since that was computed.
    due: Option<Due>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    /// Its traffic to each slice in a cycle.
    pub(super) traffic: Vec<Traffic>,
    /// Relative decrease of the request rate for each cycle that a message takes longer, as in a closed system of waiting warps.
    pub(super) response: f64,
    /// Whether the port is saturated, so that only the time for which messages hold the port makes them longer.
    pub(super) full: bool,
}

/// The cycle in which the next one will have done its work, if any will.
type Due = Option<u64>;

/// Cycles of work without an end, until it is stopped. Small enough to count cycles in it to a part of a thousand.
pub const ENDLESS: f64 = 1e12;
/// Work below this is done: the rest is rounding error.
const DONE: f64 = 1e-6;

impl Sm {
    pub(super) fn new(capacity: Turns, slices: usize) -> Self {
        Sm {
            capacity,
            residents: Vec::new(),
            pollers: 0,
            poll: Demands::default(),
            delay: 0.0,
            waits: vec![Wait::default(); slices],
            packet: 1.0,
            untold: false,
            full: false,
            now: 0,
            known: true,
            visits: Waits::default(),
            due: None,
        }
    }

    /// The SM on a network where a packet occupies a switch for `packet` cycles.
    pub(super) fn behind(self, packet: f64) -> Self {
        Sm { packet, ..self }
    }

    /// Advances the work of the warps to a cycle.
    pub(super) fn advance(&mut self, cycle: u64) {
        if cycle <= self.now {
            return;
        }
        self.balance();
        let time = (cycle - self.now) as f64;
        for resident in &mut self.residents {
            resident.left -= resident.speed * time;
        }
        self.now = cycle;
        self.due = None;
    }

    /// Puts something to work: its cycles alone, and its demands in each.
    pub(super) fn begin(&mut self, worker: Worker, cycles: f64, mut rates: Demands) {
        rates.route(&self.waits, self.packet);
        self.residents.push(Resident { worker, left: cycles, rates, speed: 0.0 });
        self.change();
    }

    /// Takes something away that is not done; gives the work that is left.
    pub(super) fn stop(&mut self, worker: Worker) -> Option<f64> {
        let place = self.residents.iter().position(|it| it.worker == worker && it.left > DONE)?;
        self.change();
        Some(self.residents.remove(place).left)
    }

    /// Adds `more` polling warps, or removes some.
    pub(super) fn poll(&mut self, more: i32, demands: &Demands) {
        self.pollers = self.pollers.saturating_add_signed(more);
        self.poll.clone_from(demands);
        self.change();
    }

    /// From now on an access to memory waits `delay` cycles on its way there.
    pub(super) fn delay(&mut self, delay: f64) {
        if self.delay != delay {
            self.delay = delay;
            self.change();
        }
    }

    /// Wait that is assumed for a message to each slice, for messages of other SMs.
    pub(super) fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// Moves the assumed waits to `waits`, or by `part` of the way to them.
    pub(super) fn route(&mut self, waits: &[Wait], part: f64) {
        self.waits.iter_mut().zip(waits).for_each(|(known, wait)| *known = known.towards(wait, part));
        let Sm { residents, waits, packet, .. } = self;
        residents.iter_mut().for_each(|it| it.rates.route(waits, *packet));
        self.change();
    }

    /// The SM's load on the network, if it may differ from the last report.
    pub(super) fn load(&mut self) -> Option<Load> {
        if !std::mem::replace(&mut self.untold, false) {
            return None;
        }
        self.balance();
        let mut traffic = vec![Traffic::default(); self.waits.len()];
        let (mut all, mut squares) = (0.0, 0.0);
        for Resident { rates, speed, .. } in &self.residents {
            rates.traffic.iter().zip(&mut traffic).for_each(|(of_slice, sum)| sum.add(of_slice, *speed));
            let rate = rates.traffic.iter().map(|it| it.messages).sum::<f64>() * speed;
            all += rate;
            squares += rate * rate;
        }
        // A warp asks again when it has its answer; what waits for the port makes up for what others wait less.
        let response = if self.full || all == 0.0 { all } else { squares / all };
        Some(Load { traffic, response, full: self.full })
    }

    /// The first that has done its work.
    pub(super) fn take_done(&mut self) -> Option<Worker> {
        let place = self.residents.iter().position(|it| it.left <= DONE)?;
        self.change();
        Some(self.residents.remove(place).worker)
    }

    /// The residents, or their speeds, have changed.
    fn change(&mut self) {
        (self.known, self.untold) = (false, true);
        self.due = None;
    }

    /// The cycle in which the next one will have done its work.
    pub(super) fn due(&mut self) -> Due {
        if let Some(due) = self.due {
            return due;
        }
        self.balance();
        let ending = self.residents.iter().filter(|it| it.left < ENDLESS / 2.0);
        let due = ending.map(|it| self.now + it.whole_cycles().max(u64::from(it.left > DONE))).min();
        *self.due.insert(due)
    }

    /// Finds the speeds of all.
    fn balance(&mut self) {
        if std::mem::replace(&mut self.known, true) {
            return;
        }
        let warps = self.residents.iter().map(|it| Demand { warps: 1.0, demands: &it.rates });
        let pollers =
            (self.pollers > 0).then_some(Demand { warps: self.pollers.into(), demands: &self.poll });
        let demands: Vec<Demand<'_>> = warps.chain(pollers).collect();
        let mut known = [0.0; RESOURCES];
        (known[Resource::MemoryPath as usize], known[Resource::Network as usize]) = (self.delay, 1.0);
        let waits = self.visits.find(&demands, &self.capacity, &known);
        self.full = waits[Resource::Port as usize] > 0.0;
        for resident in &mut self.residents {
            resident.speed = 1.0 / resident.rates.slowdown(&waits);
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Requests in step, so that all is exact: nobody waits until there is not enough.
    fn asking(rate: f64) -> Demands {
        let mut turns = [0.0; RESOURCES];
        turns[Resource::Port as usize] = rate;
        Demands::single(turns)
    }

    fn run(sm: &mut Sm) -> Vec<(u64, Worker)> {
        let mut ends = Vec::new();
        while let Some(due) = sm.due() {
            sm.advance(due);
            while let Some(worker) = sm.take_done() {
                ends.push((due, worker));
            }
        }
        ends
    }

    #[test]
    fn warps_that_have_enough_take_their_own_time() {
        let mut sm = Sm::new([4.0; RESOURCES], 0);
        sm.begin(Worker::Warp(1), 100.0, asking(0.5));
        sm.advance(30);
        sm.begin(Worker::Warp(2), 50.0, asking(1.0));
        assert_eq!(run(&mut sm), [(80, Worker::Warp(2)), (100, Worker::Warp(1))]);
    }

    #[test]
    fn eight_warps_on_four_slots_take_twice_as_long_until_some_have_ended() {
        let mut sm = Sm::new([4.0; RESOURCES], 0);
        for warp in 0..8 {
            sm.begin(Worker::Warp(warp), if warp < 4 { 100.0 } else { 150.0 }, asking(1.0));
        }
        let ends = run(&mut sm);
        assert_eq!((ends[0].0, ends[3].0), (200, 200));
        assert_eq!((ends[4].0, ends[7].0), (250, 250), "the last 50 cycles have all slots");
    }

    #[test]
    fn pollers_take_turns_and_never_end() {
        let mut sm = Sm::new([1.0; RESOURCES], 0);
        sm.poll(3, &asking(0.5));
        sm.begin(Worker::Warp(0), 100.0, asking(0.5));
        // Two turns are wanted in a cycle: all take twice as long.
        assert_eq!(run(&mut sm), [(200, Worker::Warp(0))]);
        sm.poll(-3, &asking(0.5));
        sm.begin(Worker::Warp(0), 100.0, asking(0.5));
        assert_eq!(run(&mut sm), [(300, Worker::Warp(0))]);
    }

    #[test]
    fn what_is_stopped_says_what_is_left() {
        let mut sm = Sm::new([1.0; RESOURCES], 0);
        sm.begin(Worker::Machine(1, Work(7)), 100.0, asking(0.1));
        sm.advance(40);
        assert_eq!(sm.stop(Worker::Machine(1, Work(7))), Some(60.0));
        assert_eq!(sm.due(), None);
    }
}
