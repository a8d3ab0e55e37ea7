//! The summary of a run as a table.

use std::io::{self, Write};

use counterpoint_framework::time::SimTime;
use counterpoint_host_model::functional::Launched;
use counterpoint_simulation::co_run::{CoRun, Side};
use counterpoint_simulation::run::RunSummary;
use counterpoint_simulation::summary::{Mean, Speed};

/// Bytes in readable form.
pub(crate) fn amount(bytes: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / size as f64),
        None => format!("{bytes} B"),
    }
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

pub(crate) fn print(summary: &RunSummary, out: &mut dyn Write) -> io::Result<()> {
    let RunSummary { report, figures, .. } = summary;
    writeln!(out, "{} on {}", summary.application, summary.machine)?;
    writeln!(out)?;
    if let Some(launched) = &summary.launched {
        launches(launched, out)?;
    } else {
        times(summary, out)?;
    }
    if !figures.counts.is_empty() {
        writeln!(out)?;
    }
    for (name, value) in &figures.counts {
        writeln!(out, "  {name:<36} {:>9} {:>18}", "", grouped(*value))?;
    }
    for (name, value) in &figures.rates {
        writeln!(out, "  {name:<36} {:>9} {:>18.2} %", "", 100.0 * value)?;
    }
    for Speed { name, value, unit } in &figures.speeds {
        writeln!(out, "  {name:<36} {:>9} {value:>18.3} {unit}", "")?;
    }
    if let Some(Mean { time, of }) = figures.task_latency {
        let of = format!("{} x", grouped(of));
        writeln!(out, "  {:<36} {of:>9} {:>18.6} us", "mean task latency", time.as_ps() as f64 * 1e-6)?;
    }
    if let Some(co_run) = &summary.co_run {
        sides(co_run, out)?;
    }
    writeln!(out)?;
    writeln!(out, "  outcome      {}", summary.ending().lines().next().unwrap_or_default())?;
    for check in &summary.checks {
        writeln!(out, "  {:<12} {} ({})", check.buffer, check.verdict, check.against)?;
    }
    if summary.checks.is_empty() {
        writeln!(out, "  results      nothing is expected of this application")?;
    }
    if !summary.found.is_empty() {
        writeln!(out, "  findings     {}, listed at the end", summary.found.len())?;
    }
    let left_out = report.trace.left_out;
    if left_out > 0 {
        writeln!(
            out,
            "  spans        {} are added up by component: they were beyond --span-limit",
            grouped(left_out)
        )?;
    }
    if let Some(hash) = report.hash {
        writeln!(out, "  hash         {hash:016x}")?;
    }
    if let Some(threads) = &summary.threads {
        writeln!(out, "  threads      {threads}")?;
    }
    speed(summary, out)?;
    for path in &summary.outputs {
        writeln!(out, "  wrote        {}", path.display())?;
    }
    if let Some(folder) = &summary.folder {
        writeln!(out, "  results in   {}", folder.display())?;
    }
    Ok(())
}

fn times(summary: &RunSummary, out: &mut dyn Write) -> io::Result<()> {
    let RunSummary { report, phases, .. } = summary;
    let total = report.outcome.time().as_ps();
    let micros = |ps: u64| format!("{:.6}", ps as f64 * 1e-6);
    let several = phases.iter().any(|phase| phase.count > 1);
    let works = phases.iter().any(|phase| phase.work.is_some());
    if several || works {
        let time = if several { "time any of them ran" } else { "time" };
        let work = if works { format!(" {:>9} {:>9}", "IPC", "occupancy") } else { String::new() };
        writeln!(out, "  {:<36} {:>9} {time:>21} {:>8}{work}", "", "", "share")?;
    }
    for phase in phases.iter().filter(|phase| phase.depth > 0) {
        let name = format!("{:width$}{}", "", phase.name, width = 2 * phase.depth - 2);
        let share = if total > 0 { 100.0 * phase.running.as_ps() as f64 / total as f64 } else { 0.0 };
        let times = if phase.count > 1 { format!("{} x", grouped(phase.count)) } else { String::new() };
        let note = if phase.partial { "  (partial)" } else { "" };
        let running = micros(phase.running.as_ps());
        let work = phase.work.map(|work| {
            let ipc = work.ipc().map_or("-".to_owned(), |ipc| format!("{ipc:.3}"));
            let occupancy =
                work.occupancy().map_or("-".to_owned(), |share| format!("{:.2} %", 100.0 * share));
            format!(" {ipc:>9} {occupancy:>9}")
        });
        let work = work.unwrap_or_default();
        writeln!(out, "  {name:<36} {times:>9} {running:>18} us {share:>6.2} %{work}{note}")?;
    }
    writeln!(out, "  {:<36} {:>9} {:>18} us", "total", "", micros(total))?;
    waits(summary, out)
}

