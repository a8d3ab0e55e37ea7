//! The store's cost of a point, in processor time, memory and files, and how it grows with the number of points.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{application, finished, write};
use crate::report;

/// The fewest points with which the growth can be seen.
pub(super) const LEAST: usize = 400;
/// Processor time that the store may take for a point, in seconds: keys, claims, publication and table, without the run itself.
const MOST_CPU: f64 = 0.005;
/// Memory that a point may take, in KiB.
const MOST_KIB: f64 = 16.0;
/// Clock ticks of `/proc` in a second: the kernel's USER_HZ.
const TICKS: f64 = 100.0;

struct Cost {
    /// Processor seconds.
    cpu: f64,
    /// The most memory, in KiB.
    peak: f64,
}

/// Measures a quarter of the points, and all.
pub(super) fn measure(program: &Path, folder: &Path, points: usize) -> Result<(), String> {
    let application = application(folder, "vecadd")?;
    report("points | run, ms | store, ms | again, ms | table, ms | memory, MiB");
    let few = store_of(program, folder, &application, points / 4)?;
    let many = store_of(program, folder, &application, points)?;
    let growth = (many.peak - few.peak) / (points - points / 4) as f64;
    report(&format!("memory of a point: {growth:.2} KiB"));
    if growth > MOST_KIB {
        return Err(format!("a point takes {growth:.1} KiB of memory, {MOST_KIB} at most are wanted"));
    }
    match many.cpu / points as f64 {
        each if each > MOST_CPU => Err(format!(
            "the store takes {:.1} ms of CPU for a point, {:.0} at most are wanted",
            1e3 * each,
            1e3 * MOST_CPU
        )),
        _ => Ok(()),
    }
}

/// The cost of a store of a number of points: of their runs in one part, without the runs themselves, of a second look and of the table.
fn store_of(program: &Path, folder: &Path, application: &Path, points: usize) -> Result<Cost, String> {
    let (name, out) = (format!("of-{points}"), folder.join(format!("out-{points}")));
    let study = folder.join(&name).with_extension("yaml");
    let seeds = (0..points).map(|seed| seed.to_string()).collect::<Vec<_>>().join(", ");
    write(
        &study,
        &format!(
            "counterpoint: 1\nstudy: {name}\nmachine: tiny\n\
             applications: {{ v: {{ of: {}, set: {{ app.n: 32 }} }} }}\nseeds: [{seeds}]\nruns: {{ a: {{}} }}\n\
             columns: {{ gain: a.time / time }}\n",
            application.display()
        ),
    )?;
    let call = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(folder).args(arguments);
        cost(command)
    };
    let (study, place) = (study.display().to_string(), out.display().to_string());
    let part = ["study", &study, "--part", "1/1", "--quiet", "--out", &place];
    let first = call(&part)?;
    if finished(&out) != points {
        return Err(format!("{} of {points} points are finished", finished(&out)));
    }
    let runs = runs(&out)?;
    let again = call(&part)?;
    let table = call(&["report", &place])?;
    let each = |cpu: f64| 1e3 * cpu / points as f64;
    let peak = first.peak.max(again.peak);
    report(&format!(
        "{points} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1}",
        each(runs),
        each(first.cpu - runs),
        each(again.cpu),
        each(table.cpu),
        peak / 1024.0
    ));
    let removed = std::fs::remove_dir_all(&out);
    removed.map_err(|error| format!("{}: {error}", out.display()))?;
    Ok(Cost { cpu: first.cpu - runs + table.cpu, peak })
}

/// Processor seconds of all runs, as their files say.
fn runs(out: &Path) -> Result<f64, String> {
    let mut sum = 0.0;
    for entry in std::fs::read_dir(out.join("points")).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path().join("speed.json");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let value = text.lines().find_map(|line| line.trim().strip_prefix("\"run_cpu_s\": "));
        let value = value.and_then(|value| value.trim_end_matches(',').parse::<f64>().ok());
        sum += value.ok_or_else(|| format!("{} has no `run_cpu_s`", path.display()))?;
    }
    Ok(sum)
}

/// Runs a process that must succeed, and measures it.
fn cost(mut command: Command) -> Result<Cost, String> {
    let child = command.stdout(Stdio::null()).spawn();
    let mut child = child.map_err(|error| format!("{command:?} does not start: {error}"))?;
    let file =
        |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap_or_default();
    let mut peak: f64 = 0.0;
    // A process that has ended keeps its times until somebody waits for it.
    let cpu = loop {
        let status = file("status");
        let now = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = now.and_then(|now| now.split_whitespace().next()?.parse::<f64>().ok());
        peak = peak.max(now.unwrap_or_default());
        let stat = file("stat");
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace().collect();
        let [state, ..] = fields[..] else { return Err("the system says nothing of a process".to_owned()) };
        if state == "Z" {
            let times = fields.iter().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
            break times.sum::<f64>() / TICKS;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(Cost { cpu, peak }) } else { Err(format!("{command:?}: {status}")) }
}
