//! The plain counters of a component, in a fixed order for the whole run: the columns of a time series. Counters by
//! key, which are created during the run, are left out.

use super::stats::{StatLabel, StatValue, StatVisitor};
pub use crate::telemetry::CounterName;
use crate::time::SimTime;

/// A component's counts up to a time.
pub(super) fn values(until: SimTime, show: impl FnOnce(&mut dyn StatVisitor), into: &mut Vec<u64>) {
    show(&mut Walk { part: String::new(), until, each: &mut |_, _, value| into.push(value) });
}

pub(super) fn names(path: &str, show: impl FnOnce(&mut dyn StatVisitor)) -> Vec<CounterName> {
    let mut names = Vec::new();
    let mut each = |part: &str, label, _| names.push(CounterName { path: format!("{path}{part}"), label });
    show(&mut Walk { part: String::new(), until: SimTime::MAX, each: &mut each });
    names
}

/// Visitor that gives each counter with the part to which it belongs.
struct Walk<'a> {
    part: String,
    until: SimTime,
    each: &'a mut dyn FnMut(&str, StatLabel, u64),
}

impl StatVisitor for Walk<'_> {
    fn stat(&mut self, label: StatLabel, value: StatValue) {
        if let StatValue::Count(count) = value {
            (self.each)(&self.part, label, count);
        }
    }

    fn wants_everything(&self) -> bool {
        false
    }

    fn until(&self) -> SimTime {
        self.until
    }

    fn part(&mut self, name: &str, show: &mut dyn FnMut(&mut dyn StatVisitor)) {
        let length = self.part.len();
        self.part.push('.');
        self.part.push_str(name);
        show(self);
        self.part.truncate(length);
    }
}
