//! `counterpoint resolve`.

use std::io;

use clap::Args;
use counterpoint_framework::model::Registry;
use counterpoint_framework::topology;
use counterpoint_simulation::run::load_machine;

use super::machine::MachineOptions;
use super::{fail, note_remarks, note_unused};
use crate::{Console, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Resolve {
    #[command(flatten)]
    machine: MachineOptions,
}

impl Resolve {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        let request = self.machine.request("");
        note_unused(&request.sets, console)?;
        match load_machine(&request, registry) {
            Ok(loaded) => {
                note_remarks(&loaded.remarks, console)?;
                write!(console.out, "{}", topology::resolve(&loaded.machine, &loaded.sources))?;
                Ok(SUCCESS)
            }
            Err(error) => fail(&[error], console),
        }
    }
}
