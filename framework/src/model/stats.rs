//! Statistics: counters that a component keeps for itself and that are read when the run is over.

use std::cell::{Cell, RefCell};
use std::ops::Deref;

use hdrhistogram::Histogram;

pub use crate::telemetry::{PERCENTILES, StatLabel, StatRow, StatValue};
use crate::time::{Clock, SimTime};

/// A component's statistics, as `derive(Stats)` implements it.
pub trait Stats: Default + 'static {
    /// Shows every statistic.
    fn visit(&self, visitor: &mut dyn StatVisitor);

    /// Adds the counts of another set.
    fn absorb(&self, other: &Self);
}

impl Stats for () {
    fn visit(&self, _visitor: &mut dyn StatVisitor) {}

    fn absorb(&self, _other: &Self) {}
}

/// Sees statistics one by one.
pub trait StatVisitor {
    /// A statistic and its value.
    fn stat(&mut self, label: StatLabel, value: StatValue);

    /// Whether everything is to be shown: not only counters that exist from the beginning, but also distributions and
    /// statistics that are created while the component runs, such as those of a kernel.
    fn wants_everything(&self) -> bool {
        true
    }

    /// The time up to which busy time is wanted, within the run; all of it at the end.
    fn until(&self) -> SimTime {
        SimTime::MAX
    }

    /// The statistics of a part, which `show` shows.
    fn part(&mut self, name: &str, show: &mut dyn FnMut(&mut dyn StatVisitor));
}

/// A kind of statistic.
pub trait Stat {
    /// Shows the statistic under its label.
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor);

    /// Adds the counts of another one.
    fn absorb(&self, other: &Self);
}

/// A number that only grows.
#[derive(Default)]
pub struct Counter(Cell<u64>);

impl Counter {
    /// Adds to the counter.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.0.set(self.0.get() + amount);
    }

    /// The count so far.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.get()
    }
}

impl Stat for Counter {
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor) {
        visitor.stat(label, StatValue::Count(self.get()));
    }

    fn absorb(&self, other: &Self) {
        self.add(other.get());
    }
}

/// Time in which a server is busy, in picoseconds. It is booked when the server takes a request, up to the time at which it is free
/// again; a time series shows it in the intervals in which it passes.
#[derive(Default)]
pub struct BusyTime {
    booked: Counter,
    /// The end of the last period.
    end: Cell<SimTime>,
}

impl BusyTime {
    /// Books a period, which begins at the end of the one before or, if that is over by now, later.
    #[inline]
    pub fn book(&self, start: SimTime, end: SimTime) {
        self.booked.add((end - start).as_ps());
        self.end.set(end);
    }

    /// Time booked up to `time`, which has passed. Any booked time beyond `time` belongs to periods without a gap, so that
    /// subtracting it is exact.
    fn until(&self, time: SimTime) -> u64 {
        self.booked.get() - self.end.get().saturating_sub(time).as_ps()
    }
}

impl Stat for BusyTime {
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor) {
        visitor.stat(label, StatValue::Count(self.until(visitor.until())));
    }

    fn absorb(&self, other: &Self) {
        self.booked.absorb(&other.booked);
    }
}

/// Busy cycles, from a beginning to an end that is not known in advance. A time series shows them in the intervals in which they pass.
#[derive(Default)]
pub struct BusyCycles {
    ended: Counter,
    /// The first cycle of the current busy period, and its clock.
    since: Cell<Option<(u64, Clock)>>,
}

impl BusyCycles {
    /// Begins a busy interval in a cycle of a clock.
    #[inline]
    pub fn begin(&self, clock: Clock, cycle: u64) {
        self.since.set(Some((cycle, clock)));
    }

    /// Ends the busy interval before this cycle.
    #[inline]
    pub fn end(&self, cycle: u64) {
        if let Some((since, _)) = self.since.take() {
            self.ended.add(cycle - since);
        }
    }

    /// Cycles up to `time`, which has passed; at the end of the run, only the periods that have ended.
    fn until(&self, time: SimTime) -> u64 {
        let open = self.since.get().filter(|_| time != SimTime::MAX);
        self.ended.get() + open.map_or(0, |(since, clock)| clock.index(time).saturating_sub(since))
    }
}

impl Deref for BusyCycles {
    type Target = Counter;

    /// Cycles of the periods that have ended.
    fn deref(&self) -> &Counter {
        &self.ended
    }
}

