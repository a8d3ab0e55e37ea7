//! `cargo xtask cluster [--counterpoint PATH] [--points NUMBER]`: a study on a real Slurm of two nodes on this computer, one of which
//! is killed in the middle, and the same study without Slurm: tables and reports must be equal byte by byte.
//!
//! With `--points`, a study of `NUMBER` small points instead, to measure the store's cost per point and its growth.

mod cost;
mod nodes;
mod study;

use std::path::{Path, PathBuf};

/// Runs a study over a real Slurm of two nodes on this computer, and compares it with one that runs here.
#[derive(clap::Args)]
pub(crate) struct Cluster {
    /// The command; the release build if not given.
    #[arg(long)]
    counterpoint: Option<PathBuf>,
    /// Measures a study of this number of small points instead.
    #[arg(long, value_parser = clap::value_parser!(u64).range(cost::LEAST as u64..))]
    points: Option<u64>,
}

impl Cluster {
    pub(crate) fn run(self) -> Result<(), String> {
        let program = match self.counterpoint {
            Some(program) => {
                program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?
            }
            None => crate::tree::released()?,
        };
        let place = TemporaryFolder::new()?;
        match self.points {
            Some(points) => cost::measure(&program, &place.0, points as usize),
            None => study::compare(&program, &place.0),
        }
    }
}

/// A folder of its own, which is removed in the end.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("counterpoint-cluster-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(TemporaryFolder(folder))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Copies an application of the repository, so that its inputs are made in the folder, and gives its path.
fn application(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/applications").join(name);
    let to = folder.join(name);
    let file = format!("{name}.yaml");
    let copied = std::fs::create_dir_all(&to).and_then(|()| {
        [file.as_str(), "kernel.nvrtc-sm_35.ptx"]
            .iter()
            .try_for_each(|file| std::fs::copy(from.join(file), to.join(file)).map(drop))
    });
    copied.map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(to.join(file))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Finished points in the folder of a study.
fn finished(out: &Path) -> usize {
    let entries = std::fs::read_dir(out.join("points")).into_iter().flatten().filter_map(Result::ok);
    entries.filter(|entry| !entry.file_name().to_string_lossy().ends_with(".unfinished")).count()
}
