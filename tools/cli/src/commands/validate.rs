//! `counterpoint validate`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use counterpoint_experiments::validation::peaks::{Extent, Peak, Stated, Verdict, peaks};
use counterpoint_experiments::validation::{Measured, Speed, Validation, page, spread, validate};
use counterpoint_framework::model::Registry;
use counterpoint_framework::model::diagnostics::nearest;
use counterpoint_framework::telemetry::sinks::signed_percent;
use counterpoint_simulation::find::ProjectFiles;

use super::{fail, ptx::refuse};
use crate::{Console, FAILURE, NOT_VERIFIED, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Validate {
    /// Only this machine.
    machine: Option<String>,
    /// Only this application, or `latency`.
    #[arg(long, value_name = "OF", conflicts_with = "peaks")]
    only: Option<String>,
    /// How much faster the kernels run than there: processor seconds of whole processes of this command.
    #[arg(long)]
    speed: bool,
    /// Measure bandwidths, rates and latencies by programs of our own, beside what data sheets, papers and GPGPU-Sim's files state.
    /// The exit status is 1 if a difference is larger than it may be and not known.
    #[arg(long, conflicts_with_all = ["speed", "page"])]
    peaks: bool,
    /// With --peaks: only what takes no stream through memory, in seconds.
    #[arg(long, requires = "peaks")]
    quick: bool,
    /// With --peaks: as JSON, with limits and sources.
    #[arg(long, requires = "peaks")]
    json: bool,
    /// Write a page with a plot there.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

impl Validate {
    pub(super) fn execute(&self, registry: &Arc<Registry>, console: &mut Console<'_>) -> io::Result<u8> {
        let folder = std::env::current_dir()?;
        if self.peaks {
            return self.peaks(&folder, registry, console);
        }
        let mut measured = match Measured::read(&ProjectFiles::new(&folder, registry)) {
            Ok(measured) => measured,
            Err(message) => return refuse(console, &[format!("error: {message}")]),
        };
        if let Some(wanted) = &self.machine {
            let known: Vec<String> = measured.machines.iter().map(|one| one.machine.clone()).collect();
            measured.machines.retain(|one| one.machine == *wanted);
            if measured.machines.is_empty() {
                return unknown(wanted, &known, console);
            }
        }
        if let Some(only) = &self.only {
            let known = measured.keep(only);
            if !known.is_empty() {
                let help = match nearest(only, known.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are figures of {}", known.join(", ")),
                };
                let message = format!("error: no figures are kept of `{only}`");
                return refuse(console, &[message, format!("  help: {help}")]);
            }
        }
        let command = if self.speed { Some(std::env::current_exe()?) } else { None };
        let validation = match validate(&measured, command.as_deref(), &folder, registry) {
            Ok(validation) => validation,
            Err(errors) => return fail(&errors, console),
        };
        let status = rows(&validation, console)?;
        if self.speed {
            speeds(&validation, console)?;
        }
        if let Some(path) = &self.page
            && let Err(error) = std::fs::write(path, page(&validation))
        {
            writeln!(console.err, "error: {}: {error}", path.display())?;
            return Ok(FAILURE);
        }
        Ok(status)
    }
}

/// Reports that no figures of a machine exist.
fn unknown(wanted: &str, known: &[String], console: &mut Console<'_>) -> io::Result<u8> {
    let help = match nearest(wanted, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are figures of {}", known.join(", ")),
    };
    let message = format!("error: no figures are kept of a machine `{wanted}`");
    refuse(console, &[message, format!("  help: {help}")])
}

impl Validate {
    /// Measured peaks of machines, beside the stated ones.
    fn peaks(&self, folder: &Path, registry: &Arc<Registry>, console: &mut Console<'_>) -> io::Result<u8> {
        let mut stated = match Stated::read(&ProjectFiles::new(folder, registry)) {
            Ok(stated) => stated,
            Err(message) => return refuse(console, &[format!("error: {message}")]),
        };
        if let Some(wanted) = &self.machine {
            let known = stated.machines();
            stated.retain(wanted);
            if stated.figures.is_empty() {
                return unknown(wanted, &known, console);
            }
        }
        let extent = if self.quick { Extent::Units } else { Extent::All };
        let peaks = match peaks(&stated, extent, folder, registry) {
            Ok(peaks) => peaks,
            Err(errors) => return fail(&errors, console),
        };
        if self.json {
            let text = serde_json::to_string_pretty(&peaks).map_err(io::Error::other)?;
            writeln!(console.out, "{text}")?;
        } else {
            table(&peaks, console)?;
        }
        end(&peaks, console)
    }
}

/// The exit status of what was measured.
fn end(peaks: &[Peak], console: &mut Console<'_>) -> io::Result<u8> {
    let missed = peaks.iter().filter(|peak| peak.verdict == Verdict::Missed).count();
    if missed == 0 {
        return Ok(SUCCESS);
    }
    writeln!(console.err, "error: {missed} of {} figures are further apart than they may be", peaks.len())?;
    Ok(NOT_VERIFIED)
}

/// Stated values beside ours, a line a figure.
fn table(peaks: &[Peak], console: &mut Console<'_>) -> io::Result<()> {
    writeln!(
        console.out,
        "{:<22}{:<11}{:<29}{:<12}{:>10}{:>10}{:>8}  {:<7} source",
        "machine", "follows", "of", "unit", "ours", "stated", "share", ""
    )?;
    for peak in peaks {
        let verdict = match peak.verdict {
            Verdict::Met => "",
            Verdict::Known => "known",
            Verdict::Missed => "missed",
        };
        let share = format!("{:.0} %", 100.0 * peak.share());
        writeln!(
            console.out,
            "{:<22}{:<11}{:<29}{:<12}{:>10.2}{:>10.2}{share:>8}  {verdict:<7} {}",
            peak.machine,
            peak.follows.unwrap_or("-"),
            peak.of,
            peak.unit,
            peak.ours,
            peak.stated,
            peak.reason.as_ref().unwrap_or(&peak.source),
        )?;
    }
    Ok(())
}

/// The comparison, a line a figure.
fn rows(validation: &Validation, console: &mut Console<'_>) -> io::Result<u8> {
    writeln!(
        console.out,
        "{:<14}{:<24}{:<16}{:>12}{:>12}{:>10}",
        "machine", "of", "quantity", "ours", "GPGPU-Sim", "apart"
    )?;
    for row in &validation.rows {
        let apart = row.difference().map_or("-".to_owned(), signed_percent);
        let cause = match (&row.cause, row.is_off()) {
            (Some(cause), _) => format!("  {cause}"),
            (None, true) => "  off, and the cause is not known".to_owned(),
            (None, false) => String::new(),
        };
        let digits = if row.of == "latency" { 1 } else { 0 };
        writeln!(
            console.out,
            "{:<14}{:<24}{:<16}{:>12.digits$}{:>12.digits$}{:>10}{cause}",
            row.machine, row.of, row.quantity, row.ours, row.theirs, apart
        )?;
    }
    let mut machines: Vec<&str> = validation.rows.iter().map(|row| row.machine.as_str()).collect();
    machines.dedup();
    for machine in machines {
        let own = || validation.rows.iter().filter(|row| row.machine == machine);
        let cycles = spread(own().filter(|row| row.counts()));
        let latencies = spread(own().filter(|row| row.of == "latency"));
        for (name, spread) in [("cycles", cycles), ("latencies", latencies)] {
            if let Some((mean, worst)) = spread {
                writeln!(
                    console.out,
                    "{machine}: {name}: {:.1} % apart on average, {:.1} % at worst",
                    100.0 * mean,
                    100.0 * worst
                )?;
            }
        }
    }
    let unknown = validation.rows.iter().filter(|row| row.is_off() && row.cause.is_none()).count();
    if unknown == 0 {
        return Ok(SUCCESS);
    }
    let count = validation.rows.len();
    writeln!(console.err, "error: {unknown} of {count} figures are off, and the cause is not known")?;
    Ok(FAILURE)
}

/// Costs of the kernels, and their costs there.
fn speeds(validation: &Validation, console: &mut Console<'_>) -> io::Result<()> {
    writeln!(
        console.out,
        "\n{:<14}{:<26}{:>10}{:>14}{:>14}{:>10}",
        "machine", "of", "CPU s", "cycles/CPU s", "GPGPU-Sim s", "faster"
    )?;
    let mut machines: BTreeMap<&str, Vec<&Speed>> = BTreeMap::new();
    for speed in &validation.speeds {
        writeln!(
            console.out,
            "{:<14}{:<26}{:>10.3}{:>14.0}{:>14.1}{:>10.1}",
            speed.machine,
            speed.of,
            speed.ours,
            speed.cycles / speed.ours,
            speed.theirs,
            speed.ratio()
        )?;
        machines.entry(&speed.machine).or_default().push(speed);
    }
    for (machine, speeds) in machines {
        mean(machine, &speeds, console)?;
    }
    let all: Vec<&Speed> = validation.speeds.iter().collect();
    mean("all", &all, console)
}

/// The geometric mean of the ratios of some kernels, and the least of them.
fn mean(name: &str, speeds: &[&Speed], console: &mut Console<'_>) -> io::Result<()> {
    let logarithms: f64 = speeds.iter().map(|speed| speed.ratio().ln()).sum();
    let mean = (logarithms / speeds.len() as f64).exp();
    let slowest = speeds.iter().min_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    let slowest = slowest.map(|speed| format!("; least {:.1} ({})", speed.ratio(), speed.of));
    writeln!(console.out, "{name}: geometric mean {mean:.1}{}", slowest.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use counterpoint_experiments::validation::peaks::Limit;

    use super::*;

    #[test]
    fn a_figure_that_is_missed_makes_the_status_one() {
        let peak = |verdict| Peak {
            machine: "m".into(),
            follows: Some("card"),
            of: "sfu",
            unit: "/cycle/SM",
            ours: 8.0,
            stated: 10.0,
            limit: Limit::Within(0.1),
            verdict,
            source: "a data sheet".into(),
            reason: (verdict == Verdict::Known).then(|| "a reason".into()),
        };
        let status = |peaks: &[Peak]| {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut console = Console {
                out: &mut out,
                err: &mut err,
                interactive: false,
                interrupt: Arc::default(),
                abandon: Arc::default(),
                listens: Arc::default(),
            };
            table(peaks, &mut console).unwrap();
            let status = end(peaks, &mut console).unwrap();
            (status, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
        };
        let (good, out, err) = status(&[peak(Verdict::Met), peak(Verdict::Known)]);
        assert_eq!((good, err.as_str()), (SUCCESS, ""));
        assert!(out.contains(" 80 %  known   a reason") && out.contains("a data sheet"), "{out}");
        let (bad, _, err) = status(&[peak(Verdict::Met), peak(Verdict::Missed)]);
        assert_eq!(bad, NOT_VERIFIED);
        assert_eq!(err, "error: 1 of 2 figures are further apart than they may be\n");
    }
}
