//! Measures how fast whole programs are simulated, and keeps the rows of a commit: `cargo xtask speeds [--record] [PROGRAM…]`.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};

const TABLE: &str = "experiments/benches/speeds.md";

/// Measures how fast whole programs are simulated.
#[derive(clap::Args)]
pub(crate) struct Speeds {
    /// Appends the rows to the table.
    #[arg(long)]
    record: bool,
    /// Programs; all if none is given.
    programs: Vec<String>,
}

impl Speeds {
    pub(crate) fn run(self) -> Result<(), String> {
        measure(self.record, &self.programs)
    }
}

/// Prints the rows, and appends them to the table.
fn measure(record: bool, programs: &[String]) -> Result<(), String> {
    let root = crate::tree::root()?;
    let git = |arguments: &[&str]| output(Command::new("git").current_dir(&root).args(arguments));
    if record && !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
        return Err("a row names a commit, and the tree differs from it: commit first".to_owned());
    }
    let commit = git(&["log", "-1", "--format=%cs | %h"])?;
    let mut bench = Command::new(env!("CARGO"));
    bench.current_dir(&root).args([
        "bench",
        "--quiet",
        "-p",
        "counterpoint-experiments",
        "--bench",
        "speeds",
        "--",
    ]);
    let rows = output(bench.args(programs))?;
    let rows: String = rows.lines().map(|row| format!("| {} {row}\n", commit.trim())).collect();
    crate::report(&rows);
    if record {
        let table = OpenOptions::new().append(true).open(root.join(TABLE));
        let written = table.and_then(|mut table| table.write_all(rows.as_bytes()));
        written.map_err(|error| format!("{TABLE}: {error}"))?;
    }
    Ok(())
}

/// The output of a command; its messages go where ours go.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: failed"));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{name}: {error}"))
}
