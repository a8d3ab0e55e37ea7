//! Cutting a machine into islands, and giving islands to threads.
//!
//! Components joined by links shorter than the lookahead form an island. A long lookahead means few windows, but large
//! islands, which keep many components in one queue and few threads busy; a short one the reverse. So every latency of the
//! machine is tried as the lookahead, and the cut with the smallest estimate of wall time per simulated time is
//! taken. Fewer threads than there may be are tried as well: where windows are short, meeting costs more than a thread
//! brings. The cut changes how fast a machine runs and nothing else.

use std::fmt;
use std::ops::RangeInclusive;

use super::machine::Machine;
use crate::time::SimTime;

/// How to cut a machine into islands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Islands {
    /// As latencies, weights and threads suggest.
    #[default]
    Auto,
    /// Not at all: one island on one thread.
    One,
    /// At every link of this latency or more.
    AtLatency(SimTime),
}

/// An island of a [`Cut`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutIsland {
    /// Positions of its processes in the machine.
    pub processes: Vec<usize>,
    /// The thread that runs it.
    pub thread: usize,
    /// Its cost when all its processes are busy, in nanoseconds of computing per simulated microsecond.
    pub load: u64,
}

/// How a machine is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The islands, in the order of their first processes.
    pub islands: Vec<CutIsland>,
    /// No message between them takes less.
    pub lookahead: SimTime,
    /// Index of the first link between islands that is this short; nothing if there is one island.
    pub limit: Option<usize>,
    /// Threads that have islands.
    pub threads: usize,
    /// Why these are fewer than were asked for.
    pub fewer: Option<Fewer>,
}

/// Why a machine runs on fewer threads than were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fewer {
    /// The process may use no more cores.
    Cores(usize),
    /// It is cut into no more islands.
    Islands(usize),
    /// With another thread windows would have at most this length: meeting at their ends costs more than the
    /// thread brings.
    Windows(SimTime),
}

impl fmt::Display for Fewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fewer::Cores(1) => f.write_str("there is one core for them"),
            Fewer::Cores(cores) => write!(f, "there are {cores} cores for them"),
            Fewer::Islands(1) => f.write_str("the machine is one island"),
            Fewer::Islands(islands) => write!(f, "the machine is {islands} islands"),
            Fewer::Windows(lookahead) => write!(f, "windows of {lookahead} are too short for more"),
        }
    }
}

/// Costs of running, in nanoseconds on a present-day core. `cargo bench -p counterpoint-framework` measures
/// these, see the [guide](crate::guide::scaling); an error of a factor of two moves the choice little.
mod cost {
    /// Waking a process, which is dearer among a few in its island than among many. One that is alone and only counts cycles
    /// takes half as long; one that takes messages does not.
    pub(super) const WAKE: f64 = 8.0;
    pub(super) const WAKE_AMONG_FEW: f64 = 10.0;
    /// A few.
    pub(super) const FEW: usize = 8;
    /// Running an island for a window.
    pub(super) const ISLAND: f64 = 60.0;
    /// A window, on one thread.
    pub(super) const WINDOW: f64 = 60.0;
    /// Meeting another thread at the end of a window.
    pub(super) const MEETING: f64 = 900.0;
    /// A link between threads, for a window.
    pub(super) const CROSSING: f64 = 80.0;
}

/// A cut.
pub(crate) struct Partition {
    /// Per process its island, numbered in the order of their first processes.
    pub(crate) island: Vec<usize>,
    /// Per island its thread.
    pub(crate) thread: Vec<usize>,
    /// Per island what it costs per simulated microsecond.
    pub(crate) load: Vec<f64>,
    /// No message between islands takes less than this many picoseconds.
    pub(crate) lookahead: u64,
    /// Threads that have an island.
    pub(crate) threads: usize,
    /// Links between threads.
    crossing: usize,
}

/// Cuts that are compared at most; beyond that latencies are left out evenly.
const CANDIDATES: usize = 64;

