//! `counterpoint ptx`: contents of a PTX file, and properties of its kernels that need no run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use counterpoint_framework::model::Registry;
use counterpoint_framework::model::diagnostics::nearest;
use counterpoint_ptx::analysis::access::{Array, KernelAccesses, MemoryAccess};
use counterpoint_ptx::analysis::ranges::{Launch, Touched, ranges};
use counterpoint_ptx::ast::{Function, Module};
use counterpoint_ptx::{Kernel, NO_PC, decode, parser};
use counterpoint_simulation::find::{ProjectFiles, Sort};

use super::instrument::Instrument;
use super::slice::Slice;
use super::synth::Synth;
use crate::{Console, FAILURE, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Ptx {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print kernels with their instructions, blocks, edges and reconvergence points.
    Show {
        file: PathBuf,
        /// Only this kernel.
        #[arg(long)]
        kernel: Option<String>,
    },
    /// Classify memory accesses and say which bytes of each array a block may touch.
    Analyse(Analyse),
    /// Print the module with profilers: what each block may touch, said before a kernel runs and after.
    Instrument(Instrument),
    /// Print the module with twins of its kernels that run a part of a grid.
    Slice(Slice),
    /// Print the PTX of the synthetic kernels that an application describes.
    Synth(Synth),
}

pub(super) fn no_kernel(place: &str, name: &str, known: &[String]) -> Vec<String> {
    let help = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("  help: did you mean `{near}`?"),
        None => format!("  help: it has {}", known.join(", ")),
    };
    vec![format!("error: {place} has no kernel `{name}`"), help]
}

#[derive(Args)]
struct Analyse {
    /// The PTX file.
    file: PathBuf,
    /// Only this kernel.
    #[arg(long)]
    kernel: Option<String>,
    /// Blocks, such as `16` or `16x8`; gives ranges instead of formulas.
    #[arg(long, requires = "block", value_parser = extent)]
    grid: Option<[u32; 3]>,
    /// Threads of a block, such as `256` or `16x16`.
    #[arg(long, requires = "grid", value_parser = extent)]
    block: Option<[u32; 3]>,
    /// The value of a parameter, by its name or its number: `n=1024`, `3=1024`. Arrays need none.
    #[arg(long = "set", value_name = "PARAM=VALUE", requires = "grid")]
    sets: Vec<String>,
}

/// `X`, `XxY` or `XxYxZ`.
fn extent(text: &str) -> Result<[u32; 3], String> {
    let parts: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
    let all = parts.ok().filter(|parts| parts.len() <= 3 && parts.iter().all(|part| *part > 0));
    let all = all.ok_or_else(|| "expected one to three positive numbers such as `16x16`".to_owned())?;
    Ok([0, 1, 2].map(|at| all.get(at).copied().unwrap_or(1)))
}

/// A file that was read, and its kernels.
struct Loaded {
    module: Module,
    kernels: Vec<Kernel>,
}

impl Loaded {
    /// The kernels that are wanted, as written and as decoded.
    fn kernels(&self) -> impl Iterator<Item = (&Function, &Kernel)> {
        self.kernels.iter().filter_map(|kernel| {
            let written = self.module.functions.iter().find(|f| f.entry && f.name == kernel.name())?;
            Some((written, kernel))
        })
    }
}

/// Prints the problem, and returns the exit status of the command.
pub(super) fn refuse(console: &mut Console<'_>, lines: &[String]) -> io::Result<u8> {
    for line in lines {
        writeln!(console.err, "{line}")?;
    }
    Ok(FAILURE)
}

/// The path and the text of a PTX file, on disk or built in.
pub(super) fn source(file: &Path, registry: &Registry) -> Result<(String, String), Vec<String>> {
    let files = ProjectFiles::here(registry);
    let path = files.find(Sort::Code, &file.to_string_lossy());
    let path = path.map_err(|missing| vec![format!("error: {missing}")])?;
    let text = files.text(&path).map_err(|error| vec![format!("error: {path}: {error}")])?;
    Ok((path, text))
}

fn load(file: &Path, kernel: Option<&str>, registry: &Registry) -> Result<Loaded, Vec<String>> {
    let (place, text) = source(file, registry)?;
    let read = parser::parse(&text).and_then(|module| {
        let kernels = decode::decode(&module)?;
        Ok(Loaded { module, kernels })
    });
    let mut loaded = read
        .map_err(|errors| errors.iter().map(|error| format!("error: {place}:{error}")).collect::<Vec<_>>())?;
    if let Some(name) = kernel {
        let names: Vec<String> = loaded.kernels.iter().map(|kernel| kernel.name().to_owned()).collect();
        loaded.kernels.retain(|kernel| kernel.name() == name);
        if loaded.kernels.is_empty() {
            return Err(no_kernel(&place, name, &names));
        }
    }
    Ok(loaded)
}

