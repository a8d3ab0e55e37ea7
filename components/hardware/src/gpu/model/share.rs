//! How the warps on an SM share what there is only so much of: the equilibrium of a closed network of queues.
//!
//! A warp alone comes to a resource `n` times in each cycle of its life, and takes one or more turns there each time. Where several warps
//! come, they meet: a visit waits as in a queue that is first come, first served, with arrivals at random and turns of fixed length
//! (Pollaczek and Khinchine), behind what the other warps bring. A warp that would have taken one cycle then takes `1 + sum(n * wait)`, so it comes
//! less often: the waits are those which the warps, so slowed down, cause. No resource gives more turns than it has, however few warps
//! want them.
//!
//! What comes out of one resource in step does not meet at the next: where all that comes has passed a scheduler or the load-store unit,
//! nothing waits until there are more turns wanted than there are ([`Resource::meets`]).

use super::traffic::{Traffic, Wait};

/// What warps take turns at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    /// Instructions issued.
    Issue,
    /// The units for integers, single precision and control.
    Sp,
    /// Those for approximations and divisions.
    Sfu,
    /// Those for double precision.
    Dp,
    /// The load-store unit.
    LoadStore,
    /// The SM's port to the network, for as long as each message waits there for its slice (`network.rs`).
    Port,
    /// Banks of the register file.
    Banks,
    /// Operand collectors, each for as long as an instruction has one.
    Collectors,
    /// The way to memory, on which nobody takes turns and what goes there may wait behind looks at a lock (`Sm::delay`).
    Way,
    /// What is between the port and the answer, on which nobody takes turns and messages wait for those of other SMs.
    Network,
}

impl Resource {
    const ALL: [Resource; RESOURCES] = {
        use Resource::{Banks, Collectors, Dp, Issue, LoadStore, Network, Port, Sfu, Sp, Way};
        [Issue, Sp, Sfu, Dp, LoadStore, Port, Banks, Collectors, Way, Network]
    };

    /// Whether warps that come to it meet by chance: not if all of them come from another resource that gives turns as often.
    fn meets(self) -> bool {
        match self {
            // Which banks an instruction needs is chance.
            Resource::Issue | Resource::Sfu | Resource::Dp | Resource::LoadStore | Resource::Banks => true,
            Resource::Sp | Resource::Collectors | Resource::Port | Resource::Way | Resource::Network => false,
        }
    }
}

/// How many there are.
pub(super) const RESOURCES: usize = 10;

/// An amount of each.
pub(super) type Turns = [f64; RESOURCES];

/// What a warp wants of each resource: in all, or in each cycle that it would need alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wants {
    /// Turns that it takes.
    pub(super) turns: Turns,
    /// How often it comes for them.
    pub(super) visits: Turns,
    /// The squares of the turns of each visit, summed up: who comes meets long visits more often than short ones.
    pub(super) squares: Turns,
    /// What it asks of each slice of the L2 or writes there; nothing of those behind the last.
    pub(super) traffic: Vec<Traffic>,
}

impl Wants {
    /// One visit more, for so many turns.
    #[inline]
    pub(super) fn visit(&mut self, resource: Resource, turns: u64) {
        self.turns[resource as usize] += turns as f64;
        self.visits[resource as usize] += 1.0;
        self.squares[resource as usize] += (turns * turns) as f64;
    }

    /// One visit more for several turns of one cycle side by side, if there are any.
    #[inline]
    pub(super) fn visit_together(&mut self, resource: Resource, turns: u64) {
        self.turns[resource as usize] += turns as f64;
        self.visits[resource as usize] += f64::from(turns.min(1) as u32);
        self.squares[resource as usize] += turns as f64;
    }

    /// Visits of a turn each, so many of each resource.
    pub(super) fn single(turns: Turns) -> Self {
        Wants { turns, visits: turns, squares: turns, traffic: Vec::new() }
    }

    /// One message more to a slice.
    #[inline]
    pub(super) fn message(&mut self, slice: usize, sectors: u64) {
        if self.traffic.len() <= slice {
            self.traffic.resize(slice + 1, Traffic::default());
        }
        let sectors = sectors as f64;
        self.traffic[slice].add(&Traffic { messages: 1.0, sectors, squares: sectors * sectors }, 1.0);
    }

    /// What its traffic wants of port and network, where messages to each slice wait so long.
    pub(super) fn route(&mut self, waits: &[Wait]) {
        if self.traffic.is_empty() {
            return;
        }
        let (mut visits, mut held, mut away) = (0.0, 0.0, 0.0);
        for (Traffic { messages, sectors, .. }, wait) in self.traffic.iter().zip(waits) {
            visits += messages;
            held += sectors + messages * wait.head;
            away += messages * (wait.head + wait.answer);
        }
        self.visits[Resource::Port as usize] = visits;
        self.turns[Resource::Port as usize] = held;
        self.visits[Resource::Network as usize] = away;
    }

