//! SystemC: a C++ program of its own, compiled here if `systemc.h` is found, and started anew for every run, because
//! a process can elaborate one model only. It measures itself.

use std::path::PathBuf;
use std::process::{Command, Output};

use super::{Answer, Kernel, Runner};
use crate::graph::Work;
use crate::measure::{Run, Workload};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/systemc/workloads.cpp");
const FLAGS: [&str; 2] = ["-O3", "-march=native"];

/// Kernels with both kinds of process.
pub(crate) fn kernels() -> [Kernel; 2] {
    let program = compile();
    ["METHOD", "THREAD"].map(|kind| match &program {
        Ok((version, path)) => {
            let path = path.clone();
            let runner: Runner = Box::new(move |workload, size| run(&path, kind, workload, size));
            kernel(format!("SystemC {version} SC_{kind}"), Ok(runner))
        }
        Err(reason) => kernel(format!("SystemC SC_{kind}"), Err(reason.clone())),
    })
}

fn kernel(name: String, runner: Result<Runner, String>) -> Kernel {
    Kernel { name, runner, share: 1, own_times: false }
}

/// The library's version and the compiled program, or the missing part.
fn compile() -> Result<(String, PathBuf), String> {
    let macros =
        call(Command::new("g++").args(["-E", "-dM", "-x", "c++", "-include", "systemc.h", "/dev/null"]));
    let macros = match macros {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(_) => return Err("systemc.h was not found (Debian: apt-get install libsystemc-dev)".to_owned()),
        Err(reason) => return Err(reason),
    };
    let number = |part: &str| {
        let name = format!("#define SC_VERSION_{part} ");
        let line = macros.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or("?").to_owned()
    };
    let version = format!("{}.{}.{}", number("MAJOR"), number("MINOR"), number("PATCH"));
    let folder = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned()));
    let program = folder.ok_or("the program does not know where it is")?.join("systemc-workloads");
    let output = call(Command::new("g++").args(FLAGS).arg(SOURCE).arg("-o").arg(&program).arg("-lsystemc"))?;
    if !output.status.success() {
        return Err(format!("{SOURCE} did not compile: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok((version, program))
}

fn run(program: &PathBuf, kind: &str, workload: Workload, size: u64) -> Answer {
    if kind == "METHOD" && workload == Workload::Pipeline {
        // A method cannot wait for a buffer.
        return Ok(None);
    }
    let size = size.to_string();
    let mut command = Command::new(program);
    command.args([kind, workload.name(), &size]).env("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1");
    let output = call(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut fields = text.split_whitespace();
    let mut next = || fields.next().ok_or(());
    let parsed = (|| {
        let operations = next()?.parse().map_err(|_| ())?;
        let check = next()?.parse().map_err(|_| ())?;
        let seconds = next()?.parse().map_err(|_| ())?;
        Ok::<_, ()>(Run { work: Work { operations, check }, seconds })
    })();
    parsed.map(Some).map_err(|()| {
        let error = String::from_utf8_lossy(&output.stderr);
        format!("{} {kind} {}: no figures, but {text}{error}", program.display(), workload.name())
    })
}

fn call(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))
}
