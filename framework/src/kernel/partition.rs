//! Cutting a machine into islands, and islands into threads.
//!
//! Components joined by links shorter than the lookahead form an island. The cut changes how fast a machine runs and
//! nothing else.

use super::machine::Machine;
use crate::time::SimTime;

/// The share of all processes that one island may hold before a shorter lookahead, and so a finer cut, is taken.
const LARGEST_SHARE: f64 = 0.25;
/// Machines up to this size run as one island on one thread: a window would cost more than it gains.
const SMALL: usize = 8;

/// How to cut a machine into islands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Islands {
    /// As the sizes and latencies suggest.
    #[default]
    Auto,
    /// Not at all: one island on one thread.
    One,
    /// At every link of this latency or more.
    AtLatency(SimTime),
}

/// A cut.
pub(crate) struct Partition {
    /// Per process its island, numbered in the order of their first processes.
    pub(crate) island: Vec<usize>,
    /// Per island its thread.
    pub(crate) thread: Vec<usize>,
    /// No message between islands takes less than this many picoseconds.
    pub(crate) lookahead: u64,
    /// Threads that have an island.
    pub(crate) threads: usize,
}

impl Partition {
    /// Cuts `machine` for up to `threads` threads.
    pub(crate) fn new(machine: &Machine, threads: usize, islands: Islands) -> Self {
        let count = machine.processes.len();
        let mut latencies: Vec<u64> = machine.links.iter().map(|link| machine.latency(link)).collect();
        latencies.sort_unstable();
        latencies.dedup();
        let longest = latencies.last().copied().unwrap_or(1).max(1);
        match islands {
            Islands::One => return Self::assign(vec![0; count], 1, longest),
            Islands::Auto if count <= SMALL && threads == 1 => {
                return Self::assign(vec![0; count], 1, longest);
            }
            Islands::AtLatency(latency) => {
                latencies.retain(|&known| known >= latency.as_ps());
                latencies.truncate(1);
            }
            Islands::Auto => {}
        }
        let share = LARGEST_SHARE.min(1.0 / (2 * threads) as f64);
        let limit = ((count as f64 * share) as usize).max(1);
        let mut best: Option<(usize, Vec<usize>)> = None;
        // Longest lookahead first: the first cut that is fine enough is the best one.
        for &latency in latencies.iter().rev() {
            let island = join(machine, latency);
            let largest = sizes(&island).into_iter().max().unwrap_or(0);
            if best.as_ref().is_none_or(|(size, _)| largest < *size) {
                best = Some((largest, island));
            }
            if largest <= limit {
                break;
            }
        }
        let island = best.map_or_else(|| (0..count).collect(), |(_, island)| island);
        let lookahead = machine
            .links
            .iter()
            .filter(|link| island[link.from.process] != island[link.to.process])
            .map(|link| machine.latency(link))
            .min()
            .unwrap_or(longest);
        Self::assign(island, threads, lookahead)
    }

    /// Gives every island to the thread that has the fewest processes so far, largest islands first.
    fn assign(island: Vec<usize>, threads: usize, lookahead: u64) -> Self {
        let sizes = sizes(&island);
        let threads = threads.min(sizes.len()).max(1);
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|&island| std::cmp::Reverse(sizes[island]));
        let (mut thread, mut load) = (vec![0; sizes.len()], vec![0; threads]);
        for island in order {
            let lightest = (0..threads).min_by_key(|&thread| load[thread]).unwrap_or(0);
            thread[island] = lightest;
            load[lightest] += sizes[island];
        }
        Partition { island, thread, lookahead, threads }
    }
}

fn sizes(island: &[usize]) -> Vec<usize> {
    let mut sizes = vec![0; island.iter().max().map_or(0, |last| last + 1)];
    for &island in island {
        sizes[island] += 1;
    }
    sizes
}

/// Joins the processes of every link shorter than `lookahead`.
fn join(machine: &Machine, lookahead: u64) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..machine.processes.len()).collect();
    fn root(parent: &mut [usize], mut node: usize) -> usize {
        while parent[node] != node {
            parent[node] = parent[parent[node]];
            node = parent[node];
        }
        node
    }
    for link in &machine.links {
        if machine.latency(link) < lookahead {
            let (a, b) = (root(&mut parent, link.from.process), root(&mut parent, link.to.process));
            // The lower number stays the root, so islands are numbered by their first process.
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut number = vec![usize::MAX; parent.len()];
    let mut next = 0;
    (0..parent.len())
        .map(|process| {
            let root = root(&mut parent, process);
            if number[root] == usize::MAX {
                number[root] = next;
                next += 1;
            }
            number[root]
        })
        .collect()
}
