//! A run under a caller's control: it advances on request, and is held in between.
//!
//! The machine runs on threads of its own; see [`run_control`](crate::windows::run_control) for the way in which they
//! stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use super::run::Finished;
use crate::channel::ends::LinkSpec;
use crate::machine::ProcessNetwork;
use crate::observe::inspect::{Inspection, InspectionPart};
use crate::observe::watchdog::{Stuck, Watchdog};
use crate::process::queue::NEVER;
use crate::time::SimTime;
use crate::windows::options::RunOptions;
use crate::windows::run_control::{Command, News, RunControl};

/// State of a held run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Everything before this time has happened, and nothing at it or after it.
    Held(SimTime),
    /// The run is over; [`Held::finish`] reports how it ended.
    Ended,
    /// A component hangs, and the watchdog's `abandon` was set: the run does not end by itself.
    LeftBehind(Stuck),
}

impl State {
    /// The run is held: it can advance.
    pub fn is_held(&self) -> bool {
        matches!(self, State::Held(_))
    }
}

/// A machine that runs on threads of its own, up to a requested time. Holds change no result: statistics,
/// snapshots, samples and hash are those of a run that was not held, for any number of threads. To drop it
/// ends the run.
pub struct Held {
    state: State,
    time: u64,
    commands: Option<Sender<Command>>,
    news: Receiver<News>,
    inspections: Receiver<InspectionPart>,
    interrupt: Arc<AtomicBool>,
    thread: Option<JoinHandle<Finished>>,
    paths: Vec<String>,
    links: Vec<LinkSpec>,
}

/// Announces the end of the run, even if the run panics.
struct Bell(Sender<News>);

impl Drop for Bell {
    fn drop(&mut self) {
        // Nobody may be there to hear it.
        let _ = self.0.send(News::Ended);
    }
}

impl ProcessNetwork {
    /// Starts the machine and holds it before anything has happened. Reports of the watchdog of the options
    /// go to the `alarm` of the call that waits for the run.
    pub fn start(self, options: &RunOptions) -> Held {
        let (tell, news) = mpsc::channel();
        let (command, commands) = mpsc::channel();
        let (parts, inspections) = mpsc::channel();
        let (reports, leaves) = (tell.clone(), tell.clone());
        // Nobody listens any more once the run is over: what is reported then may be lost.
        let watchdog = Watchdog {
            report: Arc::new(move |stuck| drop(reports.send(News::Stuck(stuck)))),
            abandoned: Arc::new(move |stuck| drop(leaves.send(News::Abandoned(stuck)))),
            ..options.watchdog.clone()
        };
        let options = RunOptions { watchdog, ..options.clone() };
        let interrupt = Arc::clone(&options.interrupt);
        let paths = self.processes.iter().map(|process| process.path.clone()).collect();
        let links = self.links.clone();
        let thread = std::thread::spawn(move || {
            let bell = Bell(tell);
            self.run_with(&options, RunControl::held(commands, bell.0.clone()), Some(parts))
        });
        let (commands, thread) = (Some(command), Some(thread));
        let state = State::Held(SimTime::ZERO);
        Held { state, time: 0, commands, news, inspections, interrupt, thread, paths, links }
    }
}

impl Held {
    /// State of the run.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Runs until everything before `time` has happened, or to the end of the run if that is earlier, and waits for it. A
    /// time that is not ahead of the run changes nothing. Reports of the watchdog meanwhile go to `alarm`.
    ///
    /// # Panics
    /// As [`ProcessNetwork::run`].
    pub fn advance_to(&mut self, time: SimTime, alarm: &mut dyn FnMut(Stuck)) -> &State {
        // The last moment of all means the end.
        if matches!(self.state, State::Held(_)) && time.as_ps() > self.time {
            self.time = time.as_ps();
            self.command(Command::Advance(self.time));
            self.listen(alarm);
        }
        &self.state
    }

    /// A view of the run; `None` unless the run is held. An inspection does not change what the run does later.
    ///
    /// # Panics
    /// If a process panics while it shows its statistics.
    pub fn inspect(&mut self) -> Option<Inspection> {
        let State::Held(_) = self.state else { return None };
        self.command(Command::Inspect);
        let mut parts: Vec<InspectionPart> = Vec::new();
        while parts.first().is_none_or(|part| parts.len() < part.of) {
            match self.inspections.recv() {
                Ok(part) => parts.push(part),
                Err(_) => {
                    // A run that ends without an answer was interrupted before the first window, or has panicked.
                    self.listen(&mut |_| {});
                    return None;
                }
            }
        }
        Some(Inspection::new(parts, &self.paths, &self.links))
    }

    /// Continues the run to its end.
    ///
    /// # Errors
    /// The component that hangs, if the run was left behind.
    ///
    /// # Panics
    /// As [`ProcessNetwork::run`].
    pub fn finish(mut self, alarm: &mut dyn FnMut(Stuck)) -> Result<Finished, Stuck> {
        self.advance_to(SimTime::from_ps(NEVER), alarm);
        if let State::LeftBehind(stuck) = &self.state {
            return Err(stuck.clone());
        }
        let thread = self.thread.take().expect("a run that has not been left behind is joined once");
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }

    /// A run that has ended hears nothing, and says so.
    fn command(&self, command: Command) {
        let _ = self.commands.as_ref().map(|commands| commands.send(command));
    }

    /// Waits until the run is held again, or over.
    fn listen(&mut self, alarm: &mut dyn FnMut(Stuck)) {
        self.state = loop {
            match self.news.recv() {
                Ok(News::Held) => break State::Held(SimTime::from_ps(self.time)),
                Ok(News::Stuck(stuck)) => alarm(stuck),
                Ok(News::Abandoned(stuck)) => break State::LeftBehind(stuck),
                Ok(News::Ended) | Err(mpsc::RecvError) => break State::Ended,
            }
        };
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.commands = None;
        match self.state {
            State::LeftBehind(_) => return,
            // Between two commands the run hears that nobody holds it any more; within one, `alarm` has panicked.
            State::Held(_) if std::thread::panicking() => self.interrupt.store(true, Ordering::Relaxed),
            State::Held(_) | State::Ended => {}
        }
        // A component's panic was reported on its thread.
        let _ = thread.join();
    }
}
