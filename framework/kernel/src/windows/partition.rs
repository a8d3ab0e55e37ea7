//! Cutting a machine into islands, and giving islands to threads.
//!
//! Components joined by links shorter than the lookahead form an island. A long lookahead means few windows, but large
//! islands, which keep many components in one queue and few threads busy; a short one the reverse. So every latency of the
//! machine is tried as the lookahead, and the cut with the smallest estimate of wall time per simulated time is
//! taken. Fewer threads than there may be are tried as well: where windows are short, meeting costs more than a thread
//! brings. The cut changes how fast a machine runs and nothing else.
//!
//! Threads meet as rarely as the links between them allow; all components of one thread may then be one island.
//!
//! Nobody knows beforehand which components are busy at the same time: all of them, or the members of one array while the others
//! wait. So each array is spread over the threads, and the estimate is the mean of both cases.

use std::fmt;
use std::ops::RangeInclusive;

use super::parallel::levels;
use super::shares::Shape;
use crate::machine::ProcessNetwork;
use crate::time::SimTime;

/// Rule for cutting a machine into islands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Islands {
    /// Chosen by latencies, weights and threads.
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
    /// Cost of the island when all its processes are busy, in nanoseconds of computing per simulated microsecond.
    pub load: u64,
}

/// Cut of a machine into islands.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The islands, in the order of their first processes.
    pub islands: Vec<CutIsland>,
    /// Lookahead: no message between two islands takes less.
    pub lookahead: SimTime,
    /// Index of the first link between islands that is this short; `None` if there is one island.
    pub limit: Option<usize>,
    /// Threads that have islands.
    pub threads: usize,
    /// From one meeting of the threads to the next: no message between two of them takes less.
    pub meeting: SimTime,
    /// Predicted speed-up of these threads over one thread, by the weights of the components and the costs of windows and
    /// meetings.
    pub speedup: f64,
    /// Reason for fewer threads than requested.
    pub fewer: Option<Fewer>,
}

/// Reason for fewer threads than requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fewer {
    /// The process may use no more cores.
    Cores(usize),
    /// The machine cannot be cut into more islands.
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
/// these, see the guide; an error of a factor of two moves the choice little.
pub(crate) mod cost {
    /// Cost of waking a process, which is higher among few processes in its island than among many. A lone process that only
    /// counts cycles takes half the time; a lone process that takes messages does not.
    pub(crate) const WAKE: f64 = 8.0;
    pub(crate) const WAKE_AMONG_FEW: f64 = 10.0;
    pub(crate) const FEW: usize = 8;
    /// The share of its weight by which a process costs more where others run between its cycles and its state leaves the cache.
    pub(crate) const COLD: f64 = 0.1;
    /// Running an island for a window.
    pub(crate) const ISLAND: f64 = 60.0;
    /// A window, on one thread.
    pub(crate) const WINDOW: f64 = 60.0;
    /// Meeting other threads at the end of a window, and each further level of their tree.
    pub(crate) const MEETING: f64 = 900.0;
    pub(crate) const LEVEL: f64 = 500.0;
    /// A link between threads, for a window.
    pub(crate) const CROSSING: f64 = 80.0;
}

pub(crate) struct Partition {
    /// Per process its island, numbered in the order of their first processes.
    pub(crate) island: Vec<usize>,
    pub(crate) thread: Vec<usize>,
    /// For each island, its cost per simulated microsecond.
    pub(crate) load: Vec<f64>,
    /// No message between islands takes less than this many picoseconds.
    pub(crate) lookahead: u64,
    pub(crate) threads: usize,
    /// Per thread the shortest latency between two of its islands, `u64::MAX` where no link joins any.
    pub(crate) step: Vec<u64>,
    /// Picoseconds from one meeting of the threads to the next: no message between two of them takes less.
    pub(crate) meeting: u64,
    /// Links between threads.
    pub(crate) crossing: usize,
    /// Per kind of component and thread the load.
    pub(crate) kinds: Vec<Vec<f64>>,
}

/// Cuts that are compared at most; beyond that latencies are left out evenly.
const CANDIDATES: usize = 64;

