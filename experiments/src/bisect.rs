//! The point at which two runs part: narrowing the interval of their first difference, pass by pass, to a
//! clock cycle.

use counterpoint_framework::kernel::SnapshotTimes;
use counterpoint_framework::time::{Clock, Hertz, SimTime};
use counterpoint_simulation::hashes::Hashes;

/// Snapshots of a pass that narrows.
const SNAPSHOTS: u64 = 64;

/// One pass: the times at which both runs take hashes, and the time at which they stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Times of the hashes.
    pub times: SnapshotTimes,
    /// Time at which the runs stop; later events are not needed.
    pub stop_at: Option<SimTime>,
}

/// A component that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// Path of the component.
    pub path: String,
    /// The cycle of its clock in the interval.
    pub cycle: u64,
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every component saw the same; the outcome.
    Same(String),
    /// Every component saw the same, but the runs ended in different ways: the outcome of each.
    OtherEnd(String, String),
    /// The first difference.
    Differ {
        /// Everything before this time is the same.
        from: SimTime,
        /// The runs differ before this time.
        to: SimTime,
        /// The components that differ in between, by path.
        components: Vec<Differing>,
    },
    /// A difference before this time did not show again: at least one of the runs does not repeat.
    Unsteady(SimTime),
}

/// Runs both sides again and again until the first difference is known to a cycle of the fastest clock.
///
/// # Errors
/// The error of a side that cannot run.
pub fn bisect<E>(first: Pass, sides: [&mut dyn FnMut(Pass) -> Result<Hashes, E>; 2]) -> Result<Verdict, E> {
    let mut pass = first;
    loop {
        let [one, other] = [sides[0](pass)?, sides[1](pass)?];
        let Some((from, to, paths)) = one.first_difference(&other, pass.times) else {
            return Ok(match pass.stop_at {
                Some(time) if pass != first => Verdict::Unsteady(time),
                _ if one.outcome != other.outcome => Verdict::OtherEnd(one.outcome, other.outcome),
                _ => Verdict::Same(one.outcome),
            });
        };
        let to = pass.stop_at.map_or(to, |stop| to.min(stop));
        let distance = (to - from).as_ps();
        if pass != first && from < pass.times.from {
            return Ok(Verdict::Unsteady(to));
        }
        if distance <= fastest_period(&[&one, &other]) {
            let components = paths.into_iter().map(|path| {
                let cycle = cycle(&[&one, &other], &path, from, to);
                Differing { path, cycle }
            });
            return Ok(Verdict::Differ { from, to, components: components.collect() });
        }
        let every = SimTime::from_ps(distance.div_ceil(SNAPSHOTS));
        pass = Pass { times: SnapshotTimes { from, every }, stop_at: Some(to) };
    }
}

fn fastest_period(runs: &[&Hashes]) -> u64 {
    let hertz = runs.iter().flat_map(|run| &run.components).map(|component| component.hertz).max();
    hertz.map_or(1, |hertz| Clock::new(Hertz::new(hertz)).cycles(1).floor().as_ps()).max(1)
}

