//! Statistics in parts, and by key: the same numbers for each kernel, for each stream, for everything that a component
//! distinguishes.
//!
//! ```
//! use counterpoint_framework::model::{Counter, Keyed, Stats};
//!
//! /// Statistics of a kernel.
//! #[derive(Default, Stats)]
//! struct KernelStats {
//!     /// Instructions executed.
//!     instructions: Counter,
//! }
//!
//! /// Statistics of a processor.
//! #[derive(Default, Stats)]
//! struct ProcessorStats {
//!     /// By number of the kernel.
//!     kernels: Keyed<u32, KernelStats>,
//! }
//!
//! let stats = ProcessorStats::default();
//! let kernel = stats.kernels.of(3);
//! kernel.instructions.add(2);
//! assert_eq!(stats.kernels.of(3).instructions.get(), 2);
//! ```
//!
//! `stats.txt` has them as `processor.kernels[3].instructions`, behind the component's other numbers and in the order of
//! the keys. A component that counts often keeps the result of [`Keyed::of`]: it then counts without looking
//! anything up.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Deref;
use std::rc::Rc;

use super::stats::{Stat, StatLabel, StatVisitor, Stats};

/// The statistics of a part: `stats.txt` has them as `processor.part.number`.
#[derive(Default)]
pub struct PartStats<S>(S);

impl<S> Deref for PartStats<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: Stats> Stat for PartStats<S> {
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor) {
        visitor.part(label.name, &mut |part| self.0.visit(part));
    }

    fn absorb(&self, other: &Self) {
        self.0.absorb(&other.0);
    }
}

/// Statistics among those of the set that they are in: `stats.txt` has them as `processor.number`.
#[derive(Default)]
pub struct FlatStats<S>(S);

impl<S> Deref for FlatStats<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: Stats> Stat for FlatStats<S> {
    fn visit(&self, _label: StatLabel, visitor: &mut dyn StatVisitor) {
        self.0.visit(visitor);
    }

    fn absorb(&self, other: &Self) {
        self.0.absorb(&other.0);
    }
}

/// A set of statistics for each key, made when the key is first used.
pub struct Keyed<K, S>(RefCell<BTreeMap<K, Rc<S>>>);

impl<K, S> Default for Keyed<K, S> {
    fn default() -> Self {
        Keyed(RefCell::default())
    }
}

impl<K: Ord, S: Stats> Keyed<K, S> {
    /// The statistics of a key.
    pub fn of(&self, key: K) -> Rc<S> {
        Rc::clone(self.0.borrow_mut().entry(key).or_default())
    }

    /// The keys so far, in their order, and their statistics.
    pub fn sets(&self) -> Vec<(K, Rc<S>)>
    where
        K: Clone,
    {
        self.0.borrow().iter().map(|(key, set)| (key.clone(), Rc::clone(set))).collect()
    }
}

impl<K: Ord + Display + Clone, S: Stats> Stat for Keyed<K, S> {
    fn visit(&self, label: StatLabel, visitor: &mut dyn StatVisitor) {
        if !visitor.wants_everything() {
            return;
        }
        for (key, stats) in self.0.borrow().iter() {
            visitor.part(&format!("{}[{key}]", label.name), &mut |part| stats.visit(part));
        }
    }

    fn absorb(&self, other: &Self) {
        for (key, stats) in other.sets() {
            self.of(key).absorb(&stats);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::stats::Rows;
    use crate::model::{Counter, StatRow, StatValue};

    #[derive(Default)]
    struct Inner(Counter);

    impl Stats for Inner {
        fn visit(&self, visitor: &mut dyn StatVisitor) {
            self.0.visit(StatLabel { name: "hits", unit: "", doc: "Hits." }, visitor);
        }

        fn absorb(&self, other: &Self) {
            self.0.absorb(&other.0);
        }
    }

    #[derive(Default)]
    struct Outer {
        streams: Keyed<u32, Inner>,
        total: Counter,
    }

    impl Stats for Outer {
        fn visit(&self, visitor: &mut dyn StatVisitor) {
            self.streams.visit(StatLabel { name: "streams", unit: "", doc: "" }, visitor);
            self.total.visit(StatLabel { name: "total", unit: "", doc: "All." }, visitor);
        }

        fn absorb(&self, other: &Self) {
            self.streams.absorb(&other.streams);
            self.total.absorb(&other.total);
        }
    }

    #[test]
    fn parts_stand_behind_the_component_in_the_order_of_their_keys_and_add_up() {
        let stats = Outer::default();
        let tenth = stats.streams.of(10);
        stats.streams.of(2).0.add(1);
        tenth.0.add(3);
        stats.total.add(5);
        let others = Outer::default();
        others.streams.of(10).0.add(4);
        others.streams.of(11).0.add(1);
        others.total.add(3);
        stats.absorb(&others);
        let rows = Rows::of("l2", &mut |visitor| stats.visit(visitor));
        let found: Vec<(&str, &str, StatValue)> =
            rows.iter().map(|StatRow { path, label, value }| (path.as_str(), label.name, *value)).collect();
        let expected = [
            ("l2", "total", StatValue::Count(8)),
            ("l2.streams[2]", "hits", StatValue::Count(1)),
            ("l2.streams[10]", "hits", StatValue::Count(7)),
            ("l2.streams[11]", "hits", StatValue::Count(1)),
        ];
        assert_eq!(found, expected);
    }
}