impl Partition {
    /// Cuts `machine` for as many of these numbers of threads as look fastest; there are no more than islands.
    pub(crate) fn new(machine: &Machine, threads: RangeInclusive<usize>, islands: Islands) -> Self {
        let count = machine.processes.len();
        let mut latencies: Vec<u64> = machine.links.iter().map(|link| machine.latency(link)).collect();
        latencies.sort_unstable();
        latencies.dedup();
        let one = || Self::assign(machine, vec![0; count], 1);
        match islands {
            Islands::One => return one(),
            Islands::AtLatency(latency) => latencies.retain(|&known| known >= latency.as_ps()),
            Islands::Auto => {}
        }
        if matches!(islands, Islands::AtLatency(_)) {
            latencies.truncate(1);
        }
        let step = latencies.len().div_ceil(CANDIDATES).max(1);
        // Longest lookahead and fewest threads first: they win a tie.
        let joined = latencies.iter().rev().step_by(step).map(|&latency| join(machine, latency));
        let cuts = joined.flat_map(|island| {
            threads.clone().map(move |threads| Self::assign(machine, island.clone(), threads))
        });
        let whole = (matches!(islands, Islands::Auto) && *threads.start() == 1).then(one);
        let best = whole.into_iter().chain(cuts).min_by(|a, b| a.estimate().total_cmp(&b.estimate()));
        // Without links everything is an island, and nobody meets.
        best.unwrap_or_else(|| Self::assign(machine, (0..count).collect(), *threads.end()))
    }

    /// Cuts `machine` for `asked` threads as it will run: on fewer where fewer are faster or there are fewer `cores`, unless
    /// it is to run on all of them `always`.
    pub(crate) fn for_run(
        machine: &Machine,
        asked: usize,
        cores: usize,
        always: bool,
        islands: Islands,
    ) -> (Self, Option<Fewer>) {
        let most = if always { asked } else { asked.min(cores) }.max(1);
        let chosen = Self::new(machine, if always { most..=most } else { 1..=most }, islands);
        if chosen.threads >= asked {
            return (chosen, None);
        }
        let fewer = if chosen.threads == most {
            Fewer::Cores(cores)
        } else {
            let all = Self::new(machine, most..=most, islands);
            match all.threads > chosen.threads {
                true => Fewer::Windows(SimTime::from_ps(all.lookahead)),
                false => Fewer::Islands(all.thread.len()),
            }
        };
        (chosen, Some(fewer))
    }

    /// Gives the islands to threads: neighbours to the same one, or all evenly, whichever looks faster.
    fn assign(machine: &Machine, island: Vec<usize>, threads: usize) -> Self {
        let mut sizes = vec![0; island.iter().max().map_or(0, |last| last + 1)];
        for &island in &island {
            sizes[island] += 1;
        }
        let mut links = vec![0_u32; machine.processes.len()];
        for link in &machine.links {
            links[link.from.process] += 1;
            links[link.to.process] += 1;
        }
        let mut load = vec![0.0; sizes.len()];
        for ((process, links), &island) in machine.processes.iter().zip(links).zip(&island) {
            let is_few = (2..=cost::FEW).contains(&sizes[island]);
            let wake = if is_few { cost::WAKE_AMONG_FEW } else { cost::WAKE };
            let cycles = 1e6 / process.clock.cycles(1).floor().as_ps().max(1) as f64;
            let weight = f64::from(process.weight) + f64::from(process.link_weight) * f64::from(links);
            load[island] += cycles * (weight + wake);
        }
        let threads = threads.min(sizes.len()).max(1);
        let ends = machine.links.iter().map(|link| (island[link.from.process], island[link.to.process]));
        let ends: Vec<(usize, usize)> = ends.filter(|(from, to)| from != to).collect();
        let crossing =
            machine.links.iter().filter(|link| island[link.from.process] != island[link.to.process]);
        let lookahead = crossing.map(|link| machine.latency(link)).min().unwrap_or_else(|| machine.grace());
        let shared = |thread: Vec<usize>| {
            let crossing = ends.iter().filter(|&&(from, to)| thread[from] != thread[to]).count();
            Partition { island: island.clone(), thread, load: load.clone(), lookahead, threads, crossing }
        };
        let (near, even) = (shared(neighbours(&load, &ends, threads)), shared(evenly(&load, threads)));
        if near.estimate() <= even.estimate() { near } else { even }
    }

