//! `counterpoint cost`.

use std::io;

use clap::Args;
use counterpoint_framework::model::Registry;
use counterpoint_simulation::cost;
use counterpoint_simulation::run::{RunError, load_machine};

use super::machine::MachineOptions;
use super::{fail, note_unused};
use crate::{Console, SUCCESS, columns};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Cost {
    #[command(flatten)]
    machine: MachineOptions,
}

impl Cost {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        let request = self.machine.request("");
        note_unused(&request.sets, console)?;
        let loaded = match load_machine(&request, registry) {
            Ok(loaded) => loaded,
            Err(error) => return fail(&[error], console),
        };
        let costs = match cost::of(&loaded.machine, registry) {
            Ok(costs) => costs,
            Err(message) => return fail(&[RunError::Usage(message)], console),
        };
        write!(console.out, "{}", loaded.machine.name)?;
        for (mechanism, tables) in costs {
            writeln!(console.out, ": {mechanism}")?;
            for table in tables {
                writeln!(console.out)?;
                columns::print(&table, 2, console.out)?;
            }
        }
        Ok(SUCCESS)
    }
}
