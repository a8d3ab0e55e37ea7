//! The functions of a module that read their block's index or the size of the grid, and the reasons for which a kernel
//! is not sliced.

use std::collections::{BTreeMap, BTreeSet};

use super::{Dimensions, Refusal};
use crate::syntax::ast::{
    Function, Instruction, Module, OperandKind, Span, Statement, StatementKind, StorageSpace, Variable,
};
use crate::syntax::lexer::{Token, TokenKind};

/// A number whose value in a slice differs from that in the whole grid, with its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Number {
    /// `%ctaid`
    Index(u8),
    /// `%nctaid`
    Extent(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Number(Number),
    /// A constant, equal in all grids.
    Constant(u8),
}

impl Value {
    /// An axis that the grids do not have is 1 wide.
    fn of(number: Number, dimensions: Dimensions) -> Self {
        match number {
            Number::Index(axis) if axis >= dimensions.count() => Value::Constant(0),
            Number::Extent(axis) if axis >= dimensions.count() => Value::Constant(1),
            number => Value::Number(number),
        }
    }
}

/// The names of special registers: `%ctaid.x`, or all elements at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    One(Value),
    /// x, y, z, and the fourth element, which is always zero.
    All([Value; 4]),
}

/// The index and grid reads of a module's functions.
pub(super) struct Reads<'a> {
    pub(super) module: &'a Module,
    dimensions: Dimensions,
    /// For each function, the numbers that it and those that it calls directly read.
    numbers: BTreeMap<&'a str, BTreeSet<Number>>,
    /// Functions with an address: indirect calls may go to them.
    with_address: BTreeSet<&'a str>,
}

impl<'a> Reads<'a> {
    pub(super) fn new(module: &'a Module, dimensions: Dimensions) -> Self {
        let mut reads = Reads { module, dimensions, numbers: BTreeMap::new(), with_address: BTreeSet::new() };
        let mut calls = Vec::new();
        for function in &module.functions {
            let mut own = BTreeSet::new();
            for (span, instruction) in instructions(function) {
                own.extend(reads.specials(span).flat_map(|(_, special)| numbers(special)));
                calls.extend(callee(instruction).map(|callee| (function.name.as_str(), callee)));
            }
            reads.numbers.entry(&function.name).or_default().append(&mut own);
        }
        // Until nobody reads more: calls may go in circles.
        loop {
            let before: usize = reads.numbers.values().map(BTreeSet::len).sum();
            for (caller, callee) in &calls {
                let read = reads.numbers.get(callee).cloned().unwrap_or_default();
                reads.numbers.entry(caller).or_default().extend(read);
            }
            if reads.numbers.values().map(BTreeSet::len).sum::<usize>() == before {
                break;
            }
        }
        reads.with_address = functions_with_address(module);
        reads
    }

    /// The numbers that a function needs, in the order in which they are passed.
    pub(super) fn of(&self, function: &str) -> BTreeSet<Number> {
        self.numbers.get(function).cloned().unwrap_or_default()
    }

