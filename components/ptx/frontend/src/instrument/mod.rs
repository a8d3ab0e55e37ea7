//! Profilers: kernels that report the bytes of each array that a block may touch, before a kernel runs and when one of
//! its blocks has ended.
//!
//! Profiling is a source-to-source pass, a layer above the analyses; no other layer imports it. For a regular kernel
//! `K` the module gets an entry `K__pre`, launched with the grid of `K` and blocks of one thread, that calls
//! `__claim_range` once for each array; and `K` itself ends with a barrier, behind which the first thread of
//! the block calls `__release_range` with the same arguments, computed by the same instructions. Ranges are
//! those of [`ranges`](crate::analysis::ranges::ranges): accesses to an array are one range from the lowest
//! address to the highest, taken at the corners of the block and at the first and last rounds of loops, for
//! both outcomes of every condition. Ranges do not end where an array does: the functions clip them, and
//! therefore take the start of the array. A kernel whose addresses depend on data is irregular and stays as
//! it is; so does one whose threads may end before others have passed a barrier.

mod bounds;
mod code;
mod ends;
mod graph;
mod plan;
mod values;
mod words;

use std::fmt;

use crate::analysis::access::{Class, KernelAccesses};
use crate::isa::RangeAction;
use crate::syntax::ast::{Function, Instruction, Module, Span, Statement, StatementKind};
use crate::syntax::error::PtxError;
use crate::syntax::rewrite::{Edit, print_with};
use crate::syntax::types::check_room;
use code::{Site, scope};
use plan::Plan;

/// Treatment of semi-regular kernels, whose addresses are independent of data but no polynomials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Semi {
    /// Semi-regular kernels are treated as irregular ones.
    #[default]
    Irregular,
    /// The profilers enumerate all values of the variables that need it.
    Enumerate,
}

/// Options of profiling.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Treatment of semi-regular kernels.
    pub semi: Semi,
    /// Only this kernel; the others stay as they are.
    pub kernel: Option<String>,
}

/// A module with profilers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Instrumented {
    /// The text of the module.
    pub text: String,
    /// Kernels of the module, in the order of its original text.
    pub kernels: Vec<InstrumentedKernel>,
}

/// A kernel of a module with profilers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InstrumentedKernel {
    /// Name of the kernel.
    pub name: String,
    /// The name of its pre-profiler, if it has one.
    pub pre: Option<String>,
    /// Class of the kernel.
    pub class: Class,
    /// The reason for which the kernel has no pre-profiler.
    pub irregular: Option<Irregularity>,
    /// The arrays that its profilers report, in the order of their calls.
    pub arrays: Vec<InstrumentedArray>,
}

/// The reason why a kernel has no profilers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Irregularity {
    /// Line of the instruction.
    pub line: u32,
    /// The instruction.
    pub instruction: String,
    /// The reason.
    pub reason: String,
}

/// An array that a kernel's profilers report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstrumentedArray {
    /// The parameter or variable.
    pub name: String,
    /// Whether the kernel may read it.
    pub reads: bool,
    /// Whether the kernel may write it.
    pub writes: bool,
    /// The range in words: a formula of bytes from the array's start.
    pub range: String,
}

/// The suffix of a pre-profiler's name.
const PRE: &str = "__pre";

/// The name of a kernel's pre-profiler.
pub fn pre_profiler(kernel: &str) -> String {
    format!("{kernel}{PRE}")
}

/// Whether a kernel of this name is a pre-profiler.
pub fn is_pre_profiler(kernel: &str) -> bool {
    kernel.ends_with(PRE)
}

/// The names of a pre-profiler's parameters, behind those of the kernel, that hold the dimensions of the kernel's
/// blocks.
pub fn dimension_parameters(kernel: &str) -> [String; 3] {
    ["x", "y", "z"].map(|axis| format!("{}_ntid_{axis}", pre_profiler(kernel)))
}

/// Adds profilers to the kernels of a module.
///
/// # Errors
/// When the module has functions or parameters of the names that are added, or a kernel has no room for more
/// parameters.
pub fn instrument(module: &Module, options: &Options) -> Result<Instrumented, PtxError> {
    for function in &module.functions {
        if RangeAction::of_function(&function.name).is_some() {
            let message = format!("`{}` is declared already: the module has profilers", function.name);
            return Err(PtxError::new(function.span.place, message).expecting("a module without profilers"));
        }
    }
    let (mut edits, mut kernels) = (Vec::new(), Vec::new());
    for kernel in module.functions.iter().filter(|function| function.entry && function.body.is_some()) {
        let accesses = KernelAccesses::new(module, kernel);
        let mut instrumented = InstrumentedKernel {
            name: kernel.name.clone(),
            pre: None,
            class: accesses.class,
            irregular: None,
            arrays: Vec::new(),
        };
        let wanted = options.kernel.as_ref().is_none_or(|name| *name == kernel.name);
        match Plan::new(module, kernel, &accesses, options) {
            Ok(_) if !wanted => {}
            Ok(plan) => {
                add(module, kernel, &plan, &mut edits)?;
                instrumented.pre = Some(pre_profiler(&kernel.name));
                instrumented.arrays = plan.arrays.into_iter().map(InstrumentedArray::from).collect();
            }
            Err(irregularity) => instrumented.irregular = Some(irregularity),
        }
        kernels.push(instrumented);
    }
    if !edits.is_empty() {
        let first = module.functions.iter().map(|function| function.span);
        let first = first.chain(module.variables.iter().map(|variable| variable.span));
        let first = first.min_by_key(|span| span.start).unwrap_or_default();
        let declarations = RangeAction::ALL.map(|action| {
            let name = action.function();
            format!(".extern .func {name}(.param .b64 {name}_array, .param .b64 {name}_low, .param .b64 {name}_high, .param .b32 {name}_access);\n")
        });
        edits.push(Edit { span: at(first.start, first), text: declarations.concat() + "\n" });
    }
    Ok(Instrumented { text: print_with(module, &edits)?, kernels })
}

