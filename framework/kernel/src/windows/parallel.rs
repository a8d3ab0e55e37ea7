//! Exchange of reports between threads at the end of a window.
//!
//! The first [`GROUP`] threads read each other's reports, and each thread has up to [`GROUP`] children in a tree: a thread first
//! joins its children's reports with its own, and then hands the sum of all reports down to them. This exchange is the barrier
//! too. All threads have the same summary and so take the same decisions. A waiting thread spins for a moment, because the others
//! are nearly done, then parks, because the others may not be running. A thread does not spin where the others evidently were not
//! running, or have no core of their own.
//!
//! Reports are all that crosses threads in every window, so they are plain atomics: a channel per pair of threads would allocate
//! whenever a thread had to park.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Threads that read each other's reports, and threads below one at most: few enough to read one after another.
const GROUP: usize = 4;

pub(crate) fn levels(threads: usize) -> u32 {
    let (mut levels, mut reached) = (0, 1);
    while reached < threads {
        levels += 1;
        reached = if reached == 1 { GROUP } else { GROUP * (reached + 1) };
    }
    levels
}

/// Polls for a report before a thread parks.
const SPINS: usize = 4_000;

/// Length of a wait from which the other thread is taken not to have run.
const ABSENCE: Duration = Duration::from_millis(1);

/// Largest number of waits without a spin after a wait of [`ABSENCE`].
const MOST_WITHOUT: u32 = 64;

/// State of a thread at the end of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// Time of the next event, including messages that are on their way to another thread.
    pub(crate) next: u64,
    /// Processes that have not returned and that the run waits for.
    pub(crate) live: u64,
    /// Time at which a process last returned.
    pub(crate) ended: u64,
    /// Time at which a component failed; `u64::MAX` if none did.
    pub(crate) failed: u64,
    /// Time at which a message was last taken.
    pub(crate) moved: u64,
    /// Time at which a process that acts by itself last took a message.
    pub(crate) acted: u64,
    /// A process that acts by itself is to wake at a known time. Set only if no event is left before the next judgement of a
    /// livelock.
    pub(crate) will_act: bool,
    /// Something ran in the window.
    pub(crate) ran: bool,
    /// Something is on its way to another thread. `next` counts it, though perhaps nobody waits for it; in the next
    /// report that will be known.
    pub(crate) mail: bool,
    /// The end of the run was requested.
    pub(crate) interrupted: bool,
    /// Nanoseconds of computing since the thread was last asked to account for them.
    pub(crate) spent: u64,
    /// Islands run for a window so far: the same for each window, whichever thread runs it.
    pub(crate) work: u64,
    /// Whether the next report is to give the time spent.
    pub(crate) account: bool,
    /// The first thread takes the shares of all others before it runs this window.
    pub(crate) gather: bool,
    /// Time of the hold: nothing at or after it runs until the first thread moves the hold.
    pub(crate) hold: u64,
    /// Every share shows what there is to see of it.
    pub(crate) inspect: bool,
}

impl Default for Report {
    fn default() -> Self {
        Report {
            next: u64::MAX,
            live: 0,
            ended: 0,
            failed: u64::MAX,
            moved: 0,
            acted: 0,
            will_act: false,
            ran: false,
            mail: false,
            interrupted: false,
            spent: 0,
            work: 0,
            account: false,
            gather: false,
            hold: u64::MAX,
            inspect: false,
        }
    }
}

impl Report {
    /// The joint report of two shares.
    pub(crate) fn join(self, other: Report) -> Report {
        Report {
            next: self.next.min(other.next),
            live: self.live + other.live,
            ended: self.ended.max(other.ended),
            failed: self.failed.min(other.failed),
            moved: self.moved.max(other.moved),
            acted: self.acted.max(other.acted),
            will_act: self.will_act || other.will_act,
            ran: self.ran || other.ran,
            mail: self.mail || other.mail,
            interrupted: self.interrupted || other.interrupted,
            spent: self.spent + other.spent,
            work: self.work + other.work,
            account: self.account || other.account,
            gather: self.gather || other.gather,
            hold: self.hold.min(other.hold),
            inspect: self.inspect || other.inspect,
        }
    }

    fn words(self) -> [u64; WORDS] {
        let flags =
            [self.ran, self.mail, self.interrupted, self.account, self.gather, self.inspect, self.will_act];
        let flags = flags.iter().rev().fold(0, |word, &flag| word << 1 | u64::from(flag));
        [
            self.next,
            self.live,
            self.ended,
            self.failed,
            self.moved,
            self.acted,
            self.spent,
            self.work,
            self.hold,
            flags,
        ]
    }

