//! Sharing of an SM's limited resources by its warps: the equilibrium of a closed network of queues.
//!
//! A warp alone visits a resource `n` times in each cycle of its life, and takes one or more turns in each visit. The visits of several
//! warps queue: a visit has the M/G/1 waiting time (Pollaczek and Khinchine: first come, first served, random arrivals, turns of fixed
//! length) at the load of the other warps. A warp that would have taken one cycle then takes `1 + sum(n * wait)`, so it visits less often:
//! the waits are those which the warps, so slowed down, cause. No resource gives more turns than it has, however few warps want them.
//!
//! Visits that leave one resource in step do not meet at the next: where all have passed a scheduler or the
//! load-store unit, nothing waits until demand exceeds the turns that there are ([`Resource::meets`]).

use super::demands::{Demands, RESOURCES, Resource, Turns};
use super::search::{Grid, first};

/// Warps with the same demand in each cycle that they would need alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand<'a> {
    pub(super) warps: f64,
    pub(super) demands: &'a Demands,
}

/// Rounds in which the waits at several resources converge: each depends on the others, and most SMs are short of one resource.
const ROUNDS: usize = 4;
/// Waits are as exact as a part in a thousand of a turn, or in ten thousand of themselves.
const WAITS: Grid = Grid { spacing: 1.0 / 1024.0, even: 15, doublings: 40 };
/// Amounts below this are the rounding error of 0.
const ROUNDING: f64 = 1e-9;

/// Waits of an SM's visits at each resource in each round, as computed last: points of [`WAITS`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waits([[u32; RESOURCES]; ROUNDS]);