impl Stat for BusyCycles {
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor) {
        visitor.stat(label, StatValue::Count(self.until(visitor.until())));
    }

    fn absorb(&self, other: &Self) {
        self.ended.absorb(&other.ended);
    }
}

/// A number that is given and not counted, such as a peak. It is shown if it was given.
#[derive(Default)]
pub struct Setting(Cell<Option<u64>>);

impl Setting {
    /// Sets the number.
    pub fn set(&self, value: u64) {
        self.0.set(Some(value));
    }
}

impl Stat for Setting {
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor) {
        // The value does not grow, so a time series has no use for it.
        if let Some(value) = self.0.get().filter(|_| visitor.wants_everything()) {
            visitor.stat(label, StatValue::Count(value));
        }
    }

    fn absorb(&self, other: &Self) {
        self.0.set(self.0.get().or(other.0.get()));
    }
}

/// The ratio of one counter of a set to another: `#[stat(part = "misses", whole = "accesses")]`. It is shown
/// if the other is not zero.
#[derive(Default)]
pub struct Ratio;

impl Ratio {
    /// Shows it, for the code of `derive(Stats)`.
    pub fn visit_of(&self, label: StatLabel, part: &Counter, whole: &Counter, visitor: &mut dyn StatVisitor) {
        let (part, whole) = (part.get(), whole.get());
        if whole > 0 {
            visitor.stat(label, StatValue::Ratio { part, whole });
        }
    }
}

/// Many values: their sum and extremes, and a histogram of them (HdrHistogram) from which percentiles are read. Its memory
/// grows with the largest value, a kibibyte each time that doubles, and not with the number of values.
pub struct Distribution {
    sum: Cell<u64>,
    min: Cell<u64>,
    max: Cell<u64>,
    values: RefCell<Histogram<u64>>,
}

/// Decimal digits of a value that a histogram distinguishes.
const DIGITS: u8 = 2;

impl Default for Distribution {
    fn default() -> Self {
        let values = Histogram::new(DIGITS).expect("as many digits as a histogram may have");
        Distribution {
            sum: Cell::new(0),
            min: Cell::new(u64::MAX),
            max: Cell::new(0),
            values: RefCell::new(values),
        }
    }
}

impl Distribution {
    /// Adds a value.
    #[inline]
    pub fn record(&self, value: u64) {
        self.sum.set(self.sum.get() + value);
        self.min.set(self.min.get().min(value));
        self.max.set(self.max.get().max(value));
        self.values.borrow_mut().record(value).expect("a histogram that grows takes every value");
    }
}

impl Stat for Distribution {
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor) {
        if !visitor.wants_everything() {
            return;
        }
        let (sum, max) = (self.sum.get(), self.max.get());
        let values = self.values.borrow();
        let count = values.len();
        // A histogram names the end of the range that it cannot tell apart.
        let percentiles = PERCENTILES.map(|(_, percent)| values.value_at_percentile(percent).min(max));
        let min = if count == 0 { 0 } else { self.min.get() };
        visitor.stat(label, StatValue::Distribution { count, sum, min, max, percentiles });
    }

    fn absorb(&self, other: &Self) {
        self.sum.set(self.sum.get() + other.sum.get());
        self.min.set(self.min.get().min(other.min.get()));
        self.max.set(self.max.get().max(other.max.get()));
        let sum = self.values.borrow_mut().add(&*other.values.borrow());
        sum.expect("a histogram that grows takes every value");
    }
}

/// Collects the rows of one component. Those of its parts come last, so that the rows of a path are together.
pub(crate) struct Rows<'a> {
    path: &'a str,
    own: Vec<StatRow>,
    parts: Vec<StatRow>,
}

impl<'a> Rows<'a> {
    /// The output of `show`, as rows of this path.
    pub(crate) fn of(path: &'a str, show: &mut dyn FnMut(&mut dyn StatVisitor)) -> Vec<StatRow> {
        let mut rows = Rows { path, own: Vec::new(), parts: Vec::new() };
        show(&mut rows);
        rows.own.append(&mut rows.parts);
        rows.own
    }
}

