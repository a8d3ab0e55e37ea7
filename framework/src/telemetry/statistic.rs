//! A statistic as it leaves the run: its path, its name, and its value. Counting in components is not here.

/// Name and meaning of a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatLabel {
    /// The field's name, or that of `#[stat(name = "…")]`.
    pub name: &'static str,
    /// Unit as `#[stat(unit = "…")]` says, empty for plain counts.
    pub unit: &'static str,
    /// The field's doc comment: the quantity counted.
    pub doc: &'static str,
}

/// The value of a statistic at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatValue {
    /// A count.
    Count(u64),
    /// A count by another one, which is not zero.
    Ratio {
        /// The one.
        part: u64,
        /// The other.
        whole: u64,
    },
    /// Summary of many values.
    Distribution {
        /// Number of values.
        count: u64,
        /// Their sum.
        sum: u64,
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
        /// Percentiles in the order of [`PERCENTILES`]: exact below 256, beyond it at most 1 % too large.
        percentiles: [u64; PERCENTILES.len()],
    },
}

/// The percentiles of a distribution that are shown, and their names.
pub const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

/// A statistic with its path and value, as it leaves the run.
#[derive(Clone, Debug, PartialEq)]
pub struct StatRow {
    /// Path of the component, or of a part of it that has statistics of its own: `gpu.scheduler.kernels[step#1]`.
    pub path: String,
    /// Name, unit and meaning.
    pub label: StatLabel,
    /// Value.
    pub value: StatValue,
}

/// A counter of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterName {
    /// Path of the component, or of a part of it.
    pub path: String,
    /// Name, unit and meaning.
    pub label: StatLabel,
}
