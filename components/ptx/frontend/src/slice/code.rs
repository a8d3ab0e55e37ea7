//! The text of twins: names, parameters, the index of the block, and reads of it.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::reads::{Number, Reads, Special, Value, callee, instructions, text, tokens};
use super::{Carry, Dimensions, Options, parameters, sliced};
use crate::syntax::ast::{Function, Instruction, Module, OperandKind, Span, StatementKind};
use crate::syntax::error::PtxError;
use crate::syntax::lexer::{Token, TokenKind};
use crate::syntax::rewrite::{Edit, print_part};

const AXES: [&str; 3] = ["x", "y", "z"];

/// The style in which twins are written.
pub(super) struct Style<'a> {
    pub(super) reads: &'a Reads<'a>,
    pub(super) options: &'a Options,
    /// The prefix of names of registers and labels.
    pub(super) stem: &'a str,
}

impl Style<'_> {
    fn register(&self, value: Value) -> String {
        let stem = self.stem;
        match value {
            Value::Number(Number::Index(axis)) => format!("%{stem}{}", AXES[axis as usize]),
            Value::Number(Number::Extent(axis)) => format!("%{stem}grid_{}", AXES[axis as usize]),
            Value::Constant(constant) => format!("%{stem}is_{constant}"),
        }
    }
}

/// The text behind a function: its twin, in a kernel with the code that finds the index.
pub(super) fn twin(module: &Module, function: &Function, style: &Style<'_>) -> Result<String, PtxError> {
    let twin = Twin { module, function, style };
    let mut edits = vec![twin.parameters()];
    let name = twin.name();
    edits.push(Edit { span: span_of(name), text: sliced(&function.name) });
    let body = function.body.as_deref().unwrap_or_default();
    let first = body.iter().find(|statement| !matches!(statement.kind, StatementKind::Variable(_)));
    let index = if function.entry { twin.index() } else { String::new() };
    if let (Some(first), false) = (first, index.is_empty()) {
        edits.push(Edit { span: before(first.span), text: index });
    }
    for (span, instruction) in instructions(function) {
        edits.extend(twin.rewritten(span, instruction)?);
    }
    let text = print_part(module, function.span, &edits)?;
    let what = if function.entry {
        format!("// Added: {}, run by slices of grids {}.", function.name, grids(style.options.dimensions))
    } else {
        format!("// Added: {}, called by slices.", function.name)
    };
    Ok(format!("\n\n{what}\n{text}"))
}

fn grids(dimensions: Dimensions) -> &'static str {
    match dimensions {
        Dimensions::One => "of one dimension",
        Dimensions::Two => "of two dimensions",
        Dimensions::Three => "of any dimensions",
    }
}

/// Whether an instruction moves all elements of a special register to four registers.
pub(super) fn takes_whole(instruction: &Instruction) -> bool {
    let [to, from] = instruction.operands.as_slice() else { return false };
    let four = match &to.kind {
        OperandKind::Vector(parts) => {
            parts.len() == 4
                && parts.iter().all(|part| matches!(part, OperandKind::Name(_) | OperandKind::Discard))
        }
        kind => matches!(kind, OperandKind::Name(_)),
    };
    four && instruction.opcode.starts_with("mov.v4.") && matches!(from.kind, OperandKind::Name(_))
}

struct Twin<'a> {
    module: &'a Module,
    function: &'a Function,
    style: &'a Style<'a>,
}