/// The only cycle of a component's clock in a short interval. In a run that changes the clock itself the interval
/// may have no cycle; the other run then has one.
fn cycle(runs: &[&Hashes], path: &str, from: SimTime, to: SimTime) -> u64 {
    let clocks = runs.iter().flat_map(|run| &run.components).filter(|component| component.path == path);
    let last_before = |time: SimTime, hertz: u64| {
        Clock::new(Hertz::new(hertz)).index(time.saturating_sub(SimTime::from_ps(1)))
    };
    let cycles = clocks.map(|component| {
        let last = last_before(to, component.hertz);
        (from > SimTime::ZERO && last == last_before(from, component.hertz), last)
    });
    cycles.min().map_or(0, |(_, cycle)| cycle)
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::kernel::Snapshot;

    use super::*;
    use counterpoint_simulation::hashes::Hashed;

    /// A run that is nothing but events: (time, component, value).
    fn side(events: Vec<(u64, u32, u64)>, hertz: u64) -> impl FnMut(Pass) -> Result<Hashes, String> {
        move |pass| {
            let (from, every) = (pass.times.from.as_ps(), pass.times.every.as_ps());
            let stop = pass.stop_at.map_or(u64::MAX, SimTime::as_ps);
            let mut seen: Vec<Snapshot> = Vec::new();
            let mut hashes = [0_u64; 2];
            for &(time, process, value) in events.iter().filter(|event| event.0 < stop) {
                let after = if time < from { from } else { from + ((time - from) / every + 1) * every };
                let at = SimTime::from_ps(after.min(stop));
                let hash = &mut hashes[process as usize];
                *hash = hash.wrapping_mul(31).wrapping_add(time).wrapping_mul(31).wrapping_add(value);
                seen.retain(|snapshot| (snapshot.time, snapshot.process) != (at, process));
                seen.push(Snapshot { time: at, process, hash: *hash });
            }
            seen.sort();
            let component = |path: &str, hertz| Hashed { path: path.to_owned(), hertz };
            let components = vec![component("slow", 333_000_000), component("fast", hertz)];
            Ok(Hashes { outcome: format!("finished after {}", events.len()), components, snapshots: seen })
        }
    }

    fn start() -> Pass {
        let every = SimTime::from_ns(10_000);
        Pass { times: SnapshotTimes { from: SimTime::ZERO, every }, stop_at: None }
    }

    /// Events of both components at each of their first edges.
    fn events() -> Vec<(u64, u32, u64)> {
        let edge = |n: u64, hertz: u64| (u128::from(n) * 1_000_000_000_000 / u128::from(hertz)) as u64;
        let slow = (0..10_000).map(|n| (edge(n, 333_000_000), 0, n));
        let fast = (0..30_000).map(|n| (edge(n, 924_000_000), 1, n));
        let mut events: Vec<_> = slow.chain(fast).collect();
        events.sort_unstable();
        events
    }

    fn verdict(change: impl FnOnce(&mut Vec<(u64, u32, u64)>)) -> Verdict {
        let mut changed = events();
        change(&mut changed);
        let (mut one, mut other) = (side(events(), 924_000_000), side(changed, 924_000_000));
        bisect(start(), [&mut one, &mut other]).unwrap()
    }

    #[test]
    fn a_difference_is_found_to_the_cycle() {
        for (component, path, number) in
            [(0, "slow", 0), (0, "slow", 7_777), (1, "fast", 1), (1, "fast", 29_999)]
        {
            let found = verdict(|events| {
                let of = events.iter_mut().filter(|event| event.1 == component);
                of.skip(number).for_each(|event| event.2 += 1);
            });
            let time = events().into_iter().filter(|event| event.1 == component).nth(number).unwrap().0;
            let Verdict::Differ { from, to, components } = found else { panic!("{found:?}") };
            assert!(from.as_ps() <= time && time < to.as_ps(), "{from} to {to}: {time}");
            assert!((to - from).as_ps() <= 1_082);
            let expected = Differing { path: path.to_owned(), cycle: number as u64 };
            assert_eq!(components, [expected]);
        }
    }

    #[test]
    fn equal_runs_and_other_ends_are_told_apart() {
        assert_eq!(verdict(|_| ()), Verdict::Same("finished after 40000".to_owned()));
        let mut failing = |_| Err("no".to_owned());
        assert_eq!(bisect(start(), [&mut side(events(), 1), &mut failing]), Err("no".to_owned()));
        let mut otherwise = side(events(), 924_000_000);
        let mut otherwise =
            |pass| otherwise(pass).map(|hashes| Hashes { outcome: "failed".to_owned(), ..hashes });
        let found = bisect(start(), [&mut side(events(), 924_000_000), &mut otherwise]);
        assert_eq!(found, Ok(Verdict::OtherEnd("finished after 40000".to_owned(), "failed".to_owned())));
    }

    #[test]
    fn a_run_that_does_not_repeat_is_noticed() {
        let mut turn = 0;
        let mut moody = |pass| {
            turn += 1;
            let mut events = events();
            if turn == 1 {
                events[20_000].2 += 1;
            }
            side(events, 924_000_000)(pass)
        };
        let found = bisect(start(), [&mut side(events(), 924_000_000), &mut moody]).unwrap();
        assert!(matches!(found, Verdict::Unsteady(_)), "{found:?}");
    }
}
