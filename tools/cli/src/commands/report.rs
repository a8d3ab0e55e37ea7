//! `counterpoint report`.

use std::io;
use std::path::PathBuf;

use clap::Args;
use counterpoint_experiments::study::report::report;

use crate::{Console, FAILURE, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Report {
    /// The folder of a study, as `counterpoint study` names it.
    folder: PathBuf,
}

impl Report {
    pub(super) fn execute(&self, console: &mut Console<'_>) -> io::Result<u8> {
        match report(&self.folder) {
            Ok(page) => {
                writeln!(console.out, "wrote {}, and its figures beside it", page.display())?;
                Ok(SUCCESS)
            }
            Err(message) => {
                writeln!(console.err, "error: {message}")?;
                Ok(FAILURE)
            }
        }
    }
}
