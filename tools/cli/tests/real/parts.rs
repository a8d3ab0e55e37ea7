//! Studies in parts: processes that share a folder, some of which are killed or asked to end; and jobs for a batch system.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::Duration;

use crate::real::studies::{POINTS, files, finished, study, write_study};

fn part(file: &Path, out: &Path, part: &str) -> Command {
    let mut command = study(file, out);
    command.args(["--part", part]);
    command
}

/// Exit status and output of a command.
fn said(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    (output.status.code(), text.concat())
}

fn call(arguments: &[&str]) -> (Option<i32>, String) {
    said(&Command::new(env!("CARGO_BIN_EXE_counterpoint")).args(arguments).output().unwrap())
}

/// Points that a process says it has run.
fn have_run(text: &str) -> usize {
    let (before, _) = text.split_once(" have run").unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

/// The study's folder after a run alone, with its report.
fn alone(file: &Path, out: &Path) {
    let (status, text) = said(&study(file, out).output().unwrap());
    assert_eq!(status, Some(0), "{text}");
    report(out);
}

fn report(out: &Path) {
    let (status, text) = call(&["report", &out.display().to_string()]);
    assert_eq!(status, Some(0), "{text}");
}

/// Asserts that a folder has the files of one in which the study has run alone, and nothing of the parts.
fn assert_same(out: &Path, whole: &Path) {
    let (ours, theirs): (BTreeMap<PathBuf, Vec<u8>>, _) = (files(out), files(whole));
    let without = |some: &BTreeMap<PathBuf, Vec<u8>>, others: &BTreeMap<PathBuf, Vec<u8>>| {
        some.iter()
            .filter(|(path, bytes)| others.get(*path) != Some(bytes))
            .map(|(path, _)| path.clone())
            .collect()
    };
    let differ: [Vec<PathBuf>; 2] = [without(&ours, &theirs), without(&theirs, &ours)];
    assert!(differ.iter().all(Vec::is_empty), "{differ:?}");
}

#[test]
fn parts_run_each_point_once_and_make_the_table_of_a_study_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_study(folder.path());
    let (whole, out) = (folder.path().join("whole"), folder.path().join("out"));
    alone(&file, &whole);
    let running: Vec<Child> =
        ["1/3", "2/3", "3/3"].iter().map(|number| part(&file, &out, number).spawn().unwrap()).collect();
    let ended: Vec<_> = running.into_iter().map(|child| said(&child.wait_with_output().unwrap())).collect();
    assert!(ended.iter().all(|(status, _)| *status == Some(0)), "{ended:?}");
    assert_eq!(ended.iter().map(|(_, text)| have_run(text)).sum::<usize>(), POINTS, "{ended:?}");
    let (status, text) = said(&study(&file, &out).arg("--status").output().unwrap());
    assert_eq!(status, Some(0));
    assert_eq!(text, "ended: 24 points: 24 are done, 0 run, 0 failed, 0 are left\n");
    report(&out);
    assert_same(&out, &whole);
}

/// Waits until a third of the points is finished, and sends a signal.
fn end(child: &mut Child, out: &Path, signal: &str) {
    while finished(out) < POINTS / 3 {
        assert!(child.try_wait().unwrap().is_none(), "the part is not over yet");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn the_points_of_a_killed_part_are_run_by_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_study(folder.path());
    let (whole, out) = (folder.path().join("whole"), folder.path().join("out"));
    alone(&file, &whole);
    let mut first = part(&file, &out, "1/2").spawn().unwrap();
    let second = part(&file, &out, "2/2").spawn().unwrap();
    end(&mut first, &out, "-KILL");
    assert_eq!(first.wait().unwrap().code(), None);
    let (status, text) = said(&second.wait_with_output().unwrap());
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("part 2/2 of 24 points") && text.contains("0 failed, 0 are left"), "{text}");
    assert_eq!(finished(&out), POINTS);
    report(&out);
    assert_same(&out, &whole);
}

