//! `cargo xtask pgo`: builds the command with a profile of its own runs (profile-guided optimisation), for studies of hours.
//!
//! The program is built with counters, runs some applications, and is built once more with the counts. Results do not depend on the
//! profile: the hash of a run outside the profile is compared. The build needs `llvm-profdata` of the compiler's LLVM version:
//! `rustup component add llvm-tools`, or a package such as Debian's `llvm-22`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::speeds::output;

/// The runs that are counted, on each of the machines: bound by instructions, by the L2, by DRAM, by shared memory, and by divergence.
const MACHINES: [&str; 2] = ["gtx480", "titanx-sm6"];
const PROGRAMS: [&str; 7] = ["vecadd", "mandelbrot", "matmul-tiled", "spmv", "histogram", "dct8x8", "bfs"];

/// The run whose hash is compared.
const COMPARED: [&str; 2] = ["crcs-64sm-pcie3-ssd", "hotspot"];

/// Builds, runs and builds again.
pub(crate) fn run() -> Result<(), String> {
    let root = crate::tree::root()?;
    let compiler = Compiler::of(&output(Command::new("rustc").arg("-vV"))?)?;
    let merge = profdata(&compiler)?;
    let place = root.join("target/pgo");
    let (counts, profile) = (place.join("counts"), place.join("merged.profdata"));
    if counts.exists() {
        std::fs::remove_dir_all(&counts).map_err(|error| format!("{}: {error}", counts.display()))?;
    }

    crate::report("-- with counters");
    let counting = build(
        &root,
        &place.join("counting"),
        &compiler,
        &format!("-Cprofile-generate={}", counts.display()),
    )?;
    for (machine, program) in MACHINES.iter().flat_map(|machine| PROGRAMS.map(|program| (machine, program))) {
        crate::report(&format!("-- {program} on {machine}"));
        simulate(&root, &counting, &place, &[machine, program])?;
    }
    output(Command::new(merge).arg("merge").arg("-o").arg(&profile).arg(&counts))?;

    crate::report("-- with their counts");
    let built =
        build(&root, &place.join("built"), &compiler, &format!("-Cprofile-use={}", profile.display()))?;
    let hash = |program: &Path| simulate(&root, program, &place, &COMPARED).and_then(|text| hash_of(&text));
    let (one, other) = (hash(&counting)?, hash(&built)?);
    if one != other {
        return Err(format!(
            "{} on {} has the hash {other}, {one} without a profile",
            COMPARED[1], COMPARED[0]
        ));
    }
    let program = place.join("counterpoint");
    std::fs::copy(&built, &program).map_err(|error| format!("{}: {error}", program.display()))?;
    crate::report(&format!("wrote {}", program.display()));
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Compiler {
    host: String,
    /// The major version of its LLVM.
    llvm: String,
}

impl Compiler {
    /// Reads the output of `rustc -vV`.
    fn of(text: &str) -> Result<Self, String> {
        let value = |name: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            found.ok_or_else(|| format!("rustc -vV does not print its {name}"))
        };
        let llvm = value("LLVM version")?.split('.').next().unwrap_or_default().to_owned();
        Ok(Compiler { host: value("host")?.to_owned(), llvm })
    }
}

/// Builds the command in a folder of its own. With `--target`, flags do not reach build scripts and macros.
fn build(root: &Path, folder: &Path, compiler: &Compiler, flags: &str) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args([
        "build",
        "--profile",
        "dist",
        "--locked",
        "--package",
        "counterpoint-cli",
        "--target",
    ]);
    cargo.arg(&compiler.host).arg("--target-dir").arg(folder).env("RUSTFLAGS", flags);
    output(&mut cargo)?;
    Ok(folder.join(&compiler.host).join("dist/counterpoint"))
}

/// Output of a run of an application on a machine.
fn simulate(root: &Path, program: &Path, place: &Path, names: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.current_dir(root).arg("run").args(names).args(["--hash", "--out"]).arg(place.join("out"));
    output(&mut command)
}

/// The hash in the output of a run.
fn hash_of(text: &str) -> Result<String, String> {
    let found = text.lines().find_map(|line| line.trim().strip_prefix("hash "));
    found.map(|hash| hash.trim().to_owned()).ok_or_else(|| "a run printed no hash".to_owned())
}

/// The tool that merges counts: of the toolchain, or of a package with the same LLVM.
fn profdata(compiler: &Compiler) -> Result<PathBuf, String> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let own = Path::new(sysroot.trim()).join("lib/rustlib").join(&compiler.host).join("bin/llvm-profdata");
    let package = PathBuf::from(format!("llvm-profdata-{}", compiler.llvm));
    let works = |tool: &PathBuf| {
        Command::new(tool).arg("--version").output().is_ok_and(|found| found.status.success())
    };
    [own, package].into_iter().find(works).ok_or_else(|| {
        format!("llvm-profdata of LLVM {} is needed: `rustup component add llvm-tools`, or a package such as Debian's llvm-{0}", compiler.llvm)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_names_its_host_and_its_llvm() {
        let text = "rustc 1.95.0 (x 2026-04-14)\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\nLLVM version: 22.1.2\n";
        let expected = Compiler { host: "x86_64-unknown-linux-gnu".to_owned(), llvm: "22".to_owned() };
        assert_eq!(Compiler::of(text), Ok(expected));
        assert_eq!(Compiler::of("host: x\n"), Err("rustc -vV does not print its LLVM version".to_owned()));
    }

    #[test]
    fn a_run_names_its_hash() {
        assert_eq!(hash_of("  outcome      finished\n  hash         d5e1\n"), Ok("d5e1".to_owned()));
        assert!(hash_of("  outcome      finished\n").is_err());
    }
}