    fn from_words([next, live, ended, failed, moved, acted, spent, work, hold, flags]: [u64; WORDS]) -> Self {
        let [ran, mail, interrupted, account, gather, inspect, will_act] =
            [1, 2, 4, 8, 16, 32, 64].map(|flag| flags & flag != 0);
        Report {
            next,
            live,
            ended,
            failed,
            moved,
            acted,
            will_act,
            ran,
            mail,
            interrupted,
            spent,
            work,
            account,
            gather,
            hold,
            inspect,
        }
    }
}

const WORDS: usize = 10;

/// A report for other threads, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Slot {
    /// Number of the last window whose report is here.
    window: AtomicU64,
    /// The reports of even and of odd windows: a thread may be one window ahead of another that still reads.
    reports: [[AtomicU64; WORDS]; 2],
}

impl Slot {
    fn put(&self, window: u64, report: Report) {
        for (place, word) in self.reports[(window & 1) as usize].iter().zip(report.words()) {
            place.store(word, Ordering::Relaxed);
        }
        // The report, and everything in the batches, is visible to a thread that sees this number. The store
        // must also be ordered before the check of the parked threads, as parking is before looking at the
        // number.
        self.window.store(window, Ordering::SeqCst);
    }

    fn read(&self, window: u64) -> Report {
        let words = &self.reports[(window & 1) as usize];
        Report::from_words(words.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }
}

/// Node of one thread in the tree.
#[derive(Default)]
struct Seat {
    /// The report of this thread and those below it.
    up: Slot,
    /// The report of all, for the threads below this one.
    down: Slot,
    /// The thread is about to park, or parked.
    parked: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Seat {
    fn wake(&self) {
        if self.parked.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

#[derive(Default)]
struct Board {
    seats: Vec<Seat>,
    /// A thread died, and nobody must wait for it.
    broken: AtomicBool,
}

impl Board {
    fn wait(&self, own: &Seat, slot: &Slot, window: u64, patience: &mut Patience) -> Report {
        if slot.window.load(Ordering::Acquire) >= window {
            return slot.read(window);
        }
        let begun = Instant::now();
        for _ in 0..patience.spins() {
            if slot.window.load(Ordering::Acquire) >= window {
                patience.came(begun.elapsed());
                return slot.read(window);
            }
            std::hint::spin_loop();
        }
        let looked = begun.elapsed();
        own.thread.get_or_init(std::thread::current);
        own.parked.store(true, Ordering::SeqCst);
        while slot.window.load(Ordering::SeqCst) < window {
            assert!(!self.broken.load(Ordering::SeqCst), "a simulation thread died");
            std::thread::park();
        }
        own.parked.store(false, Ordering::Relaxed);
        patience.parked(looked, begun.elapsed());
        slot.read(window)
    }
}

/// Access of one thread to the board.
pub(crate) struct Exchange {
    board: Arc<Board>,
    own: usize,
    window: u64,
    patience: Patience,
}

/// Number of polls of a thread for a report before it parks.
struct Patience {
    /// Whether every thread has a core of its own.
    cores: bool,
    /// Waits that begin without a spin.
    without: u32,
    /// Their number the next time that one is too long.
    next: u32,
    /// Time that went into looking.
    looked: Duration,
}

impl Patience {
    fn new(cores: bool) -> Self {
        Patience { cores, without: 0, next: 1, looked: Duration::ZERO }
    }

    /// Polls in the wait that begins.
    fn spins(&mut self) -> usize {
        let spins = self.cores && self.without == 0;
        self.without = self.without.saturating_sub(1);
        if spins { SPINS } else { 0 }
    }

    /// The report arrived while the thread polled for it.
    fn came(&mut self, looked: Duration) {
        self.looked += looked.min(ABSENCE);
        self.next = 1;
    }

    /// The thread looked for `looked`, then parked, and has waited for `waited` in all.
    fn parked(&mut self, looked: Duration, waited: Duration) {
        self.looked += looked.min(ABSENCE);
        if waited >= ABSENCE {
            self.without = self.next;
            self.next = (2 * self.next).min(MOST_WITHOUT);
        }
    }
}

impl Exchange {
    /// The exchanges of `threads` threads, which run on this number of `cores`.
    pub(crate) fn all(threads: usize, cores: usize) -> Vec<Exchange> {
        let seats = (0..threads).map(|_| Seat::default()).collect();
        let board = Arc::new(Board { seats, broken: AtomicBool::new(false) });
        let exchange = |own| {
            let patience = Patience::new(threads <= cores);
            Exchange { board: Arc::clone(&board), own, window: 0, patience }
        };
        (0..threads).map(exchange).collect()
    }

    /// Sends the own report and receives the others: returns the reports of all threads, joined.
    ///
    /// # Panics
    /// If another thread died.
    pub(crate) fn swap(&mut self, own: Report) -> Report {
        let board = &*self.board;
        let seats = &board.seats;
        if seats.len() == 1 {
            return own;
        }
        self.window += 1;
        let (window, number, patience) = (self.window, self.own, &mut self.patience);
        let seat = &seats[number];
        let mut join = |joined: Report, other: &Slot| joined.join(board.wait(seat, other, window, patience));
        let first = (GROUP * (number + 1)).min(seats.len());
        let below = &seats[first..(first + GROUP).min(seats.len())];
        let joined = below.iter().fold(own, |joined, child| join(joined, &child.up));
        seat.up.put(window, joined);
        let all = match number.checked_sub(GROUP) {
            Some(place) => {
                let parent = &seats[place / GROUP];
                parent.wake();
                board.wait(seat, &parent.down, window, patience)
            }
            None => {
                let group = &seats[..GROUP.min(seats.len())];
                let others = || group.iter().enumerate().filter(|(other, _)| *other != number);
                others().for_each(|(_, other)| other.wake());
                others().fold(joined, |joined, (_, other)| join(joined, &other.up))
            }
        };
        if !below.is_empty() {
            seat.down.put(window, all);
            below.iter().for_each(Seat::wake);
        }
        all
    }

    /// Time that went into looking for reports since the last call.
    pub(crate) fn looked(&mut self) -> Duration {
        std::mem::take(&mut self.patience.looked)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.board.broken.store(true, Ordering::SeqCst);
            self.board.seats.iter().for_each(Seat::wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exchanges with this number of threads, and this number of cores assumed.
    fn everybody_hears_everybody(threads: u64, cores: usize) {
        std::thread::scope(|scope| {
            for (exchange, own) in Exchange::all(threads as usize, cores).into_iter().zip(0..) {
                scope.spawn(move || reports_of(threads, own, exchange));
            }
        });
    }

    fn reports_of(threads: u64, own: u64, mut exchange: Exchange) {
        let last = threads - 1;
        for window in 0..60_000 / threads / threads {
            let next = threads * window + (own + window) % threads;
            let all = exchange.swap(Report {
                next,
                live: own,
                moved: next,
                spent: 5,
                work: window,
                ran: own == last,
                mail: window % 97 == own,
                gather: window % 89 == own,
                hold: u64::MAX - threads * window - own,
                inspect: window % 83 == own,
                ..Report::default()
            });
            assert_eq!((all.next, all.moved), (threads * window, threads * window + last));
            assert_eq!(all.live, threads * last / 2);
            assert_eq!((all.ran, all.mail, all.interrupted), (true, window % 97 < threads, false));
            assert_eq!((all.spent, all.work), (5 * threads, threads * window));
            assert_eq!((all.account, all.gather), (false, window % 89 < threads));
            assert_eq!((all.hold, all.inspect), (u64::MAX - threads * window - last, window % 83 < threads));
        }
    }

    #[test]
    fn everybody_hears_everybody_in_every_window() {
        for (threads, height) in [(2, 1), (3, 1), (4, 1), (5, 2), (20, 2), (21, 3)] {
            assert_eq!(levels(threads as usize), height);
            everybody_hears_everybody(threads, threads as usize);
            everybody_hears_everybody(threads, 1);
        }
    }

    #[test]
    fn nobody_waits_for_the_dead() {
        let mut exchanges = Exchange::all(2, 2);
        let (mut second, first) = (exchanges.remove(1), exchanges.remove(0));
        let died = std::thread::spawn(move || {
            let _exchange = first;
            panic!("as it should");
        });
        assert!(died.join().is_err());
        let waited = std::thread::spawn(move || second.swap(Report::default()).next);
        assert!(waited.join().is_err());
    }

    #[test]
    fn without_a_core_nobody_spins() {
        let mut patience = Patience::new(false);
        patience.came(Duration::ZERO);
        assert!((0..10).all(|_| patience.spins() == 0));
    }

    #[test]
    fn who_waited_for_a_thread_that_did_not_run_spins_less_and_less() {
        let (short, long) = (Duration::from_micros(80), Duration::from_millis(3));
        let mut patience = Patience::new(true);
        // Waits before the next spin, after a wait of this length.
        let mut after = |waited| {
            patience.parked(Duration::from_micros(50), waited);
            (0..).take_while(|_| patience.spins() == 0).count()
        };
        assert_eq!([short, long, long, long, short].map(&mut after), [0, 1, 2, 4, 0]);
        assert!((0..10).all(|_| after(long) > 0));
        assert_eq!(after(long), MOST_WITHOUT as usize);
        patience.came(Duration::ZERO);
        patience.parked(Duration::ZERO, long);
        assert_eq!(patience.spins(), 0);
        assert_eq!(patience.spins(), SPINS);
        assert_eq!(patience.looked, 16 * Duration::from_micros(50));
    }
}
