//! `cargo xtask cuda-programs FOLDER`: compiles the CUDA programs of a folder as they are, runs them without a GPU, and then on machines.
//!
//! A program is a source with `main`, and the sources that belong to it ([`sources`]); it runs in the folder of its source. Its text may
//! say `// Arguments: WORDS`, `// Needs: sm_NN`, `// Compiler: nvcc`, `// Flags: FLAGS` for nvcc and `// Clang flags: FLAGS`, and
//! `// Machines: NAME,NAME` for the only machines that it fits. For programs that say nothing, a file (`--arguments`) has lines
//! `NAME: ARGUMENTS`, and `NAME flags: FLAGS` for the compiler, where a flag that is a source adds it to the program. A program is right if
//! it ends with status 0, which its own check of its results decides, and if every machine computes what it computed. A program is linked with
//! the libraries whose headers it includes. One that needs a library that is not there is not built, and counts as one that does not run; one that
//! needs graphics or other processors, or for which the file has a line `NAME left out: REASON`, is left out.

mod compile;
mod imports;
mod page;
pub(crate) mod process;
mod sources;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use self::process::{last_lines, within};
use self::sources::{LibraryPlace, Program};
use super::report;

/// The beginning of the command's line about calls that were refused and code that cannot be used.
const NOT_THERE: &str = "note: not in the application";
/// The command's line about a kernel that failed.
const FAILED: &str = "note: the application ends with the kernel that failed";

/// Compiles the CUDA programs of a folder as they are, runs them without a GPU, and then on machines.
#[derive(clap::Args)]
pub(crate) struct CudaPrograms {
    folder: PathBuf,
    /// NVIDIA's compiler.
    #[arg(long, required_unless_present = "clang", conflicts_with = "clang")]
    nvcc: Option<PathBuf>,
    /// Clang.
    #[arg(long, requires = "cuda")]
    clang: Option<PathBuf>,
    /// For Clang, a folder with CUDA's headers and device library.
    #[arg(long, value_name = "ROOT", requires = "clang")]
    cuda: Option<PathBuf>,
    /// The oldest architecture; sm_75 for nvcc and sm_35 for Clang if not given.
    #[arg(long, value_name = "SM")]
    arch: Option<String>,
    /// Folder of headers.
    #[arg(long, value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Flags for the compiler.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    flags: String,
    /// Links nvcc's programs with the shared runtime, instead of the static one.
    #[arg(long, requires = "nvcc")]
    shared: bool,
    /// Folder with `include` and `lib` of NVIDIA's libraries.
    #[arg(long, value_name = "FOLDER")]
    libraries: Option<PathBuf>,
    /// The command; the release build if not given.
    #[arg(long, value_name = "PROGRAM")]
    counterpoint: Option<PathBuf>,
    /// Machines on which recorded programs run.
    #[arg(long, value_delimiter = ',')]
    machines: Vec<String>,
    /// Lines `NAME: ARGUMENTS`, `NAME flags: FLAGS` and `NAME left out: REASON`.
    #[arg(long, value_name = "FILE")]
    arguments: Option<PathBuf>,
    /// Seconds that a program may take.
    #[arg(long, default_value_t = 120)]
    limit: u64,
    /// Folder of what is built and recorded.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Programs; all if none is given.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Takes so many programs at random.
    #[arg(long, value_name = "COUNT")]
    sample: Option<usize>,
    /// Start of the random choice.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// File for a table in Markdown.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// Options of the chore, with files that are there.
struct Options {
    folder: PathBuf,
    compiler: Compiler,
    architecture: String,
    includes: Vec<PathBuf>,
    flags: String,
    shared: bool,
    libraries: Option<PathBuf>,
    counterpoint: PathBuf,
    machines: Vec<String>,
    /// Words by the name of a program, or by its name and `flags`.
    arguments: BTreeMap<String, String>,
    /// Time that a program may take.
    limit: Duration,
    out: PathBuf,
    only: Vec<String>,
    /// How many programs are taken at random, and the start of the choice.
    sample: Option<(usize, u64)>,
    page: Option<PathBuf>,
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
    LeftOut(String),
}

/// The result of a program.
struct Row {
    name: String,
    verdict: Verdict,
    /// Seconds that the program itself ran.
    seconds: f64,
    /// Bytes of its application.
    bytes: u64,
}

impl CudaPrograms {
    pub(crate) fn run(self) -> Result<(), String> {
        run(&self.options()?)
    }