    /// Nanoseconds of wall time per simulated microsecond, when everybody is busy.
    fn estimate(&self) -> f64 {
        let windows = if self.thread.len() == 1 { 1.0 } else { 1e6 / self.lookahead.max(1) as f64 };
        let (mut loads, mut islands) = (vec![0.0; self.threads], vec![0.0; self.threads]);
        for (&thread, load) in self.thread.iter().zip(&self.load) {
            loads[thread] += load;
            islands[thread] += 1.0;
        }
        let meeting = cost::WINDOW + cost::MEETING * (self.threads - 1) as f64;
        let each = loads.iter().zip(&islands).map(|(load, islands)| load + windows * islands * cost::ISLAND);
        let crossing = cost::CROSSING * self.crossing as f64 / self.threads as f64;
        each.fold(0.0, f64::max) + windows * (meeting + crossing)
    }

    /// The cut as people see it.
    pub(crate) fn describe(&self, machine: &Machine, fewer: Option<Fewer>) -> Cut {
        let mut islands: Vec<CutIsland> = self
            .thread
            .iter()
            .zip(&self.load)
            .map(|(&thread, &load)| CutIsland { processes: Vec::new(), thread, load: load as u64 })
            .collect();
        for (process, &island) in self.island.iter().enumerate() {
            islands[island].processes.push(process);
        }
        let crossing = machine
            .links
            .iter()
            .enumerate()
            .filter(|(_, link)| self.island[link.from.process] != self.island[link.to.process]);
        let limit = crossing.min_by_key(|(_, link)| machine.latency(link)).map(|(index, _)| index);
        let lookahead = SimTime::from_ps(self.lookahead);
        Cut { islands, lookahead, limit, threads: self.threads, fewer }
    }
}

/// Gives every island to the thread that has the least load so far, heaviest islands first.
fn evenly(load: &[f64], threads: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..load.len()).collect();
    order.sort_by(|&a, &b| load[b].total_cmp(&load[a]));
    let (mut thread, mut loads) = (vec![0; load.len()], vec![0.0; threads]);
    for island in order {
        let lightest = (0..threads).min_by(|&a, &b| f64::total_cmp(&loads[a], &loads[b])).unwrap_or(0);
        thread[island] = lightest;
        loads[lightest] += load[island];
    }
    thread
}

