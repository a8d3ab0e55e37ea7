//! `counterpoint validate`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use counterpoint_experiments::registry;
use counterpoint_experiments::speed::calibration_loop;
use counterpoint_experiments::validation::{Measured, Validation, page, spread, validate};
use counterpoint_framework::model::diagnostics::nearest;

use super::{fail, ptx::refuse};
use crate::{Console, FAILURE, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Validate {
    /// Only this machine.
    machine: Option<String>,
    /// How much faster the kernels run than there, per processor second.
    #[arg(long)]
    speed: bool,
    /// Write a page with a plot there.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

impl Validate {
    pub(super) fn execute(&self, console: &mut Console<'_>) -> io::Result<u8> {
        let folder = std::env::current_dir()?;
        let mut measured = match Measured::read(&folder) {
            Ok(measured) => measured,
            Err(message) => return refuse(console, &[format!("error: {message}")]),
        };
        if let Some(wanted) = &self.machine {
            let known: Vec<String> = measured.machines.iter().map(|one| one.machine.clone()).collect();
            measured.machines.retain(|one| one.machine == *wanted);
            if measured.machines.is_empty() {
                let help = match nearest(wanted, known.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are figures of {}", known.join(", ")),
                };
                let message = format!("error: no figures are kept of a machine `{wanted}`");
                return refuse(console, &[message, format!("  help: {help}")]);
            }
        }
        let validation = match validate(&measured, &folder, &Arc::new(registry())) {
            Ok(validation) => validation,
            Err(errors) => return fail(&errors, console),
        };
        rows(&validation, console)?;
        if self.speed {
            speeds(&validation, measured.calibration, console)?;
        }
        if let Some(path) = &self.page
            && let Err(error) = std::fs::write(path, page(&validation))
        {
            writeln!(console.err, "error: {}: {error}", path.display())?;
            return Ok(FAILURE);
        }
        Ok(SUCCESS)
    }
}

/// The comparison, a line a figure.
fn rows(validation: &Validation, console: &mut Console<'_>) -> io::Result<()> {
    writeln!(
        console.out,
        "{:<14}{:<20}{:<16}{:>12}{:>12}{:>10}",
        "machine", "of", "quantity", "ours", "GPGPU-Sim", "apart"
    )?;
    for row in &validation.rows {
        let apart = row.difference().map_or("-".to_owned(), |share| format!("{:+.1} %", 100.0 * share));
        let digits = if row.of == "latency" { 1 } else { 0 };
        writeln!(
            console.out,
            "{:<14}{:<20}{:<16}{:>12.digits$}{:>12.digits$}{:>10}",
            row.machine, row.of, row.quantity, row.ours, row.theirs, apart
        )?;
    }
    let cycles = spread(validation.rows.iter().filter(|row| row.quantity == "cycles"));
    let latencies = spread(validation.rows.iter().filter(|row| row.of == "latency"));
    for (name, spread) in [("cycles", cycles), ("latencies", latencies)] {
        if let Some((mean, worst)) = spread {
            writeln!(
                console.out,
                "{name}: {:.1} % apart on average, {:.1} % at worst",
                100.0 * mean,
                100.0 * worst
            )?;
        }
    }
    Ok(())
}

/// What the kernels cost, and what they would have cost there.
fn speeds(validation: &Validation, there: f64, console: &mut Console<'_>) -> io::Result<()> {
    let here = calibration_loop();
    writeln!(console.out, "\ncalibration loop: {here:.2} s here, {there:.2} s there")?;
    writeln!(
        console.out,
        "{:<14}{:<20}{:>10}{:>14}{:>14}{:>10}",
        "machine", "of", "CPU s", "cycles/CPU s", "GPGPU-Sim s", "faster"
    )?;
    for speed in &validation.speeds {
        let scaled = speed.theirs * here / there;
        writeln!(
            console.out,
            "{:<14}{:<20}{:>10.2}{:>14.0}{:>14.1}{:>10.1}",
            speed.machine,
            speed.of,
            speed.ours,
            speed.cycles / speed.ours,
            scaled,
            scaled / speed.ours
        )?;
    }
    Ok(())
}
