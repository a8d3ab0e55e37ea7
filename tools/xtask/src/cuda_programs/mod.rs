//! `cargo xtask cuda-programs FOLDER`: compiles the CUDA programs of a folder as they are, runs them without a GPU, and then on machines.
//!
//! A program is a source with `main`, and the sources that belong to it ([`sources`]); it runs in the folder of its source. Its text may say
//! `// Arguments: WORDS`, `// Needs: sm_NN`, `// Compiler: nvcc`, and `// Machines: NAME,NAME` for the only ones that it fits. For programs that say nothing, a file
//! (`--arguments`) has lines `NAME: ARGUMENTS`, and `NAME flags: FLAGS` for the compiler, where
//! a source is one more of the program. A program is right if it ends with status 0, which its own
//! check of its results decides, and if every machine computes what it computed. One that uses a library beside CUDA's runtime is not built.

mod compile;
mod process;
mod sources;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use self::process::{last_lines, within};
use self::sources::Program;
use super::report;

const USAGE: &str = "usage: cargo xtask cuda-programs FOLDER (--nvcc NVCC | --clang CLANG --cuda ROOT) [--arch SM] [--include FOLDER]... \
                     [--flags FLAGS] [--counterpoint PROGRAM] [--machines NAME,NAME] [--arguments FILE] [--limit SECONDS] [--out FOLDER] \
                     [--only NAME,NAME]";

/// The beginning of the command's line about calls that were refused and code that cannot be used.
const NOT_THERE: &str = "note: not in the application";
/// Its line about a kernel that failed.
const FAILED: &str = "note: the application ends with the kernel that failed";

/// Options of the chore.
struct Options {
    folder: PathBuf,
    compiler: Compiler,
    architecture: String,
    includes: Vec<PathBuf>,
    flags: String,
    counterpoint: PathBuf,
    machines: Vec<String>,
    /// Words by the name of a program, or by its name and `flags`.
    arguments: BTreeMap<String, String>,
    /// Time that a program may take.
    limit: Duration,
    out: PathBuf,
    only: Vec<String>,
}

enum Compiler {
    Nvcc(PathBuf),
    /// Clang, and a folder with CUDA's headers and device library.
    Clang(PathBuf, PathBuf),
}

/// The end of a program, or where it stopped on its way.
enum Verdict {
    Right { launches: String },
    Wrong { stage: &'static str, reason: String },
    Library(&'static str),
}

pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<(), String> {
    let options = options(words)?;
    let libraries = options.out.join("libraries");
    install(&options, &libraries)?;
    let (mut right, mut wrong, mut left_out) = (0, Vec::new(), 0);
    for program in sources::programs(&options.folder)? {
        let name = &program.name;
        if !options.only.is_empty() && !options.only.contains(name) {
            continue;
        }
        let begun = Instant::now();
        let verdict = judge(&options, &libraries, &program);
        let seconds = begun.elapsed().as_secs_f64();
        match verdict {
            Verdict::Right { launches } => {
                right += 1;
                report(&format!("{seconds:6.1} s  {name:28} right, {launches}"));
            }
            Verdict::Wrong { stage, reason } => {
                report(&format!("{seconds:6.1} s  {name:28} {stage}: {reason}"));
                wrong.push((stage, program.name));
            }
            Verdict::Library(library) => {
                left_out += 1;
                report(&format!("{seconds:6.1} s  {name:28} left out: it uses {library}"));
            }
        }
    }
    let count = right + wrong.len();
    report(&format!("{right} of {count} programs are right; {left_out} more are left out"));
    if wrong.is_empty() && right > 0 {
        return Ok(());
    }
    let list: Vec<String> = wrong.iter().map(|(stage, name)| format!("{name} ({stage})")).collect();
    Err(format!("not right: {}", list.join(", ")))
}

fn options(words: impl Iterator<Item = String>) -> Result<Options, String> {
    let (mut folder, mut named, mut includes) = (None, BTreeMap::new(), Vec::new());
    let mut words = words;
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some("include") => includes.push(whole(words.next().ok_or(USAGE)?.into())?),
            Some(option) => {
                let known = [
                    "nvcc",
                    "clang",
                    "cuda",
                    "arch",
                    "flags",
                    "counterpoint",
                    "machines",
                    "arguments",
                    "limit",
                    "out",
                    "only",
                ];
                if !known.contains(&option) {
                    return Err(USAGE.to_owned());
                }
                named.insert(option.to_owned(), words.next().ok_or(USAGE)?);
            }
            None => folder = Some(PathBuf::from(word)),
        }
    }
    let mut take = |name: &str| named.remove(name);
    let compiler = match (take("nvcc"), take("clang"), take("cuda")) {
        (Some(nvcc), None, None) => Compiler::Nvcc(nvcc.into()),
        (None, Some(clang), Some(root)) => Compiler::Clang(clang.into(), root.into()),
        _ => return Err(USAGE.to_owned()),
    };
    let default = match compiler {
        Compiler::Nvcc(_) => "sm_75",
        Compiler::Clang(..) => "sm_35",
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments = match take("arguments") {
        Some(file) => {
            words_by_name(&std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?)
        }
        None => BTreeMap::new(),
    };
    let out = take("out").map_or_else(|| root.join("target/cuda-programs"), PathBuf::from);
    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let counterpoint =
        take("counterpoint").map_or_else(|| root.join("target/release/counterpoint"), PathBuf::from);
    let limit = take("limit").map_or(Ok(120), |seconds| seconds.parse()).map_err(|_| USAGE)?;
    Ok(Options {
        folder: whole(folder.ok_or(USAGE)?)?,
        compiler,
        architecture: take("arch").unwrap_or_else(|| default.to_owned()),
        includes,
        flags: take("flags").unwrap_or_default(),
        counterpoint: whole(counterpoint)?,
        machines: names(&take("machines").unwrap_or_default()),
        arguments,
        limit: Duration::from_secs(limit),
        out: whole(out)?,
        only: names(&take("only").unwrap_or_default()),
    })
}

fn whole(path: PathBuf) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))
}

