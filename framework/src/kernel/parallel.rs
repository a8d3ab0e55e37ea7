//! What threads tell each other at the end of a window.
//!
//! Every thread sends one report to every other and waits for theirs, which is the barrier too. All threads compute
//! the same summary and so take the same decisions. The wait spins for a moment, because the others are nearly done,
//! then parks, because they may not be running.

use flume::{Receiver, Sender};

/// Times to look for a report before parking.
const SPINS: usize = 2_000;

/// What a thread knows at the end of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// When something happens next, messages that are on their way to another thread included.
    pub(crate) next: u64,
    /// Processes that have not returned and that the run waits for.
    pub(crate) live: u64,
    /// When the last of those that have returned did so.
    pub(crate) ended: u64,
    /// When a component failed, `u64::MAX` if none did.
    pub(crate) failed: u64,
    /// When a message was last taken.
    pub(crate) moved: u64,
    /// Someone asked for the end.
    pub(crate) interrupted: bool,
}

impl Default for Report {
    fn default() -> Self {
        Report { next: u64::MAX, live: 0, ended: 0, failed: u64::MAX, moved: 0, interrupted: false }
    }
}

impl Report {
    fn join(self, other: Report) -> Report {
        Report {
            next: self.next.min(other.next),
            live: self.live + other.live,
            ended: self.ended.max(other.ended),
            failed: self.failed.min(other.failed),
            moved: self.moved.max(other.moved),
            interrupted: self.interrupted || other.interrupted,
        }
    }
}

/// One thread's channels to all others.
pub(crate) struct Exchange {
    peers: Vec<(Sender<Report>, Receiver<Report>)>,
}

impl Exchange {
    /// The exchanges of `threads` threads.
    pub(crate) fn all(threads: usize) -> Vec<Exchange> {
        let mut exchanges: Vec<Exchange> = (0..threads).map(|_| Exchange { peers: Vec::new() }).collect();
        for first in 0..threads {
            for second in first + 1..threads {
                let (to_second, from_first) = flume::bounded(1);
                let (to_first, from_second) = flume::bounded(1);
                exchanges[first].peers.push((to_second, from_second));
                exchanges[second].peers.push((to_first, from_first));
            }
        }
        exchanges
    }

    /// Tells the others and hears from them: the reports of all threads, joined.
    pub(crate) fn swap(&self, own: Report) -> Report {
        for (to, _) in &self.peers {
            to.send(own).expect("a simulation thread died");
        }
        self.peers.iter().fold(own, |all, (_, from)| all.join(receive(from)))
    }
}

fn receive(from: &Receiver<Report>) -> Report {
    for _ in 0..SPINS {
        if let Ok(report) = from.try_recv() {
            return report;
        }
        std::hint::spin_loop();
    }
    from.recv().expect("a simulation thread died")
}
