//! Outcome of a run, and the report when the run did not finish.

use std::collections::BTreeMap;
use std::fmt;

use super::reasons::Groups;
use crate::process::fault::Fault;
use crate::process::hang_reasons::HangReason;
use crate::time::SimTime;

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every process that counts has returned; the last one at this time.
    Finished(SimTime),
    /// The time given by `stop_at` was reached with events left. If no event is left and some processes have not returned,
    /// the outcome is a deadlock, even before a stop.
    Stopped(SimTime),
    /// The end of the run was requested.
    Interrupted(SimTime),
    /// No event is left, and some processes have not returned.
    Deadlock(Hang),
    /// Time passes, but no message has been taken for a long time.
    Livelock(Hang),
    /// A component failed.
    Failed {
        /// Time of the failure.
        time: SimTime,
        /// Path of the component.
        path: String,
        /// Reason for the failure.
        fault: Fault,
    },
}

impl Outcome {
    /// The simulated time at which the run ended.
    pub fn time(&self) -> SimTime {
        match self {
            Outcome::Finished(time) | Outcome::Stopped(time) | Outcome::Interrupted(time) => *time,
            Outcome::Deadlock(hang) | Outcome::Livelock(hang) => hang.time,
            Outcome::Failed { time, .. } => *time,
        }
    }

    /// The remedy for a failure, if it has one.
    pub fn help(&self) -> Option<&str> {
        match self {
            Outcome::Failed { fault, .. } => fault.help.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Finished(time) => write!(f, "finished at {time}"),
            Outcome::Stopped(time) => write!(f, "stopped at {time}"),
            Outcome::Interrupted(time) => write!(f, "interrupted at {time}"),
            Outcome::Deadlock(hang) => write!(f, "deadlock at {}: {hang}", hang.time),
            Outcome::Livelock(hang) => write!(f, "livelock at {}: {hang}", hang.time),
            Outcome::Failed { time, path, fault } => write!(f, "{path} failed at {time}: {fault}"),
        }
    }
}

/// Kind of a wait at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitKind {
    /// A credit of an output: the receiver's buffer is full.
    Credit,
    /// A message on an input.
    Message,
}

/// One wait of a process that has not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The port, with its index.
    pub port: String,
    /// For what.
    pub kind: WaitKind,
    /// Messages in the buffer: for a credit the receiver's, for a message its own.
    pub queued: usize,
    /// Messages that the link holds at most.
    pub capacity: Option<usize>,
    /// Arrival time of the oldest of these messages.
    pub oldest: Option<SimTime>,
    /// The processes at the other end.
    pub peers: Vec<String>,
}

/// A process that has not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Path of the process in the machine.
    pub path: String,
    /// Serves others: the run does not wait for it.
    pub daemon: bool,
    /// Whether the process has declared unfinished work.
    pub busy: bool,
    /// Waits of the process; any of them would wake it.
    pub waits: Vec<Waiting>,
    /// Reasons for which the process lets others wait.
    pub reasons: Vec<HangReason>,
}

impl Blocked {
    /// Whether the reasons explain the process fully: it only serves others, and its waits tell nothing more.
    fn is_told(&self) -> bool {
        self.daemon && !self.reasons.is_empty() && self.reasons.iter().all(|reason| reason.group.is_some())
    }
}

/// The way in which a run hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangKind {
    /// No event is left.
    Still,
    /// Time passes, and no message has been taken for long: some of the processes wait for nothing but time.
    Passing,
    /// Messages flow, and no process that acts by itself has done anything for long ([`set_acts`](crate::Process::set_acts)).
    InVain,
}

/// The waits between processes when nothing happens any more, or nothing that changes anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hang {
    /// Time of the last event; for a livelock, the time at which it was found.
    pub time: SimTime,
    /// The processes that the run waits for, those in the circle, and those that have unfinished work or no credit.
    pub blocked: Vec<Blocked>,
    /// Processes that wait for each other in a circle, each with the port at which it waits for the next.
    pub cycle: Vec<(String, String)>,
    /// Kind of the hang.
    pub kind: HangKind,
}

impl Hang {
    /// Sorts out the waits between the processes that have not returned.
    pub(crate) fn new(time: SimTime, mut blocked: Vec<Blocked>, kind: HangKind) -> Self {
        blocked.sort_by(|a, b| (a.daemon, &a.path).cmp(&(b.daemon, &b.path)));
        let cycle = cycle(&blocked);
        // An idle server waits for messages. Only the busy, those that cannot send, those in the circle, and those that
        // count, are news.
        let in_circle = |path: &str| cycle.iter().any(|(member, _)| member == path);
        let starved = |waits: &[Waiting]| waits.iter().any(|wait| wait.kind == WaitKind::Credit);
        blocked.retain(|process| {
            !process.daemon || process.busy || starved(&process.waits) || in_circle(&process.path)
        });
        if kind == HangKind::InVain {
            // Servers are busy with what is asked in vain.
            blocked.retain(|process| !process.daemon || !process.reasons.is_empty());
        }
        Hang { time, blocked, cycle, kind }
    }
}

