//! The run's side of a hold: the window at which it stops, and the wait for the holder's next command.
//!
//! Every report of the first thread carries the time of the hold, so all threads stop in the same window: the first one
//! after which no event is left before that time. The others then wait for the first thread's next report, and the first
//! thread waits for a command. Between two commands nothing is computed. Windows, and so holds, change no result.

use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use super::parallel::Report;
use crate::observe::watchdog::Stuck;
use crate::process::queue::NEVER;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    /// Go on up to this time, in picoseconds.
    Advance(u64),
    /// Report the state of the run.
    Inspect,
}

/// News of the run for its holder.
pub(crate) enum News {
    /// The run is held at the time of the last command.
    Held,
    /// The watchdog reports a component.
    Stuck(Stuck),
    /// A component hangs, and nobody wants to wait for it.
    Abandoned(Stuck),
    Ended,
}

/// Control of a run by its holder: how far it may go.
pub(crate) struct RunControl {
    hold: u64,
    inspect: bool,
    /// Nobody holds the run any more, and nobody wants its results.
    dropped: bool,
    holder: Option<Holder>,
    /// Wall-clock time without a command.
    pub(crate) waited: Duration,
}

struct Holder {
    commands: Receiver<Command>,
    news: Sender<News>,
    /// Whether the holder waits for the run to be held.
    waits: bool,
}

impl RunControl {
    /// Nobody holds the run: it goes to its end.
    pub(crate) fn free() -> Self {
        RunControl { hold: NEVER, inspect: false, dropped: false, holder: None, waited: Duration::ZERO }
    }

    /// The run is held before anything has happened.
    pub(crate) fn held(commands: Receiver<Command>, news: Sender<News>) -> Self {
        let holder = Some(Holder { commands, news, waits: false });
        RunControl { hold: 0, holder, ..RunControl::free() }
    }

    /// Adds the commands of the holder to a report of the first thread.
    #[inline]
    pub(crate) fn sign(&mut self, own: &mut Report) {
        own.hold = self.hold;
        own.inspect = std::mem::take(&mut self.inspect);
        own.interrupted |= self.dropped;
    }

    /// The run is held: waits for a command. The result is the wall-clock time that this took.
    #[cold]
    pub(crate) fn wait(&mut self) -> Duration {
        let begun = Instant::now();
        let Some(holder) = &mut self.holder else { return Duration::ZERO };
        if std::mem::take(&mut holder.waits) {
            // The holder may have gone: the next command says so.
            let _ = holder.news.send(News::Held);
        }
        match holder.commands.recv() {
            Ok(Command::Advance(time)) => (self.hold, holder.waits) = (time, true),
            Ok(Command::Inspect) => self.inspect = true,
            Err(_) => self.dropped = true,
        }
        let waited = begun.elapsed();
        self.waited += waited;
        waited
    }
}