    /// With so much of something else.
    pub(super) fn with(mut self, other: &Wants, times: f64) -> Self {
        for resource in 0..RESOURCES {
            self.turns[resource] += other.turns[resource] * times;
            self.visits[resource] += other.visits[resource] * times;
            self.squares[resource] += other.squares[resource] * times;
        }
        if self.traffic.len() < other.traffic.len() {
            self.traffic.resize(other.traffic.len(), Traffic::default());
        }
        self.traffic.iter_mut().zip(&other.traffic).for_each(|(all, more)| all.add(more, times));
        self
    }

    /// How many cycles the warp takes for what is one cycle alone.
    pub(super) fn slowdown(&self, waits: &Turns) -> f64 {
        self.visits.iter().zip(waits).fold(1.0, |sum, (visits, wait)| sum + visits * wait)
    }
}

/// So many warps that want the same in each cycle that they would need alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand<'a> {
    /// Warps.
    pub(super) warps: f64,
    /// What one of them wants.
    pub(super) wants: &'a Wants,
}

/// Rounds in which the waits of several resources find each other: each depends on the others, and most SMs are short of one thing.
const ROUNDS: usize = 4;
/// Steps in which one wait is found.
const STEPS: usize = 14;
/// Waits are as exact as this part of a turn.
const EXACT: f64 = 1e-3;