impl Partition {
    /// Cuts `machine` for the number of threads, within this range, with the best predicted speed; there are no more threads than
    /// islands.
    pub(crate) fn new(machine: &ProcessNetwork, threads: RangeInclusive<usize>, islands: Islands) -> Self {
        let shape = Shape::new(machine);
        let count = machine.processes.len();
        let mut latencies = shape.latencies.clone();
        latencies.sort_unstable();
        latencies.dedup();
        let one = || shape.assign(&vec![0; count], 1);
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
        let joined = latencies.iter().rev().step_by(step).map(|&latency| shape.join(latency));
        let cuts = joined.flat_map(|island| {
            let shape = &shape;
            threads.clone().flat_map(move |threads| {
                let cut = shape.assign(&island, threads);
                // On one thread that is the same for all latencies, and is looked at below.
                let apart = matches!(islands, Islands::Auto) && cut.threads > 1;
                apart.then(|| shape.whole(&cut)).into_iter().chain([cut])
            })
        });
        let whole = (matches!(islands, Islands::Auto) && *threads.start() == 1).then(one);
        let best = whole.into_iter().chain(cuts).min_by(|a, b| a.estimate().total_cmp(&b.estimate()));
        // Without a link that long there is one island; without any links each component is an island, and threads never meet.
        best.unwrap_or_else(|| {
            if !machine.links.is_empty() {
                return one();
            }
            let each: Vec<usize> = (0..count).collect();
            shape.assign(&each, *threads.end())
        })
    }

