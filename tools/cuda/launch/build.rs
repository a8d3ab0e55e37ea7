//! Builds the library that programs load, and stubs under CUDA's names that lead to it.
//!
//! The library is compiled by `rustc` alone, in a second. The library has the functions of the server, as the server's sources name them,
//! their variants, and the functions that the server refuses by name.
//!
//! A library can have one name, and programs ask for `libcudart.so.11.0`, `.12` or `.13`, each with a version of its own for all functions.
//! Each of these stubs is therefore empty, has that name and that version, and depends on the library that has the functions. Libraries above
//! the runtime have stubs, too. Those of the driver, of NVIDIA's linker and of NVML have no version.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use counterpoint_archive::ARCHIVE;

const LIBRARY: &str = "libcounterpoint_cuda.so";
/// Lists of functions that are refused, and of other names of functions.
const REFUSED: [&str; 4] = ["refused.txt", "refused_driver.txt", "refused_math.txt", "refused_libraries.txt"];
const OTHER_NAMES: [&str; 2] = ["per_thread.txt", "aliases.txt"];
/// Stubs, whose list `stubs.txt` has a line each; those without a version have an end.
const UNVERSIONED: &str = " unversioned";
/// The function that a program calls when it ends, and the one by which its clocks ask for the machine's time.
const END: &str = "__cudaUnregisterFatBinary";
const CLOCK: &str = "__cudaCounterpointClock";

fn main() -> io::Result<()> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    let runtime = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../runtime");
    for watched in ["build.rs", "../runtime/library", "../runtime/src/page.rs", "../runtime/src/api"] {
        say(&format!("cargo::rerun-if-changed={watched}"));
    }
    let refused = listed(&runtime, &REFUSED)?;
    let known = known(&runtime)?;
    let names: Vec<&String> = known.difference(&refused).chain(&refused).collect();
    let lines = names.iter().enumerate().map(|(number, name)| format!("{number} {name}\n"));
    let mut lines: Vec<String> = lines.collect();
    lines.insert(names.len() - refused.len(), "refused\n".to_owned());
    let list = out.join("functions.rs");
    let number = |wanted: &str| {
        let place = names.iter().position(|name| *name == wanted);
        place.ok_or_else(|| io::Error::other(format!("there is no function {wanted}")))
    };
    let (end, clock) = (number(END)?, number(CLOCK)?);
    fs::write(&list, format!("functions! {{\n{}end {end} clock {clock}\n}}\n", lines.concat()))?;
    let text = fs::read_to_string(runtime.join("library/stubs.txt"))?;
    let stubs = || text.lines().filter(|line| !line.starts_with('#'));
    let files: Vec<PathBuf> =
        [LIBRARY].into_iter().chain(stubs().map(name)).map(|name| out.join(name)).collect();
    if variable("CARGO_CFG_TARGET_OS")? == "linux" {
        compile(&runtime.join("library/lib.rs"), &list, &out.join(LIBRARY))?;
        stubs().try_for_each(|line| named(&out, name(line), !line.ends_with(UNVERSIONED)))?;
    } else {
        files.iter().try_for_each(|file| fs::write(file, []))?;
    }
    fs::write(out.join(ARCHIVE), counterpoint_archive::archive(&out, &files)?)
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|_| io::Error::other(format!("{name} is not set")))
}

/// The name in a line of the list of stubs.
fn name(line: &str) -> &str {
    line.strip_suffix(UNVERSIONED).unwrap_or(line)
}

/// The words of lists.
fn listed(runtime: &Path, lists: &[&str]) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for list in lists {
        let text = fs::read_to_string(runtime.join("library").join(list))?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        names.extend(lines.flat_map(str::split_whitespace).map(str::to_owned));
    }
    Ok(names)
}

/// The names of functions that are not refused: those that begin a line of the server's lists, and their second forms. The second word of an
/// alias is a function, too.
fn known(runtime: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = listed(runtime, &OTHER_NAMES)?;
    let mut folders = vec![runtime.join("src/api")];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { texts.push(fs::read_to_string(path)?) }
        }
    }
    for text in texts {
        let functions =
            text.lines().filter_map(|line| line.trim_start().strip_prefix("fn ")?.split('(').next());
        let functions = functions.filter(|name| is_of_cuda(name));
        names.extend(functions.map(str::to_owned));
    }
    Ok(names)
}

/// Whether a function's name is one of CUDA's runtime, of its driver or of a library above these.
fn is_of_cuda(name: &str) -> bool {
    const OTHERS: [&str; 8] =
        ["cuda", "__cuda", "cublas", "curand", "nvml", "nvJitLink", "cusparse", "cudnn"];
    let of_driver =
        name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_uppercase()));
    of_driver || OTHERS.iter().any(|prefix| name.starts_with(prefix))
}

/// The library with the functions.
fn compile(source: &Path, list: &Path, made: &Path) -> io::Result<()> {
    let architecture = variable("CARGO_CFG_TARGET_ARCH")?;
    if !["x86_64", "aarch64"].contains(&architecture.as_str()) {
        return Err(io::Error::other(format!(
            "programs for {architecture} cannot be run: nobody has tried how they call"
        )));
    }
    let mut rustc = Command::new(variable("RUSTC")?);
    rustc.args(["--edition", "2024", "--crate-name", "counterpoint_cuda", "--crate-type", "cdylib"]);
    rustc.args([
        "--target",
        &variable("TARGET")?,
        "-C",
        "opt-level=2",
        "-C",
        "panic=abort",
        "-C",
        "strip=symbols",
    ]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    // Nothing unwinds, and the name must not be found by other programs in Rust.
    rustc.args(["-C", "link-arg=-Wl,--defsym=rust_eh_personality=0"]);
    rustc.arg("-C").arg(format!("link-arg=-Wl,-soname,{LIBRARY}")).arg("-o").arg(made).arg(source);
    check(rustc.env("COUNTERPOINT_CUDA_FUNCTIONS", list))
}

/// An empty library of a name that needs the one with the functions; its functions may have the name as their version.
fn named(out: &Path, name: &str, has_version: bool) -> io::Result<()> {
    let script = out.join("version");
    fs::write(&script, format!("{name} {{ *; }};\n"))?;
    let mut link = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    link.args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"]).arg(out.join(name));
    link.arg(format!("-Wl,-soname,{name}"));
    if has_version {
        link.arg(format!("-Wl,--version-script={}", script.display()));
    }
    link.args(["-Wl,--no-as-needed", "-lcounterpoint_cuda", "-Wl,-rpath,$ORIGIN"]);
    check(link.arg(format!("-L{}", out.display())))
}

fn check(command: &mut Command) -> io::Result<()> {
    let output =
        command.output().map_err(|error| io::Error::new(error.kind(), format!("{command:?}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))))
}

#[allow(clippy::print_stdout, reason = "Cargo reads what a build script prints")]
fn say(line: &str) {
    println!("{line}");
}
