//! Builds the library that programs load, and stubs under CUDA's names that lead to it.
//!
//! The library is compiled by `rustc` alone, in a second. The library has the functions of the server, as the server's sources name them,
//! their variants, and the functions that the server refuses by name.
//!
//! A library can have one name, and programs ask for `libcudart.so.11.0`, `.12` or `.13`, each with a version of its own for all functions.
//! Each of these stubs is therefore empty, has that name and that version, and depends on the library that has the functions. Stubs
//! of the driver and of NVIDIA's linker have no version.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = "libcounterpoint_cuda.so";
/// Names of libraries whose functions have no version: the driver, and NVIDIA's linker.
const STAND_INS: [&str; 4] = ["libcuda.so", "libcuda.so.1", "libnvJitLink.so.12", "libnvJitLink.so.13"];
/// The function that a program calls when it ends.
const END: &str = "__cudaUnregisterFatBinary";
/// Versions of CUDA's runtime, as its names have them.
const VERSIONS: [&str; 3] = ["11.0", "12", "13"];

fn main() -> io::Result<()> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    let runtime = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../runtime");
    for watched in ["build.rs", "../runtime/library", "../runtime/src/page.rs", "../runtime/src/api"] {
        say(&format!("cargo::rerun-if-changed={watched}"));
    }
    let names = names(&runtime)?;
    let lines = names.iter().enumerate().map(|(number, name)| format!("{number} {name}\n"));
    let list = out.join("functions.rs");
    let end = names
        .iter()
        .position(|name| name == END)
        .ok_or_else(|| io::Error::other("no function ends a program"))?;
    fs::write(&list, format!("functions! {{\n{}end {end}\n}}\n", lines.collect::<String>()))?;
    if variable("CARGO_CFG_TARGET_OS")? == "linux" {
        compile(&runtime.join("library/lib.rs"), &list, &out.join(LIBRARY))?;
        VERSIONS.iter().try_for_each(|version| named(&out, &format!("libcudart.so.{version}"), true))?;
        return STAND_INS.iter().try_for_each(|name| named(&out, name, false));
    }
    let all = VERSIONS.iter().map(|version| format!("libcudart.so.{version}"));
    let all = all.chain(STAND_INS.iter().chain([&LIBRARY]).map(|name| (*name).to_owned()));
    all.into_iter().try_for_each(|name| fs::write(out.join(name), []))
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|_| io::Error::other(format!("{name} is not set")))
}

/// The names of all functions: those that begin a line of the server's lists, their second forms, and those that are refused.
fn names(runtime: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for list in ["refused.txt", "refused_driver.txt", "per_thread.txt", "aliases.txt"] {
        let text = fs::read_to_string(runtime.join("library").join(list))?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        // The second word of an alias is a function, too.
        names.extend(lines.flat_map(str::split_whitespace).map(str::to_owned));
    }
    let [functions, of_driver] =
        ["src/api", "src/api/driver"].map(|folder| fs::read_dir(runtime.join(folder)));
    for entry in functions?.chain(of_driver?) {
        let path = entry?.path();
        if path.is_dir() {
            continue;
        }
        let text = fs::read_to_string(path)?;
        let functions =
            text.lines().filter_map(|line| line.trim_start().strip_prefix("fn ")?.split('(').next());
        let functions = functions.filter(|name| is_of_cuda(name));
        names.extend(functions.map(str::to_owned));
    }
    Ok(names)
}

/// Whether a function's name is one of CUDA's runtime or of its driver.
fn is_of_cuda(name: &str) -> bool {
    let of_driver =
        name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_uppercase()));
    of_driver || ["cuda", "__cuda", "nvJitLink"].iter().any(|start| name.starts_with(start))
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
