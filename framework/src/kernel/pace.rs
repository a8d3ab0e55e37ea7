//! Whether threads run their shares side by side, or one of them runs all.
//!
//! Other processes may take the cores. Then a thread that is not running holds up the others at the end of each window,
//! and all together are slower than one alone. Nobody says when that is so: it shows in the computing that all threads
//! get done in a time, which no preemption and no waiting counts for. So time is divided into periods, and each way of running is
//! judged by nanoseconds of computing per nanosecond. One thread alone reaches at most one; several reach more where each has
//! a core and something to do. Where they do not, one runs all shares for a while, and the others come back for a period
//! to see whether that has changed: after a longer and longer while where they did not gain.
//!
//! No result depends on it: a window is the same, whichever thread runs a share.

use std::time::Duration;

/// The length of a period: several times what a scheduler gives a thread at once.
pub(super) const PERIOD: Duration = Duration::from_millis(10);

/// Threads that reach this together are certainly faster than one.
const CERTAIN: f64 = 1.15;

/// By so much threads must be faster than one.
const GAIN: f64 = 1.05;

/// One thread that reaches this has a core for itself: to try with others costs little.
const QUIET: f64 = 0.95;

/// Periods alone at most where the cores are quiet, and where they are not.
const MOST_ALONE: [u32; 2] = [8, 128];

/// Periods side by side that are good enough by what one thread reached before; then it is measured again.
const TRUSTED: u32 = 50;

/// How shares are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Each by its thread.
    Apart,
    /// All by the first thread.
    Alone,
}

/// Decides between the two, period by period.
pub(super) struct Pace {
    mode: Mode,
    /// What one thread reached alone when it last did, and for how many periods more that is believed.
    alone: Option<f64>,
    trust: u32,
    /// Periods alone that are left, and how many it will be the next time.
    left: u32,
    next: u32,
}

impl Pace {
    pub(super) fn new() -> Self {
        Pace { mode: Mode::Apart, alone: None, trust: 0, left: 0, next: 2 }
    }

    /// How to go on, after a period of this length in which the threads got so much computing done.
    pub(super) fn judge(&mut self, period: Duration, spent: Duration) -> Mode {
        let rate = spent.as_secs_f64() / period.as_secs_f64().max(1e-9);
        self.mode = match self.mode {
            Mode::Apart => self.after_apart(rate),
            Mode::Alone => self.after_alone(rate),
        };
        self.mode
    }

    fn after_apart(&mut self, rate: f64) -> Mode {
        self.trust = self.trust.saturating_sub(1);
        let known = self.alone.filter(|_| self.trust > 0);
        if rate >= CERTAIN || known.is_some_and(|alone| rate >= GAIN * alone) {
            self.next = 2;
            return Mode::Apart;
        }
        self.left = self.next;
        self.next = (2 * self.next).min(MOST_ALONE[1]);
        Mode::Alone
    }

    fn after_alone(&mut self, rate: f64) -> Mode {
        (self.alone, self.trust) = (Some(rate), TRUSTED);
        if rate >= QUIET {
            self.left = self.left.min(MOST_ALONE[0]);
            self.next = self.next.min(MOST_ALONE[0]);
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
            mode = pace.judge(PERIOD, PERIOD.mul_f64(rate));
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
        assert!(apart <= 15 && alone >= 985, "{apart} and {alone}");
    }

    #[test]
    fn a_small_gain_is_taken_and_looked_after() {
        // Two threads with half a core each beside one with two thirds of one.
        let [apart, alone] = periods(&mut Pace::new(), 1000, 0.9, 0.66);
        assert!(alone <= 50 && apart >= 950, "{apart} and {alone}");
    }

    #[test]
    fn threads_come_back_soon_when_the_cores_are_quiet_again() {
        let mut pace = Pace::new();
        periods(&mut pace, 600, 0.3, 0.6);
        let [_, alone] = periods(&mut pace, 100, 1.8, 1.0);
        assert!(alone <= MOST_ALONE[0] + 1, "{alone}");
    }

    #[test]
    fn a_phase_that_keeps_one_thread_busy_is_left_in_time() {
        let mut pace = Pace::new();
        let [apart, _] = periods(&mut pace, 1000, 1.0, 1.0);
        assert!(apart <= 150, "{apart}");
        let [_, alone] = periods(&mut pace, 100, 1.9, 1.0);
        assert!(alone <= MOST_ALONE[0], "{alone}");
    }
}