/// How long a visit waits at each resource, if that is known of those at which nobody takes turns.
pub(super) fn waits(demands: &[Demand<'_>], capacity: &Turns, known: &Turns) -> Turns {
    let mut waits = *known;
    let wanted = |resource: &Resource| demands.iter().any(|it| it.wants.turns[*resource as usize] > 0.0);
    let wanted: Vec<Resource> = Resource::ALL.into_iter().filter(wanted).collect();
    for _ in 0..ROUNDS {
        for &resource in &wanted {
            waits[resource as usize] = 0.0;
            waits[resource as usize] = wait(demands, resource, capacity[resource as usize], &waits);
        }
    }
    waits
}

/// What comes to a resource where a visit waits so long.
struct Load {
    /// Turns taken in a cycle, of those that there are.
    taken: f64,
    /// How long a visit would wait behind what the others bring; nothing if they bring more than there is.
    behind: Option<f64>,
}

impl Load {
    /// Visits of a resource wait so long, and take so much longer than they would alone.
    fn of(demands: &[(f64, Demand<'_>)], resource: Resource, capacity: f64, longer: f64, wait: f64) -> Load {
        let at = resource as usize;
        let (mut taken, mut own, mut size) = (0.0, 0.0, 0.0);
        for (time, Demand { warps, wants }) in demands {
            let (turns, visits) = (wants.turns[at] + wants.visits[at] * longer, wants.visits[at]);
            let rate = turns / (time + visits * wait);
            taken += warps * rate;
            own += warps * rate * rate;
            size += warps * wants.squares[at] / (time + visits * wait);
        }
        if !resource.meets() {
            return Load { taken: taken / capacity, behind: Some(0.0) };
        }
        // A warp does not wait for itself: of what is taken, it meets the others'. Schedulers and units have their warps, as many each, so
        // that few warps do not meet; all come to any bank.
        let others = match resource {
            Resource::Banks => (taken - own / taken) / capacity,
            _ => taken / capacity - own / taken,
        };
        let others = others.max(0.0);
        let behind = (others < 1.0).then(|| size / taken / 2.0 * others / (1.0 - others));
        Load { taken: taken / capacity, behind }
    }

    /// Whether visits have to wait longer than they do.
    fn is_beyond(&self, wait: f64) -> bool {
        self.taken > 1.0 || self.behind.is_none_or(|behind| behind > wait)
    }
}

/// The wait at one resource, if those at the others are known.
fn wait(demands: &[Demand<'_>], resource: Resource, capacity: f64, others: &Turns) -> f64 {
    let wanting = demands.iter().filter(|it| it.wants.turns[resource as usize] > 0.0);
    let demands: Vec<_> = wanting.map(|it| (it.wants.slowdown(others), *it)).collect();
    // A collector is kept while its operands wait for their banks.
    let longer = if resource == Resource::Collectors { others[Resource::Banks as usize] } else { 0.0 };
    let is_beyond = |wait| Load::of(&demands, resource, capacity, longer, wait).is_beyond(wait);
    if !is_beyond(0.0) {
        return 0.0;
    }
    // Longer waits bring fewer visits, which wait less: there is one wait at which both agree.
    let (mut low, mut high) = (0.0, 1.0);
    while is_beyond(high) {
        (low, high) = (high, 2.0 * high);
    }
    halve([low, high], STEPS, EXACT, is_beyond)
}

/// The value between two up to which something holds, found in so many steps at most, each of which halves what is not known, or until that is
/// less than what matters.
pub(super) fn halve(
    [mut low, mut high]: [f64; 2],
    steps: usize,
    exact: f64,
    holds: impl Fn(f64) -> bool,
) -> f64 {
    for _ in 0..steps {
        if high - low < exact {
            break;
        }
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    /// So many warps that want the same.
    struct Alike {
        warps: f64,
        wants: Wants,
    }

    fn waits(all: &[Alike], capacity: &Turns) -> Turns {
        let demands: Vec<_> =
            all.iter().map(|Alike { warps, wants }| Demand { warps: *warps, wants }).collect();
        super::waits(&demands, capacity, &[0.0; RESOURCES])
    }

    fn demand(warps: u32, issue: f64, load_store: f64) -> Alike {
        let mut turns = [0.0; RESOURCES];
        turns[Resource::Issue as usize] = issue;
        turns[Resource::LoadStore as usize] = load_store;
        Alike { warps: warps.into(), wants: Wants::single(turns) }
    }

    fn sectors(warps: u32, sectors: f64) -> Alike {
        let mut turns = [0.0; RESOURCES];
        turns[Resource::Port as usize] = sectors;
        Alike { warps: warps.into(), wants: Wants::single(turns) }
    }

    fn capacity() -> Turns {
        let mut capacity = [1.0; RESOURCES];
        capacity[Resource::Issue as usize] = 4.0;
        capacity
    }

    #[test]
    fn a_warp_does_not_wait_for_itself() {
        assert_eq!(waits(&[demand(1, 0.9, 0.5)], &capacity()), [0.0; RESOURCES]);
    }

    #[test]
    fn what_comes_in_step_waits_only_where_there_is_not_enough() {
        assert_eq!(waits(&[sectors(9, 0.1)], &capacity()), [0.0; RESOURCES]);
        let one = sectors(20, 0.1);
        let waits = waits(from_ref(&one), &capacity());
        // 2 turns are wanted and 1 is there: a cycle becomes two.
        assert!((one.wants.slowdown(&waits) - 2.0).abs() < 1e-3, "{waits:?}");
    }

    #[test]
    fn visits_wait_as_in_a_queue_with_arrivals_at_random() {
        // Many warps that come seldom: the wait hardly changes how often. Half of the unit is taken.
        let waits = waits(&[demand(1000, 0.0, 0.0005)], &capacity());
        let wait = waits[Resource::LoadStore as usize];
        assert!((wait - 0.5 / (2.0 * (1.0 - 0.5))).abs() < 0.01, "{wait}");
    }

    #[test]
    fn who_comes_meets_long_visits_more_often_than_short_ones() {
        let long = {
            let mut wants = Wants::default();
            wants.visit(Resource::LoadStore, 4);
            Alike { warps: 1000.0, wants: Wants::default().with(&wants, 0.000_125) }
        };
        let waits = waits(&[long], &capacity());
        // As much is taken as above, in visits of four turns.
        let wait = waits[Resource::LoadStore as usize];
        assert!((wait - 4.0 * 0.5).abs() < 0.03, "{wait}");
    }

    #[test]
    fn nothing_gives_more_turns_than_it_has() {
        let few = [demand(2, 0.0, 1.0), demand(1, 0.0, 0.9)];
        let many = [demand(60, 0.0, 1.0 / 40.0), demand(1, 0.0, 1.0 / 400.0)];
        let mixed = [demand(40, 0.2, 0.05), demand(10, 0.8, 0.0)];
        for all in [&few, &many, &mixed] {
            let waits = waits(all, &capacity());
            for (resource, capacity) in [(Resource::Issue, 4.0), (Resource::LoadStore, 1.0)] {
                let taken =
                    |it: &Alike| it.warps * it.wants.turns[resource as usize] / it.wants.slowdown(&waits);
                let taken: f64 = all.iter().map(taken).sum();
                assert!(taken < capacity * 1.01, "{resource:?}: {taken}");
            }
        }
    }

    #[test]
    fn a_visit_waits_equally_long_for_all() {
        // 60 warps take a turn in 40 cycles each, one takes one in 400.
        let both = [demand(60, 0.0, 1.0 / 40.0), demand(1, 0.0, 1.0 / 400.0)];
        let waits = waits(&both, &capacity());
        let [often, seldom] = both.map(|it| it.wants.slowdown(&waits));
        let (each, alone) = (40.0 * (often - 1.0), 400.0 * (seldom - 1.0));
        assert!((each - alone).abs() < 1e-6, "{each} {alone}");
    }

    #[test]
    fn a_collector_is_kept_while_operands_wait_for_their_banks() {
        let mut turns = [0.0; RESOURCES];
        turns[Resource::Banks as usize] = 0.05;
        turns[Resource::Collectors as usize] = 0.05;
        let one = Alike { warps: 16.0, wants: Wants::single(turns) };
        let waits = waits(from_ref(&one), &capacity());
        let bank = waits[Resource::Banks as usize];
        assert!(bank > 0.4, "{waits:?}");
        let kept = 16.0 * 0.05 * (1.0 + bank) / one.wants.slowdown(&waits);
        assert!(kept < 1.01, "{kept}");
    }
}
