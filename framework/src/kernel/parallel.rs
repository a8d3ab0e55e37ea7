//! What threads tell each other at the end of a window.
//!
//! Every thread puts a report on its seat at a board, and reads those of all others when they are there, which is the
//! barrier too. All threads compute the same summary and so take the same decisions. Whoever waits spins for a moment,
//! because the others are nearly done, then parks, because they may not be running.
//!
//! This is all that crosses threads in every window, so it is plain atomics: a channel per pair of threads allocated
//! whenever a thread had to park.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

/// Times to look for a report before parking.
const SPINS: usize = 4_000;

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
    /// Something ran in the window.
    pub(crate) ran: bool,
    /// Something is on its way to another thread. `next` counts it, though perhaps nobody waits for it; in the next
    /// report that will be known.
    pub(crate) mail: bool,
    /// Someone asked for the end.
    pub(crate) interrupted: bool,
}

impl Default for Report {
    fn default() -> Self {
        Report {
            next: u64::MAX,
            live: 0,
            ended: 0,
            failed: u64::MAX,
            moved: 0,
            ran: false,
            mail: false,
            interrupted: false,
        }
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
            ran: self.ran || other.ran,
            mail: self.mail || other.mail,
            interrupted: self.interrupted || other.interrupted,
        }
    }

    fn words(self) -> [u64; 6] {
        let flags = u64::from(self.ran) | u64::from(self.mail) << 1 | u64::from(self.interrupted) << 2;
        [self.next, self.live, self.ended, self.failed, self.moved, flags]
    }

    fn from_words([next, live, ended, failed, moved, flags]: [u64; 6]) -> Self {
        let [ran, mail, interrupted] = [1, 2, 4].map(|flag| flags & flag != 0);
        Report { next, live, ended, failed, moved, ran, mail, interrupted }
    }
}

/// One thread's place at the board, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Seat {
    /// Number of the last window whose report is here.
    window: AtomicU64,
    /// The reports of even and of odd windows: a thread may be one window ahead of another that still reads.
    reports: [[AtomicU64; 6]; 2],
    /// The thread is about to park, or parked.
    parked: AtomicBool,
    thread: OnceLock<Thread>,
}

#[derive(Default)]
struct Board {
    seats: Vec<Seat>,
    /// A thread died, and nobody must wait for it.
    broken: AtomicBool,
}

impl Board {
    fn wake(&self) {
        for seat in self.seats.iter().filter(|seat| seat.parked.load(Ordering::SeqCst)) {
            if let Some(thread) = seat.thread.get() {
                thread.unpark();
            }
        }
    }
}

/// One thread's access to the board.
pub(crate) struct Exchange {
    board: Arc<Board>,
    own: usize,
    window: u64,
}

impl Exchange {
    /// The exchanges of `threads` threads.
    pub(crate) fn all(threads: usize) -> Vec<Exchange> {
        let seats = (0..threads).map(|_| Seat::default()).collect();
        let board = Arc::new(Board { seats, broken: AtomicBool::new(false) });
        (0..threads).map(|own| Exchange { board: Arc::clone(&board), own, window: 0 }).collect()
    }

    /// Tells the others and hears from them: the reports of all threads, joined.
    ///
    /// # Panics
    /// If another thread died.
    pub(crate) fn swap(&mut self, own: Report) -> Report {
        let Board { seats, .. } = &*self.board;
        if seats.len() == 1 {
            return own;
        }
        self.window += 1;
        let parity = (self.window & 1) as usize;
        let seat = &seats[self.own];
        for (place, word) in seat.reports[parity].iter().zip(own.words()) {
            place.store(word, Ordering::Relaxed);
        }
        // What the report says, and everything in the batches, is visible to whoever sees this number. It must also be
        // ordered before looking who is parked, as parking is before looking at the number.
        seat.window.store(self.window, Ordering::SeqCst);
        self.board.wake();
        let others = seats.iter().enumerate().filter(|(number, _)| *number != self.own);
        others.fold(own, |all, (_, other)| {
            self.wait_for(other);
            let words = other.reports[parity].each_ref().map(|word| word.load(Ordering::Relaxed));
            all.join(Report::from_words(words))
        })
    }

    fn wait_for(&self, other: &Seat) {
        for _ in 0..SPINS {
            if other.window.load(Ordering::Acquire) >= self.window {
                return;
            }
            std::hint::spin_loop();
        }
        let own = &self.board.seats[self.own];
        own.thread.get_or_init(std::thread::current);
        own.parked.store(true, Ordering::SeqCst);
        while other.window.load(Ordering::SeqCst) < self.window {
            assert!(!self.board.broken.load(Ordering::SeqCst), "a simulation thread died");
            std::thread::park();
        }
        own.parked.store(false, Ordering::Relaxed);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.board.broken.store(true, Ordering::SeqCst);
            self.board.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_hears_everybody_in_every_window() {
        const WINDOWS: u64 = 20_000;
        std::thread::scope(|scope| {
            for (own, mut exchange) in Exchange::all(3).into_iter().enumerate() {
                scope.spawn(move || {
                    for window in 0..WINDOWS {
                        let next = 3 * window + (own as u64 + window) % 3;
                        let all = exchange.swap(Report {
                            next,
                            live: own as u64,
                            moved: next,
                            ran: own == 0,
                            mail: window % 5 == own as u64,
                            ..Report::default()
                        });
                        assert_eq!((all.next, all.moved, all.live), (3 * window, 3 * window + 2, 3));
                        assert_eq!((all.ran, all.mail, all.interrupted), (true, window % 5 < 3, false));
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_the_dead() {
        let mut exchanges = Exchange::all(2);
        let (mut second, first) = (exchanges.remove(1), exchanges.remove(0));
        let died = std::thread::spawn(move || {
            let _exchange = first;
            panic!("as it should");
        });
        assert!(died.join().is_err());
        let waited = std::thread::spawn(move || second.swap(Report::default()).next);
        assert!(waited.join().is_err());
    }
}
