//! Puts the runtime library into the program, compressed, with the three libraries of CUDA's names that lead to it.
//!
//! A library can have one name, and programs ask for `libcudart.so.11.0`, `.12` or `.13`, each with a version of its own for all
//! functions. So each of the three is empty, has that name and that version, and needs the one that has the functions.
//!
//! For a release the library is built here, by Cargo, in a folder of its own. Other builds find it beside the program, where a build of
//! the workspace puts it.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library's own name.
const LIBRARY: &str = "libcounterpoint_cuda.so";
/// Versions of CUDA's runtime, as its names have them.
const VERSIONS: [&str; 3] = ["11.0", "12", "13"];

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var(name).map_err(|_| io::Error::other(format!("{name} is not set")));
    let out = PathBuf::from(variable("OUT_DIR")?);
    let runtime = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../runtime");
    for watched in ["build.rs", "../runtime/src", "../capture/src", "../../../components/ptx/src"] {
        say(&format!("cargo::rerun-if-changed={watched}"));
    }
    let is_linux = variable("CARGO_CFG_TARGET_OS")? == "linux";
    for version in VERSIONS {
        let name = format!("libcudart.so.{version}");
        let library = if is_linux { named(&out, &name)? } else { Vec::new() };
        fs::write(out.join(format!("{name}.lz4")), lz4_flex::compress_prepend_size(&library))?;
    }
    let library = match is_linux && variable("PROFILE")? == "release" {
        true => build(&out, &runtime, &variable("TARGET")?)?,
        false => Vec::new(),
    };
    fs::write(out.join(format!("{LIBRARY}.lz4")), lz4_flex::compress_prepend_size(&library))
}

/// An empty library of a name that needs the one with the functions.
fn named(out: &Path, name: &str) -> io::Result<Vec<u8>> {
    let (script, made, needed) = (out.join("version"), out.join(name), out.join(LIBRARY));
    fs::write(&script, format!("{name} {{ *; }};\n"))?;
    let link = |made: &Path, name: &str, more: &[String]| {
        let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut link = Command::new(compiler);
        link.args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"]).arg(made);
        link.arg(format!("-Wl,-soname,{name}")).args(more);
        check(link)
    };
    // To be needed, the other one must be there; here it may be empty.
    link(&needed, LIBRARY, &[])?;
    let more = [
        format!("-Wl,--version-script={}", script.display()),
        "-Wl,--no-as-needed".to_owned(),
        format!("-L{}", out.display()),
        "-lcounterpoint_cuda".to_owned(),
        "-Wl,-rpath,$ORIGIN".to_owned(),
    ];
    link(&made, name, &more)?;
    fs::read(made)
}

/// The library with the functions.
fn build(out: &Path, runtime: &Path, target: &str) -> io::Result<Vec<u8>> {
    let folder = out.join("runtime");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--release", "--locked", "--quiet", "--lib", "--target", target, "--target-dir"])
        .arg(&folder);
    cargo.arg("--manifest-path").arg(runtime.join("Cargo.toml"));
    // What wraps the compiler for this build is not meant for that one.
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER").env_remove("RUSTC_WRAPPER");
    check(cargo)?;
    fs::read(folder.join(target).join("release").join(LIBRARY))
}

fn check(mut command: Command) -> io::Result<()> {
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