impl Ptx {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        let (file, kernel, analyse) = match &self.what {
            What::Synth(synth) => return synth.execute(registry, console),
            What::Instrument(instrument) => return instrument.execute(registry, console),
            What::Slice(slice) => return slice.execute(registry, console),
            What::Show { file, kernel } => (file, kernel, None),
            What::Analyse(analyse) => (&analyse.file, &analyse.kernel, Some(analyse)),
        };
        let loaded = match load(file, kernel.as_deref(), registry) {
            Ok(loaded) => loaded,
            Err(lines) => return refuse(console, &lines),
        };
        for (index, (written, kernel)) in loaded.kernels().enumerate() {
            if index > 0 {
                writeln!(console.out)?;
            }
            for error in kernel.unsupported() {
                let (place, name) = (file.display(), kernel.name());
                writeln!(console.err, "warning: {place}:{error}: no launch can use `{name}`")?;
            }
            let accesses = KernelAccesses::new(&loaded.module, written);
            let Some(analyse) = analyse else {
                show(&loaded.module, kernel, &accesses, console)?;
                continue;
            };
            let launch = match analyse.launch(kernel, &accesses) {
                Ok(launch) => launch,
                Err(lines) => return refuse(console, &lines),
            };
            describe(kernel, &accesses, console)?;
            match launch {
                Some(launch) => print_ranges(kernel, &accesses, &launch, console)?,
                None => print_formulas(kernel, &accesses, console)?,
            }
        }
        Ok(SUCCESS)
    }
}

fn show(
    module: &Module,
    kernel: &Kernel,
    analysis: &KernelAccesses,
    console: &mut Console<'_>,
) -> io::Result<()> {
    let ssa = &analysis.affine.ssa;
    let params: Vec<String> = kernel.params().iter().map(|p| format!(".{} {}", p.element, p.name)).collect();
    writeln!(console.out, "kernel {}({})", kernel.name(), params.join(", "))?;
    // Instructions that a line is decoded into behind its own have no text; blocks count lines.
    let is_line = |pc: usize| kernel.instructions().get(pc).is_some_and(|it| it.text.0 < it.text.1);
    let pcs: Vec<usize> = (0..kernel.instructions().len()).filter(|pc| is_line(*pc)).collect();
    let line_of = |pc: u32| pcs.partition_point(|line| *line < pc as usize) as u32;
    for (index, block) in ssa.flow.blocks.iter().enumerate() {
        let next: Vec<String> = block.successors.iter().map(|next| format!("B{next}")).collect();
        let next = if next.is_empty() { "the end".to_owned() } else { next.join(", ") };
        writeln!(console.out, "  B{index} -> {next}")?;
        for &pc in pcs.iter().skip(block.first as usize).take((block.end - block.first) as usize) {
            let instruction = &kernel.instructions()[pc];
            let (start, end) = instruction.text;
            let text = module.source.get(start as usize..end as usize).unwrap_or("").trim_end_matches(';');
            let text: Vec<&str> = text.split_whitespace().collect();
            let meets = match instruction.reconvergence {
                NO_PC => String::new(),
                pc => format!("  // meets at B{}", ssa.block_of(line_of(pc))),
            };
            writeln!(console.out, "    {pc:>5}  line {:<5} {}{meets}", instruction.line, text.join(" "))?;
        }
    }
    Ok(())
}

fn describe(kernel: &Kernel, analysis: &KernelAccesses, console: &mut Console<'_>) -> io::Result<()> {
    writeln!(console.out, "kernel {}", kernel.name())?;
    match &analysis.reason {
        Some((line, reason)) => {
            writeln!(console.out, "  class          {}: line {line}: {reason}", analysis.class)?
        }
        None => writeln!(console.out, "  class          {}", analysis.class)?,
    }
    writeln!(console.out, "  registers      {} a thread", kernel.registers_per_thread())?;
    writeln!(console.out, "  shared memory  {} bytes a block", kernel.shared_bytes())?;
    let mut mix: BTreeMap<&str, usize> = BTreeMap::new();
    for step in &analysis.affine.ssa.steps {
        *mix.entry(step.opcode.split('.').next().unwrap_or("")).or_default() += 1;
    }
    let mut mix: Vec<(&str, usize)> = mix.into_iter().collect();
    mix.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mix: Vec<String> = mix.iter().map(|(name, count)| format!("{name} {count}")).collect();
    writeln!(console.out, "  instructions   {}: {}", analysis.affine.ssa.steps.len(), mix.join(", "))
}

/// Puts the parameters' names in the place of their numbers.
fn named(text: String, kernel: &Kernel) -> String {
    let params = kernel.params().iter().enumerate().rev();
    params.fold(text, |text, (index, param)| text.replace(&format!("param{index}"), &param.name))
}

fn array_name(access: &MemoryAccess, kernel: &Kernel) -> String {
    match &access.array {
        Some(Array::Param(index)) => {
            kernel.params().get(*index as usize).map_or(String::new(), |p| p.name.clone())
        }
        Some(Array::Symbol(name)) => name.clone(),
        None => "?".to_owned(),
    }
}

