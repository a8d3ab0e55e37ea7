//! `counterpoint ptx slice`: a module whose kernels have twins that run a part of a grid.

use std::io;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use counterpoint_framework::model::Registry;
use counterpoint_ptx::parser;
use counterpoint_ptx::slice::{self, Carry, Dimensions, SlicedKernel, slice};

use super::ptx::{no_kernel, refuse, source};
use crate::{Console, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Slice {
    /// The PTX file.
    file: PathBuf,
    /// Only this kernel.
    #[arg(long)]
    kernel: Option<String>,
    /// Dimensions of the grids that are sliced; fewer take fewer instructions.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3))]
    dimensions: u8,
    /// How an index behind the end of its row is brought back.
    #[arg(long, value_enum, default_value_t = Back::Subtract)]
    carry: Back,
}

/// How an index is brought back.
#[derive(Clone, Copy, ValueEnum)]
enum Back {
    /// Row by row: cheap where slices have few rows.
    Subtract,
    /// At once: cheap where slices have many rows.
    Divide,
}

impl Slice {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        let (place, text) = match source(&self.file, registry) {
            Ok(source) => source,
            Err(lines) => return refuse(console, &lines),
        };
        let carry = match self.carry {
            Back::Subtract => Carry::Subtract,
            Back::Divide => Carry::Divide,
        };
        let dimensions = Dimensions::ALL[usize::from(self.dimensions) - 1];
        let options = slice::Options { dimensions, carry, kernel: self.kernel.clone() };
        let sliced =
            parser::parse(&text).and_then(|module| slice(&module, &options).map_err(|error| vec![error]));
        let sliced = match sliced {
            Ok(sliced) => sliced,
            Err(errors) => {
                let lines: Vec<String> =
                    errors.iter().map(|error| format!("error: {place}:{error}")).collect();
                return refuse(console, &lines);
            }
        };
        let wanted = |kernel: &&SlicedKernel| self.kernel.as_ref().is_none_or(|name| *name == kernel.name);
        let kernels: Vec<&SlicedKernel> = sliced.kernels.iter().filter(wanted).collect();
        if let (Some(name), true) = (&self.kernel, kernels.is_empty()) {
            let names: Vec<String> = sliced.kernels.iter().map(|kernel| kernel.name.clone()).collect();
            return refuse(console, &no_kernel(&place, name, &names));
        }
        if !kernels.is_empty() && kernels.iter().all(|kernel| kernel.slice.is_none()) {
            let lines: Vec<String> = kernels.iter().flat_map(|kernel| why(&place, kernel)).collect();
            return refuse(console, &lines);
        }
        for kernel in kernels {
            match (&kernel.slice, &kernel.refused) {
                (Some(slice), _) => writeln!(console.out, "// kernel {}: slices run {slice}", kernel.name)?,
                (None, Some(why)) => {
                    writeln!(console.out, "// kernel {}: not sliced", kernel.name)?;
                    writeln!(console.out, "//   line {}: {}", why.line, why.instruction)?;
                    writeln!(console.out, "//   {}", why.reason)?;
                }
                (None, None) => {}
            }
        }
        write!(console.out, "{}", sliced.text)?;
        Ok(SUCCESS)
    }
}

fn why(place: &str, kernel: &SlicedKernel) -> Vec<String> {
    let Some(why) = &kernel.refused else { return Vec::new() };
    vec![
        format!("error: {place}:{}: {}", why.line, why.reason),
        format!("  kernel {} cannot be sliced: {}", kernel.name, why.instruction),
    ]
}
