//! Giving the islands of a cut to threads.

use std::collections::BTreeMap;

use super::partition::{Partition, cost};
use crate::machine::{LEAST_GRACE, ProcessNetwork};

/// A machine as the cut sees it: latencies, loads and kinds of components.
pub(super) struct Shape<'a> {
    machine: &'a ProcessNetwork,
    /// Per link its latency in picoseconds.
    pub(super) latencies: Vec<u64>,
    /// Per process its load on a thread, without what waking it costs, in nanoseconds per simulated microsecond.
    loads: Vec<f64>,
    /// Per process its cycles in a simulated microsecond.
    cycles: Vec<f64>,
    /// Per process the kind of component: members of an array are of one, and all that are in no array.
    kinds: Vec<usize>,
    count: usize,
}

impl<'a> Shape<'a> {
    pub(super) fn new(machine: &'a ProcessNetwork) -> Self {
        let mut links = vec![0_u32; machine.processes.len()];
        for link in &machine.links {
            links[link.from.process] += 1;
            links[link.to.process] += 1;
        }
        let cycles = machine.processes.iter().map(|process| {
            let cycle = process.clock.cycles(1).floor().as_ps();
            1e6 / cycle.max(1) as f64
        });
        let cycles: Vec<f64> = cycles.collect();
        let weights = machine.processes.iter().zip(links);
        let weights = weights.map(|(process, links)| {
            f64::from(process.weight) + f64::from(process.link_weight) * f64::from(links)
        });
        let loads = weights.zip(&cycles).map(|(weight, cycles)| weight * cycles).collect();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        let kinds = machine.processes.iter().map(|process| {
            let array = process.path.strip_suffix(']').and_then(|path| path.rsplit_once('['));
            let next = known.len();
            *known.entry(array.map_or("", |(array, _)| array)).or_insert(next)
        });
        let kinds = kinds.collect();
        let latencies = machine.links.iter().map(|link| machine.latency(link)).collect();
        Shape { machine, latencies, loads, cycles, kinds, count: known.len() }
    }

