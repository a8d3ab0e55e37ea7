//! Livelocks: time passes, components run, and no message is taken.
//!
//! Simulated time is divided into intervals, counted from zero, and no window extends across the end of one. So the knowledge at the end of
//! an interval does not depend on the cut of the machine, and livelocks are judged only there: an interval in which something ran and no
//! message was taken counts, any other interval restarts the count, and [`PATIENCE`] intervals in a row are a livelock. A second guard
//! counts only messages that are taken by processes that act by themselves ([`set_acts`](crate::Process::set_acts)), and only intervals at
//! whose ends no such process has a known wake-up. A machine that sleeps through an interval waits and is not in a livelock.

use crate::time::SimTime;

/// Intervals in a row that are a livelock.
const PATIENCE: u64 = 4;

/// Looks for a livelock. Every thread has a guard, and all guards see the same.
pub(crate) struct LivelockGuard {
    length: u64,
    /// Begin and end of the current interval.
    begin: u64,
    end: u64,
    /// Something has run in it.
    ran: bool,
    /// Intervals without a message, in a row.
    count: u64,
}

impl LivelockGuard {
    /// A guard that speaks when no message has been taken for `after`, or up to a quarter longer.
    pub(crate) fn new(after: SimTime) -> Self {
        let length = (after.as_ps() / PATIENCE).max(1);
        LivelockGuard { length, begin: 0, end: length, ran: false, count: 0 }
    }

    /// A window may not reach beyond this time. The verdict on an event at or after it must be exact.
    #[inline]
    pub(crate) fn limit(&self) -> u64 {
        self.end
    }

    /// Notes the result of a window: the time `next` of the next event anywhere, whether anything ran in the window, and
    /// the time `moved` at which a message was last taken. Returns the time at which a livelock was found, if there is one.
    #[inline]
    pub(crate) fn note(&mut self, next: u64, ran: bool, moved: u64) -> Option<u64> {
        self.ran |= ran;
        if next < self.end { None } else { self.judge(next, moved) }
    }

    /// Judges the interval that is over, and moves to the interval of the next event.
    #[inline(never)]
    fn judge(&mut self, next: u64, moved: u64) -> Option<u64> {
        let time = self.end;
        // No latency is zero, so nothing is taken at time zero: that means never.
        let quiet = moved < self.begin.max(1);
        self.count = if self.ran && quiet { self.count + 1 } else { 0 };
        let found = self.count >= PATIENCE;
        if next - time >= self.length {
            // At least one interval without any event is in between.
            self.count = 0;
        }
        self.begin = next - next % self.length;
        self.end = self.begin.saturating_add(self.length);
        self.ran = false;
        found.then_some(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guard with intervals of 10 ps.
    fn guard() -> LivelockGuard {
        LivelockGuard::new(SimTime::from_ps(43))
    }

    /// The first verdict on windows, each with when something happens after it and when a message was last taken.
    fn verdict(windows: &[(u64, u64)]) -> Option<u64> {
        let mut guard = guard();
        windows.iter().find_map(|&(next, moved)| guard.note(next, true, moved))
    }

    #[test]
    fn four_intervals_without_a_message_are_a_livelock() {
        assert_eq!(verdict(&[(10, 0), (20, 0), (30, 0), (39, 0)]), None);
        assert_eq!(verdict(&[(10, 0), (20, 0), (30, 0), (39, 0), (40, 0)]), Some(40));
        // Neither the cut of an interval into windows nor the position of the event in the next one matters.
        assert_eq!(verdict(&[(3, 0), (9, 0), (17, 0), (25, 0), (31, 0), (49, 0)]), Some(40));
    }

    #[test]
    fn a_message_begins_the_count_anew() {
        // Taken at the last moment of the first interval, at the first of the second, in the fourth.
        assert_eq!(verdict(&[(10, 9), (20, 9), (30, 9), (40, 9), (50, 9)]), Some(50));
        assert_eq!(verdict(&[(10, 0), (20, 10), (30, 10), (40, 10), (50, 10), (60, 10)]), Some(60));
        assert_eq!(verdict(&[(10, 0), (20, 0), (30, 0), (40, 35), (50, 35), (60, 35), (70, 35)]), None);
    }

    #[test]
    fn to_sleep_through_an_interval_is_to_wait() {
        // From 29 to 40, that is through the whole fourth interval.
        assert_eq!(verdict(&[(10, 0), (20, 0), (40, 0), (50, 0), (60, 0), (70, 0)]), None);
        assert_eq!(verdict(&[(10, 0), (20, 0), (40, 0), (50, 0), (60, 0), (70, 0), (80, 0)]), Some(80));
        // An event that is announced, and wakes nobody, is no run.
        let mut guard = guard();
        let windows = [(10, true), (20, true), (30, false), (40, true), (50, true), (60, true)];
        assert!(windows.iter().all(|&(next, ran)| guard.note(next, ran, 0).is_none()));
        assert_eq!(guard.note(70, true, 0), Some(70));
    }

    #[test]
    fn windows_end_with_the_interval_and_nowhere_else() {
        let mut guard = guard();
        assert_eq!(guard.limit(), 10);
        for (next, limit) in [(9, 10), (10, 20), (57, 60), (u64::MAX, u64::MAX)] {
            assert_eq!((guard.note(next, true, next), guard.limit()), (None, limit));
        }
    }

    #[test]
    fn any_patience_will_do() {
        assert_eq!(LivelockGuard::new(SimTime::ZERO).limit(), 1);
        let mut guard = LivelockGuard::new(SimTime::MAX);
        assert!((1..100).all(|number| guard.note(number << 56, true, 0).is_none()));
    }
}