impl Twin<'_> {
    /// The function's name where it is declared: behind `.entry`, or behind `.func` and its results.
    fn name(&self) -> Token {
        let mut tokens = tokens(self.module, self.function.span).iter().copied();
        tokens.by_ref().find(|token| matches!(text(self.module, *token), ".entry" | ".func"));
        let mut in_results = false;
        let name = tokens.find(|token| {
            in_results = match token.kind {
                TokenKind::Mark(b'(') => true,
                TokenKind::Mark(b')') => false,
                _ => in_results,
            };
            token.kind == TokenKind::Word && !in_results
        });
        // The parser has found it there.
        name.expect("a function has a name")
    }

    fn parameters(&self) -> Edit {
        let added: Vec<String> = if self.function.entry {
            parameters(&self.function.name).iter().map(|name| format!("\t.param .u32 {name}")).collect()
        } else {
            let needed = self.style.reads.of(&self.function.name).into_iter();
            needed
                .map(|number| format!("\t.reg .b32 {}", self.style.register(Value::Number(number))))
                .collect()
        };
        let added = added.join(",\n");
        if let Some(last) = self.function.params.last() {
            return Edit { span: behind(last.span), text: format!(",\n{added}") };
        }
        let name = self.name();
        let mut after =
            tokens(self.module, self.function.span).iter().filter(|token| token.start >= name.end);
        match (after.next(), after.next()) {
            (Some(open), Some(close)) if open.kind == TokenKind::Mark(b'(') => {
                Edit { span: before(span_of(*close)), text: format!("\n{added}\n") }
            }
            _ => Edit { span: behind(span_of(name)), text: format!("(\n{added}\n)") },
        }
    }

    /// The code that finds the block's index, as far as the kernel needs it; see the module's documentation.
    fn index(&self) -> String {
        let indices =
            self.style.reads.of(&self.function.name).into_iter().filter_map(|number| match number {
                Number::Index(axis) => Some(usize::from(axis)),
                Number::Extent(_) => None,
            });
        let Some(last) = indices.max() else { return String::new() };
        let (stem, names) = (self.style.stem, parameters(&self.function.name));
        let register = |axis: usize| format!("%{stem}{}", AXES[axis]);
        let registers: Vec<String> = (0..=last).map(register).collect();
        // The last dimension of the grids has no end that an index could pass.
        let rows = usize::from(self.style.options.dimensions.count()) - 1;
        let mut code = String::from("// Added: the index of the block in the grid.\n");
        let mut line = |text: std::fmt::Arguments<'_>| {
            let _ = writeln!(code, "\t{text}");
        };
        line(format_args!(".reg .b32 {}, %{stem}n;", registers.join(", ")));
        match self.style.options.carry {
            _ if rows == 0 => {}
            Carry::Subtract => line(format_args!(".reg .pred %{stem}p;")),
            Carry::Divide => line(format_args!(".reg .b32 %{stem}q;")),
        }
        line(format_args!("ld.param.u32 %{stem}n, [{}];", names[0]));
        line(format_args!("mov.u32 {}, %ctaid.x;", registers[0]));
        line(format_args!("add.u32 {0}, {0}, %{stem}n;", registers[0]));
        for axis in 0..rows.min(last + 1) {
            let (own, name) = (&registers[axis], AXES[axis]);
            let next = registers.get(axis + 1);
            line(format_args!("ld.param.u32 %{stem}n, [{}];", names[3 + axis]));
            if let Some(next) = next {
                line(format_args!("ld.param.u32 {next}, [{}];", names[1 + axis]));
            }
            match (self.style.options.carry, next) {
                (Carry::Divide, None) => line(format_args!("rem.u32 {own}, {own}, %{stem}n;")),
                (Carry::Divide, Some(next)) => {
                    line(format_args!("div.u32 %{stem}q, {own}, %{stem}n;"));
                    line(format_args!("add.u32 {next}, {next}, %{stem}q;"));
                    line(format_args!("mul.lo.u32 %{stem}q, %{stem}q, %{stem}n;"));
                    line(format_args!("sub.u32 {own}, {own}, %{stem}q;"));
                }
                (Carry::Subtract, next) => {
                    line(format_args!("setp.lt.u32 %{stem}p, {own}, %{stem}n;"));
                    line(format_args!("@%{stem}p bra ${stem}in_{name};"));
                    line(format_args!("${stem}beyond_{name}:"));
                    line(format_args!("sub.u32 {own}, {own}, %{stem}n;"));
                    if let Some(next) = next {
                        line(format_args!("add.u32 {next}, {next}, 1;"));
                    }
                    line(format_args!("setp.ge.u32 %{stem}p, {own}, %{stem}n;"));
                    line(format_args!("@%{stem}p bra ${stem}beyond_{name};"));
                    line(format_args!("${stem}in_{name}:"));
                }
            }
        }
        // Labels are at the margin.
        format!("{}\n\t", code.trim_end().replace("\t$", "$"))
    }

    /// The replacement of an instruction, if it reads the grid or calls a function that does.
    fn rewritten(&self, span: Span, instruction: &Instruction) -> Result<Option<Edit>, PtxError> {
        let specials: Vec<(Token, Special)> = self.style.reads.specials(span).collect();
        let needed = callee(instruction).map(|name| self.style.reads.of(name)).unwrap_or_default();
        if specials.is_empty() && needed.is_empty() {
            return Ok(None);
        }
        if let [(_, Special::All(values))] = specials.as_slice() {
            return Ok(Some(Edit { span, text: self.whole(instruction, values) }));
        }
        let mut edits = Vec::new();
        // Values that are in no register yet.
        let mut loaded = BTreeSet::new();
        let mut hold = |value: Value| {
            if matches!(value, Value::Constant(_)) || self.is_parameter(value).is_some() {
                loaded.insert(value);
            }
            self.style.register(value)
        };
        let moved = bits_moved(instruction);
        for (token, special) in specials {
            let Special::One(value) = special else { continue };
            let mut opcode = None;
            let text = match (moved, value, self.is_parameter(value)) {
                (Some(_), Value::Constant(constant), _) => constant.to_string(),
                (Some(bits @ (16 | 32)), _, Some(parameter)) => {
                    opcode = Some(format!("ld.param.b{bits}"));
                    format!("[{parameter}]")
                }
                (Some(bits @ (16 | 64)), ..) => {
                    opcode = Some(format!("cvt.u{bits}.u32"));
                    hold(value)
                }
                _ => hold(value),
            };
            edits.push(Edit { span: span_of(token), text });
            let find =
                |text: String| Some(Edit { span: span_of(self.find(span, &instruction.opcode)?), text });
            edits.extend(opcode.and_then(find));
        }
        if let (Some(name), false) = (callee(instruction), needed.is_empty()) {
            let arguments: Vec<String> = needed.iter().map(|number| hold(Value::Number(*number))).collect();
            edits.extend(self.call(instruction, span, name, &arguments.join(", ")));
        }
        let text = print_part(self.module, span, &edits)?;
        let text = match loaded.is_empty() {
            true => text,
            false => format!("{{ {} {text} }}", self.load(&loaded)),
        };
        Ok(Some(Edit { span, text }))
    }

    /// The parameter that a value is read from: kernels have the size of the grid in no register.
    fn is_parameter(&self, value: Value) -> Option<String> {
        match value {
            Value::Number(Number::Extent(axis)) if self.function.entry => {
                Some(parameters(&self.function.name)[3 + usize::from(axis)].clone())
            }
            _ => None,
        }
    }

    /// Puts values into registers of a scope.
    fn load(&self, values: &BTreeSet<Value>) -> String {
        let register = |value: &Value| self.style.register(*value);
        let registers: Vec<String> = values.iter().map(register).collect();
        let mut text = format!(".reg .b32 {};", registers.join(", "));
        for (value, register) in values.iter().zip(&registers) {
            let _ = match (self.is_parameter(*value), value) {
                (Some(parameter), _) => write!(text, " ld.param.u32 {register}, [{parameter}];"),
                (None, Value::Constant(constant)) => write!(text, " mov.u32 {register}, {constant};"),
                (None, Value::Number(_)) => Ok(()),
            };
        }
        text
    }

    /// A read of all elements, one by one.
    fn whole(&self, instruction: &Instruction, values: &[Value; 4]) -> String {
        let guard = match &instruction.guard {
            Some(guard) => format!("@{}{} ", if guard.negated { "!" } else { "" }, guard.name),
            None => String::new(),
        };
        let parts: Vec<Option<String>> = match instruction.operands.first().map(|to| &to.kind) {
            Some(OperandKind::Vector(parts)) => {
                let name = |part: &OperandKind| match part {
                    OperandKind::Name(name) => Some(name.clone()),
                    _ => None,
                };
                parts.iter().map(name).collect()
            }
            // A vector in one register has its elements by name.
            Some(OperandKind::Name(name)) => {
                ["x", "y", "z", "w"].map(|axis| Some(format!("{name}.{axis}"))).into()
            }
            _ => Vec::new(),
        };
        let narrow = instruction.opcode.ends_with("16");
        let bits = if narrow { 16 } else { 32 };
        let moves = parts.iter().zip(values).filter_map(|(part, value)| {
            let to = part.as_ref()?;
            Some(match (value, self.is_parameter(*value)) {
                (Value::Constant(constant), _) => format!("{guard}mov.b{bits} {to}, {constant};"),
                (_, Some(parameter)) => format!("{guard}ld.param.b{bits} {to}, [{parameter}];"),
                _ if narrow => format!("{guard}cvt.u16.u32 {to}, {};", self.style.register(*value)),
                _ => format!("{guard}mov.b32 {to}, {};", self.style.register(*value)),
            })
        });
        moves.collect::<Vec<_>>().join(" ")
    }

    /// The edits that make a call one of the function's twin, with more arguments.
    fn call(&self, instruction: &Instruction, span: Span, name: &str, added: &str) -> Vec<Edit> {
        let Some(target) = self.find(span, name) else { return Vec::new() };
        let renamed = Edit { span: span_of(target), text: sliced(name) };
        // A list before the name holds results.
        let arguments = instruction.operands.iter().find_map(|operand| match &operand.kind {
            OperandKind::List(list) if operand.span.start > target.start => Some((operand.span, list)),
            _ => None,
        });
        let (at, text) = match arguments {
            // The closing parenthesis is the list's last byte.
            Some((list, arguments)) => {
                let comma = if arguments.is_empty() { "" } else { ", " };
                (Span { start: list.end - 1, end: list.end - 1, ..list }, format!("{comma}{added}"))
            }
            None => (behind(span_of(target)), format!(", ({added})")),
        };
        vec![renamed, Edit { span: at, text }]
    }

    /// The first token of an instruction that has this text.
    fn find(&self, span: Span, wanted: &str) -> Option<Token> {
        tokens(self.module, span).iter().find(|token| text(self.module, **token) == wanted).copied()
    }
}

/// The bits that a move from one name to another moves.
fn bits_moved(instruction: &Instruction) -> Option<u32> {
    let [to, from] = instruction.operands.as_slice() else { return None };
    let names = [to, from].iter().all(|operand| matches!(operand.kind, OperandKind::Name(_)));
    let element = instruction.opcode.strip_prefix("mov.")?;
    element.get(1..)?.parse().ok().filter(|_| names)
}

fn span_of(token: Token) -> Span {
    Span { start: token.start, end: token.end, place: token.place }
}

fn before(span: Span) -> Span {
    Span { end: span.start, ..span }
}

fn behind(span: Span) -> Span {
    Span { start: span.end, ..span }
}
