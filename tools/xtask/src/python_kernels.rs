//! `cargo xtask python-kernels`: runs the programs of `tools/cuda/python` under `counterpoint cuda`: kernels of Triton, Numba, CuPy and CUDA Python, each
//! compared with NumPy by the program itself. What it leaves runs on a machine where one is named.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::report;
use crate::cuda_programs::process::{last_lines, within};

/// The wheels with which the programs have been tried.
const WHEELS: &[&str] = &[
    "numpy==2.4.6",
    "triton==3.9.0",
    "numba-cuda==0.30.4",
    "cuda-python==13.4.4",
    "cupy-cuda13x==14.2.0",
    "nvidia-cuda-nvrtc==13.5.37",
    "nvidia-nvvm==13.5.37",
    "nvidia-cuda-runtime==13.5.37",
    "nvidia-cuda-cccl==13.3.5.0.6",
    "nvidia-nvjitlink==13.5.37",
];

/// Runs the kernels of Python's compilers under `counterpoint cuda`. Installs the compilers as wheels.
#[derive(clap::Args)]
pub(crate) struct PythonKernels {
    /// A Python that has the packages; without it they are installed beside what the programs leave.
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    /// A folder of other programs, such as tutorials.
    #[arg(long, value_name = "FOLDER")]
    suite: Option<PathBuf>,
    /// Programs; all if none is given.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Machine on which what the programs leave runs.
    #[arg(long)]
    machine: Option<String>,
    /// Compute capability that the programs see.
    #[arg(long, default_value = "8.0")]
    capability: String,
    /// Seconds that a program may take.
    #[arg(long, default_value_t = 300)]
    limit: u64,
    /// The command; the release build if not given.
    #[arg(long, value_name = "PROGRAM")]
    counterpoint: Option<PathBuf>,
    /// Folder of the packages, of caches and of what the programs leave.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl PythonKernels {
    pub(crate) fn run(&self) -> Result<(), String> {
        let root = crate::tree::root()?;
        let out = self.out.clone().unwrap_or_else(|| root.join("target/python-kernels"));
        std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        let out = out.canonicalize().map_err(|error| format!("{}: {error}", out.display()))?;
        let python = match &self.python {
            Some(python) => python.clone(),
            None => installed(&out)?,
        };
        let folder = self.suite.clone().unwrap_or_else(|| root.join("tools/cuda/python"));
        let (mut right, mut wrong) = (0, Vec::new());
        for program in programs(&folder)? {
            let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if !self.only.is_empty() && !self.only.contains(&name) {
                continue;
            }
            let begun = Instant::now();
            let judged = self.judge(&python, &program, &name, (&root, &out));
            let seconds = begun.elapsed().as_secs_f64();
            match judged {
                Ok(said) => {
                    right += 1;
                    report(&format!("{seconds:6.1} s  {name:20} right, {said}"));
                }
                Err(reason) => {
                    report(&format!("{seconds:6.1} s  {name:20} {reason}"));
                    wrong.push(name);
                }
            }
        }
        report(&format!("{right} of {} programs are right", right + wrong.len()));
        let missing: Vec<&String> =
            self.only.iter().filter(|name| !folder.join(format!("{name}.py")).is_file()).collect();
        if !missing.is_empty() {
            return Err(format!("{} has no {missing:?}", folder.display()));
        }
        if wrong.is_empty() && right > 0 { Ok(()) } else { Err(format!("not right: {}", wrong.join(", "))) }
    }

    fn judge(
        &self,
        python: &Path,
        program: &Path,
        name: &str,
        (root, out): (&Path, &Path),
    ) -> Result<String, String> {
        // Programs run in another folder.
        let usual = root.join("target/release/counterpoint");
        let command = self.counterpoint.as_ref().unwrap_or(&usual);
        let command =
            std::path::absolute(command).map_err(|error| format!("{}: {error}", command.display()))?;
        let counterpoint = || Command::new(&command);
        let folder = out.join(name);
        let mut command = counterpoint();
        command.args(["cuda", "--capability", &self.capability, "--name", name, "--out"]).arg(&folder);
        command.arg("--").arg(python).args(["-W", "ignore"]).arg(program).current_dir(out);
        for (variable, place) in
            [("TRITON_CACHE_DIR", "triton"), ("CUPY_CACHE_DIR", "cupy"), ("NUMBA_CACHE_DIR", "numba")]
        {
            command.env(variable, out.join("cache").join(place));
        }
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let ran = within(Duration::from_secs(self.limit), command)?;
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        if !ran.status.success() {
            return Err(last_lines(&ran));
        }
        let launches = said.lines().find(|line| line.contains(" launches, ")).map(str::to_owned);
        let launches = launches.ok_or_else(|| "no launch".to_owned())?;
        let Some(machine) = &self.machine else { return Ok(launches) };
        let mut command = counterpoint();
        command
            .args(["run", machine])
            .arg(folder.join(format!("{name}.yaml")))
            .arg("--quiet")
            .current_dir(out);
        let ran = within(Duration::from_secs(self.limit), command)?;
        if ran.status.success() { Ok(format!("{launches}; and on {machine}")) } else { Err(last_lines(&ran)) }
    }
}

/// Programs of a folder: those that are not imported by others, whose names have two parts.
fn programs(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.retain(|path| {
        let is_source = path.extension().is_some_and(|end| end == "py");
        is_source && path.file_stem().is_some_and(|stem| stem.to_string_lossy().contains(['_', '-']))
    });
    found.sort();
    Ok(found)
}

/// A Python of its own with the packages.
fn installed(out: &Path) -> Result<PathBuf, String> {
    let folder = out.join("venv");
    let python = folder.join("bin/python");
    let step = |program: &Path, words: &[OsString]| {
        let output = Command::new(program).args(words).output();
        let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(said) }
    };
    if !python.is_file() {
        step(Path::new("python3"), &["-m".into(), "venv".into(), folder.into()])?;
    }
    let words = ["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
        .iter()
        .chain(WHEELS);
    step(&python, &words.map(OsString::from).collect::<Vec<_>>())?;
    Ok(python)
}
