//! The simulation on a thread of its own, and how to leave it when it does not end.

use std::sync::Arc;

use counterpoint_framework::kernel::{Fault, Outcome, RunOptions, Stuck, Watchdog};
use counterpoint_framework::model::{Environment, Registry};
use counterpoint_framework::topology::{self, Loaded, RunReport};

/// What is simulated.
#[derive(Clone)]
pub(super) struct Simulation {
    pub(super) machine: Arc<Loaded>,
    pub(super) registry: Arc<Registry>,
    pub(super) environment: Environment,
}

/// How a simulation ended.
pub(super) enum Ended {
    /// With all that it recorded.
    ByItself(RunReport),
    /// A component hangs, and whoever watched did not want to wait for it. Statistics and spans are on its thread.
    LeftBehind(RunReport),
}

/// What the simulation's threads tell.
enum News {
    Stuck(Stuck),
    Abandoned(Stuck),
    Ended,
}

impl Simulation {
    /// Simulates. The calling thread listens meanwhile and hands to `alarm` what the watchdog says.
    pub(super) fn run(self, options: RunOptions, watchdog: Watchdog, alarm: &mut dyn FnMut(Stuck)) -> Ended {
        let (tell, news) = flume::unbounded();
        let (reports, leaves) = (tell.clone(), tell.clone());
        // Nobody listens any more once the run is over: what is said then is lost, and may be.
        let watchdog = Watchdog {
            report: Arc::new(move |stuck| drop(reports.send(News::Stuck(stuck)))),
            abandoned: Arc::new(move |stuck| drop(leaves.send(News::Abandoned(stuck)))),
            ..watchdog
        };
        // Without the watchdog, which holds the far ends of the channel.
        let plain = options.clone();
        let options = RunOptions { watchdog, ..options };
        let Simulation { machine, registry, environment } = self.clone();
        let thread = std::thread::spawn(move || {
            let report = topology::run(&machine.machine, &registry, &environment, &options);
            // Whoever listened may have left.
            let _ = tell.send(News::Ended);
            report
        });
        loop {
            match news.recv() {
                Ok(News::Stuck(stuck)) => alarm(stuck),
                Ok(News::Abandoned(Stuck { path, time, elapsed })) => {
                    let seconds = elapsed.as_secs_f64();
                    let Simulation { machine, registry, environment } = &self;
                    let cut = topology::build(&machine.machine, registry, environment).cut(&plain);
                    let fault = Fault::new(format!(
                        "has not come back for {seconds:.1} s of real time; the run was interrupted and left it behind"
                    ));
                    return Ended::LeftBehind(RunReport {
                        islands: cut.islands.len(),
                        lookahead: cut.lookahead,
                        ..RunReport::of(Outcome::Failed { time, path, fault })
                    });
                }
                Ok(News::Ended) | Err(flume::RecvError::Disconnected) => {
                    let report = thread.join();
                    return Ended::ByItself(report.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                }
            }
        }
    }
}
