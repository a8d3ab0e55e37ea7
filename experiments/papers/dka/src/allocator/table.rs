//! The table of a pair of kernels, and its decision: the number of SMs of each at which the slower one is as
//! fast as possible (Mu et al., IEICE 2013, sections 3.1 and 3.3).
//!
//! Measurements are times T; computations use the performance P = 1 / T. Each entry holds, for a number of
//! SMs of the first kernel, the performance of both, the newest that was measured. Between entries
//! performance is interpolated linearly, and a kernel without SMs has none. Where the two curves cross, one
//! of the two whole numbers of SMs beside is chosen: that at which the slower kernel is faster.

use super::arithmetic::Real;

/// Performance at one split, where it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry<R> {
    first: Option<R>,
    second: Option<R>,
}

/// The table of a pair.
#[derive(Clone, Debug)]
pub struct Table<R> {
    /// Entries by the number of SMs of the first kernel, from none to all.
    entries: Vec<Entry<R>>,
    /// Times are divided by two to this power, so that half precision holds them and their reciprocals.
    scale: i32,
    decisions: u32,
    last: Option<u32>,
    has_converged: bool,
}

/// The longer of the two times alone is scaled to between 64 and 128 units: kernels that take 500 times as long on few SMs do not
/// overflow then, and reciprocals of those that take a hundredth are far from the coarse end of the format.
const UNITS: i32 = 7;

impl<R: Real> Table<R> {
    /// The table of two kernels, at least one cycle long each, that took `first` and `second` cycles alone on
    /// all SMs.
    pub fn new(sms: u32, first: u64, second: u64) -> Self {
        let longest = first.max(second).max(1);
        let bits = (u64::BITS - longest.leading_zeros()) as i32;
        let empty = Entry { first: None, second: None };
        let mut table = Table {
            entries: vec![empty; sms as usize + 1],
            scale: bits - UNITS,
            decisions: 0,
            last: None,
            has_converged: false,
        };
        let none = Some(R::nearest(0.0));
        let (first, second) = (table.performance(first), table.performance(second));
        table.entries[0] = Entry { first: none, second: Some(second) };
        table.entries[sms as usize] = Entry { first: Some(first), second: none };
        table
    }

    fn performance(&self, cycles: u64) -> R {
        let units = cycles.max(1) as f64 * f64::from(-self.scale).exp2();
        R::nearest(1.0) / R::nearest(units)
    }

    /// SMs that the two share.
    fn sms(&self) -> u32 {
        self.entries.len() as u32 - 1
    }

    /// The kernels took `first` and `second` cycles together, the first on `sms` SMs: the newest measurement
    /// wins.
    pub fn measured(&mut self, sms: u32, first: u64, second: u64) {
        let (first, second) = (self.performance(first), self.performance(second));
        if let Some(entry) = self.entries.get_mut(sms as usize) {
            *entry = Entry { first: Some(first), second: Some(second) };
        }
    }

    /// Number of SMs of the first kernel, at least one and at most all but one. Two equal decisions in a row mean that the pair
    /// has converged; the number is constant from then on.
    pub fn decide(&mut self) -> u32 {
        if let Some(last) = self.last
            && self.has_converged
        {
            return last;
        }
        let decision = self.best();
        self.decisions += 1;
        self.has_converged = self.last == Some(decision);
        self.last = Some(decision);
        decision
    }

    /// The split next to the crossing at which the slower kernel is faster; of equals the one with fewer SMs for the first.
    fn best(&self) -> u32 {
        let (first, second) = (self.curve(|entry| entry.first), self.curve(|entry| entry.second));
        let crossed = first.iter().zip(&second).position(|(first, second)| first >= second);
        let above = crossed.unwrap_or(self.entries.len() - 1) as u32;
        let (least, most) = (1, self.sms() - 1);
        let [below, above] = [above.saturating_sub(1), above].map(|sms| sms.clamp(least, most));
        let slower = |sms: u32| {
            let (first, second) = (first[sms as usize], second[sms as usize]);
            if second < first { second } else { first }
        };
        if slower(above) > slower(below) { above } else { below }
    }

    /// A kernel's performance at every split: the measurements, and straight lines between.
    fn curve(&self, of: impl Fn(&Entry<R>) -> Option<R>) -> Vec<R> {
        let known: Vec<(usize, R)> =
            self.entries.iter().enumerate().filter_map(|(sms, entry)| Some((sms, of(entry)?))).collect();
        let mut curve = Vec::with_capacity(self.entries.len());
        for pair in known.windows(2) {
            let [(from, low), (to, high)] = [pair[0], pair[1]];
            let slope = (high - low) / R::nearest((to - from) as f64);
            curve.extend((from..to).map(|sms| low + slope * R::nearest((sms - from) as f64)));
        }
        curve.extend(known.last().map(|(_, last)| *last));
        curve
    }

    /// Number of decisions until it had converged, or so far.
    pub fn decisions(&self) -> u32 {
        self.decisions
    }

    /// Whether the last two decisions were equal.
    pub fn has_converged(&self) -> bool {
        self.has_converged
    }