/// Walks from island to island along the links and gives each thread its share of the load on the way.
fn neighbours(load: &[f64], links: &[(usize, usize)], threads: usize) -> Vec<usize> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); load.len()];
    for &(from, to) in links {
        next[from].push(to);
        next[to].push(from);
    }
    let share = load.iter().sum::<f64>() / threads as f64;
    let (mut thread, mut seen, mut sum) = (vec![0; load.len()], vec![false; load.len()], 0.0);
    for start in 0..load.len() {
        let mut stack = vec![start];
        while let Some(island) = stack.pop() {
            if std::mem::replace(&mut seen[island], true) {
                continue;
            }
            // An island that straddles two shares belongs to the one that has more of it.
            thread[island] = (((sum + load[island] / 2.0) / share) as usize).min(threads - 1);
            sum += load[island];
            stack.extend(next[island].iter().rev().filter(|&&island| !seen[island]));
        }
    }
    thread
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Endpoint, LinkOptions, LinkSpec, ProcessSpec};
    use crate::time::{Clock, Hertz, Latency};

    /// Clusters of four components with links of one cycle; clusters in a ring with links of `far` cycles.
    fn clusters(count: usize, far: u64, weight: u32) -> Machine {
        let clock = Clock::new(Hertz::new(1_000_000_000));
        let mut machine = Machine::default();
        let mut join = |from: usize, to: usize, cycles: u64, sender: u32| {
            let end = |process: usize, port: &str, index| Endpoint { process, port: port.into(), index };
            let options = LinkOptions { latency: Latency::Cycles(cycles), capacity: 4, bandwidth: None };
            let (from, to) = (end(from, "out", Some(sender)), end(to, "in", None));
            machine.links.push(LinkSpec { from, to, sender, options });
        };
        for cluster in 0..count {
            for member in 0..4 {
                join(4 * cluster + member, 4 * cluster + (member + 1) % 4, 1, 0);
            }
            join(4 * cluster, (4 * cluster + 4) % (4 * count), far, 1);
        }
        for process in 0..4 * count {
            let body = |_: &mut super::super::Wiring<'_>| async { Ok(()) };
            let spec = ProcessSpec::new(format!("p{process}"), clock, false, body);
            machine.processes.push(ProcessSpec { weight, ..spec });
        }
        machine
    }

    #[test]
    fn clusters_become_islands_where_windows_are_long() {
        let cut = Partition::new(&clusters(8, 100, 20), 2..=2, Islands::Auto);
        assert_eq!((cut.thread.len(), cut.lookahead), (8, 100_000));
        assert!((0..32).all(|process| cut.island[process] == process / 4));
    }

    #[test]
    fn a_thread_of_its_own_has_one_island() {
        for far in [1, 100] {
            assert_eq!(Partition::new(&clusters(8, far, 20), 1..=1, Islands::Auto).thread.len(), 1);
        }
    }

    #[test]
    fn threads_share_the_weight_evenly() {
        let mut machine = clusters(8, 100, 20);
        machine.processes[0].weight = 2_000;
        let cut = Partition::new(&machine, 2..=2, Islands::Auto);
        let mut loads = [0.0; 2];
        cut.thread.iter().zip(&cut.load).for_each(|(&thread, load)| loads[thread] += load);
        // The heavy cluster is more than all others together.
        let alone = cut.thread[0];
        assert_eq!(cut.thread.iter().filter(|&&thread| thread == alone).count(), 1);
        assert!(loads[alone] > loads[1 - alone]);
    }

    #[test]
    fn a_process_weighs_more_with_every_link() {
        let load = |link_weight, measured: Option<&[u32]>| {
            let mut machine = clusters(1, 100, 20);
            machine.processes[0].link_weight = link_weight;
            machine.weigh(measured);
            Partition::new(&machine, 1..=1, Islands::AtLatency(SimTime::from_ns(1))).load[0]
        };
        // Two links of its ring, and both ends of the one that leads from the cluster to itself.
        assert_eq!(load(10, None) - load(0, None), 4.0 * 10.0 * 1_000.0);
        assert_eq!(load(10, Some(&[20; 4])), load(0, None), "what was measured has it all");
    }

    #[test]
    fn neighbours_stay_on_a_thread() {
        let cut = Partition::new(&clusters(8, 100, 20), 2..=2, Islands::Auto);
        assert_eq!((cut.thread, cut.crossing), (vec![0, 0, 0, 0, 1, 1, 1, 1], 2));
    }

    #[test]
    fn threads_are_used_where_they_are_faster() {
        let threads = |machine: &Machine, asked, cores, always, islands| {
            let (cut, fewer) = Partition::for_run(machine, asked, cores, always, islands);
            (cut.threads, fewer)
        };
        // Windows of 100 cycles are worth a meeting, and there are cores.
        let long = clusters(8, 100, 20);
        assert_eq!(threads(&long, 2, 2, false, Islands::Auto), (2, None));
        assert_eq!(threads(&long, 2, 1, false, Islands::Auto), (1, Some(Fewer::Cores(1))));
        assert_eq!(threads(&long, 2, 1, true, Islands::Auto), (2, None));
        // Windows of one cycle are not.
        let short = clusters(8, 1, 20);
        let windows = Some(Fewer::Windows(SimTime::from_ns(1)));
        assert_eq!(threads(&short, 2, 2, false, Islands::Auto), (1, windows));
        assert_eq!(threads(&short, 2, 2, true, Islands::Auto), (2, None));
        assert_eq!(threads(&long, 2, 2, true, Islands::One), (1, Some(Fewer::Islands(1))));
        assert_eq!(threads(&long, 1, 2, false, Islands::Auto), (1, None));
    }

    #[test]
    fn a_latency_can_be_asked_for() {
        let machine = clusters(4, 100, 20);
        let at = |ns| Partition::new(&machine, 1..=1, Islands::AtLatency(SimTime::from_ns(ns))).thread.len();
        assert_eq!((at(1), at(2), at(100)), (16, 4, 4));
        assert_eq!(Partition::new(&machine, 4..=4, Islands::One).thread.len(), 1);
    }
}
