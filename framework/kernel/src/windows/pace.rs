//! The decision whether threads run their shares side by side, or one thread runs all shares.
//!
//! Other processes may take the cores. Then a thread that is not running delays the others at the end of each window,
//! and all together are slower than one alone. The operating system does not report this; it shows in the work done. So
//! time is divided into periods. Threads that together compute for clearly longer than a period lasts have a core each
//! and something to do, and stay side by side; neither preemption nor waiting counts for that. If they do not, one
//! thread runs all shares for a while, and the others return for a period to check whether that has changed, after
//! longer and longer intervals while they do not gain. One thread's share of the cores depends on luck in each period,
//! so its mean over many counts.
//!
//! No result depends on the decision: a window is the same, whichever thread runs a share.

use std::time::Duration;

/// The length of a period: several time slices of the operating system's scheduler.
pub(super) const PERIOD: Duration = Duration::from_millis(20);

/// Threads whose computing time is this multiple of a period are certainly faster than one.
const CERTAIN: f64 = 1.4;

/// Threads must be faster than one by this factor.
const GAIN: f64 = 1.05;

/// A single thread that computes for this share of a period has a core to itself: trying more threads costs little.
const QUIET: f64 = 0.95;

/// Periods alone at first, and at most where the cores are quiet, and where they are not.
const ALONE: u32 = 4;
const MOST_ALONE: [u32; 2] = [1, 256];

/// Factor by which each stretch alone is longer than the one before, while threads do not gain.
const LONGER: u32 = 4;

/// Periods side by side that are good enough by what one thread reached before; then it is measured again.
const TRUSTED: u32 = 50;

/// Periods alone whose mean counts.
const MEMORY: u32 = 32;

/// Assignment of shares to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Each share runs on its own thread.
    Apart,
    /// All shares run on the first thread.
    Alone,
}

/// Performance of one thread that runs all shares.
#[derive(Clone, Copy, Default)]
struct Single {
    /// The share of a period for which it computes, a mean over `periods`.
    share: f64,
    periods: u32,
    /// Islands that it ran in a second of computing, the last time.
    efficiency: f64,
}

/// Decides between [`Mode::Apart`] and [`Mode::Alone`], period by period.
pub(super) struct Pace {
    mode: Mode,
    single: Single,
    /// Periods side by side for which that is believed.
    trust: u32,
    /// Periods alone that are left, and how many it will be the next time.
    left: u32,
    next: u32,
}

impl Pace {
    pub(super) fn new() -> Self {
        Pace { mode: Mode::Apart, single: Single::default(), trust: 0, left: 0, next: ALONE }
    }

    /// The mode of the next period, after a period of this length with this computing time of the threads and this
    /// number of islands run for a window.
    pub(super) fn judge(&mut self, period: Duration, spent: Duration, islands: u64) -> Mode {
        let spent = spent.as_secs_f64();
        let (busy, efficiency) = (spent / period.as_secs_f64().max(1e-9), islands as f64 / spent.max(1e-9));
        self.mode = match self.mode {
            Mode::Apart => self.after_apart(busy, efficiency),
            Mode::Alone => self.after_alone(busy, efficiency),
        };
        self.mode
    }

    fn after_apart(&mut self, busy: f64, efficiency: f64) -> Mode {
        self.trust = self.trust.saturating_sub(1);
        // Parking and waking is computing, too, and gets nothing done.
        let useful = busy * (efficiency / self.single.efficiency.max(1e-9)).min(1.0);
        if busy >= CERTAIN || (self.trust > 0 && useful >= GAIN * self.single.share) {
            self.next = if busy >= CERTAIN { ALONE } else { (self.next / LONGER).max(ALONE) };
            return Mode::Apart;
        }
        self.left = self.next;
        self.next = (LONGER * self.next).min(MOST_ALONE[1]);
        Mode::Alone
    }

    fn after_alone(&mut self, busy: f64, efficiency: f64) -> Mode {
        let Single { share, periods, .. } = self.single;
        let periods = MEMORY.min(periods + 1);
        let share = share + (busy - share) / f64::from(periods);
        self.single = Single { share, periods, efficiency };
        self.trust = TRUSTED;
        if busy.min(share) >= QUIET {
            self.left = self.left.min(MOST_ALONE[0]);
            self.next = self.next.min(ALONE);
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { Mode::Apart } else { Mode::Alone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Periods in each mode of `count`, where threads reach `apart` side by side and one reaches `alone`.
    fn periods(pace: &mut Pace, count: u32, apart: f64, alone: f64) -> [u32; 2] {
        let mut periods = [0; 2];
        let mut mode = pace.mode;
        for _ in 0..count {
            let (place, rate) = if mode == Mode::Apart { (0, apart) } else { (1, alone) };
            periods[place] += 1;
            mode = pace.judge(PERIOD, PERIOD.mul_f64(rate), (1e4 * rate) as u64);
        }
        periods
    }

    #[test]
    fn threads_with_a_core_each_stay_side_by_side() {
        assert_eq!(periods(&mut Pace::new(), 1000, 1.8, 1.0), [1000, 0]);
    }

    #[test]
    fn on_busy_cores_one_runs_nearly_all() {
        let [apart, alone] = periods(&mut Pace::new(), 1000, 0.3, 0.6);
        assert!(apart <= 8 && alone >= 992, "{apart} and {alone}");
    }

    #[test]
    fn luck_does_not_count_as_a_gain() {
        // One thread has a core for itself in half of the periods, in stretches, and half of one in the others.
        let mut pace = Pace::new();
        let (mut mode, mut apart) = (pace.mode, 0);
        for period in 0..4000 {
            let rate = if mode == Mode::Apart { 0.7 } else { [1.0, 0.5][period / 10 % 2] };
            apart += u32::from(mode == Mode::Apart);
            mode = pace.judge(PERIOD, PERIOD.mul_f64(rate), (1e4 * rate) as u64);
        }
        assert!(apart <= 400, "{apart}");
    }

    #[test]
    fn a_small_gain_is_taken_and_looked_after() {
        // Two threads with half a core each beside one with two thirds of one.
        let [apart, alone] = periods(&mut Pace::new(), 1000, 0.9, 0.66);
        assert!(alone <= 100 && apart >= 900, "{apart} and {alone}");
    }

    #[test]
    fn threads_come_back_when_the_cores_are_quiet_again() {
        let mut pace = Pace::new();
        periods(&mut pace, 600, 0.3, 0.6);
        // The mean of the busy periods is forgotten in about 70.
        let [_, alone] = periods(&mut pace, 200, 1.8, 1.0);
        assert!(alone <= 100, "{alone}");
    }

    #[test]
    fn a_phase_that_keeps_one_thread_busy_is_left_at_once() {
        let mut pace = Pace::new();
        periods(&mut pace, 1000, 1.0, 1.0);
        let [_, alone] = periods(&mut pace, 100, 1.9, 1.0);
        assert!(alone <= MOST_ALONE[0], "{alone}");
    }
}