    /// The performance of both kernels with `sms` SMs for the first, in cycles again: measured or
    /// interpolated.
    pub fn predicted(&self, sms: u32) -> (f64, f64) {
        let cycles = |curve: Vec<R>| f64::from(self.scale).exp2() / curve[sms as usize].into();
        (cycles(self.curve(|entry| entry.first)), cycles(self.curve(|entry| entry.second)))
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::*;

    /// The first decision after these times alone on all SMs.
    fn first<R: Real>(sms: u32, first: u64, second: u64) -> u32 {
        Table::<R>::new(sms, first, second).decide()
    }

    /// Decisions and times of steps, for kernels that take these times, until it has converged.
    fn rounds<R: Real>(sms: u32, times: &[(u64, u64)]) -> Vec<(u32, u64)> {
        let at = |sms: u32| times[sms as usize];
        let mut table = Table::<R>::new(sms, at(sms).0, at(0).1);
        let mut steps = Vec::new();
        while !table.has_converged() {
            let split = table.decide();
            let (first, second) = at(split);
            steps.push((split, first.max(second)));
            table.measured(split, first, second);
            assert!(steps.len() <= 60, "{steps:?}");
        }
        steps
    }

    /// Times by split of the first kernel; the time of a kernel without SMs is never asked for.
    fn times(sms: u64, first: impl Fn(u64) -> u64, second: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        (0..=sms).map(|n| (first(n.max(1)), second((sms - n).max(1)))).collect()
    }

    #[test]
    fn first_decisions_in_closed_form() {
        for (sms, a, b, expected) in
            [(24, 10, 19, 8), (24, 10, 17, 9), (24, 1, 30, 1), (8, 1, 30, 1), (24, 30, 1, 23)]
        {
            assert_eq!(first::<f64>(sms, a, b), expected, "({a}, {b}) on {sms}");
            assert_eq!(first::<f16>(sms, a, b), expected, "({a}, {b}) on {sms} in half precision");
        }
    }

    #[test]
    fn a_kernel_that_saturates_is_given_fewer() {
        // T1 = 96 / min(n, 16), T2 = 192 / n, in thousandths.
        let times = times(24, |n| 96_000 / n.min(16), |n| 192_000 / n);
        let steps = rounds::<f64>(24, &times);
        assert_eq!(steps, [(10, 13_714), (8, 12_000), (8, 12_000)]);
        assert_eq!(rounds::<f16>(24, &times), steps);
        let serial = times[24].0 + times[0].1;
        assert_eq!(serial, 14_000);
    }

    #[test]
    fn linear_kernels_lose_to_whole_numbers() {
        let (first, second) = (|n| 240_000 / n, |n| 456_000 / n);
        let times = times(24, first, second);
        let best = (1..24).map(|n| times[n].0.max(times[n].1)).min().unwrap();
        assert_eq!(best, 30_000);
        assert_eq!(rounds::<f16>(24, &times).last().unwrap().1, best);
        assert!(times[24].0 + times[0].1 < best, "serial: 29 against 30");
    }

    #[test]
    fn long_kernels_decide_as_in_double_precision() {
        for (a, b) in
            [(2_000_000, 3_800_000), (2_000_000, 2_000_000), (1_900_000, 61_000), (2_000_000, 3_400_000)]
        {
            assert_eq!(first::<f16>(24, a, b), first::<f64>(24, a, b), "({a}, {b})");
        }
        let times = times(24, |n| 48_000_000 / n.min(16), |n| 96_000_000 / n);
        assert_eq!(rounds::<f16>(24, &times), rounds::<f64>(24, &times));
    }

    #[test]
    fn the_slower_kernel_decides_and_not_the_nearest_number() {
        // The crossings are at 7.4 and 16.6.
        assert_eq!((first::<f64>(24, 1000, 2243), first::<f64>(24, 2243, 1000)), (8, 16));
        assert_eq!((first::<f16>(24, 1000, 2243), first::<f16>(24, 2243, 1000)), (8, 16));
    }

    #[test]
    fn the_newest_measurement_stands_and_neighbours_are_interpolated() {
        let mut table = Table::<f64>::new(4, 100, 100);
        assert_eq!(table.decide(), 2);
        table.measured(2, 400, 100);
        // P1: 0, 1/800, 1/400, 1/160, 1/100; P2 from its side 1/100, 1/100, 1/100, 1/200, 0.
        let (first, second) = table.predicted(3);
        assert!((first - 160.0).abs() < 1e-9 && (second - 200.0).abs() < 1e-9, "{first} {second}");
        assert_eq!(table.decide(), 3);
        table.measured(2, 100, 400);
        table.measured(3, 100, 800);
        assert_eq!(table.decide(), 1);
    }

    proptest! {
        /// For any times of the kernels in which more SMs are never slower: each kernel keeps an SM, and the search converges.
        #[test]
        fn it_converges_and_gives_each_an_sm(
            sms in 2_u64..=32, work in (1_u64..=4_000_000, 1_u64..=4_000_000), bend in (1_u64..=32, 1_u64..=32),
        ) {
            let times = times(sms, |n| work.0 * 64 / n.min(bend.0), |n| work.1 * 64 / n.min(bend.1));
            for steps in [rounds::<f64>(sms as u32, &times), rounds::<f16>(sms as u32, &times)] {
                prop_assert!(steps.iter().all(|&(split, _)| (1..sms as u32).contains(&split)));
            }
        }

        /// Half precision chooses a split whose slower kernel is as fast, to the precision of eleven bits.
        #[test]
        fn half_precision_is_as_good_to_its_last_bits(
            sms in 2_u32..=24, first in 1_u64..=40_000_000, ratio in 0.05_f64..20.0,
        ) {
            let second = ((first as f64 * ratio) as u64).max(1);
            let exact = Table::<f64>::new(sms, first, second);
            let slower = |split: u32| {
                let (first, second) = exact.predicted(split);
                first.max(second)
            };
            let best = slower(Table::<f64>::new(sms, first, second).decide());
            let half = slower(Table::<f16>::new(sms, first, second).decide());
            prop_assert!(half <= best * 1.01, "{half} {best}");
        }
    }
}