#[test]
fn a_part_that_is_asked_to_end_gives_back_its_points_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_study(folder.path());
    let out = folder.path().join("out");
    let mut child = part(&file, &out, "1/1").spawn().unwrap();
    end(&mut child, &out, "-TERM");
    let (status, text) = said(&child.wait_with_output().unwrap());
    assert_eq!(status, Some(130), "{text}");
    let done = finished(&out);
    assert!((POINTS / 3..POINTS).contains(&done), "{done} points were done");
    assert_eq!(std::fs::read_dir(out.join("points")).unwrap().count(), done, "no half is there");
    for name in ["claims", "workers"] {
        assert_eq!(std::fs::read_dir(out.join(name)).unwrap().count(), 0, "{name}");
    }
    let (status, text) = said(&study(&file, &out).arg("--status").output().unwrap());
    assert_eq!(status, Some(1), "some are left");
    assert!(
        text.contains(&format!("{done} are done, 0 run, 0 failed, {} are left", POINTS - done)),
        "{text}"
    );
    assert!(text.contains("of one processor to go"), "{text}");
    let (status, text) = said(&part(&file, &out, "1/1").output().unwrap());
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(have_run(&text), POINTS - done);
}

#[test]
fn a_study_alone_and_parts_keep_out_of_each_others_way() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_study(folder.path());
    let text = std::fs::read_to_string(&file).unwrap();
    // The study does not end by itself.
    let text = text.replace("app.launches: 20", "app.launches: 1000000");
    std::fs::write(&file, &text).unwrap();
    let out = folder.path().join("out");
    let mut running = part(&file, &out, "1/2").args(["--filter", "h / 1 / 1 / lrr"]).spawn().unwrap();
    let claims = || std::fs::read_dir(out.join("claims")).is_ok_and(|mut claims| claims.next().is_some());
    while !claims() {
        assert!(running.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    let (status, said_by_status) = said(&study(&file, &out).arg("--status").output().unwrap());
    assert_eq!(status, Some(1));
    let at_work = format!("runs    tiny / h / 1 / 1 / lrr: process {} on ", running.id());
    assert!(said_by_status.contains(&at_work) && said_by_status.contains(", part 1/2\n"), "{said_by_status}");
    let (status, alone) = said(&study(&file, &out).output().unwrap());
    assert_eq!(status, Some(2));
    assert!(alone.contains("another `counterpoint study` is at work in this folder"), "{alone}");
    // A study of the same name with another point: its index would replace the index of this study.
    let other = folder.path().join("other.yaml");
    std::fs::write(&other, text.replace("seeds: [1, 2]", "seeds: [1, 3]")).unwrap();
    let index = std::fs::read(out.join("index.json")).unwrap();
    let (status, refused) = said(&part(&other, &out, "2/2").output().unwrap());
    assert_eq!(status, Some(2), "{refused}");
    assert!(refused.contains("at a study of the same name with other points"), "{refused}");
    assert_eq!(std::fs::read(out.join("index.json")).unwrap(), index);
    // Another part of the same study leaves the running point alone, and ends.
    let (status, beside) =
        said(&part(&file, &out, "2/2").args(["--filter", "/ 1 / 1 / lrr"]).output().unwrap());
    assert_eq!(status, Some(0), "{beside}");
    assert!(
        beside.contains(
            "1 have run, 0 were there, 0 failed, 0 are left\n1 more are at work in other processes"
        ),
        "{beside}"
    );
    assert!(Command::new("kill").args(["-TERM", &running.id().to_string()]).status().unwrap().success());
    assert_eq!(running.wait().unwrap().code(), Some(130));
    assert!(!claims());
}

#[test]
fn a_point_of_which_process_after_process_dies_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_study(folder.path());
    let out = folder.path().join("out");
    let one = |number: &str| {
        let mut command = part(&file, &out, number);
        command.args(["--filter", "v / 1 / 1 / lrr"]);
        command
    };
    assert_eq!(one("1/1").output().unwrap().status.code(), Some(0));
    let point = std::fs::read_dir(out.join("points")).unwrap().next().unwrap().unwrap().path();
    let key = point.file_name().unwrap().to_str().unwrap().to_owned();
    std::fs::remove_dir_all(&point).unwrap();
    // Three have died: processes of this computer that are there no more.
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let place = format!(
        "{} {}",
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim(),
        std::fs::read_link("/proc/self/ns/pid").unwrap().display()
    );
    for number in 1..=3 {
        let dead = serde_json::json!({
            "host": "here", "process": child.id(), "place": place, "began": 1, "version": "0", "study": "s", "part": "2/9"
        });
        std::fs::write(out.join(format!("workers/{number}")), dead.to_string()).unwrap();
        std::fs::write(out.join(format!("claims/{key}.{number}")), number.to_string()).unwrap();
    }
    let (status, text) = said(&one("1/2").output().unwrap());
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("tiny / v / 1 / 1 / lrr: 3 processes have died while they ran it"), "{text}");
    let log = std::fs::read_to_string(out.join(format!("failed/{key}.log"))).unwrap();
    assert!(
        log.contains(&format!("process {} on here, part 2/9", child.id())) && log.contains("more memory"),
        "{log}"
    );
    // The next command gives it another chance.
    let (status, text) = said(&one("1/1").output().unwrap());
    assert_eq!((status, have_run(&text)), (Some(0), 1), "{text}");
    for name in ["claims", "workers", "failed"] {
        assert_eq!(std::fs::read_dir(out.join(name)).unwrap().count(), 0, "{name}");
    }
}