    /// Cuts `machine` for `asked` threads as it will run: on fewer where fewer are faster or there are fewer `cores`, unless
    /// it is to run on all of them `always`.
    pub(crate) fn for_run(
        machine: &ProcessNetwork,
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
                true => Fewer::Windows(SimTime::from_ps(all.meeting)),
                false => Fewer::Islands(all.thread.len()),
            }
        };
        (chosen, Some(fewer))
    }

    /// Nanoseconds of wall time per simulated microsecond: the mean of all components at once and of one kind after another.
    pub(crate) fn estimate(&self) -> f64 {
        let (mut loads, mut windows) = (vec![0.0; self.threads], vec![0.0; self.threads]);
        for (&thread, load) in self.thread.iter().zip(&self.load) {
            loads[thread] += load;
            windows[thread] += cost::ISLAND;
        }
        for (windows, &step) in windows.iter_mut().zip(&self.step) {
            *windows = (*windows + cost::WINDOW) * 1e6 / step.min(self.meeting).max(1) as f64;
        }
        let most = |loads: &mut dyn Iterator<Item = f64>| loads.fold(0.0, f64::max);
        let together = most(&mut loads.iter().zip(&windows).map(|(load, windows)| load + windows));
        let apart: f64 = self.kinds.iter().map(|loads| most(&mut loads.iter().copied())).sum();
        let apart = apart + most(&mut windows.iter().copied());
        let crossing = cost::CROSSING * self.crossing as f64 / self.threads as f64;
        let meeting = match levels(self.threads) {
            0 => 0.0,
            levels => cost::MEETING + f64::from(levels - 1) * cost::LEVEL + crossing,
        };
        f64::midpoint(together, apart) + meeting * 1e6 / self.meeting.max(1) as f64
    }

    /// The cut as people see it.
    pub(crate) fn describe(&self, machine: &ProcessNetwork, islands: Islands, fewer: Option<Fewer>) -> Cut {
        let speedup = Self::new(machine, 1..=1, islands).estimate() / self.estimate();
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
        let meeting = SimTime::from_ps(self.meeting);
        Cut { islands, lookahead, limit, threads: self.threads, meeting, speedup, fewer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::ends::{Endpoint, LinkSpec};
    use crate::channel::link::LinkOptions;
    use crate::channel::wiring::Wiring;
    use crate::machine::ProcessSpec;
    use crate::time::{Clock, Hertz, Latency};

    /// Clusters of four components with links of one cycle; clusters in a ring with links of `far` cycles.
    fn clusters(count: usize, far: u64, weight: u32) -> ProcessNetwork {
        let clock = Clock::new(Hertz::new(1_000_000_000));
        let mut machine = ProcessNetwork::default();
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
            let body = |_: &mut Wiring<'_>| async { Ok(()) };
            let spec = ProcessSpec::new(format!("p{process}"), clock, false, body);
            machine.processes.push(ProcessSpec { weight, ..spec });
        }
        machine
    }

    /// A cut at links of 100 cycles.
    fn far(machine: &ProcessNetwork, threads: usize) -> Partition {
        Partition::new(machine, threads..=threads, Islands::AtLatency(SimTime::from_ns(100)))
    }

    #[test]
    fn each_of_several_threads_has_one_island() {
        let cut = Partition::new(&clusters(8, 100, 20), 2..=2, Islands::Auto);
        assert_eq!((cut.thread, cut.lookahead, cut.meeting), (vec![0, 1], 100_000, 100_000));
        assert!((0..32).all(|process| cut.island[process] == process / 16));
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
    fn every_array_is_spread_over_the_threads() {
        // A hub, workers, and stores that weigh as much as a worker all together: by weight alone one thread could have them all.
        let mut machine = clusters(3, 100, 100);
        for (process, path) in machine.processes.iter_mut().zip(0..) {
            process.path = match path {
                0..4 => format!("hub{path}"),
                4..8 => format!("worker[{path}]"),
                _ => format!("store[{path}]"),
            };
            process.weight = if path < 8 { 100 } else { 10 };
        }
        machine.links.iter_mut().for_each(|link| link.options.latency = Latency::Cycles(100));
        let cut = Partition::new(&machine, 2..=2, Islands::Auto);
        for array in [4..8, 8..12] {
            let first = array.clone().filter(|&process| cut.thread[cut.island[process]] == 0).count();
            assert_eq!(first, 2, "{array:?}");
        }
    }

    #[test]
    fn threads_meet_as_rarely_as_the_links_between_them_allow() {
        // Two rings of clusters of their own, joined by one link of 10,000 cycles.
        let (mut machine, mut other) = (clusters(4, 100, 50), clusters(4, 100, 50));
        for (process, path) in other.processes.iter_mut().zip(0..) {
            process.path = format!("q{path}");
        }
        for link in &mut other.links {
            (link.from.process, link.to.process) = (link.from.process + 16, link.to.process + 16);
        }
        machine.processes.append(&mut other.processes);
        machine.links.append(&mut other.links);
        let latency = Latency::Cycles(10_000);
        let end = |process, port: &str| Endpoint { process, port: port.into(), index: None };
        let options = LinkOptions { latency, capacity: 4, bandwidth: None };
        machine.links.push(LinkSpec { from: end(0, "far"), to: end(16, "far"), sender: 0, options });
        let cut = far(&machine, 2);
        assert_eq!((cut.thread.len(), cut.lookahead, cut.meeting), (8, 100_000, 10_000_000));
        assert_eq!((&cut.step[..], cut.crossing), (&[100_000; 2][..], 1));
        let one = far(&machine, 1);
        assert_eq!((one.thread.len(), one.lookahead, one.meeting), (8, 100_000, 1 << 20));
        let auto = Partition::new(&machine, 2..=2, Islands::Auto);
        assert_eq!((auto.thread.len(), auto.lookahead, auto.meeting), (2, 10_000_000, 10_000_000));
    }

    #[test]
    fn neighbours_stay_on_a_thread() {
        let cut = far(&clusters(8, 100, 20), 2);
        assert_eq!((cut.thread, cut.crossing), (vec![0, 0, 0, 0, 1, 1, 1, 1], 2));
    }

    #[test]
    fn threads_are_used_where_they_are_faster() {
        let threads = |machine: &ProcessNetwork, asked, cores, always, islands| {
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
        assert_eq!((at(1), at(2), at(100), at(101)), (16, 4, 4, 1));
        assert_eq!(Partition::new(&machine, 4..=4, Islands::One).thread.len(), 1);
    }
}
