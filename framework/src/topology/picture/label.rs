//! The links between two parts of a picture, in words.

use std::collections::BTreeMap;

use super::Arrow;
use crate::time::{BytesPerSecond, Latency};
use crate::topology::machine::{Link, Machine};

/// All links between two parts, seen from the first.
#[derive(Default)]
pub(super) struct Joint {
    links: Vec<usize>,
    sorts: BTreeMap<Sort, usize>,
}

/// Links that are alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sort {
    /// The latency towards the second part, and towards the first; where a link goes one way only, the other is missing.
    latencies: [Option<Latency>; 2],
    bandwidth: Option<BytesPerSecond>,
    faulty: bool,
}

/// The links of a machine by the parts that they join, the lower number first.
pub(super) fn joints(machine: &Machine, part_of: &[usize]) -> BTreeMap<[usize; 2], Joint> {
    let mut joints: BTreeMap<[usize; 2], Joint> = BTreeMap::new();
    let faulty = |one: &Link, other: Option<&Link>| {
        !one.faults.is_empty() || other.is_some_and(|other| !other.faults.is_empty())
    };
    // The two links of a socket are one line of the machine's file, and one in the picture.
    let mut sockets = BTreeMap::new();
    for (number, link) in machine.links.iter().enumerate().filter(|(_, link)| link.socket) {
        sockets.insert((&link.from, &link.to), number);
    }
    for (number, link) in machine.links.iter().enumerate() {
        let back = sockets.get(&(&link.to, &link.from)).copied().filter(|_| link.socket);
        if back.is_some_and(|back| back < number) {
            continue;
        }
        let (from, to) = (part_of[link.from.instance], part_of[link.to.instance]);
        let latencies = [Some(link.latency), back.map(|back| machine.links[back].latency)];
        let sort = Sort {
            latencies,
            bandwidth: link.bandwidth,
            faulty: faulty(link, back.map(|back| &machine.links[back])),
        };
        let sort = if from <= to { sort } else { sort.turned() };
        let joint = joints.entry([from.min(to), from.max(to)]).or_default();
        joint.links.extend([Some(number), back].into_iter().flatten());
        *joint.sorts.entry(sort).or_default() += 1;
    }
    joints
}

impl Sort {
    fn turned(self) -> Self {
        let [there, back] = self.latencies;
        Sort { latencies: [back, there], ..self }
    }

    /// In words; the direction is named where the arrow's heads leave it open.
    fn text(&self, count: usize, both_ways: bool) -> String {
        let times = if count == 1 { String::new() } else { format!("{count} × ") };
        let latency = match self.latencies {
            [Some(there), Some(back)] if there == back => there.to_string(),
            [Some(there), Some(back)] => format!("{there} there, {back} back"),
            [Some(there), None] => format!("{there}{}", if both_ways { " there" } else { "" }),
            [None, Some(back)] => format!("{back}{}", if both_ways { " back" } else { "" }),
            [None, None] => String::new(),
        };
        let bandwidth = self.bandwidth.map(|rate| format!(", {rate}")).unwrap_or_default();
        format!("{times}{latency}{bandwidth}{}", if self.faulty { ", with faults" } else { "" })
    }
}

impl Joint {
    /// The joint, seen from the second part.
    pub(super) fn turned(self) -> Self {
        let sorts = self.sorts.into_iter().map(|(sort, count)| (sort.turned(), count)).collect();
        Joint { sorts, ..self }
    }

    /// The arrow between these two.
    pub(super) fn arrow(self, ends: [usize; 2]) -> Arrow {
        let (heads, both_ways) = ([self.goes(1), self.goes(0)], self.goes_both_ways());
        let labels = self.sorts.iter().map(|(sort, &count)| sort.text(count, both_ways)).collect();
        Arrow { ends, heads, labels, links: self.links }
    }

    /// Whether a link goes one way, 0 for that towards the second part.
    fn goes(&self, way: usize) -> bool {
        self.sorts.keys().any(|sort| sort.latencies[way].is_some())
    }

    /// Whether both ends say something.
    pub(super) fn goes_both_ways(&self) -> bool {
        self.goes(0) && self.goes(1)
    }
}
