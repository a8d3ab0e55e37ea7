//! `counterpoint ptx synth`: the PTX of synthetic kernels.

use std::io;

use clap::Args;
use counterpoint_framework::model::Registry;
use counterpoint_simulation::application;
use counterpoint_simulation::find::{ProjectFiles, Sort};

use super::ptx::{no_kernel, refuse};
use crate::{Console, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(super) struct Synth {
    /// The application: a file, or a name that `counterpoint list applications` prints.
    #[arg(value_name = "APPLICATION")]
    file: String,
    /// Only this kernel.
    #[arg(long)]
    kernel: Option<String>,
    /// A parameter of the application: `app.n=256`.
    #[arg(long = "set", value_name = "app.NAME=VALUE")]
    sets: Vec<String>,
}

impl Synth {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        let files = ProjectFiles::here(registry);
        let place = match files.find(Sort::Application, &self.file) {
            Ok(place) => place,
            Err(missing) => return refuse(console, &[format!("error: {missing}")]),
        };
        let mut kernels = match application::load(&place, &self.sets, &files, registry) {
            Ok(loaded) => loaded.synthetic,
            Err(report) => return refuse(console, &[report.render()]),
        };
        if kernels.is_empty() {
            return refuse(console, &[format!("error: {place} describes no synthetic kernel")]);
        }
        if let Some(wanted) = &self.kernel {
            let names: Vec<String> = kernels.iter().map(|(name, _)| name.clone()).collect();
            kernels.retain(|(name, _)| name == wanted);
            if kernels.is_empty() {
                return refuse(console, &no_kernel(&place, wanted, &names));
            }
        }
        for (index, (_, text)) in kernels.iter().enumerate() {
            if index > 0 {
                writeln!(console.out)?;
            }
            write!(console.out, "{text}")?;
        }
        Ok(SUCCESS)
    }
}
