//! `cargo xtask fuzz TARGET [--minutes N]`: feeds texts to a target of `tools/fuzz`, beginning with every committed PTX
//! file, until the time is over or the target fails. Needs a nightly compiler and cargo-fuzz.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::corpora::{CORPORA, packed};

/// Seconds after which one text counts as a hang.
const HANG: u32 = 25;
/// The folders of the committed PTX files that are not packed.
const SOURCES: [&str; 2] = ["components/ptx/tests", "experiments/applications"];

/// Feeds texts to a target of `tools/fuzz`. Needs a nightly compiler and cargo-fuzz.
#[derive(clap::Args)]
pub(crate) struct Fuzz {
    /// A file of `tools/fuzz/fuzz_targets`.
    target: String,
    /// Time after which it ends.
    #[arg(long, default_value_t = 10)]
    minutes: u32,
}

impl Fuzz {
    pub(crate) fn run(&self) -> Result<(), String> {
        fuzz(&self.target, self.minutes)
    }
}

fn fuzz(target: &str, minutes: u32) -> Result<(), String> {
    let root = crate::tree::root()?;
    if !root.join("tools/fuzz/fuzz_targets").join(format!("{target}.rs")).is_file() {
        return Err(format!("there is no target {target}; targets: {}", targets(&root)));
    }
    let (corpus, seeds) = (format!("target/fuzz/corpus/{target}"), "target/fuzz/seeds");
    collect_seeds(&root, &root.join(seeds)).map_err(|error| format!("{seeds}: {error}"))?;
    for corpus in CORPORA {
        let modules = packed(&root, corpus)?;
        for name in modules.names() {
            let seed = root.join(seeds).join(format!("{corpus}/{name}").replace('/', "-"));
            let written = modules.read(name).and_then(|contents| std::fs::write(&seed, contents));
            written.map_err(|error| format!("{}: {error}", seed.display()))?;
        }
    }
    std::fs::create_dir_all(root.join(&corpus)).map_err(|error| format!("{corpus}: {error}"))?;
    let mut command = Command::new("cargo");
    command.current_dir(&root).args(["+nightly", "fuzz", "run", "--fuzz-dir", "tools/fuzz"]);
    command.args(["--target-dir", "target/fuzz", target, &corpus, seeds, "--"]);
    command.args([format!("-max_total_time={}", 60 * minutes), format!("-timeout={HANG}")]);
    command.args(["-dict=tools/fuzz/ptx.dict", "-max_len=20000", "-artifact_prefix=target/fuzz/"]);
    let status = command.status().map_err(|error| format!("cargo did not start: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{target}: failed; needs cargo-fuzz (`cargo install cargo-fuzz`) and nightly")),
    }
}

fn targets(root: &Path) -> String {
    let entries = std::fs::read_dir(root.join("tools/fuzz/fuzz_targets")).into_iter().flatten();
    let stem = |path: PathBuf| Some(path.file_stem()?.to_string_lossy().into_owned());
    let mut names: Vec<String> = entries.filter_map(|entry| stem(entry.ok()?.path())).collect();
    names.sort();
    names.join(", ")
}

/// Copies the committed PTX files into one folder, under their paths with dashes.
fn collect_seeds(root: &Path, seeds: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(seeds)?;
    let mut folders: Vec<PathBuf> = SOURCES.iter().map(|source| root.join(source)).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('/', "-");
                std::fs::copy(&path, seeds.join(name))?;
            }
        }
    }
    Ok(())
}
