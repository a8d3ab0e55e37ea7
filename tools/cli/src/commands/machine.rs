//! The options that choose and change a machine, which several commands share.

use clap::Args;
use counterpoint_experiments::run::RunRequest;

/// A machine and changes to it.
#[derive(Args)]
pub(super) struct MachineOptions {
    /// The machine: a file, or a name that `counterpoint list machines` prints.
    machine: String,
    /// Sets a parameter; `app.name=value` sets one of the application. The last one wins.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Applies an overlay: a file, or a name. The last one wins.
    #[arg(long = "with", value_name = "OVERLAY")]
    overlays: Vec<String>,
    /// The runtime of every host.
    #[arg(long)]
    runtime: Option<String>,
    /// The policy of every CTA scheduler.
    #[arg(long)]
    policy: Option<String>,
}

impl MachineOptions {
    /// The machine's name or file.
    pub(super) fn name(&self) -> &str {
        &self.machine
    }

    /// The request for a run with defaults for everything else.
    pub(super) fn request(&self, application: &str) -> RunRequest {
        RunRequest {
            sets: self.sets.clone(),
            overlays: self.overlays.clone(),
            runtime: self.runtime.clone(),
            policy: self.policy.clone(),
            ..RunRequest::new(&self.machine, application)
        }
    }
}
