//! The launches and streams with rows of their own in the statistics, and their names there.
//!
//! A run of thousands of launches would leave megabytes of rows that nobody reads: those with the lowest numbers have rows of
//! their own, the others are added up in one, so that the sum over all rows is that of all launches.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::launch::{LaunchId, LaunchName};
use crate::preload::is_part;

/// The row of a launch or of a stream, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// A row of its own.
    Own(u32),
    /// Row of all with higher numbers.
    Others,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Row::Own(number) => number.fmt(f),
            Row::Others => f.write_str("others"),
        }
    }
}

/// The limit of rows, and the names of the launches below it; a resource of the run. Memory knows
/// launches by their number alone. The sender of a launch gives the name before the launch leaves the host,
/// and statistics ask for it when the run is over, so that the lock cannot show in a result.
#[derive(Debug)]
pub struct LaunchRows {
    limit: u32,
    names: Mutex<BTreeMap<LaunchId, Vec<(String, LaunchName)>>>,
}

impl Default for LaunchRows {
    fn default() -> Self {
        LaunchRows::new(LaunchRows::DEFAULT_LIMIT)
    }
}

impl LaunchRows {
    /// Default number of launches with rows of their own.
    pub const DEFAULT_LIMIT: u32 = 64;

    /// With rows for the launches and the streams up to this number.
    pub fn new(limit: u32) -> Self {
        LaunchRows { limit, names: Mutex::default() }
    }

    /// The row of a number.
    #[inline]
    pub fn row(&self, number: u32) -> Row {
        if number <= self.limit { Row::Own(number) } else { Row::Others }
    }

    /// Notes the name of a launch on the device whose components' paths begin with `device`.
    pub fn note(&self, device: &str, name: LaunchName) {
        if name.id().0 <= self.limit {
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            names.entry(name.id()).or_default().push((device.to_owned(), name));
        }
    }

    /// The name of a launch whose accesses the component at `path` has seen; its number alone where nobody gave the name.
    pub fn name(&self, number: u32, path: &str) -> String {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let here = names.get(&LaunchId(number)).into_iter().flatten();
        let found = here.filter(|(device, _)| is_part(path, device)).map(|(_, name)| name.to_string()).next();
        found.unwrap_or_else(|| format!("#{number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_have_the_name_of_their_device_and_those_beyond_the_limit_none() {
        let rows = LaunchRows::new(2);
        let name = |id, kernel: &str| LaunchName::new(LaunchId(id), kernel);
        rows.note("gpu[0]", name(1, "a"));
        rows.note("gpu[1]", name(1, "b"));
        rows.note("gpu[0]", name(2, "c"));
        rows.note("gpu[0]", name(3, "d"));
        let found = |number, path| rows.name(number, path);
        assert_eq!([found(1, "gpu[0].l2[3]"), found(1, "gpu[1].dram[0]")], ["a#1", "b#1"]);
        assert_eq!(
            [found(2, "gpu[0].l2[0]"), found(2, "gpu[1].l2[0]"), found(3, "gpu[0].x")],
            ["c#2", "#2", "#3"]
        );
        assert_eq!([0, 1, 2, 3].map(|number| rows.row(number).to_string()), ["0", "1", "2", "others"]);
    }
}