    /// Joins the processes of every link shorter than `lookahead`: per process its island.
    pub(super) fn join(&self, lookahead: u64) -> Vec<usize> {
        let mut parent: Vec<usize> = (0..self.machine.processes.len()).collect();
        fn root(parent: &mut [usize], mut node: usize) -> usize {
            while parent[node] != node {
                parent[node] = parent[parent[node]];
                node = parent[node];
            }
            node
        }
        for (link, &latency) in self.machine.links.iter().zip(&self.latencies) {
            if latency < lookahead {
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

    /// Assigns these islands to threads: neighbours to the same thread, or each kind evenly, whichever has the better predicted
    /// speed.
    pub(super) fn assign(&self, island: &[usize], threads: usize) -> Partition {
        let loads = self.loads(island);
        let mut islands = vec![Island::default(); count(island)];
        for (process, &island) in island.iter().enumerate() {
            islands[island].add(loads[process], self.kinds[process]);
        }
        let threads = threads.min(islands.len()).max(1);
        let links = self.machine.links.iter();
        let ends = links.map(|link| (island[link.from.process], island[link.to.process]));
        let ends: Vec<(usize, usize)> = ends.filter(|(from, to)| from != to).collect();
        let shared = |thread: Vec<usize>| self.share(island, &loads, thread, threads);
        let near = neighbours(&islands, &ends, threads);
        let even = shared(evenly(&islands, self.count, threads));
        if (0..threads).all(|thread| near.contains(&thread)) {
            let near = shared(near);
            return if near.estimate() <= even.estimate() { near } else { even };
        }
        even
    }

    /// A cut whose threads have an island each.
    pub(super) fn whole(&self, cut: &Partition) -> Partition {
        let (mut numbers, mut thread) = (vec![usize::MAX; cut.threads], Vec::new());
        // Islands are numbered by their first process.
        let island = cut.island.iter().map(|&island| {
            let own = cut.thread[island];
            if numbers[own] == usize::MAX {
                numbers[own] = thread.len();
                thread.push(own);
            }
            numbers[own]
        });
        let island: Vec<usize> = island.collect();
        self.share(&island, &self.loads(&island), thread, cut.threads)
    }

    fn loads(&self, island: &[usize]) -> Vec<f64> {
        let mut sizes = vec![0; count(island)];
        for &island in island {
            sizes[island] += 1;
        }
        let own = self.loads.iter().zip(&self.cycles).zip(island);
        let loads = own.map(|((load, cycles), &island)| {
            let is_few = (2..=cost::FEW).contains(&sizes[island]);
            let cold = if sizes[island] > 1 { cost::COLD * load } else { 0.0 };
            load + cold + cycles * if is_few { cost::WAKE_AMONG_FEW } else { cost::WAKE }
        });
        loads.collect()
    }

    fn share(&self, island: &[usize], loads: &[f64], thread: Vec<usize>, threads: usize) -> Partition {
        let mut load = vec![0.0; thread.len()];
        let mut kinds = vec![vec![0.0; threads]; self.count];
        for (process, &island) in island.iter().enumerate() {
            load[island] += loads[process];
            kinds[self.kinds[process]][thread[island]] += loads[process];
        }
        let (mut step, mut meeting, mut crossing) = (vec![u64::MAX; threads], u64::MAX, 0);
        for (link, &latency) in self.machine.links.iter().zip(&self.latencies) {
            let (from, to) = (island[link.from.process], island[link.to.process]);
            if thread[from] != thread[to] {
                meeting = meeting.min(latency);
                crossing += 1;
            } else if from != to {
                let step = &mut step[thread[from]];
                *step = latency.min(*step);
            }
        }
        let shortest = step.iter().copied().fold(meeting, u64::min);
        let lookahead = if shortest == u64::MAX { self.machine.grace() } else { shortest };
        // Threads without links between them check now and then whether the run is to end.
        let meeting = if crossing == 0 { lookahead.max(LEAST_GRACE) } else { meeting };
        Partition {
            island: island.to_vec(),
            thread,
            load,
            lookahead,
            threads,
            step,
            meeting,
            crossing,
            kinds,
        }
    }
}

/// Number of groups, of which each process has its own.
fn count(groups: &[usize]) -> usize {
    groups.iter().max().map_or(0, |last| last + 1)
}

/// An island while it has no thread yet.
#[derive(Clone, Copy, Default)]
struct Island {
    load: f64,
    /// The kind of the heaviest, and its load.
    kind: usize,
    most: f64,
}

impl Island {
    fn add(&mut self, load: f64, kind: usize) {
        self.load += load;
        if load > self.most {
            (self.kind, self.most) = (kind, load);
        }
    }
}

/// Assigns every island, heaviest first, to the thread with the least load of its kind, then the least load of all.
fn evenly(islands: &[Island], kinds: usize, threads: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..islands.len()).collect();
    order.sort_by(|&a, &b| islands[b].load.total_cmp(&islands[a].load));
    let (mut thread, mut loads) = (vec![0; islands.len()], vec![0.0; threads]);
    let mut of_kind = vec![vec![0.0; threads]; kinds];
    for island in order {
        let Island { load, kind, .. } = islands[island];
        let of_kind = &mut of_kind[kind];
        let least = |&a: &usize, &b: &usize| {
            f64::total_cmp(&of_kind[a], &of_kind[b]).then(f64::total_cmp(&loads[a], &loads[b]))
        };
        let lightest = (0..threads).min_by(least).unwrap_or(0);
        thread[island] = lightest;
        of_kind[lightest] += load;
        loads[lightest] += load;
    }
    thread
}

/// Walks from island to island along the links and gives each thread its share of the load on the way.
fn neighbours(islands: &[Island], links: &[(usize, usize)], threads: usize) -> Vec<usize> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); islands.len()];
    for &(from, to) in links {
        next[from].push(to);
        next[to].push(from);
    }
    let share = islands.iter().map(|island| island.load).sum::<f64>() / threads as f64;
    let (mut thread, mut seen, mut sum) = (vec![0; islands.len()], vec![false; islands.len()], 0.0);
    for start in 0..islands.len() {
        let mut stack = vec![start];
        while let Some(island) = stack.pop() {
            if std::mem::replace(&mut seen[island], true) {
                continue;
            }
            // An island that straddles two shares belongs to the one that has more of it.
            let load = islands[island].load;
            thread[island] = (((sum + load / 2.0) / share) as usize).min(threads - 1);
            sum += load;
            stack.extend(next[island].iter().rev().filter(|&&island| !seen[island]));
        }
    }
    thread
}