#[test]
fn a_point_that_fails_in_one_part_is_not_tried_by_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_study(folder.path());
    let text = std::fs::read_to_string(&file).unwrap();
    let bad = "runs: { bad: { gpu.scheduler.policy: { fixed-split: { sms: [1, 7] } } },";
    std::fs::write(&file, text.replace("runs: {", bad)).unwrap();
    let out = folder.path().join("out");
    let filter = ["--filter", "v / 1 / 1 / "];
    let (status, text) = said(&part(&file, &out, "1/2").args(filter).output().unwrap());
    assert_eq!(status, Some(2));
    assert!(text.contains("2 have run, 0 were there, 1 failed, 0 are left"), "{text}");
    let log = text.lines().find_map(|line| line.trim().strip_prefix("help: see ")).unwrap().to_owned();
    let written = std::fs::read_to_string(&log).unwrap();
    assert!(
        written.starts_with("tiny / v / 1 / 1 / bad\n") && written.contains("have 8 SMs, the GPU has 1"),
        "{written}"
    );
    let (status, text) = said(&study(&file, &out).args(filter).arg("--status").output().unwrap());
    assert_eq!(status, Some(2));
    assert!(text.contains("3 points: 2 are done, 0 run, 1 failed, 0 are left"), "{text}");
    assert!(text.contains("failed  tiny / v / 1 / 1 / bad: ") && text.contains(&log), "{text}");
}