    fn options(self) -> Result<Options, String> {
        let root = crate::tree::root()?;
        let (compiler, default) = match (self.nvcc, self.clang, self.cuda) {
            (None, Some(clang), Some(cuda)) => (Compiler::Clang(clang, cuda), "sm_35"),
            (nvcc, ..) => (Compiler::Nvcc(nvcc.unwrap_or_default()), "sm_75"),
        };
        let arguments = match self.arguments {
            Some(file) => {
                let text = std::fs::read_to_string(&file);
                words_by_name(&text.map_err(|error| format!("{}: {error}", file.display()))?)
            }
            None => BTreeMap::new(),
        };
        let out = self.out.unwrap_or_else(|| root.join("target/cuda-programs"));
        std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        let libraries = self.libraries.map(whole).transpose()?;
        let mut includes: Vec<PathBuf> = self.include.into_iter().map(whole).collect::<Result<_, _>>()?;
        includes.extend(libraries.iter().map(|folder| folder.join("include")));
        Ok(Options {
            folder: whole(self.folder)?,
            compiler,
            architecture: self.arch.unwrap_or_else(|| default.to_owned()),
            includes,
            shared: self.shared,
            libraries,
            flags: self.flags,
            counterpoint: whole(
                self.counterpoint.unwrap_or_else(|| root.join("target/release/counterpoint")),
            )?,
            machines: self.machines,
            arguments,
            limit: Duration::from_secs(self.limit),
            out: whole(out)?,
            only: self.only,
            sample: self.sample.map(|count| (count, self.seed)),
            page: self.page,
        })
    }
}

fn run(options: &Options) -> Result<(), String> {
    let libraries = options.out.join("libraries");
    install(options, &libraries)?;
    if matches!(options.compiler, Compiler::Nvcc(_)) {
        imports::write(&libraries)?;
    }
    let mut programs = sources::programs(&options.folder)?;
    programs.retain(|program| options.only.is_empty() || options.only.contains(&program.name));
    if let Some((count, seed)) = options.sample {
        sampled(&mut programs, count, seed);
    }
    let mut rows = Vec::new();
    for program in programs {
        let begun = Instant::now();
        let row = row(options, &libraries, program);
        let said = match &row.verdict {
            Verdict::Right { launches } => format!("right, {launches}"),
            Verdict::Wrong { stage, reason } => format!("{stage}: {reason}"),
            Verdict::Library(library) => format!("not built: it needs {library}"),
            Verdict::LeftOut(reason) => format!("left out: {reason}"),
        };
        report(&format!("{:6.1} s  {:28} {said}", begun.elapsed().as_secs_f64(), row.name));
        rows.push(row);
        if let Some(page) = &options.page {
            let written = std::fs::write(page, page::text(&rows));
            written.map_err(|error| format!("{}: {error}", page.display()))?;
        }
    }
    let [right, built, left_out] = page::counts(&rows);
    report(&format!("{right} of {built} programs are right; {left_out} more are left out"));
    let wrong = |row: &Row| match row.verdict {
        Verdict::Wrong { stage, .. } => Some(format!("{} ({stage})", row.name)),
        _ => None,
    };
    let list: Vec<String> = rows.iter().filter_map(wrong).collect();
    if list.is_empty() && right > 0 {
        return Ok(());
    }
    Err(format!("not right: {}", list.join(", ")))
}

/// Keeps so many of a list, chosen at random: by Fisher and Yates with the generator SplitMix64. Their order stays.
fn sampled<T>(list: &mut Vec<T>, count: usize, seed: u64) {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut order: Vec<usize> = (0..list.len()).collect();
    for at in 0..count.min(order.len()) {
        let rest = (order.len() - at) as u64;
        order.swap(at, at + usize::try_from(next() % rest).unwrap_or(0));
    }
    order.truncate(count);
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        order.contains(&(at - 1))
    });
}