/// Applications that ran together.
fn sides(CoRun { window, sides, .. }: &CoRun, out: &mut dyn Write) -> io::Result<()> {
    let micros = |time: SimTime| format!("{:.6} us", time.as_ps() as f64 * 1e-6);
    writeln!(out, "\n  {:<36} {:>9} {:>21}", "all run at the same time for", "", micros(*window))?;
    for Side { name, rate, round, launches, .. } in sides {
        let launches = format!("{launches} x");
        let rate = format!("{:.3} G instructions/s", rate * 1e-9);
        writeln!(out, "  {name:<36} {launches:>9} {:>21} a round {rate:>26}", micros(*round))?;
    }
    Ok(())
}

/// Waits of the run: each column adds up to the total, except for hidden time.
fn waits(summary: &RunSummary, out: &mut dyn Write) -> io::Result<()> {
    let exposure = &summary.waits.exposure;
    if exposure.activities.is_empty() {
        return Ok(());
    }
    let (on_path, between) = summary.waits.on_path(&summary.report.trace.spans);
    let micros = |time: SimTime| format!("{:.6} us", time.as_ps() as f64 * 1e-6);
    writeln!(out, "\n  {:<14} {:>20} {:>20} {:>20}", "", "exposed", "hidden", "critical path")?;
    let mut line = |name: &str, times: [SimTime; 3]| {
        let [exposed, hidden, path] = times.map(micros);
        writeln!(out, "  {name:<14} {exposed:>20} {hidden:>20} {path:>20}")
    };
    for (activity, one) in &exposure.activities {
        let path = on_path.iter().find(|(other, _)| other == activity).map(|(_, time)| *time);
        line(activity.name(), [one.exposed, one.hidden(), path.unwrap_or_default()])?;
    }
    line("other", [exposure.other, SimTime::ZERO, between])
}

/// Limit of launches of one kernel that are shown one by one; more are added up.
const ONE_BY_ONE: usize = 16;

/// Execution of launches, in the order in which their kernels came first.
fn launches(launched: &[Launched], out: &mut dyn Write) -> io::Result<()> {
    let titles = ["CTAs", "warp instructions", "thread instructions"];
    writeln!(out, "  {:<36} {:>12} {:>18} {:>20}", "launch", titles[0], titles[1], titles[2])?;
    let mut kernels: Vec<&str> = Vec::new();
    for launch in launched {
        if !kernels.contains(&&*launch.kernel) {
            kernels.push(&launch.kernel);
        }
    }
    for kernel in kernels {
        let of_kernel = launched.iter().enumerate().filter(|(_, launch)| launch.kernel == kernel);
        let rows: Vec<(String, [u64; 3])> = of_kernel
            .map(|(index, launch)| {
                let counts = [launch.ctas, launch.warp_instructions, launch.thread_instructions];
                (format!("{kernel}#{}", index + 1), counts)
            })
            .collect();
        let rows = if rows.len() > ONE_BY_ONE {
            let sum = |place: usize| rows.iter().map(|(_, counts)| counts[place]).sum();
            vec![(format!("{kernel}, {} x", rows.len()), [sum(0), sum(1), sum(2)])]
        } else {
            rows
        };
        for (name, counts) in rows {
            let [ctas, warps, threads] = counts.map(grouped);
            writeln!(out, "  {name:<36} {ctas:>12} {warps:>18} {threads:>20}")?;
        }
    }
    Ok(())
}

/// Prints the speed of the simulator.
fn speed(summary: &RunSummary, out: &mut dyn Write) -> io::Result<()> {
    let seconds = summary.wall.as_secs_f64();
    write!(out, "  wall time    {seconds:.3} s")?;
    if seconds > 0.0 {
        let names = [
            ("cycles", "cycles/s"),
            ("warp instructions", "warp instructions/s"),
            ("thread instructions", "thread instructions/s"),
        ];
        for (count, unit) in names {
            if let Some(count) = summary.figures.count(count) {
                write!(out, ", {} {unit}", grouped((count as f64 / seconds) as u64))?;
            }
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(1), "1");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(amount(1000), "1000 B");
        assert_eq!(amount(3 << 19), "1.5 MiB");
    }
}
