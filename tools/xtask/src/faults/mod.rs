//! `cargo xtask faults [TIMES [SEED]]`: runs and studies that are killed, asked to end, out of disk space or deprived of their
//! permissions at random moments. The remaining files must be complete or marked, and a repetition of the command must give all of
//! them.
//!
//! The command needs root: the disks that fill are small file systems in memory, and permissions do not restrict root, so that runs
//! belong to another user.

mod fault;
mod inspect;
mod scene;

use fault::{Fault, Random};
use scene::{Job, Scene};

/// Kills, ends and starves runs and studies at random moments, and looks at what they leave. Needs to be root.
#[derive(clap::Args)]
pub(crate) struct Faults {
    /// Number of faults.
    #[arg(default_value_t = 100)]
    times: u64,
    /// Seed of the moments.
    #[arg(default_value_t = 1)]
    seed: u64,
}

impl Faults {
    pub(crate) fn run(&self) -> Result<(), String> {
        faults(self.times, self.seed)
    }
}

fn faults(times: u64, seed: u64) -> Result<(), String> {
    let root = crate::tree::root()?;
    crate::tree::released()?;
    let scene = Scene::new(&root)?;
    let (run, study) = (scene.whole(Job::Run)?, scene.whole(Job::Study)?);
    let mut random = Random(seed);
    let mut seen = std::collections::BTreeMap::<String, u64>::new();
    for round in 0..times {
        let (job, whole) = match random.below(6) {
            0 => (Job::Study, &study),
            1 => (Job::Part, &study),
            _ => (Job::Run, &run),
        };
        let fault = Fault::at_random(&mut random, whole, scene.mounts);
        let found = scene.try_out(job, &fault, whole);
        let found = found
            .map_err(|error| format!("round {round} of seed {seed}: {job:?} with {fault:?}: {error}"))?;
        *seen.entry(format!("{job:?}, {}: {found}", fault.name())).or_default() += 1;
    }
    for (what, times) in seen {
        super::report(&format!("{times:4} x {what}"));
    }
    Ok(())
}
