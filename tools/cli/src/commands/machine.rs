//! The options that choose and change a machine, which several commands share.

use clap::Args;
use counterpoint_simulation::run::RunRequest;

/// A machine and changes to it.
#[derive(Args)]
pub(super) struct MachineOptions {
    /// The machine: a file, or a name that `counterpoint list machines` prints.
    machine: String,
    #[command(flatten)]
    changes: MachineChanges,
}

/// Changes to a machine.
#[derive(Args)]
pub(super) struct MachineChanges {
    /// Sets a parameter; `app.name=value` sets one of the application. The last one wins.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(super) sets: Vec<String>,
    /// Applies an overlay: a file, or a name. The last one wins.
    #[arg(long = "with", value_name = "OVERLAY")]
    pub(super) overlays: Vec<String>,
    /// The runtime of every host.
    #[arg(long)]
    pub(super) runtime: Option<String>,
    /// The policy of every CTA scheduler.
    #[arg(long)]
    pub(super) policy: Option<String>,
}

impl MachineOptions {
    /// The machine's name or file.
    pub(super) fn name(&self) -> &str {
        &self.machine
    }

    /// The request for a run with defaults for everything else.
    pub(super) fn request(&self, application: &str) -> RunRequest {
        let MachineChanges { sets, overlays, runtime, policy } = &self.changes;
        RunRequest {
            sets: sets.clone(),
            overlays: overlays.clone(),
            runtime: runtime.clone(),
            policy: policy.clone(),
            ..RunRequest::new(&self.machine, application)
        }
    }
}
