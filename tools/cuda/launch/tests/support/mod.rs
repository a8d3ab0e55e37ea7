//! C programs that register PTX as CUDA's compilers do, so that no CUDA compiler is needed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use counterpoint_cuda_launch::{Captured, Request, cached, run};

pub(crate) fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file)
}

pub(crate) fn compile(what: &[OsString], program: &Path) {
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    // A program names CUDA's library, whichever has the functions.
    compiler.args(["-pthread", "-Wl,--no-as-needed"]).args(what).arg("-o").arg(program);
    let output = compiler.output().expect("a C compiler, as Rust needs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A folder with a program made of a source, named `program`, that needs these libraries beside CUDA's runtime.
pub(crate) fn build(source: &str, others: &[&str]) -> PathBuf {
    let name = format!("{source}-{}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let libraries = cached().expect("the libraries");
    let own = ["libcudart.so.13", "libcuda.so.1", "libcounterpoint_cuda.so"];
    let named = own.iter().chain(others).map(|name| libraries.join(name).into());
    let what = std::iter::once(here(source).into()).chain(named).chain(std::iter::once("-lm".into()));
    compile(&what.collect::<Vec<OsString>>(), &folder.join("program"));
    folder
}

/// Runs the program of a folder with PTX and words, until it ends or is interrupted, and gives the text of its application.
pub(crate) fn capture(
    folder: &Path,
    ptx: &str,
    name: &str,
    words: &[&str],
    interrupt: &AtomicBool,
) -> (Captured, String) {
    let mut command = vec![folder.join("program").into(), here(ptx).into()];
    command.extend(words.iter().map(OsString::from));
    let request = Request { command, name: name.to_owned(), folder: folder.join(name), ..Request::default() };
    let captured = run(&request, interrupt).unwrap_or_else(|error| panic!("{error}"));
    let text = captured.application.as_ref().map(|file| std::fs::read_to_string(file).expect("a file"));
    (captured, text.unwrap_or_default())
}