    /// The special registers of the grid that an instruction names.
    pub(super) fn specials(&self, span: Span) -> impl Iterator<Item = (Token, Special)> + '_ {
        let words = tokens(self.module, span).iter().filter(|token| token.kind == TokenKind::Word);
        words.filter_map(|token| Some((*token, self.special(text(self.module, *token))?)))
    }

    fn special(&self, name: &str) -> Option<Special> {
        let (head, axis) = name.split_once('.').map_or((name, None), |(head, axis)| (head, Some(axis)));
        let number: fn(u8) -> Number = match head {
            "%ctaid" => Number::Index,
            "%nctaid" => Number::Extent,
            _ => return None,
        };
        let value = |axis| Value::of(number(axis), self.dimensions);
        match axis {
            None => Some(Special::All([value(0), value(1), value(2), Value::Constant(0)])),
            Some("w") => Some(Special::One(Value::Constant(0))),
            Some(axis) => {
                let axis = ["x", "y", "z"].iter().position(|known| *known == axis)?;
                Some(Special::One(value(axis as u8)))
            }
        }
    }

    /// The functions with bodies that a kernel calls directly, and those that these call.
    pub(super) fn reachable(&self, kernel: &'a Function) -> Vec<&'a Function> {
        let defined =
            self.module.functions.iter().filter(|function| !function.entry && function.body.is_some());
        let defined: BTreeMap<&str, &Function> =
            defined.map(|function| (function.name.as_str(), function)).collect();
        let mut found: Vec<&Function> = Vec::new();
        let mut open = vec![kernel];
        while let Some(function) = open.pop() {
            for callee in instructions(function).into_iter().filter_map(|(_, call)| callee(call)) {
                let Some(callee) = defined.get(callee) else { continue };
                if found.iter().all(|known| known.name != callee.name) {
                    found.push(callee);
                    open.push(callee);
                }
            }
        }
        found
    }

    /// The reason why a kernel is not sliced.
    pub(super) fn refusal(&self, kernel: &'a Function) -> Option<Refusal> {
        let functions = self.reachable(kernel);
        [kernel].into_iter().chain(functions).find_map(|function| {
            let variable = variables(function).find_map(|(span, variable)| {
                let twice = variable.space == StorageSpace::Global && !variable.external;
                let reason = format!(
                    "`{}` is a variable of one kernel, and its slice would have another",
                    variable.name
                );
                twice.then(|| self.refuse(span, reason))
            });
            let found = || {
                instructions(function).into_iter().find_map(|(span, instruction)| {
                    self.reason(span, instruction).map(|reason| self.refuse(span, reason))
                })
            };
            variable.or_else(found)
        })
    }

    fn refuse(&self, span: Span, reason: String) -> Refusal {
        let source = self.module.source.get(span.start as usize..span.end as usize).unwrap_or_default();
        let words: Vec<&str> = source.split_whitespace().collect();
        Refusal { line: span.place.line, instruction: words.join(" "), reason }
    }

    /// The reason why no slice can have an instruction.
    fn reason(&self, span: Span, instruction: &Instruction) -> Option<String> {
        let opcode = instruction.opcode.as_str();
        let mut words = opcode.split('.');
        let head = words.next().unwrap_or_default();
        if matches!(head, "mapa" | "getctarank" | "clusterlaunchcontrol") || opcode.contains("cluster") {
            return Some(format!("`{opcode}` belongs to clusters, and slices cut them apart"));
        }
        if head == "griddepcontrol" {
            return Some(format!("`{opcode}` waits for a whole grid, and a slice is none"));
        }
        for token in tokens(self.module, span).iter().filter(|token| token.kind == TokenKind::Word) {
            let name = text(self.module, *token);
            if name == "%gridid" {
                return Some(format!("`{name}` counts launches, and every slice is one"));
            }
            if ["%cluster", "%ncluster", "%is_explicit_cluster"].iter().any(|own| name.starts_with(own)) {
                return Some(format!("`{name}` belongs to clusters, and slices cut them apart"));
            }
            if name.starts_with("%envreg") {
                return Some(format!("`{name}` holds the barrier of a whole grid, and a slice is none"));
            }
            if head == "call" && name.starts_with("cudaCG") {
                return Some(format!("`{name}` is for barriers of a whole grid, and a slice is none"));
            }
        }
        let whole = |(token, special): (Token, Special)| {
            let taken = matches!(special, Special::All(_)) && !super::code::takes_whole(instruction);
            taken.then(|| text(self.module, token).to_owned())
        };
        if let Some(name) = self.specials(span).find_map(whole) {
            return Some(format!("`{name}` as a whole can only be moved to four registers (`mov.v4`)"));
        }
        if head == "call" && !self.is_direct(instruction) {
            let mut others = self.with_address.iter().filter(|name| !self.of(name).is_empty());
            return others.next().map(|name| {
                format!(
                    "the call may go to `{name}`, which reads `%ctaid` or `%nctaid` and must be told them"
                )
            });
        }
        None
    }

    fn is_direct(&self, call: &Instruction) -> bool {
        callee(call).is_some_and(|name| self.module.functions.iter().any(|function| function.name == name))
    }
}

pub(super) fn numbers(special: Special) -> impl Iterator<Item = Number> {
    let values = match special {
        Special::One(value) => vec![value],
        Special::All(values) => values.to_vec(),
    };
    values.into_iter().filter_map(|value| match value {
        Value::Number(number) => Some(number),
        Value::Constant(_) => None,
    })
}

/// The name behind `call`: a function, or a register for an indirect call.
pub(super) fn callee(instruction: &Instruction) -> Option<&str> {
    let calls = instruction.opcode.split('.').next() == Some("call");
    let mut names = instruction.operands.iter().filter_map(|operand| match &operand.kind {
        OperandKind::Name(name) => Some(name.as_str()),
        _ => None,
    });
    names.next().filter(|_| calls)
}

pub(super) fn tokens(module: &Module, span: Span) -> &[Token] {
    let at = |byte: u32| module.tokens.partition_point(|token| token.start < byte);
    module.tokens.get(at(span.start)..at(span.end)).unwrap_or_default()
}

pub(super) fn text(module: &Module, token: Token) -> &str {
    module.source.get(token.start as usize..token.end as usize).unwrap_or_default()
}

/// The instructions of a function, those of inner scopes too.
pub(super) fn instructions(function: &Function) -> Vec<(Span, &Instruction)> {
    let found = statements(function).into_iter().filter_map(|statement| match &statement.kind {
        StatementKind::Instruction(instruction) => Some((statement.span, instruction)),
        _ => None,
    });
    found.collect()
}

fn variables(function: &Function) -> impl Iterator<Item = (Span, &Variable)> {
    statements(function).into_iter().filter_map(|statement| match &statement.kind {
        StatementKind::Variable(variable) => Some((statement.span, variable)),
        _ => None,
    })
}

/// The statements of a function in order, those of inner scopes in the place of these.
fn statements(function: &Function) -> Vec<&Statement> {
    fn collect<'a>(statements: &'a [Statement], into: &mut Vec<&'a Statement>) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Block(inner) => collect(inner, into),
                _ => into.push(statement),
            }
        }
    }
    let mut found = Vec::new();
    collect(function.body.as_deref().unwrap_or_default(), &mut found);
    found
}

/// Functions whose names occur outside of calls: in variables and in moves.
fn functions_with_address(module: &Module) -> BTreeSet<&str> {
    let all: Vec<(Span, &Instruction)> = module.functions.iter().flat_map(instructions).collect();
    let called = all.iter().filter(|(_, instruction)| callee(instruction).is_none());
    let named = called.flat_map(|(_, instruction)| &instruction.operands);
    let named = named.chain(module.variables.iter().flat_map(|variable| &variable.initial));
    let names: BTreeSet<&str> = named
        .filter_map(|operand| match &operand.kind {
            OperandKind::Name(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let functions = module.functions.iter().filter(|function| !function.entry);
    functions.map(|function| function.name.as_str()).filter(|name| names.contains(name)).collect()
}
