//! `cargo xtask times`: seconds and processor seconds of the README's two commands and of the check, each on a clean clone of the last
//! commit with an empty target folder. What they need from registries is there before.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::ValueEnum;

use crate::report;
use crate::tree::{git, root};

const PAGE: &str = "experiments/benches/times.md";
/// The page of the steps of the check, which `.ci/run` leaves in its target folder.
const STEPS: (&str, &str) = ("target/checks.md", "experiments/benches/checks.md");

/// A command that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The README's first command: the build that it begins with.
    Build,
    /// Its second one, with the build that it begins with.
    Test,
    /// Everything that continuous integration does.
    Check,
}

impl What {
    fn words(self) -> &'static [&'static str] {
        match self {
            What::Build => &["cargo", "build", "--release", "--quiet"],
            What::Test => &["cargo", "test", "--workspace", "--quiet"],
            What::Check => &["bash", ".ci/run"],
        }
    }
}

/// Times a clean build for release, the tests, and the check.
#[derive(clap::Args)]
pub(crate) struct Times {
    /// Appends the rows to `experiments/benches/times.md`.
    #[arg(long)]
    record: bool,
    /// The commands; all if none is given.
    #[arg(value_enum)]
    what: Vec<What>,
}

impl Times {
    pub(crate) fn run(self) -> Result<(), String> {
        let root = root()?;
        let place = std::env::temp_dir().join(format!("counterpoint-times-{}", std::process::id()));
        let what = if self.what.is_empty() { What::value_variants().to_vec() } else { self.what };
        let rows = what.into_iter().map(|what| time(what, &root, &place)).collect::<Result<String, _>>();
        // The measurements are kept, whether or not the folder can be removed.
        let _ = std::fs::remove_dir_all(&place);
        let rows = rows?;
        report(&rows);
        if self.record {
            let page = root.join(PAGE);
            let text = std::fs::read_to_string(&page).map_err(|error| format!("{PAGE}: {error}"))?;
            std::fs::write(&page, text + &rows).map_err(|error| format!("{PAGE}: {error}"))?;
        }
        Ok(())
    }
}

/// Times a command in a clone of its own; the result is a row of the page.
fn time(what: What, root: &Path, place: &Path) -> Result<String, String> {
    let _ = std::fs::remove_dir_all(place);
    let log = root.join("target/times");
    std::fs::create_dir_all(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let log = log.join(format!("{what:?}.txt").to_lowercase());
    let clone = ["clone", "--quiet", &root.display().to_string(), &place.display().to_string()];
    git(&clone)?;
    go(&["cargo", "fetch", "--quiet", "--locked"], place, &log)?;
    let (begun, before) = (Instant::now(), processor_seconds()?);
    go(what.words(), place, &log)?;
    let (seconds, busy) = (begun.elapsed().as_secs_f64(), processor_seconds()? - before);
    if what == What::Check {
        let copied = std::fs::copy(place.join(STEPS.0), root.join(STEPS.1));
        copied.map_err(|error| format!("{}: {error}", STEPS.0))?;
    }
    let commit = git(&["log", "-1", "--format=%cs | %h"])?.concat();
    Ok(format!("| {commit} | `{}` | {seconds:.0} | {busy:.0} |\n", what.words().join(" ")))
}

/// Runs a command in a folder, without the environment of the build that runs this program.
fn go(words: &[&str], folder: &Path, log: &PathBuf) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", words[0]);
    let output = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder);
    command.stdout(output.try_clone().map_err(failed)?).stderr(output);
    let own = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_"));
    for (name, _) in own.filter(|(name, _)| name != "CARGO_HOME") {
        command.env_remove(name);
    }
    let status = command.status().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(format!("{}: failed, see {}", words.join(" "), log.display())) }
}

/// Processor seconds of all processes that this one has waited for.
fn processor_seconds() -> Result<f64, String> {
    /// Linux's unit of times in `/proc`, whatever the kernel's clock.
    const TICKS: f64 = 100.0;
    let text =
        std::fs::read_to_string("/proc/self/stat").map_err(|error| format!("/proc/self/stat: {error}"))?;
    // The second field is a name in brackets, which may have spaces; the children's times are fields 16 and 17.
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<f64>().ok());
    match (ticks(16), ticks(17)) {
        (Some(user), Some(system)) => Ok((user + system) / TICKS),
        _ => Err("/proc/self/stat: not as Linux writes it".to_owned()),
    }
}
