//! A study of forty points over two nodes, one of which is killed, beside the same study run here.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::nodes::{Cluster, NODES};
use super::{application, finished, write};
use crate::report;

const POINTS: usize = 40;
/// Points that are finished when a node is killed, at least.
const BEFORE: usize = 8;
/// Tasks of the array: two for each node.
const TASKS: &str = "4";
/// Time in which the study must be over.
const LONGEST: Duration = Duration::from_secs(300);

pub(super) fn compare(program: &Path, folder: &Path) -> Result<(), String> {
    let application = application(folder, "hotspot")?;
    let study = folder.join("forty.yaml");
    write(
        &study,
        &format!(
            "counterpoint: 1\nstudy: forty\nmachine: tiny\n\
             applications: {{ h: {{ of: {}, set: {{ app.n: 48, app.launches: 40 }} }} }}\n\
             vary: {{ gpu.sms: [1, 2], gpu.sm.warp_scheduler: [lrr, gto] }}\nseeds: [1, 2, 3, 4, 5]\n\
             runs: {{ pcie: {{ runtime: serial }}, long: {{ app.launches: 60 }} }}\n\
             columns: {{ gain: pcie.time / time }}\n\
             figures: [{{ title: Gain, kind: grouped-bars, x: gpu.sms, y: gain, series: run }}]\n",
            application.display()
        ),
    )?;
    // Blanks in names are for shells and for Slurm's own reader.
    let (local, shared) = (folder.join("local"), folder.join("shared by all"));
    let begun = Instant::now();
    let counterpoint = |arguments: &[&str], out: &Path| {
        let mut command = Command::new(program);
        command.current_dir(folder).args(arguments).arg(out);
        crate::speeds::output(&mut command)
    };
    let study = study.display().to_string();
    counterpoint(&["study", &study, "--quiet", "--out"], &local)?;
    counterpoint(&["report"], &local)?;
    report(&format!("{POINTS} points here: {:.1} s", begun.elapsed().as_secs_f64()));

    let begun = Instant::now();
    let mut cluster = Cluster::start(folder)?;
    report(&format!("a Slurm of {} nodes: {:.1} s", NODES.len(), begun.elapsed().as_secs_f64()));
    let begun = Instant::now();
    // A node that is killed is missed by others after the least time that there is.
    let arguments = [
        "study",
        &study,
        "--submit",
        "--tasks",
        TASKS,
        "--stale-after",
        "15 s",
        "--time",
        "5 min",
        "--memory",
        "500 MiB",
        "--out",
    ];
    let mut submit = cluster
        .command(program)
        .current_dir(folder)
        .args(arguments)
        .arg(&shared)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let mut killed = None;
    while submit.try_wait().map_err(|error| error.to_string())?.is_none() {
        let done = finished(&shared);
        if killed.is_none() && done >= BEFORE && cluster.busy() == NODES {
            cluster.kill_one();
            killed = Some(done);
            report(&format!("killed {} after {done} points", NODES[1]));
        }
        if begun.elapsed() > LONGEST {
            let _ = submit.kill();
            let queue = cluster.ask("squeue", &[]).unwrap_or_default();
            return Err(format!(
                "the study is not over after {} s:\n{queue}{}",
                LONGEST.as_secs(),
                ended(submit)?.1
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let (status, text) = ended(submit)?;
    report(&format!(
        "{POINTS} points on the cluster: {:.1} s\n{}",
        begun.elapsed().as_secs_f64(),
        text.trim()
    ));
    let Some(done) = killed else {
        return Err("the study was over before a node could be killed".to_owned());
    };
    if status != Some(0) || done >= POINTS {
        return Err(format!("status {status:?} after {done} points had been done when a node was killed"));
    }
    for name in ["results.csv", "report.html", "index.json"] {
        let read =
            |folder: &Path| std::fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"));
        if read(&local)? != read(&shared)? {
            return Err(format!("{name} of the cluster differs from that of a study run here"));
        }
    }
    for name in ["claims", "failed"] {
        if std::fs::read_dir(shared.join(name)).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(format!("something is left in `{name}`"));
        }
    }
    report("table and report are the same bytes");
    Ok(())
}

/// The status of a process that has ended, and all that it said.
fn ended(process: std::process::Child) -> Result<(Option<i32>, String), String> {
    let output = process.wait_with_output().map_err(|error| error.to_string())?;
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Ok((output.status.code(), text))
}
