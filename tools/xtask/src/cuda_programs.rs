//! `cargo xtask cuda-programs FOLDER`: compiles the CUDA programs of a folder as they are, runs them without a GPU, and then on machines.
//!
//! Every `.cu` or `.cpp` file below the folder that has a `main` is a program. Its arguments are behind `// Arguments:` in its text, or in a file of
//! lines `NAME: ARGUMENTS` (`--arguments`); it runs in the folder of its source. A program is right if it ends with status 0, which its own check of its results
//! decides, and if every machine computes what it computed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::report;

const USAGE: &str = "usage: cargo xtask cuda-programs FOLDER (--nvcc NVCC | --clang CLANG --cuda ROOT) [--arch SM] [--counterpoint PROGRAM] \
                     [--machines NAME,NAME] [--arguments FILE] [--out FOLDER] [--only NAME]";

/// Seconds that a program may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Options of the chore.
struct Options {
    folder: PathBuf,
    compiler: Compiler,
    architecture: String,
    counterpoint: PathBuf,
    machines: Vec<String>,
    arguments: BTreeMap<String, String>,
    out: PathBuf,
    only: Option<String>,
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
}

pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<(), String> {
    let options = options(words)?;
    let libraries = options.out.join("libraries");
    install(&options, &libraries)?;
    let (mut right, mut wrong) = (0, Vec::new());
    for source in programs(&options.folder)? {
        let name = name_of(&options.folder, &source);
        if options.only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let begun = Instant::now();
        let verdict = judge(&options, &libraries, &source, &name);
        let seconds = begun.elapsed().as_secs_f64();
        match verdict {
            Verdict::Right { launches } => {
                right += 1;
                report(&format!("{seconds:6.1} s  {name:28} right, {launches}"));
            }
            Verdict::Wrong { stage, reason } => {
                report(&format!("{seconds:6.1} s  {name:28} {stage}: {reason}"));
                wrong.push((stage, name));
            }
        }
    }
    report(&format!("{right} of {} programs are right", right + wrong.len()));
    if wrong.is_empty() && right > 0 {
        return Ok(());
    }
    let list: Vec<String> = wrong.iter().map(|(stage, name)| format!("{name} ({stage})")).collect();
    Err(format!("not right: {}", list.join(", ")))
}

fn options(words: impl Iterator<Item = String>) -> Result<Options, String> {
    let (mut folder, mut named) = (None, BTreeMap::new());
    let mut words = words;
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some(option) => {
                let known =
                    ["nvcc", "clang", "cuda", "arch", "counterpoint", "machines", "arguments", "out", "only"];
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
            let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
            let line =
                |line: &str| line.split_once(": ").map(|(name, words)| (name.to_owned(), words.to_owned()));
            text.lines().filter_map(line).collect()
        }
        None => BTreeMap::new(),
    };
    let out = take("out").map_or_else(|| root.join("target/cuda-programs"), PathBuf::from);
    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let counterpoint =
        take("counterpoint").map_or_else(|| root.join("target/release/counterpoint"), PathBuf::from);
    let whole = |path: PathBuf| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    Ok(Options {
        folder: whole(folder.ok_or(USAGE)?)?,
        compiler,
        architecture: take("arch").unwrap_or_else(|| default.to_owned()),
        counterpoint: whole(counterpoint)?,
        machines: take("machines")
            .unwrap_or_default()
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        arguments,
        out: whole(out)?,
        only: take("only"),
    })
}

