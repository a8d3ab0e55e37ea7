//! `cargo xtask installed`: installs the command as people do, and calls it in a folder that has nothing of the repository.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::report;
use super::speeds::output;

/// Bytes that the program may have, in the release profile.
const MOST_BYTES: u64 = 26_000_000;

/// Calls in order, each with a part of its expected output.
const CALLS: &[(&str, &str)] = &[
    ("list", "crcs-64sm-pcie3-ssd"),
    ("list machines --paths", "built-in:topologies/systems/tiny.yaml"),
    ("check crcs-64sm-pcie3-ssd hotspot --with crcs-ppcs", "application hotspot"),
    ("run tiny vecadd", "verified"),
    ("run crcs-64sm-pcie3-ssd hotspot --set app.size=small", "verified"),
    ("run crcs-64sm-pcie3-ssd hotspot --with crcs-ppcs --set app.size=small", "verified"),
    ("study sm-scaling --scale small --quiet", "0 failed, 0 are left"),
    ("report out/studies/sm-scaling-small", "report.html"),
    ("study crcs-figure-10 --scale small --quiet", "0 failed, 0 are left"),
    ("validate gtx480", "reference-vecadd"),
    ("ptx show experiments/applications/vecadd/kernel.nvrtc-sm_35.ptx", "vecadd"),
    ("new machine mine", "wrote mine.yaml"),
    ("new application sum", "wrote sum/sum.yaml"),
    ("run mine.yaml sum/sum.yaml", "verified"),
    ("new study sweep --machine mine.yaml --application sum/sum.yaml", "wrote sweep.yaml"),
    ("study sweep.yaml --quiet", "0 failed, 0 are left"),
    ("new component part", "wrote part/Cargo.toml"),
];

pub(crate) fn run() -> Result<(), String> {
    let root = crate::tree::root()?;
    let place = std::env::temp_dir().join(format!("counterpoint-installed-{}", std::process::id()));
    let result = install(&root, &place).and_then(|()| calls(&place));
    let removed = std::fs::remove_dir_all(&place);
    result.and(removed.map_err(|error| format!("{}: {error}", place.display())))
}

/// Installs the command below a folder, and looks at its size. The profile is that of the release build, which is used again; people
/// install with `dist`.
fn install(root: &Path, place: &Path) -> Result<(), String> {
    std::fs::create_dir_all(place.join("empty")).map_err(|error| format!("{}: {error}", place.display()))?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(root)
        .args(["install", "--quiet", "--locked", "--path", "tools/cli", "--root"])
        .arg(place);
    output(&mut cargo)?;
    let program = place.join("bin/counterpoint");
    let bytes = std::fs::metadata(&program).map_err(|error| format!("{}: {error}", program.display()))?.len();
    report(&format!("{:.1} MB", bytes as f64 / 1e6));
    match bytes <= MOST_BYTES {
        true => Ok(()),
        false => Err(format!("the program has {bytes} bytes, {MOST_BYTES} at most are wanted")),
    }
}

/// Calls the command in an empty folder, with an empty home.
fn calls(place: &Path) -> Result<(), String> {
    for (line, expected) in CALLS {
        let begun = Instant::now();
        let mut command = Command::new(place.join("bin/counterpoint"));
        command.current_dir(place.join("empty")).args(line.split_whitespace());
        command.env("HOME", place).env_remove("XDG_CACHE_HOME").env_remove("COUNTERPOINT_PATH");
        let printed = output(&mut command).map_err(|error| format!("counterpoint {line}: {error}"))?;
        if !printed.contains(expected) {
            return Err(format!("counterpoint {line} does not print `{expected}`:\n{printed}"));
        }
        report(&format!("{:6.1} s  counterpoint {line}", begun.elapsed().as_secs_f64()));
    }
    match place.join(".cache/counterpoint/inputs").is_dir() {
        true => Ok(()),
        false => Err("no generated input is among the user's caches".to_owned()),
    }
}
