//! `counterpoint schema`.

use std::io;

use clap::{Args, ValueEnum};
use counterpoint_experiments::study;
use counterpoint_framework::model::Registry;
use counterpoint_framework::topology;
use counterpoint_simulation::application;

use crate::{Console, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Schema {
    /// Kind of files.
    #[arg(value_enum, default_value = "machine")]
    of: Of,
}

#[derive(Clone, Copy, ValueEnum)]
enum Of {
    /// Machines, modules and overlays.
    Machine,
    /// Applications.
    Application,
    /// Studies.
    Study,
}

impl Schema {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        let schema = match self.of {
            Of::Machine => topology::schema(&registry.catalogue),
            Of::Application => application::schema(),
            Of::Study => study::schema(),
        };
        let text = serde_json::to_string_pretty(&schema).map_err(io::Error::other)?;
        writeln!(console.out, "{text}")?;
        Ok(SUCCESS)
    }
}