impl fmt::Display for InstrumentedArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", words::does(self.reads, self.writes), self.name, self.range)
    }
}

impl From<plan::ArrayPlan> for InstrumentedArray {
    fn from(array: plan::ArrayPlan) -> Self {
        InstrumentedArray { name: array.name, reads: array.reads, writes: array.writes, range: array.range }
    }
}

/// The empty span between two bytes.
fn at(byte: u32, near: Span) -> Span {
    Span { start: byte, end: byte, ..near }
}

/// The edits that add a kernel's profilers.
fn add(module: &Module, kernel: &Function, plan: &Plan, edits: &mut Vec<Edit>) -> Result<(), PtxError> {
    let name = pre_profiler(&kernel.name);
    let dimensions = dimension_parameters(&kernel.name);
    check(module, kernel, &name, &dimensions)?;
    let params: Vec<String> = kernel.params.iter().map(|param| param.name.clone()).collect();
    let mut declared: Vec<String> =
        kernel.params.iter().map(|param| source(module, param.span).to_owned()).collect();
    declared.extend(dimensions.iter().map(|name| format!(".param .u32 {name}")));
    let site = Site { action: RangeAction::Set, params: &params, dimensions: Some(dimensions) };
    let body = scope(plan, &site);
    let body = body.trim_end().trim_end_matches('}');
    let declared = declared.join(",\n\t");
    let text = format!("\n\n.visible .entry {name}(\n\t{declared}\n)\n{body}\tret;\n}}\n");
    edits.push(Edit { span: at(kernel.span.end, kernel.span), text });
    // A kernel that touches nothing others see releases nothing.
    if plan.arrays.is_empty() {
        return Ok(());
    }
    let mut label = "$claim_end".to_owned();
    while module.source.contains(&label) {
        label.push('_');
    }
    let mut ends = Vec::new();
    let last = find_ends(kernel.body.as_deref().unwrap_or(&[]), &mut ends);
    let mut branches = false;
    for (statement, instruction) in ends {
        let text = match &instruction.guard {
            // Behind the last instruction is the end.
            _ if last == Some(statement.span) => String::new(),
            None => format!("bra {label};"),
            Some(guard) => {
                format!("@{}{} bra {label};", if guard.negated { "!" } else { "" }, guard.name)
            }
        };
        branches |= !text.is_empty();
        edits.push(Edit { span: statement.span, text });
    }
    let site = Site { action: RangeAction::Release, params: &params, dimensions: None };
    let head = if branches { format!("{label}:\n") } else { String::new() };
    let text = format!("{head}{}", code::of_one_thread(&scope(plan, &site)));
    edits.push(Edit { span: at(kernel.span.end - 1, kernel.span), text });
    Ok(())
}

/// Refuses names that are taken and parameters that have no room.
fn check(module: &Module, kernel: &Function, name: &str, dimensions: &[String; 3]) -> Result<(), PtxError> {
    let items = module.functions.iter().map(|function| (&function.name, function.span));
    let items = items.chain(module.variables.iter().map(|variable| (&variable.name, variable.span)));
    let params = kernel.params.iter().map(|param| (&param.name, param.span));
    let taken = |taken: &str| taken == name || dimensions.iter().any(|name| name == taken);
    if let Some((name, span)) = items.chain(params).find(|(found, _)| taken(found)) {
        let message = format!("`{name}` is a name that the profilers of `{}` need", kernel.name);
        return Err(PtxError::new(span.place, message));
    }
    check_room(kernel, 3, "profiler")
}

fn source(module: &Module, span: Span) -> &str {
    module.source.get(span.start as usize..span.end as usize).unwrap_or_default()
}

/// The instructions that end threads; gives the place of the last instruction of all.
fn find_ends<'a>(
    statements: &'a [Statement],
    ends: &mut Vec<(&'a Statement, &'a Instruction)>,
) -> Option<Span> {
    let mut last = None;
    for statement in statements {
        match &statement.kind {
            StatementKind::Block(inner) => last = find_ends(inner, ends).or(last),
            StatementKind::Instruction(instruction) => {
                if matches!(instruction.opcode.split('.').next(), Some("ret" | "exit")) {
                    ends.push((statement, instruction));
                }
                last = Some(statement.span);
            }
            _ => {}
        }
    }
    last
}

impl Irregularity {
    /// The problem with an instruction, by its number.
    fn new(module: &Module, kernel: &Function, pc: u32, reason: String) -> Self {
        let mut instructions = Vec::new();
        flatten(kernel.body.as_deref().unwrap_or(&[]), &mut instructions);
        let span: Span = instructions.get(pc as usize).copied().unwrap_or_default();
        let words: Vec<&str> = source(module, span).split_whitespace().collect();
        Irregularity { line: span.place.line, instruction: words.join(" "), reason }
    }
}

/// The places of all instructions, in order.
fn flatten(statements: &[Statement], into: &mut Vec<Span>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Block(inner) => flatten(inner, into),
            StatementKind::Instruction(_) => into.push(statement.span),
            _ => {}
        }
    }
}
