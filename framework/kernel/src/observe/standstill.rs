//! The merged knowledge of all threads about a run that hangs: the processes that have not returned, and their
//! waits.
//!
//! The sender of a link knows whether it waits for a credit, the receiver knows the level of the buffer and the arrival
//! of its oldest message. Sender and receiver may be on different threads, so each thread reports its part, and only
//! the sum is used: the report is the same on any number of threads.

use super::outcome::{Blocked, WaitKind, Waiting};
use super::reasons::complete;
use crate::channel::ends::{Endpoint, LinkSpec};
use crate::channel::link::Backlog;
use crate::process::hang_reasons::{HangReason, Known};
use crate::time::SimTime;

/// A process that has not returned.
pub(crate) struct Unfinished {
    pub(crate) process: usize,
    pub(crate) daemon: bool,
    pub(crate) busy: bool,
    pub(crate) reasons: Vec<HangReason>,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct LinkState {
    /// The sender waits for a credit: the number of credits of the link.
    pub(crate) starved: Option<usize>,
    /// The receiver waits for a message, with this backlog from all senders.
    pub(crate) idle: Option<Backlog>,
    /// The receiver's backlog from this sender.
    pub(crate) backlog: Option<Backlog>,
}

/// One thread's share of the knowledge.
#[derive(Default)]
pub(crate) struct Standstill {
    pub(crate) unfinished: Vec<Unfinished>,
    /// By link; nothing is known about links without an end on the thread.
    pub(crate) links: Vec<LinkState>,
    /// Contents of places on which reasons depend.
    pub(crate) known: Vec<Known>,
}

impl Standstill {
    /// Adds what another thread knows.
    pub(crate) fn join(mut self, other: Standstill) -> Standstill {
        self.unfinished.extend(other.unfinished);
        self.known.extend(other.known);
        for (known, more) in self.links.iter_mut().zip(other.links) {
            known.starved = known.starved.or(more.starved);
            known.idle = known.idle.or(more.idle);
            known.backlog = known.backlog.or(more.backlog);
        }
        self
    }

    /// The processes that have not returned, with their waits at a time.
    pub(crate) fn blocked(self, paths: &[String], links: &[LinkSpec], time: SimTime) -> Vec<Blocked> {
        let mut waits: Vec<Vec<Waiting>> = vec![Vec::new(); paths.len()];
        for (link, state) in links.iter().zip(&self.links) {
            if let Some(capacity) = state.starved {
                let (kind, backlog) = (WaitKind::Credit, state.backlog.unwrap_or_default());
                let peer = &paths[link.to.process];
                add(&mut waits[link.from.process], &link.from, kind, backlog, Some(capacity), peer);
            }
            if let Some(backlog) = state.idle {
                let peer = &paths[link.from.process];
                add(&mut waits[link.to.process], &link.to, WaitKind::Message, backlog, None, peer);
            }
        }
        let unfinished = self.unfinished.into_iter().map(|Unfinished { process, daemon, busy, reasons }| {
            let waits = std::mem::take(&mut waits[process]);
            Blocked { path: paths[process].clone(), daemon, busy, waits, reasons }
        });
        let mut blocked: Vec<Blocked> = unfinished.collect();
        complete(&mut blocked, &self.known, paths, time);
        blocked
    }
}

/// Adds a wait, or another peer to one that is known.
fn add(
    waits: &mut Vec<Waiting>,
    end: &Endpoint,
    kind: WaitKind,
    (queued, oldest): Backlog,
    capacity: Option<usize>,
    peer: &str,
) {
    let port = end.name();
    if let Some(known) = waits.iter_mut().find(|known| known.port == port && known.kind == kind) {
        known.peers.push(peer.to_owned());
        return;
    }
    let oldest = oldest.map(SimTime::from_ps);
    waits.push(Waiting { port, kind, queued, capacity, oldest, peers: vec![peer.to_owned()] });
}