/// Has the command write its libraries, which programs of clang are linked with.
fn install(options: &Options, libraries: &Path) -> Result<(), String> {
    let mut command = Command::new(&options.counterpoint);
    let output = command.args(["cuda", "--install"]).arg(libraries).output();
    let output = output.map_err(|error| format!("{}: {error}", options.counterpoint.display()))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Sources below a folder that have a `main`, in order.
fn programs(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in super::ptx::entries(folder)? {
        if path.is_dir() {
            found.extend(programs(&path)?);
        } else if path.extension().is_some_and(|end| end == "cu" || end == "cpp") {
            let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            if String::from_utf8_lossy(&text).lines().any(is_main) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a line begins the function `main`.
fn is_main(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix("int").or_else(|| line.strip_prefix("void")).map_or(line, str::trim_start);
    rest.strip_prefix("main").is_some_and(|rest| rest.trim_start().starts_with('('))
}

/// The name of a program: its path below the folder, without what ends it.
fn name_of(folder: &Path, source: &Path) -> String {
    let path = source.strip_prefix(folder).unwrap_or(source).with_extension("");
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    match parts.as_slice() {
        // `bfs/bfs.cu` is `bfs`.
        [.., folder, name] if folder == name => parts[..parts.len() - 1].join("-"),
        _ => parts.join("-"),
    }
}

fn judge(options: &Options, libraries: &Path, source: &Path, name: &str) -> Verdict {
    let wrong = |stage, reason: String| Verdict::Wrong { stage, reason };
    let folder = options.out.join(name);
    if let Err(error) = std::fs::create_dir_all(&folder) {
        return wrong("no folder", error.to_string());
    }
    let program = folder.join("program");
    if let Err(reason) = compile(options, libraries, source, &program) {
        return wrong("does not compile", reason);
    }
    let text = String::from_utf8_lossy(&std::fs::read(source).unwrap_or_default()).into_owned();
    let in_text =
        text.lines().find_map(|line| line.split_once("// Arguments:")).map(|(_, words)| words.to_owned());
    let arguments = options.arguments.get(name).cloned().or(in_text).unwrap_or_default();
    let application = folder.join("application");
    let mut command = Command::new(&options.counterpoint);
    command.args(["cuda", "--name", name, "--out"]).arg(&application).arg("--").arg(&program);
    command.args(arguments.split_whitespace()).current_dir(source.parent().unwrap_or(source));
    let output = match within_limit(command) {
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
    for machine in &options.machines {
        let mut command = Command::new(&options.counterpoint);
        command.args(["run", machine]).arg(application.join(format!("{name}.yaml"))).arg("--quiet");
        command.arg("--out").arg(folder.join(machine)).current_dir(&folder);
        match within_limit(command) {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                return wrong("other results on a machine", format!("{machine}: {}", last_lines(&output)));
            }
            Err(reason) => return wrong("too long on a machine", format!("{machine}: {reason}")),
        }
    }
    Verdict::Right { launches }
}

fn compile(options: &Options, libraries: &Path, source: &Path, program: &Path) -> Result<(), String> {
    let here = source.parent().unwrap_or(source);
    let include = format!("-I{}", here.display());
    match &options.compiler {
        Compiler::Nvcc(nvcc) => {
            let root = nvcc.parent().and_then(Path::parent).unwrap_or(nvcc);
            let mut command = Command::new(nvcc);
            command.args([
                "-O2",
                "-x",
                "cu",
                "-cudart",
                "shared",
                "-Xcompiler",
                "-fPIE",
                "-Xcompiler",
                "-pie",
            ]);
            command
                .arg(format!("-arch={}", options.architecture))
                .arg(format!("-L{}/lib", root.display()))
                .arg(include);
            // CUDA 13 has it under its other name alone.
            command.args(["-DcudaThreadSynchronize=cudaDeviceSynchronize", "-o"]).arg(program).arg(source);
            succeed(command)
        }
        Compiler::Clang(clang, root) => {
            let (ptx, binary, object) = (
                program.with_extension("ptx"),
                program.with_extension("fatbin"),
                program.with_extension("o"),
            );
            let clang_with = |flags: &[&str], out: &Path| {
                let mut command = Command::new(clang);
                command.args(["-O2", "-x", "cuda", "-Wno-unknown-cuda-version", "--no-cuda-version-check"]);
                command.arg(&include).arg(format!("--cuda-gpu-arch={}", options.architecture));
                command
                    .arg(format!("--cuda-path={}", root.display()))
                    .args(flags)
                    .arg(source)
                    .arg("-o")
                    .arg(out);
                command
            };
            succeed(clang_with(&["--cuda-device-only", "-S"], &ptx))?;
            let text = std::fs::read(&ptx).map_err(|error| format!("{}: {error}", ptx.display()))?;
            let generation = options.architecture.trim_start_matches("sm_").parse().unwrap_or(35);
            let written = std::fs::write(&binary, fat_binary(&text, generation));
            written.map_err(|error| format!("{}: {error}", binary.display()))?;
            let code = binary.display().to_string();
            let flags = ["--cuda-host-only", "-c", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", &code];
            succeed(clang_with(&flags, &object))?;
            let mut link = Command::new(clang);
            link.arg("-Wl,--no-as-needed").arg(&object).arg("-o").arg(program).arg("-lm");
            link.args(["libcudart.so.11.0", "libcounterpoint_cuda.so"].map(|name| libraries.join(name)));
            succeed(link)
        }
    }
}

/// A fat binary with PTX as it is, which clang puts into the host's code: otherwise it needs NVIDIA's assembler.
fn fat_binary(text: &[u8], generation: u8) -> Vec<u8> {
    let mut payload = text.to_vec();
    payload.resize((text.len() + 1).next_multiple_of(8), 0);
    let mut entry = [0_u8; 64];
    entry[0] = 1;
    entry[4] = 64;
    entry[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    entry[28] = generation;
    let mut binary = 0xba55_ed50_u32.to_le_bytes().to_vec();
    binary.extend([1, 0, 16, 0]);
    binary.extend(((entry.len() + payload.len()) as u64).to_le_bytes());
    binary.extend(entry);
    binary.extend(payload);
    binary
}

fn succeed(mut command: Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let error = said.lines().find(|line| line.contains("error")).or_else(|| said.lines().last());
    Err(error.unwrap_or("no message").to_owned())
}

/// Runs a command, unless it takes too long.
fn within_limit(mut command: Command) -> Result<Output, String> {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn();
    let mut child = spawned.map_err(|error| format!("{command:?}: {error}"))?;
    let process = child.id();
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        let late = waits.recv_timeout(LIMIT).is_err();
        if late {
            // Asked to end, the command keeps what it has and ends the program.
            let _ = Command::new("kill").arg(process.to_string()).status();
        }
        late
    });
    let mut stdout = child.stdout.take();
    let reader = std::thread::spawn(move || read_all(stdout.as_mut()));
    let stderr = read_all(child.stderr.as_mut());
    let status = child.wait().map_err(|error| error.to_string())?;
    let _ = done.send(());
    let late = guard.join().unwrap_or(false);
    let stdout = reader.join().unwrap_or_default();
    if late { Err(format!("more than {} s", LIMIT.as_secs())) } else { Ok(Output { status, stdout, stderr }) }
}

fn read_all(from: Option<&mut impl std::io::Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        let _ = from.read_to_end(&mut bytes);
    }
    bytes
}

/// The end of a program's output.
fn last_lines(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let last =
        |text: &str| text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
    let said =
        err.lines().find(|line| line.contains("error") || line.contains("PTX line")).map(str::to_owned);
    format!("{}; {}", output.status, said.unwrap_or_else(|| last(&out)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_by_their_folders() {
        let name = |source: &str| name_of(Path::new("/a"), Path::new(source));
        assert_eq!(name("/a/bfs/bfs.cu"), "bfs");
        assert_eq!(name("/a/suite/nw/needle.cu"), "suite-nw-needle");
        assert_eq!(name("/a/one.cu"), "one");
    }

    #[test]
    fn a_main_is_found_in_all_its_forms() {
        let lines =
            ["int main()", "int main( int argc, char** argv) {", "void main (void)", "main(int argc,"];
        assert!(lines.into_iter().all(is_main));
        assert!(!["// int mainly", "int domain(int x)", "  return main_loop();"].into_iter().any(is_main));
    }
}
