//! The progress of a study on standard error: a line for each point that runs, and one for all.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Instant;

use counterpoint_experiments::study::Study;
use counterpoint_experiments::study::engine::{Board, State};
use counterpoint_simulation::run::Forecast;
use indicatif::{MultiProgress, ProgressBar};

use crate::progress::{INTERVAL, STEPS, bar, left, to_go};

/// Executes `work` while standard error shows the progress of its points: bars on a terminal, otherwise a line when a
/// point ends; nothing if `quiet`.
pub(crate) fn watch<T>(
    study: &Study,
    board: &Board,
    interactive: bool,
    quiet: bool,
    work: impl FnOnce() -> T,
) -> T {
    if quiet {
        return work();
    }
    std::thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            let mut lines = Lines::new(study, interactive);
            // The channel closes when the work is done, also when it panics.
            while ended.recv_timeout(INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                lines.show(&board.states());
            }
            lines.show(&board.states());
            lines.clear();
        });
        let result = work();
        drop(done);
        result
    })
}

struct Lines<'a> {
    study: &'a Study,
    begun: Instant,
    all: MultiProgress,
    total: Option<ProgressBar>,
    /// Line of each running point, the time at which it appeared, and the forecast of its rest.
    running: BTreeMap<usize, (ProgressBar, Instant, Option<Forecast>)>,
    /// Points whose end has been told.
    told: Vec<bool>,
}

impl<'a> Lines<'a> {
    fn new(study: &'a Study, interactive: bool) -> Self {
        let all = MultiProgress::new();
        let total = interactive.then(|| all.add(bar()));
        let told = vec![false; study.points.len()];
        Lines { study, begun: Instant::now(), all, total, running: BTreeMap::new(), told }
    }

    fn show(&mut self, states: &[State]) {
        let (mut finished, mut stored, mut wanted, mut under_way) = (0, 0, 0, 0.0);
        for (point, state) in states.iter().enumerate() {
            match state {
                State::LeftOut => continue,
                State::Waiting => {}
                State::Stored | State::Elsewhere => stored += 1,
                State::Done => {
                    finished += 1;
                    self.tell(point, "done");
                }
                State::Failed(reason) => {
                    finished += 1;
                    self.tell(point, reason);
                }
                State::Running(progress) => {
                    let Some(snapshot) = progress.snapshot() else { continue };
                    under_way += snapshot.fraction();
                    if self.total.is_some() {
                        let name = self.study.points[point].name();
                        let all = &self.all;
                        let (line, since, forecast) = self
                            .running
                            .entry(point)
                            .or_insert_with(|| (all.add(bar()), Instant::now(), progress.forecast()));
                        line.set_position((snapshot.fraction() * STEPS as f64) as u64);
                        let (millis, elapsed) = (snapshot.time.as_ps() as f64 * 1e-9, since.elapsed());
                        let speed = millis / elapsed.as_secs_f64().max(1e-3);
                        let left =
                            to_go(forecast.as_mut().and_then(|forecast| forecast.left(snapshot, elapsed)));
                        let text = format!("{name}: {millis:.3} ms simulated, {speed:.3} ms a second{left}");
                        line.set_message(text);
                    }
                }
            }
            wanted += 1;
        }
        if let Some(total) = &self.total {
            let work = wanted - stored;
            let share = (f64::from(finished) + under_way) / f64::from(work).max(1.0);
            total.set_position((share * STEPS as f64) as u64);
            let left = left(share, self.begun.elapsed());
            total.set_message(format!("{} of {wanted} points{left}", finished + stored));
        }
    }

    /// Tells once that a point has ended.
    fn tell(&mut self, point: usize, how: &str) {
        if std::mem::replace(&mut self.told[point], true) {
            return;
        }
        if let Some((line, ..)) = self.running.remove(&point) {
            line.finish_and_clear();
            self.all.remove(&line);
        }
        // A reader that closes the pipe ends the lines, not the study.
        let line = format!("{}: {how}", self.study.points[point].name());
        match self.total {
            Some(_) => drop(self.all.println(line)),
            None => drop(std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes())),
        }
    }

    fn clear(&self) {
        if let Some(total) = &self.total {
            total.finish_and_clear();
        }
        drop(self.all.clear());
    }
}
