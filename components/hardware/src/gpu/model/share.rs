//! How the warps on an SM share what there is only so much of: the equilibrium of a closed network of queues.
//!
//! A warp alone comes to a resource `n` times in each cycle of its life, and takes one or more turns there each time. Where all warps together
//! would take more turns than there are, each visit waits, and every visit of a resource waits as long as any other, as in a queue that is
//! first come, first served. A warp that would have taken one cycle then takes `1 + sum(n * wait)`. The waits are the smallest with which no
//! resource gives more turns than it has.
//! Below saturation nothing waits: that turns meet by chance is not modelled.

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
    /// Sectors from memory.
    Replies,
    /// Sectors to memory.
    Requests,
    /// The way to memory, on which nobody takes turns and what goes there may wait behind looks at a lock (`Sm::delay`).
    Way,
}

/// How many there are.
pub(super) const RESOURCES: usize = 8;

/// An amount of each.
pub(super) type Turns = [f64; RESOURCES];

/// What a warp wants of each resource: in all, or in each cycle that it would need alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Wants {
    /// Turns that it takes.
    pub(super) turns: Turns,
    /// How often it comes for them.
    pub(super) visits: Turns,
}

impl Wants {
    /// One visit more, for so many turns.
    #[inline]
    pub(super) fn visit(&mut self, resource: Resource, turns: u64) {
        self.turns[resource as usize] += turns as f64;
        self.visits[resource as usize] += 1.0;
    }

    /// With so much of something else.
    pub(super) fn with(mut self, other: &Wants, times: f64) -> Self {
        for resource in 0..RESOURCES {
            self.turns[resource] += other.turns[resource] * times;
            self.visits[resource] += other.visits[resource] * times;
        }
        self
    }

    /// How many cycles the warp takes for what is one cycle alone.
    pub(super) fn slowdown(&self, waits: &Turns) -> f64 {
        self.visits.iter().zip(waits).fold(1.0, |sum, (visits, wait)| sum + visits * wait)
    }
}

/// So many warps that want the same in each cycle that they would need alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// Warps.
    pub(super) warps: f64,
    /// What one of them wants.
    pub(super) wants: Wants,
}

/// Rounds in which the waits of several resources find each other: each depends on the others, and most SMs are short of one thing.
const ROUNDS: usize = 4;
/// Newton's steps for one resource, which go up to the wait and never beyond.
const STEPS: usize = 12;

/// How long a visit waits at each resource.
pub(super) fn waits(demands: &[Demand], capacity: &Turns) -> Turns {
    let mut waits = [0.0; RESOURCES];
    let total = |resource: usize| demands.iter().map(|it| it.warps * it.wants.turns[resource]).sum::<f64>();
    let short: Vec<usize> = (0..RESOURCES).filter(|&resource| total(resource) > capacity[resource]).collect();
    let rounds = if short.len() > 1 { ROUNDS } else { 1 };
    for _ in 0..rounds {
        for &resource in &short {
            waits[resource] = 0.0;
            waits[resource] = wait(demands, resource, capacity[resource], &waits);
        }
    }
    waits
}

/// The wait at one resource, if those at the others are known.
fn wait(demands: &[Demand], resource: usize, capacity: f64, others: &Turns) -> f64 {
    let mut wait = 0.0;
    for _ in 0..STEPS {
        let (mut taken, mut slope) = (0.0, 0.0);
        for Demand { warps, wants } in demands.iter().filter(|it| it.wants.turns[resource] > 0.0) {
            let (turns, visits) = (wants.turns[resource], wants.visits[resource]);
            let time = wants.slowdown(others) + visits * wait;
            taken += warps * turns / time;
            slope += warps * turns * visits / (time * time);
        }
        let excess = taken - capacity;
        if excess <= capacity * 1e-9 {
            break;
        }
        wait += excess / slope;
    }
    wait
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(warps: u32, issue: f64, load_store: f64) -> Demand {
        let mut turns = [0.0; RESOURCES];
        turns[Resource::Issue as usize] = issue;
        turns[Resource::LoadStore as usize] = load_store;
        Demand { warps: warps.into(), wants: Wants { turns, visits: turns } }
    }

    fn capacity() -> Turns {
        let mut capacity = [4.0; RESOURCES];
        capacity[Resource::LoadStore as usize] = 1.0;
        capacity
    }

    #[test]
    fn nobody_waits_where_there_is_enough() {
        assert_eq!(waits(&[demand(8, 0.5, 0.125)], &capacity()), [0.0; RESOURCES]);
    }

    #[test]
    fn equal_warps_share_what_there_is() {
        let one = demand(16, 0.5, 0.0);
        let waits = waits(&[one], &capacity());
        // 8 turns are wanted and 4 are there: a cycle becomes two.
        assert!((one.wants.slowdown(&waits) - 2.0).abs() < 1e-9, "{waits:?}");
    }

    #[test]
    fn a_visit_for_many_turns_waits_once() {
        let mut few = demand(1, 0.0, 0.5);
        few.wants.visits[Resource::LoadStore as usize] = 0.125;
        let all = [demand(8, 0.0, 0.125), few];
        let waits = waits(&all, &capacity());
        assert!((all[0].wants.slowdown(&waits) - few.wants.slowdown(&waits)).abs() < 1e-9, "{waits:?}");
        assert!((1.5 / few.wants.slowdown(&waits) - 1.0).abs() < 1e-6, "{waits:?}");
    }

    #[test]
    fn a_visit_waits_equally_long_for_all() {
        // 60 warps take a turn in 40 cycles each, one takes one in 400.
        let (often, seldom) = (demand(60, 0.0, 1.0 / 40.0), demand(1, 0.0, 1.0 / 400.0));
        let waits = waits(&[often, seldom], &capacity());
        let [often, seldom] = [often, seldom].map(|it| it.wants.slowdown(&waits));
        let (each, alone) = (40.0 * (often - 1.0), 400.0 * (seldom - 1.0));
        assert!((each - alone).abs() < 1e-6, "{each} {alone}");
        let taken = 60.0 / (40.0 * often) + 1.0 / (400.0 * seldom);
        assert!((taken - 1.0).abs() < 1e-6, "{taken}");
    }

    #[test]
    fn two_short_resources_are_both_obeyed() {
        let all = [demand(40, 0.2, 0.05), demand(10, 0.8, 0.0)];
        let waits = waits(&all, &capacity());
        for (resource, capacity) in [(Resource::Issue, 4.0), (Resource::LoadStore, 1.0)] {
            let taken =
                |it: &Demand| it.warps * it.wants.turns[resource as usize] / it.wants.slowdown(&waits);
            let taken: f64 = all.iter().map(taken).sum();
            assert!(taken < capacity * 1.01, "{resource:?}: {taken}");
        }
    }
}
