//! `counterpoint explain`.

use std::io;

use clap::Args;
use counterpoint_experiments::study;
use counterpoint_framework::model::Registry;
use counterpoint_framework::model::diagnostics::nearest;
use counterpoint_framework::topology;
use counterpoint_simulation::{application, find, synthetic};

use crate::{Console, FAILURE, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Explain {
    /// The component kind, such as `memory/l2-slice`; or `application`, for the keys of an application file;
    /// `synthetic`, for kernels that are described in one; `study`, for those of a study; `overlay`, for those of an
    /// overlay; `faults`, for what can go wrong on links; or `files`, for where files are looked for.
    kind: String,
}

impl Explain {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        if self.kind == "application" {
            write!(console.out, "{}", application::explain())?;
            return Ok(SUCCESS);
        }
        if self.kind == "synthetic" {
            write!(console.out, "{}", synthetic::explain())?;
            return Ok(SUCCESS);
        }
        if self.kind == "study" {
            write!(console.out, "{}", study::explain(registry))?;
            return Ok(SUCCESS);
        }
        if self.kind == "faults" {
            write!(console.out, "{}", topology::explain_faults())?;
            return Ok(SUCCESS);
        }
        if self.kind == "files" {
            write!(console.out, "{}", find::explain())?;
            return Ok(SUCCESS);
        }
        if self.kind == "overlay" {
            write!(console.out, "{}", topology::explain_overlay())?;
            return Ok(SUCCESS);
        }
        if let Some(kind) = registry.catalogue.get(&self.kind) {
            write!(console.out, "{}", topology::explain(kind, registry.families()))?;
            return Ok(SUCCESS);
        }
        writeln!(console.err, "error: there is no component kind `{}`", self.kind)?;
        match nearest(&self.kind, registry.catalogue.kinds().map(|kind| kind.name)) {
            Some(near) => writeln!(console.err, "  help: did you mean `{near}`?")?,
            None => writeln!(console.err, "  help: `counterpoint list kinds` prints them all")?,
        }
        Ok(FAILURE)
    }
}