/// Finds a circle of waits, preferring waits for credit: a full buffer says more than an idle server.
fn cycle(blocked: &[Blocked]) -> Vec<(String, String)> {
    let place: BTreeMap<&str, usize> =
        blocked.iter().enumerate().map(|(index, process)| (process.path.as_str(), index)).collect();
    let edges: Vec<Vec<(WaitKind, usize, String)>> = blocked
        .iter()
        .map(|process| {
            let mut edges: Vec<(WaitKind, usize, String)> = process
                .waits
                .iter()
                .flat_map(|wait| {
                    let targets = wait.peers.iter().filter_map(|peer| place.get(peer.as_str()));
                    targets.map(|&target| (wait.kind, target, wait.port.clone()))
                })
                .collect();
            edges.sort();
            edges
        })
        .collect();
    let mut best: Vec<(String, String)> = Vec::new();
    let mut best_credits = 0;
    for start in 0..blocked.len() {
        let Some(path) = shortest_circle(&edges, start) else {
            continue;
        };
        let credits = path.iter().filter(|&&(node, edge)| edges[node][edge].0 == WaitKind::Credit).count();
        if best.is_empty() || credits > best_credits {
            best_credits = credits;
            best = path
                .iter()
                .map(|&(node, edge)| (blocked[node].path.clone(), edges[node][edge].2.clone()))
                .collect();
        }
    }
    best
}

/// The shortest way from `start` back to itself, as (node, edge) pairs.
fn shortest_circle(edges: &[Vec<(WaitKind, usize, String)>], start: usize) -> Option<Vec<(usize, usize)>> {
    let mut came: Vec<Option<(usize, usize)>> = vec![None; edges.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for (edge, &(_, target, _)) in edges[node].iter().enumerate() {
            if target == start {
                let mut path = vec![(node, edge)];
                let mut at = node;
                while at != start {
                    let (previous, edge) = came[at]?;
                    path.push((previous, edge));
                    at = previous;
                }
                path.reverse();
                return Some(path);
            }
            if came[target].is_none() {
                came[target] = Some((node, edge));
                queue.push_back(target);
            }
        }
    }
    None
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.blocked.iter().filter(|process| !process.daemon).count();
        let what = match self.kind {
            HangKind::Still => "nothing can happen any more",
            HangKind::Passing => "time passes, but no message has been taken for long",
            HangKind::InVain => "messages flow, but all that happens for long repeats itself",
        };
        let have = if waiting == 1 { "process has" } else { "processes have" };
        writeln!(f, "{what}, and {waiting} {have} not returned")?;
        if let Some((first, _)) = self.cycle.first() {
            write!(f, "  wait-for cycle: ")?;
            for (path, port) in &self.cycle {
                write!(f, "{path}.{port} -> ")?;
            }
            writeln!(f, "{first}")?;
        }
        let mut groups = Groups::of(&self.blocked);
        let passing = self.kind != HangKind::Still;
        self.blocked.iter().try_for_each(|process| write_waits(f, self.time, process, passing, &mut groups))
    }
}

/// The waits of a process at a time, a line each.
pub(crate) fn write_waits(
    f: &mut fmt::Formatter<'_>,
    time: SimTime,
    process: &Blocked,
    passing: bool,
    groups: &mut Groups,
) -> fmt::Result {
    if process.is_told() {
        return process.reasons.iter().try_for_each(|reason| groups.write(f, &process.path, reason));
    }
    if process.busy {
        writeln!(f, "  {} has begun work that it has not finished", process.path)?;
    }
    process.reasons.iter().try_for_each(|reason| groups.write(f, &process.path, reason))?;
    if process.waits.is_empty() {
        let what = if passing { "time to pass" } else { "nothing that a port could bring" };
        writeln!(f, "  {} waits for {what}", process.path)?;
    }
    for wait in &process.waits {
        let peers = wait.peers.join(", ");
        match wait.kind {
            WaitKind::Credit => {
                write!(f, "  {}.{} waits for a credit from {peers}", process.path, wait.port)?
            }
            WaitKind::Message => {
                write!(f, "  {}.{} waits for a message from {peers}", process.path, wait.port)?;
            }
        }
        if let Some(capacity) = wait.capacity {
            write!(f, " ({} of {capacity} messages in flight or queued", wait.queued)?;
            if let Some(oldest) = wait.oldest {
                let age = time.saturating_sub(oldest);
                write!(f, ", the oldest arrived at {oldest}, {age} ago")?;
            }
            write!(f, ")")?;
        }
        writeln!(f)?;
    }
    Ok(())
}