/// Builds a program and runs it.
fn row(options: &Options, libraries: &Path, program: Program) -> Row {
    let mut seconds = 0.0;
    let verdict = judge(options, libraries, &program, &mut seconds);
    let bytes = size(&options.out.join(&program.name).join("application"));
    Row { name: program.name, verdict, seconds, bytes }
}

/// Bytes of the files of a folder.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(what) if what.is_dir() => size(&entry.path()),
        Ok(what) => what.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
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

    /// A library of NVIDIA's, if it is installed: the file with the shortest name, which has no second number.
    fn installed(&self, name: &str) -> Option<PathBuf> {
        let begins = format!("lib{name}.so");
        let entries = std::fs::read_dir(self.libraries.as_ref()?.join("lib")).ok()?.flatten();
        let names = entries.map(|entry| entry.path());
        let fits =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begins));
        names.filter(fits).min_by_key(|path| path.as_os_str().len())
    }

    /// Why a program is not built.
    fn refuses(&self, program: &Program) -> Option<Verdict> {
        if let Some(reason) = self.own(&program.name, "left out") {
            return Some(Verdict::LeftOut(reason.to_owned()));
        }
        let find = |is: &dyn Fn(LibraryPlace) -> bool| program.libraries.iter().find(|(_, place)| is(*place));
        if let Some((library, _)) = find(&|place| place == LibraryPlace::Outside) {
            return Some(Verdict::LeftOut((*library).to_owned()));
        }
        let missing = |place| match place {
            LibraryPlace::Theirs(name) => self.installed(name).is_none(),
            place => place == LibraryPlace::Missing,
        };
        find(&missing).map(|(library, _)| Verdict::Library(library))
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

fn judge(options: &Options, libraries: &Path, program: &Program, seconds: &mut f64) -> Verdict {
    let wrong = |stage, reason: String| Verdict::Wrong { stage, reason };
    if let Some(verdict) = options.refuses(program) {
        return verdict;
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
        return Verdict::LeftOut("only nvcc compiles it".to_owned());
    }
    let needs = declared(&text, "Needs").unwrap_or_default();
    let file = folder.join("program");
    let architecture = newer(&options.architecture, &needs);
    if let Err(reason) = compile::compile(options, libraries, program, architecture, &file) {
        return wrong("does not compile", reason);
    }
    let arguments =
        options.arguments.get(name).cloned().or_else(|| declared(&text, "Arguments")).unwrap_or_default();
    let application = folder.join("application");
    let mut command = Command::new(&options.counterpoint);
    command.args(["cuda", "--name", name, "--out"]).arg(&application).arg("--").arg(&file);
    command.args(arguments.split_whitespace()).current_dir(main.parent().unwrap_or(main));
    if let Some(folder) = &options.libraries {
        command.env("LD_LIBRARY_PATH", folder.join("lib"));
    }
    let _ = std::fs::remove_dir_all(&application);
    let begun = Instant::now();
    let output = within(options.limit, command);
    *seconds = begun.elapsed().as_secs_f64();
    let output = match output {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_what_they_need() {
        let text = "// A program.\n// Flags: -a b\n// Needs: sm_70\n// Arguments: 200 64\nint main() {}\n";
        assert_eq!(declared(text, "Needs").as_deref(), Some("sm_70"));
        assert_eq!(declared(text, "Arguments").as_deref(), Some("200 64"));
        assert_eq!(declared(text, "Flags").as_deref(), Some("-a b"));
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
    fn a_choice_depends_on_the_seed_alone() {
        let chosen = |count: usize, seed: u64| {
            let mut list: Vec<u32> = (0..100).collect();
            sampled(&mut list, count, seed);
            list
        };
        assert_eq!(chosen(10, 7), chosen(10, 7));
        assert_ne!(chosen(10, 7), chosen(10, 8));
        assert_eq!(chosen(10, 7).len(), 10);
        assert!(chosen(10, 7).is_sorted());
        assert_eq!(chosen(200, 7).len(), 100);
    }
}
