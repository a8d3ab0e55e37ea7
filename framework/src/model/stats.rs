//! Statistics: counters that a component keeps for itself and that are read when the run is over.

use std::cell::Cell;

/// A component's statistics, as `derive(Stats)` implements it.
pub trait Stats: Default + 'static {
    /// Shows every statistic.
    fn visit(&self, visitor: &mut dyn StatVisitor);
}

impl Stats for () {
    fn visit(&self, _visitor: &mut dyn StatVisitor) {}
}

/// What a statistic is called and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatLabel {
    /// The field's name, or what `#[stat(name = "…")]` says.
    pub name: &'static str,
    /// Unit as `#[stat(unit = "…")]` says, empty for plain counts.
    pub unit: &'static str,
    /// The field's doc comment: what is counted.
    pub doc: &'static str,
}

/// Sees statistics one by one.
pub trait StatVisitor {
    /// A statistic and its value.
    fn stat(&mut self, label: StatLabel, value: StatValue);

    /// The statistics of a part, which `show` shows.
    fn part(&mut self, name: &str, show: &mut dyn FnMut(&mut dyn StatVisitor));
}

/// The value of a statistic at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatValue {
    /// A count.
    Count(u64),
    /// Count, sum, smallest and largest of many values.
    Distribution {
        /// Number of values.
        count: u64,
        /// Their sum.
        sum: u64,
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
}

/// A kind of statistic.
pub trait Stat {
    /// Shows the statistic under its label.
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor);
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
}

/// Many values, of which count, sum and extremes are kept.
#[derive(Default)]
pub struct Distribution {
    count: Cell<u64>,
    sum: Cell<u64>,
    min: Cell<u64>,
    max: Cell<u64>,
}

impl Distribution {
    /// Adds a value.
    #[inline]
    pub fn record(&self, value: u64) {
        let count = self.count.get();
        self.min.set(if count == 0 { value } else { self.min.get().min(value) });
        self.max.set(self.max.get().max(value));
        self.sum.set(self.sum.get() + value);
        self.count.set(count + 1);
    }
}

impl Stat for Distribution {
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor) {
        let (count, sum, min, max) = (self.count.get(), self.sum.get(), self.min.get(), self.max.get());
        visitor.stat(label, StatValue::Distribution { count, sum, min, max });
    }
}

/// A statistic with its place and value, as it leaves the run.
#[derive(Clone, Debug, PartialEq)]
pub struct StatRow {
    /// Path of the component, or of a part of it that has statistics of its own: `gpu.scheduler.kernels[step#1]`.
    pub path: String,
    /// Name, unit and meaning.
    pub label: StatLabel,
    /// Value.
    pub value: StatValue,
}

/// Collects the rows of one component. Those of its parts come last, so that the rows of a path stand together.
pub(crate) struct Rows<'a> {
    path: &'a str,
    own: Vec<StatRow>,
    parts: Vec<StatRow>,
}

impl<'a> Rows<'a> {
    /// What `show` shows, as rows of this path.
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
