//! The progress of a run on standard error, in wall-clock time.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use counterpoint_simulation::run::{Progress, Snapshot};
use indicatif::{ProgressBar, ProgressStyle};

use crate::table::amount;

/// Interval between redraws of the line.
pub(crate) const INTERVAL: Duration = Duration::from_millis(200);
pub(crate) const STEPS: u64 = 1000;

/// Does something while, if `shown`, a line on standard error tells how far it is.
pub(crate) fn watch<T>(progress: &Progress, shown: bool, work: impl FnOnce() -> T) -> T {
    if !shown {
        return work();
    }
    std::thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            let bar = bar();
            let mut run = None;
            // The channel closes when the work is done, also when it panics.
            while ended.recv_timeout(INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                if let Some(snapshot) = progress.snapshot() {
                    bar.set_position((snapshot.fraction() * STEPS as f64) as u64);
                    if run.is_none() {
                        run = progress.forecast().map(|forecast| (forecast, Instant::now()));
                    }
                    let left =
                        run.as_mut().and_then(|(forecast, begun)| forecast.left(snapshot, begun.elapsed()));
                    bar.set_message(message(&snapshot, left));
                }
            }
            bar.finish_and_clear();
        });
        let result = work();
        drop(done);
        result
    })
}

/// A bar with room for a message.
pub(crate) fn bar() -> ProgressBar {
    let bar = ProgressBar::new(STEPS);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Remaining time in words, if enough is done for an estimate.
pub(crate) fn left(share: f64, elapsed: Duration) -> String {
    // The first percents say little about the rest.
    if share <= 0.02 {
        return String::new();
    }
    to_go(Some(elapsed.mul_f64((1.0 - share).max(0.0) / share)))
}

/// Time to go, behind the progress of a run.
pub(crate) fn to_go(left: Option<Duration>) -> String {
    let (minute, hour) = (60, 3600);
    let text = |left: Duration| match left.as_secs() {
        seconds if seconds < 2 * minute => format!("{seconds} s"),
        seconds if seconds < 2 * hour => format!("{} min", seconds / minute),
        seconds => format!("{} h {} min", seconds / hour, seconds % hour / minute),
    };
    left.map_or_else(String::new, |left| format!(", about {} to go", text(left)))
}

fn message(snapshot: &Snapshot, left: Option<Duration>) -> String {
    let Snapshot { time, launches, all_launches, ctas, all_ctas, bytes, all_bytes, .. } = *snapshot;
    let millis = time.as_ps() as f64 * 1e-9;
    let rest = amount(all_bytes.saturating_sub(bytes));
    let mut text = format!(
        "{millis:.6} ms simulated, {launches}/{all_launches} launches, {ctas}/{all_ctas} CTAs, {rest} left"
    );
    text.push_str(&to_go(left));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_rest_is_told_in_minutes_and_hours() {
        let text = |seconds| to_go(Some(Duration::from_secs(seconds)));
        assert_eq!(text(119), ", about 119 s to go");
        assert_eq!(text(1800), ", about 30 min to go");
        assert_eq!(text(3 * 3600 + 310), ", about 3 h 5 min to go");
        assert_eq!(left(0.01, Duration::from_secs(9)), "", "the first percents say little");
        assert_eq!(left(0.25, Duration::from_secs(10)), ", about 30 s to go");
    }

    #[test]
    fn the_line_tells_what_is_done_and_what_is_left() {
        let snapshot = Snapshot {
            launches: 1,
            all_launches: 2,
            ctas: 4,
            all_ctas: 8,
            bytes: 1 << 20,
            all_bytes: 2 << 20,
            ..Snapshot::default()
        };
        let text = message(&snapshot, Some(Duration::from_secs(10)));
        let expected = "0.000000 ms simulated, 1/2 launches, 4/8 CTAs, 1.0 MiB left, about 10 s to go";
        assert_eq!(text, expected);
        assert_eq!(message(&snapshot, None), expected.trim_end_matches(", about 10 s to go"));
    }
}