impl Waits {
    /// Computes the waits; `known` gives the waits at resources on which nobody takes turns.
    pub(super) fn find(&mut self, demands: &[Demand<'_>], capacity: &Turns, known: &Turns) -> Turns {
        let mut waits = *known;
        let wanted =
            |resource: &Resource| demands.iter().any(|it| it.demands.turns[*resource as usize] > 0.0);
        let wanted: Vec<Resource> = Resource::ALL.into_iter().filter(wanted).collect();
        let mut times: Vec<f64> = demands.iter().map(|it| it.demands.slowdown(&waits)).collect();
        let mut visitors = Vec::new();
        for found in &mut self.0 {
            let before = waits;
            for &resource in &wanted {
                let at = resource as usize;
                // A collector is kept while its operands wait for their banks.
                let kept =
                    if resource == Resource::Collectors { waits[Resource::Banks as usize] } else { 0.0 };
                gather(&mut visitors, demands, &times, at, waits[at], kept);
                let excess = |number| excess(&visitors, resource, capacity[at], WAITS.point(number));
                found[at] = first(WAITS.points(), found[at], excess);
                let wait = WAITS.point(found[at]);
                for (time, Demand { demands, .. }) in times.iter_mut().zip(demands) {
                    *time += demands.visits[at] * (wait - waits[at]);
                }
                waits[at] = wait;
            }
            if waits == before {
                break;
            }
        }
        waits
    }
}

/// Warps that are computed together, as SIMD lanes of the host.
const BATCH: usize = 4;

/// Warps that visit a resource.
#[derive(Clone, Copy, Default)]
struct Visitors {
    warps: [f64; BATCH],
    /// Slowdown of each warp against running alone, if nobody waits at this resource.
    time: [f64; BATCH],
    turns: [f64; BATCH],
    visits: [f64; BATCH],
    squares: [f64; BATCH],
}

/// Gathers the warps that visit a resource. Their times contain waits of `wait` there, and each visit keeps
/// the resource `kept` longer than alone.
fn gather(
    visitors: &mut Vec<Visitors>,
    demands: &[Demand<'_>],
    times: &[f64],
    at: usize,
    wait: f64,
    kept: f64,
) {
    visitors.clear();
    let coming = times.iter().zip(demands).filter(|(_, demand)| demand.demands.turns[at] > 0.0);
    for (number, (time, Demand { warps, demands })) in coming.enumerate() {
        let place = number % BATCH;
        if place == 0 {
            // Nobody yet, in a time by which rates can be divided.
            visitors.push(Visitors { time: [1.0; BATCH], ..Visitors::default() });
        }
        if let Some(last) = visitors.last_mut() {
            let visits = demands.visits[at];
            last.warps[place] = *warps;
            last.time[place] = time - visits * wait;
            last.turns[place] = demands.turns[at] + visits * kept;
            last.visits[place] = visits;
            last.squares[place] = demands.squares[at];
        }
    }
}

/// Excess demand at this wait: above 0 if visits have to wait longer; it falls with a longer wait.
fn excess(visitors: &[Visitors], resource: Resource, capacity: f64, wait: f64) -> f64 {
    let (mut taken, mut own, mut size) = ([0.0; BATCH], [0.0; BATCH], [0.0; BATCH]);
    for Visitors { warps, time, turns, visits, squares } in visitors {
        for at in 0..BATCH {
            let often = 1.0 / (time[at] + visits[at] * wait);
            let rate = turns[at] * often;
            taken[at] += warps[at] * rate;
            own[at] += warps[at] * rate * rate;
            size[at] += warps[at] * squares[at] * often;
        }
    }
    let [taken, own, size] = [taken, own, size].map(|it| it.iter().sum::<f64>());
    let beyond = taken / capacity - 1.0;
    if !resource.meets() {
        return beyond;
    }
    // A warp does not wait for itself, only for the turns of other warps. Schedulers and units have warps of their own, in equal
    // numbers, so that few warps do not meet; all warps use all banks.
    let others = match resource {
        Resource::Banks => (taken - own / taken) / capacity,
        _ => taken / capacity - own / taken,
    };
    let others = if others > ROUNDING { others } else { 0.0 };
    // A visit waits for `others / (1 - others)` of half a visit behind them.
    beyond.max(size / taken / 2.0 * others - wait * (1.0 - others))
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    /// Warps with the same demand.
    struct Alike {
        warps: f64,
        demands: Demands,
    }

    fn waits(all: &[Alike], capacity: &Turns) -> Turns {
        let demands: Vec<_> =
            all.iter().map(|Alike { warps, demands }| Demand { warps: *warps, demands }).collect();
        Waits::default().find(&demands, capacity, &[0.0; RESOURCES])
    }

    fn demand(warps: u32, issue: f64, load_store: f64) -> Alike {
        let mut turns = [0.0; RESOURCES];
        turns[Resource::Issue as usize] = issue;
        turns[Resource::LoadStore as usize] = load_store;
        Alike { warps: warps.into(), demands: Demands::single(turns) }
    }

    fn sectors(warps: u32, sectors: f64) -> Alike {
        let mut turns = [0.0; RESOURCES];
        turns[Resource::Port as usize] = sectors;
        Alike { warps: warps.into(), demands: Demands::single(turns) }
    }

    fn capacity() -> Turns {
        let mut capacity = [1.0; RESOURCES];
        capacity[Resource::Issue as usize] = 4.0;
        capacity
    }

    #[test]
    fn a_warp_does_not_wait_for_itself() {
        for part in 1..10 {
            let alone = demand(1, 1.0 / f64::from(part), 1.0 / f64::from(part + 1));
            assert_eq!(waits(&[alone], &capacity()), [0.0; RESOURCES]);
        }
    }

    #[test]
    fn what_comes_in_step_waits_only_where_there_is_not_enough() {
        assert_eq!(waits(&[sectors(9, 0.1)], &capacity()), [0.0; RESOURCES]);
        let one = sectors(20, 0.1);
        let waits = waits(from_ref(&one), &capacity());
        // 2 turns are wanted and 1 is available: a cycle becomes two.
        assert!((one.demands.slowdown(&waits) - 2.0).abs() < 1e-3, "{waits:?}");
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
            let mut demands = Demands::default();
            demands.visit(Resource::LoadStore, 4, 1);
            Alike { warps: 1000.0, demands: Demands::default().with(&demands, 0.000_125) }
        };
        let waits = waits(&[long], &capacity());
        // The same load as above, in visits of four turns.
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
                    |it: &Alike| it.warps * it.demands.turns[resource as usize] / it.demands.slowdown(&waits);
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
        let [often, seldom] = both.map(|it| it.demands.slowdown(&waits));
        let (each, alone) = (40.0 * (often - 1.0), 400.0 * (seldom - 1.0));
        assert!((each - alone).abs() < 1e-6, "{each} {alone}");
    }

    #[test]
    fn a_collector_is_kept_while_operands_wait_for_their_banks() {
        let mut turns = [0.0; RESOURCES];
        turns[Resource::Banks as usize] = 0.05;
        turns[Resource::Collectors as usize] = 0.05;
        let one = Alike { warps: 16.0, demands: Demands::single(turns) };
        let waits = waits(from_ref(&one), &capacity());
        let bank = waits[Resource::Banks as usize];
        assert!(bank > 0.4, "{waits:?}");
        let kept = 16.0 * 0.05 * (1.0 + bank) / one.demands.slowdown(&waits);
        assert!(kept < 1.01, "{kept}");
    }
}