/// Names between commas.
fn names(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Lines `NAME: WORDS`.
fn words_by_name(text: &str) -> BTreeMap<String, String> {
    let line = |line: &str| line.split_once(": ").map(|(name, words)| (name.to_owned(), words.to_owned()));
    text.lines().filter_map(line).collect()
}

impl Options {
    /// The words of the file for a program, about something.
    fn own(&self, program: &str, about: &str) -> Option<&str> {
        self.arguments.get(&format!("{program} {about}")).map(String::as_str)
    }
}

/// The words behind a declaration in a program's text.
fn declared(text: &str, key: &str) -> Option<String> {
    let mark = format!("// {key}:");
    text.lines().find_map(|line| line.split_once(&mark)).map(|(_, words)| words.trim().to_owned())
}

/// The newer of two architectures.
fn newer<'a>(one: &'a str, other: &'a str) -> &'a str {
    let number =
        |name: &str| name.trim_start_matches("sm_").trim_end_matches('a').parse::<u32>().unwrap_or(0);
    if number(other) > number(one) { other } else { one }
}

/// Has the command write its libraries, which programs of clang are linked with.
fn install(options: &Options, libraries: &Path) -> Result<(), String> {
    let mut command = Command::new(&options.counterpoint);
    let output = command.args(["cuda", "--install"]).arg(libraries).output();
    let output = output.map_err(|error| format!("{}: {error}", options.counterpoint.display()))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn judge(options: &Options, libraries: &Path, program: &Program) -> Verdict {
    let wrong = |stage, reason: String| Verdict::Wrong { stage, reason };
    if let Some(library) = program.library {
        return Verdict::Library(library);
    }
    let Program { name, main, .. } = program;
    let folder = options.out.join(name);
    if let Err(error) = std::fs::create_dir_all(&folder) {
        return wrong("no folder", error.to_string());
    }
    let text = String::from_utf8_lossy(&std::fs::read(main).unwrap_or_default()).into_owned();
    if declared(&text, "Compiler").as_deref() == Some("nvcc")
        && !matches!(options.compiler, Compiler::Nvcc(_))
    {
        return Verdict::Library("functions that only nvcc has");
    }
    let needs = declared(&text, "Needs").unwrap_or_default();
    let file = folder.join("program");
    let architecture = newer(&options.architecture, &needs);
    if let Err(reason) = compile::compile(options, libraries, program, architecture, &file) {
        return if calls_the_driver(&reason) {
            Verdict::Library("the driver's functions")
        } else {
            wrong("does not compile", reason)
        };
    }
    let arguments =
        options.arguments.get(name).cloned().or_else(|| declared(&text, "Arguments")).unwrap_or_default();
    let application = folder.join("application");
    let mut command = Command::new(&options.counterpoint);
    command.args(["cuda", "--name", name, "--out"]).arg(&application).arg("--").arg(&file);
    command.args(arguments.split_whitespace()).current_dir(main.parent().unwrap_or(main));
    let output = match within(options.limit, command) {
        Ok(output) => output,
        Err(reason) => return wrong("does not run", reason),
    };
    if !output.status.success() {
        return wrong("does not run", last_lines(&output));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let Some(launches) = said.lines().find(|line| line.contains(" launches, ")).map(str::to_owned) else {
        return wrong("does not run", "it calls no function of CUDA's runtime".to_owned());
    };
    if let Some(reason) = unnoticed(&said) {
        return wrong("ends well all the same", reason);
    }
    let fitting = declared(&text, "Machines").map(|list| names(&list));
    let fits = |machine: &&String| fitting.as_ref().is_none_or(|fitting| fitting.contains(machine));
    for machine in options.machines.iter().filter(fits) {
        let mut command = Command::new(&options.counterpoint);
        command.args(["run", machine]).arg(application.join(format!("{name}.yaml"))).arg("--quiet");
        command.arg("--out").arg(folder.join(machine)).current_dir(&folder);
        match within(options.limit, command) {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                return wrong("other results on a machine", format!("{machine}: {}", last_lines(&output)));
            }
            Err(reason) => return wrong("too long on a machine", format!("{machine}: {reason}")),
        }
    }
    Verdict::Right { launches }
}

/// A program may end well where it checks no errors: the line about a call that was refused, or about a kernel that failed otherwise than by an
/// assertion, which a program may want to fail.
fn unnoticed(said: &str) -> Option<String> {
    let line = |is: &dyn Fn(&str) -> bool| said.lines().find(|line| is(line)).map(str::to_owned);
    let is_fault =
        |line: &str| line.contains("PTX line") && !line.contains("an assertion of the program failed");
    let failed = said.lines().any(|line| line.starts_with(FAILED));
    line(&|line| line.starts_with(NOT_THERE)).or_else(|| line(&is_fault).filter(|_| failed))
}

/// Whether a linker misses a function of the driver: `cu` and a capital.
fn calls_the_driver(reason: &str) -> bool {
    let name = reason.split_once("undefined reference to `cu").map_or("", |(_, name)| name);
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_what_they_need() {
        let text = "// A program.\n// Needs: sm_70\n// Arguments: 200 64\nint main() {}\n";
        assert_eq!(declared(text, "Needs").as_deref(), Some("sm_70"));
        assert_eq!(declared(text, "Arguments").as_deref(), Some("200 64"));
        assert_eq!(declared(text, "Machines"), None);
        assert_eq!((newer("sm_75", "sm_70"), newer("sm_35", "sm_70")), ("sm_75", "sm_70"));
        assert_eq!((newer("sm_75", ""), newer("sm_75", "sm_103")), ("sm_75", "sm_103"));
    }

    #[test]
    fn a_file_gives_arguments_and_flags_by_program() {
        let words = words_by_name("bfs: graph.txt 0\nlud flags: -I../common ../common/common.c\n");
        assert_eq!(words.get("bfs").map(String::as_str), Some("graph.txt 0"));
        assert_eq!(words.get("lud flags").map(String::as_str), Some("-I../common ../common/common.c"));
    }

    #[test]
    fn an_end_with_status_0_is_not_enough() {
        let fault =
            |message: &str| format!("counterpoint: f, launch 1: PTX line 8, `x`: {message}\n{FAILED}\n");
        assert_eq!(unnoticed("1 launches, 0 bytes to the device, 0 bytes back\n"), None);
        assert_eq!(unnoticed(&fault("an assertion of the program failed")), None);
        assert!(unnoticed(&fault("reads 4 bytes at 0x8, outside of every buffer")).is_some());
        let refused =
            "counterpoint: f: is not supported\nnote: not in the application, for the reasons above: f\n";
        assert!(unnoticed(refused).is_some_and(|reason| reason.ends_with(": f")));
    }

    #[test]
    fn functions_of_the_driver_are_told_from_those_of_the_runtime() {
        assert!(calls_the_driver("main.cpp: undefined reference to `cuInit'"));
        assert!(!calls_the_driver("main.cpp: undefined reference to `cudaGraphAdd'"));
        assert!(!calls_the_driver("main.cpp: error: cuInit"));
    }
}