fn print_formulas(kernel: &Kernel, analysis: &KernelAccesses, console: &mut Console<'_>) -> io::Result<()> {
    writeln!(console.out, "  accesses")?;
    for access in &analysis.accesses {
        let (array, class) = (array_name(access, kernel), access.class);
        writeln!(console.out, "    line {:<5} {:<22} {array}: {class}", access.line, access.opcode)?;
        if let Some(reason) = &access.reason {
            writeln!(console.out, "      because {reason}")?;
        }
        for address in &access.addresses {
            writeln!(console.out, "      {}", named(address.to_string(), kernel))?;
        }
    }
    for found in &analysis.affine.loops {
        writeln!(
            console.out,
            "    k{} counts the rounds of the loop at line {}",
            found.body.header, found.line
        )?;
    }
    Ok(())
}

/// A launch whose arrays lie far apart.
struct Given {
    grid: [u32; 3],
    block: [u32; 3],
    params: BTreeMap<u32, i128>,
}

/// Address of a parameter's array: only differences from this address are printed.
fn place(index: u32) -> u64 {
    (u64::from(index) + 1) << 48
}

impl Analyse {
    /// The launch that the arguments describe, if they do.
    fn launch(&self, kernel: &Kernel, analysis: &KernelAccesses) -> Result<Option<Given>, Vec<String>> {
        let (Some(grid), Some(block)) = (self.grid, self.block) else { return Ok(None) };
        let mut params = BTreeMap::new();
        let names: Vec<&str> = kernel.params().iter().map(|param| param.name.as_str()).collect();
        for set in &self.sets {
            let parsed =
                set.split_once('=').and_then(|(name, value)| Some((name, value.parse::<i64>().ok()?)));
            let Some((name, value)) = parsed else {
                return Err(vec![format!(
                    "error: --set {set}: expected a parameter and a whole number, `n=1024`"
                )]);
            };
            let by_number = name.parse::<usize>().ok().filter(|index| *index < names.len());
            let Some(index) = names.iter().position(|known| *known == name).or(by_number) else {
                let help = match nearest(name, names.iter().copied()) {
                    Some(near) => format!("  help: did you mean `{near}`?"),
                    None => format!("  help: its parameters are {}", names.join(", ")),
                };
                return Err(vec![
                    format!("error: --set {set}: {} has no parameter `{name}`", kernel.name()),
                    help,
                ]);
            };
            params.insert(index as u32, i128::from(value));
        }
        let arrays: BTreeSet<u32> = analysis
            .global()
            .filter_map(|access| match access.array {
                Some(Array::Param(index)) => Some(index),
                _ => None,
            })
            .collect();
        for (index, param) in kernel.params().iter().enumerate() {
            let index = index as u32;
            if arrays.contains(&index) {
                params.insert(index, i128::from(place(index)));
            } else if !params.contains_key(&index) && analysis.asks_for(index) {
                let name = &param.name;
                let help = format!("  help: add `--set {name}=…`, a whole number");
                return Err(vec![
                    format!("error: ranges depend on the parameter `{name}`, which has no value"),
                    help,
                ]);
            }
        }
        Ok(Some(Given { grid, block, params }))
    }
}

fn print_ranges(
    kernel: &Kernel,
    analysis: &KernelAccesses,
    given: &Given,
    console: &mut Console<'_>,
) -> io::Result<()> {
    let allocations = BTreeMap::new();
    let launch =
        Launch { grid: given.grid, block: given.block, params: &given.params, allocations: &allocations };
    let [x, y, z] = given.grid;
    let blocks = u64::from(x) * u64::from(y) * u64::from(z);
    writeln!(console.out, "  bytes of arrays that a block may touch")?;
    for index in 0..blocks.min(MOST_BLOCKS) {
        let (x, y) = (u64::from(x), u64::from(y));
        let ctaid = [index % x, index / x % y, index / x / y].map(|part| part as u32);
        let found = ranges(analysis, &launch, ctaid);
        writeln!(console.out, "    block {},{},{}", ctaid[0], ctaid[1], ctaid[2])?;
        if found.anywhere {
            writeln!(console.out, "      anything: not every access has an array that can be told")?;
        }
        for (index, Touched { read, written }) in &found.arrays {
            let name = kernel.params().get(*index as usize).map_or("", |param| &param.name);
            let text = |range: &Option<std::ops::Range<u64>>| match range {
                None => "nothing".to_owned(),
                Some(range) if *range == (0..u64::MAX) => "all".to_owned(),
                Some(range) => {
                    let from = |address: u64| i128::from(address) - i128::from(place(*index));
                    format!("{}..{}", from(range.start), from(range.end))
                }
            };
            writeln!(console.out, "      {name}: reads {}, writes {}", text(read), text(written))?;
        }
    }
    if blocks > MOST_BLOCKS {
        writeln!(console.out, "    and {} more blocks", blocks - MOST_BLOCKS)?;
    }
    Ok(())
}

/// More blocks are not printed.
const MOST_BLOCKS: u64 = 64;
