//! Inspection of a run that is held: statistics, levels of ports, and the waits between processes.
//!
//! Each share contributes its part, and only the sum is shown, so an inspection is the same on any number of threads.

use std::fmt;

use super::outcome::{Blocked, WaitKind, Waiting, write_waits};
use super::reasons::Groups;
use super::standstill::Standstill;
use crate::channel::ends::{Endpoint, LinkSpec};
use crate::machine::Shown;
use crate::time::SimTime;

/// A view of a run that is held.
pub struct Inspection {
    /// Everything before this time has happened, and nothing at it or after it.
    pub time: SimTime,
    /// State that each process shows, in the machine's order; `None` for a process that shows nothing.
    pub shown: Vec<Option<Shown>>,
    /// The links, in the machine's order.
    pub ports: Vec<PortInspection>,
    /// The waits between processes.
    pub waits: Waits,
}

/// The level of an input, from one of its senders: a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInspection {
    /// The output: path of the process, name of the port, and index if the port is an array: `gpu.sm[3].memory`.
    pub from: String,
    /// The input, written likewise.
    pub to: String,
    /// Messages that have arrived and wait in the receiver's buffer.
    pub level: usize,
    /// Messages that have been sent and have not arrived.
    pub travelling: usize,
    /// Messages that the link holds at most: the receiver's buffer, and those on the way at the full rate.
    pub capacity: usize,
    /// Messages that the sender may send at once.
    pub credits: usize,
    /// Arrival time of the oldest message that waits.
    pub oldest: Option<SimTime>,
}

/// The waits between processes in a run that is held. A process whose message or credit is on its way waits
/// for time to pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Time of the inspection.
    pub time: SimTime,
    /// The processes that have not returned, by path: those that the run waits for first.
    pub blocked: Vec<Blocked>,
}

impl Waits {
    /// The processes that wait for a credit, each with the wait: where the machine is full.
    pub fn full(&self) -> impl Iterator<Item = (&Blocked, &Waiting)> {
        self.blocked.iter().flat_map(|process| {
            let starved = process.waits.iter().filter(|wait| wait.kind == WaitKind::Credit);
            starved.map(move |wait| (process, wait))
        })
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups = Groups::of(&self.blocked);
        self.blocked.iter().try_for_each(|process| write_waits(f, self.time, process, true, &mut groups))
    }
}

/// One share's part of an inspection.
pub(crate) struct InspectionPart {
    /// Number of shares.
    pub(crate) of: usize,
    pub(crate) time: u64,
    /// By process.
    pub(crate) shown: Vec<(usize, Shown)>,
    /// By link.
    pub(crate) levels: Vec<Level>,
    pub(crate) standstill: Standstill,
}

/// A share's part of the state of a link.
#[derive(Clone, Copy, Default)]
pub(crate) struct Level {
    /// At the receiver: messages that wait, messages on the way, and the arrival of the oldest waiting one.
    pub(crate) messages: Option<(usize, usize, Option<u64>)>,
    /// At the sender: credits available, credits on the way, and all credits.
    pub(crate) credits: Option<(usize, usize, usize)>,
}

impl Inspection {
    /// Puts the parts of all shares together. There is at least one.
    pub(crate) fn new(parts: Vec<InspectionPart>, paths: &[String], links: &[LinkSpec]) -> Self {
        let time = SimTime::from_ps(parts.first().map_or(0, |part| part.time));
        let mut shown: Vec<Option<Shown>> = paths.iter().map(|_| None).collect();
        let mut levels = vec![Level::default(); links.len()];
        let mut standstill: Option<Standstill> = None;
        for part in parts {
            for (process, one) in part.shown {
                shown[process] = Some(one);
            }
            for (level, known) in levels.iter_mut().zip(part.levels) {
                level.messages = level.messages.or(known.messages);
                level.credits = level.credits.or(known.credits);
            }
            standstill = Some(match standstill {
                Some(before) => before.join(part.standstill),
                None => part.standstill,
            });
        }
        let ports = links.iter().zip(&levels).map(|(link, level)| {
            let (waiting, travelling, oldest) = level.messages.unwrap_or_default();
            let (credits, _, capacity) = level.credits.unwrap_or_default();
            PortInspection {
                from: port_path(paths, &link.from),
                to: port_path(paths, &link.to),
                level: waiting,
                travelling,
                capacity,
                credits,
                oldest: oldest.map(SimTime::from_ps),
            }
        });
        let mut blocked = standstill.unwrap_or_default().blocked(paths, links, time);
        blocked.sort_by(|a, b| (a.daemon, &a.path).cmp(&(b.daemon, &b.path)));
        Inspection { time, shown, ports: ports.collect(), waits: Waits { time, blocked } }
    }
}

fn port_path(paths: &[String], end: &Endpoint) -> String {
    format!("{}.{}", paths[end.process], end.name())
}
