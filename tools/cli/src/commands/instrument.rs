//! `counterpoint ptx instrument`: a module with profilers, and a description of their reports.

use std::io;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use counterpoint_framework::model::Registry;
use counterpoint_ptx::instrument::{self, InstrumentedArray, InstrumentedKernel, Semi, instrument};
use counterpoint_ptx::parser;

use super::ptx::{no_kernel, refuse, source};
use crate::{Console, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Instrument {
    /// The PTX file.
    file: PathBuf,
    /// Only this kernel.
    #[arg(long)]
    kernel: Option<String>,
    /// Treatment of kernels whose addresses are independent of data but no polynomials.
    #[arg(long, value_enum, default_value_t = Taken::Irregular)]
    semi: Taken,
    /// Say which range each array has, without the module.
    #[arg(long)]
    explain: bool,
}

/// How semi-regular kernels are taken.
#[derive(Clone, Copy, ValueEnum)]
enum Taken {
    /// They have no profilers.
    Irregular,
    /// Their profilers count through all values.
    Enumerate,
}

impl Instrument {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        let (place, text) = match source(&self.file, registry) {
            Ok(source) => source,
            Err(lines) => return refuse(console, &lines),
        };
        let semi = match self.semi {
            Taken::Irregular => Semi::Irregular,
            Taken::Enumerate => Semi::Enumerate,
        };
        let options = instrument::Options { semi, kernel: self.kernel.clone() };
        let instrumented = parser::parse(&text)
            .and_then(|module| instrument(&module, &options).map_err(|error| vec![error]));
        let instrumented = match instrumented {
            Ok(instrumented) => instrumented,
            Err(errors) => {
                let lines: Vec<String> =
                    errors.iter().map(|error| format!("error: {place}:{error}")).collect();
                return refuse(console, &lines);
            }
        };
        let wanted =
            |kernel: &&InstrumentedKernel| self.kernel.as_ref().is_none_or(|name| *name == kernel.name);
        let kernels: Vec<&InstrumentedKernel> = instrumented.kernels.iter().filter(wanted).collect();
        if let (Some(name), true) = (&self.kernel, kernels.is_empty()) {
            let names: Vec<String> = instrumented.kernels.iter().map(|kernel| kernel.name.clone()).collect();
            return refuse(console, &no_kernel(&place, name, &names));
        }
        let mark = if self.explain { "" } else { "// " };
        for kernel in kernels {
            for line in explain(kernel) {
                writeln!(console.out, "{mark}{line}")?;
            }
        }
        if !self.explain {
            write!(console.out, "{}", instrumented.text)?;
        }
        Ok(SUCCESS)
    }
}

/// Explanation of a kernel's arrays, or the reason for none.
fn explain(kernel: &InstrumentedKernel) -> Vec<String> {
    let InstrumentedKernel { name, pre, class, irregular, arrays, .. } = kernel;
    let mut lines = Vec::new();
    if let Some(pre) = pre {
        lines.push(format!("kernel {name}: {class}, pre-profiler {pre}"));
        lines.extend(arrays.iter().map(|array: &InstrumentedArray| format!("  {array}")));
    }
    if let Some(why) = irregular {
        lines.push(format!("kernel {name}: {class}, no profilers"));
        lines.push(format!("  line {}: {}", why.line, why.instruction));
        lines.push(format!("  {}", why.reason));
    }
    lines
}