#[test]
fn wrong_parts_tasks_and_times_are_told_with_right_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_study(folder.path());
    let out = folder.path().join("out");
    for (arguments, expected) in [
        (&["--part", "3/2"][..], "of 2 parts the last is `2/2`"),
        (&["--part", "0/2"], "the first of 2 is `1/2`; add 1 to an index that begins at 0"),
        (&["--part", "2"], "such as `2/8`"),
        (&["--part", "1/2", "--fresh"], "cannot be used with"),
        (&["--emit", "slurm", "--tasks", "0"], "at least one task is needed"),
        (&["--emit", "slurm", "--tasks", "many"], "a number of tasks, such as 50"),
        (&["--emit", "slrum", "--tasks", "2"], "a similar value exists: 'slurm'"),
        (&["--emit", "slurm"], "--tasks <NUMBER>"),
        (&["--tasks", "2"], "--tasks is for --emit and --submit"),
        (&["--emit", "slurm", "--tasks", "2", "--time", "soon"], "such as `90 min`"),
        (&["--emit", "slurm", "--tasks", "2", "--time", "2 hours"], "did you mean `2 h`?"),
        (&["--emit", "slurm", "--tasks", "2", "--memory", "2 GB"], "did you mean `2 GiB`?"),
        (&["--part", "1/2", "--stale-after", "3 s"], "15 s is the least"),
        (&["--status"], "is not a folder of a study"),
    ] {
        let (status, text) = said(&study(&file, &out).args(arguments).output().unwrap());
        assert_eq!(status, Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    assert!(!out.exists(), "nothing is begun");
}

/// A folder with commands in the place of Slurm's: the array runs at once, one task behind the other.
fn commands(folder: &Path) -> PathBuf {
    let place = folder.join("commands");
    std::fs::create_dir(&place).unwrap();
    let sbatch = "#!/bin/bash\n\
        [ \"$1\" = --version ] && exit\n\
        for script; do :; done\n\
        echo \"$@\" >> \"$0.log\"\n\
        number=$(wc -l < \"$0.log\")\n\
        tasks=$(sed -n 's/^#SBATCH --array=1-//p' \"$script\")\n\
        for ((task = 1; task <= ${tasks:-1}; task++)); do\n\
            SLURM_ARRAY_JOB_ID=$number SLURM_ARRAY_TASK_ID=$task bash \"$script\" >> \"$0.out\" 2>&1\n\
        done\n\
        echo \"$number;cluster\"\n";
    for (name, text) in [("sbatch", sbatch), ("squeue", "#!/bin/sh\n")] {
        std::fs::write(place.join(name), text).unwrap();
        std::fs::set_permissions(place.join(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    place
}

#[test]
fn jobs_for_slurm_ask_for_what_was_measured_and_run_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_study(folder.path());
    let (whole, out) = (folder.path().join("whole"), folder.path().join("out"));
    alone(&file, &whole);
    // No point has been measured yet.
    let jobs = |how: &[&str]| {
        said(&study(&file, &out).args(how).args(["--sbatch=--partition=long"]).output().unwrap())
    };
    let (status, text) = jobs(&["--emit", "slurm", "--tasks", "40"]);
    assert_eq!(status, Some(0), "{text}");
    for expected in [
        "24 points are left: as many tasks are written, and not 40",
        "own time limit holds",
        "own memory limit holds",
        "wrote ",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let array = || std::fs::read_to_string(out.join("slurm/array.sh")).unwrap();
    assert!(array().contains("#SBATCH --array=1-24\n") && !array().contains("--mem="), "{}", array());
    // A point of each sort was.
    let (status, text) = said(&part(&file, &out, "1/1").args(["--filter", "1 / 1 / lrr"]).output().unwrap());
    assert_eq!((status, have_run(&text)), (Some(0), 2), "{text}");
    let (status, text) = jobs(&["--emit", "slurm", "--tasks", "3"]);
    assert!(status == Some(0) && !text.contains("note:"), "{text}");
    let written = array();
    for line in
        ["#SBATCH --array=1-3", "#SBATCH --requeue", "#SBATCH --partition=long", "#SBATCH --time=00:05:00"]
    {
        assert!(written.lines().any(|other| other == line), "{line} in {written}");
    }
    let memory =
        written.lines().find_map(|line| line.strip_prefix("#SBATCH --mem=")?.strip_suffix('M')).unwrap();
    assert!((16..2000).contains(&memory.parse::<u64>().unwrap()), "{memory} MiB");
    // The submitted jobs give the results of the study run by one process.
    let place = commands(folder.path());
    let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap());
    let submit = |path: &str| {
        let mut command = study(&file, &out);
        said(&command.args(["--submit", "--tasks", "3"]).env("PATH", path).output().unwrap())
    };
    let (status, text) = submit(&folder.path().display().to_string());
    assert_eq!(status, Some(2));
    assert!(
        text.contains("`sbatch` does not start")
            && text.contains("this is not a computer of a Slurm cluster"),
        "{text}"
    );
    let (status, text) = submit(&path);
    assert_eq!(
        status,
        Some(0),
        "{text}{}",
        std::fs::read_to_string(place.join("sbatch.out")).unwrap_or_default()
    );
    assert!(text.contains("job 1 runs the points, job 2 makes table and report"), "{text}");
    assert!(text.contains("24 points: 24 are done"), "{text}");
    let handed_in = std::fs::read_to_string(place.join("sbatch.log")).unwrap();
    assert!(handed_in.contains("--dependency=afterany:1 "), "{handed_in}");
    std::fs::remove_dir_all(out.join("slurm")).unwrap();
    assert_same(&out, &whole);
    let (status, text) = jobs(&["--emit", "slurm", "--tasks", "3"]);
    assert!(status == Some(0) && text.contains("nothing is left to run"), "{text}");
}