impl StatVisitor for Rows<'_> {
    fn stat(&mut self, label: StatLabel, value: StatValue) {
        self.own.push(StatRow { path: self.path.to_owned(), label, value });
    }

    fn part(&mut self, name: &str, show: &mut dyn FnMut(&mut dyn StatVisitor)) {
        self.parts.extend(Rows::of(&format!("{}.{name}", self.path), show));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(distribution: &Distribution) -> StatValue {
        let label = StatLabel { name: "wait", unit: "", doc: "" };
        let rows = Rows::of("sm", &mut |visitor| distribution.visit(label, visitor));
        rows[0].value
    }

    fn of(values: impl IntoIterator<Item = u64>) -> Distribution {
        let distribution = Distribution::default();
        values.into_iter().for_each(|value| distribution.record(value));
        distribution
    }

    #[test]
    fn a_setting_is_shown_once_it_is_given() {
        let label = StatLabel { name: "peak", unit: "", doc: "" };
        let shown = |setting: &Setting| Rows::of("dram", &mut |visitor| setting.visit(label, visitor));
        let [setting, other] = [Setting::default(), Setting::default()];
        assert_eq!(shown(&setting).len(), 0);
        other.set(7);
        setting.absorb(&other);
        assert_eq!(shown(&setting)[0].value, StatValue::Count(7));
        other.set(8);
        setting.absorb(&other);
        assert_eq!(shown(&setting)[0].value, StatValue::Count(7));
    }

    #[test]
    fn busy_time_is_that_which_has_passed() {
        let busy = BusyTime::default();
        let period = |start, end| busy.book(SimTime::from_ps(start), SimTime::from_ps(end));
        let until = |time| busy.until(SimTime::from_ps(time));
        period(10, 30);
        assert_eq!([10, 25, 30, 90].map(until), [0, 15, 20, 20]);
        // A request that is taken while the server is busy, at 28.
        period(30, 50);
        assert_eq!([28, 40, 60].map(until), [18, 30, 40]);
        period(60, 70);
        let total = BusyTime::default();
        total.absorb(&busy);
        assert_eq!(([65, 70].map(until), total.until(SimTime::MAX)), ([45, 50], 50));
    }

    #[test]
    fn busy_cycles_are_in_the_time_in_which_they_pass() {
        let busy = BusyCycles::default();
        let clock = Clock::new(crate::time::Hertz::new(500_000_000));
        let until = |ns: u64| busy.until(SimTime::from_ns(ns));
        busy.begin(clock, 10);
        assert_eq!([10, 20, 24, 60].map(until), [0, 0, 2, 20]);
        assert_eq!((busy.until(SimTime::MAX), busy.get()), (0, 0), "the run ends before it does");
        busy.end(25);
        assert_eq!(([60, 90].map(until), busy.until(SimTime::MAX)), ([15, 15], 15));
    }

    #[test]
    fn small_values_have_exact_percentiles() {
        let percentiles = [100, 180, 198, 200];
        let expected = StatValue::Distribution { count: 200, sum: 20_100, min: 1, max: 200, percentiles };
        assert_eq!(value(&of((1..=200).rev())), expected);
        let nothing = StatValue::Distribution { count: 0, sum: 0, min: 0, max: 0, percentiles: [0; 4] };
        assert_eq!(value(&Distribution::default()), nothing);
    }

    #[test]
    fn percentiles_of_large_values_are_a_percent_too_large_at_most() {
        let scale = 1_234_567;
        let StatValue::Distribution { max, percentiles, .. } = value(&of((1..=10_000).map(|n| n * scale)))
        else {
            panic!("a distribution")
        };
        assert_eq!(max, 10_000 * scale);
        for (found, exact) in percentiles.into_iter().zip([5_000, 9_000, 9_900, 9_990]) {
            assert!((exact * scale..=exact * scale * 101 / 100).contains(&found), "{found} for {exact}");
        }
        assert!(percentiles[3] <= max);
        let most = 1 << 62;
        let alone =
            StatValue::Distribution { count: 1, sum: most, min: most, max: most, percentiles: [most; 4] };
        assert_eq!(value(&of([most])), alone);
    }

    #[test]
    fn parts_of_many_values_come_to_the_same_as_all() {
        let values = |part: u64| (0..500).map(move |number: u64| (number * 977 + part).pow(2) % 70_001);
        let sum = Distribution::default();
        for part in 0..3 {
            sum.absorb(&of(values(part)));
        }
        assert_eq!(value(&sum), value(&of((0..3).flat_map(values))));
        sum.absorb(&Distribution::default());
        assert_eq!(value(&sum), value(&of((0..3).flat_map(values))), "nothing adds nothing");
    }
}
