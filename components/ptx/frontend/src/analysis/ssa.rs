//! A function in static single assignment form: every value is written once.
//!
//! Phis are placed at dominance frontiers (Cytron et al., 1991). The form is made from the module as written; opcodes have
//! their canonical spelling, and names are resolved by scope, as in the decoder. The result of a guarded instruction
//! depends on the previous value, which the step keeps.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::cfg::{ControlFlow, Flow};
use super::dominance::Dominators;
use crate::isa::spelling::canonical;
use crate::syntax::ast::{
    Function, Guard, Instruction, Operand, OperandKind, Statement, StatementKind, StorageSpace,
};
use crate::syntax::types::element_size;

/// A value; `UNDEFINED` is one that was never written.
pub type ValueId = u32;

/// The value of a register that nothing has written.
pub const UNDEFINED: ValueId = 0;

/// A source operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register's value.
    Value(ValueId),
    /// The contrary of a predicate.
    Not(ValueId),
    /// An integer, as written.
    Integer(i64),
    /// A special register, a parameter or a variable, and bytes added to its address.
    Name(String, i64),
    /// An operand in brackets: address and offset.
    Address(Box<Source>, i64),
    /// A float, which is never part of an address.
    Float,
    /// Several: a vector's parts or a call's arguments.
    Parts(Vec<Source>),
}

impl Source {
    /// The values of which the source consists.
    pub fn values(&self) -> Vec<ValueId> {
        match self {
            Source::Value(value) | Source::Not(value) => vec![*value],
            Source::Address(base, _) => base.values(),
            Source::Parts(parts) => parts.iter().flat_map(Source::values).collect(),
            Source::Integer(_) | Source::Name(..) | Source::Float => Vec::new(),
        }
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct SsaInstruction {
    /// Its opcode with modifiers, in the canonical spelling.
    pub opcode: String,
    /// Line in the text.
    pub line: u32,
    /// The predicate it is guarded by, and whether that is negated.
    pub guard: Option<(ValueId, bool)>,
    /// Operands of the instruction, without the destinations.
    pub sources: Vec<Source>,
    /// Values written.
    pub results: Vec<ValueId>,
    /// Previous values of the destinations; only a guarded instruction may leave them there.
    pub previous: Vec<ValueId>,
}

/// A value that depends on the preceding block.
#[derive(Clone, Debug)]
pub struct Phi {
    /// The value.
    pub result: ValueId,
    /// Predecessor and the value from it.
    pub arguments: Vec<(u32, ValueId)>,
}

/// A function whose values are written once.
#[derive(Clone, Debug)]
pub struct Ssa {
    /// The instructions; a pc is an index, the same as in the decoded kernel.
    pub steps: Vec<SsaInstruction>,
    /// Blocks.
    pub flow: ControlFlow,
    /// Their dominators.
    pub dominators: Dominators,
    /// The phis of each block.
    pub phis: Vec<Vec<Phi>>,
    /// The step that writes each value; `None` for phis and for `UNDEFINED`.
    pub definitions: Vec<Option<u32>>,
    /// Bytes of each value's register, as it is declared; 0 of a predicate.
    pub bytes: Vec<u32>,
    /// Instructions behind a `.pragma "nounroll"`: the loop whose header contains one is not unrolled.
    pub not_unrolled: Vec<u32>,
}

/// An operand whose registers are numbers yet.
pub(super) struct Raw<'a> {
    pub(super) instruction: Cow<'a, Instruction>,
    line: u32,
    scope: usize,
}

#[derive(Clone, Copy)]
struct Declared {
    /// Number of registers, if the name is the prefix of a range.
    range: Option<u32>,
    /// Number of a vector's parts.
    parts: u32,
    /// Bytes of a register, or of a vector's part.
    bytes: u32,
}

#[derive(Default)]
struct Scope {
    parent: Option<usize>,
    declared: BTreeMap<String, Declared>,
    labels: BTreeMap<String, u32>,
}

#[derive(Default)]
pub(super) struct Names<'a> {
    scopes: Vec<Scope>,
    pub(super) raw: Vec<Raw<'a>>,
    /// The number of each register, by the scope that declares it and its name.
    pub(super) registers: BTreeMap<(usize, String), usize>,
    /// Bytes of each register.
    pub(super) bytes: Vec<u32>,
    /// Instructions behind a `.pragma "nounroll"`.
    not_unrolled: Vec<u32>,
    /// Lists of `.branchtargets`.
    targets: BTreeMap<&'a str, &'a [String]>,
}

impl<'a> Names<'a> {
    pub(super) fn walk(&mut self, statements: &'a [Statement], parent: Option<usize>) {
        let scope = self.scopes.len();
        self.scopes.push(Scope { parent, ..Scope::default() });
        for statement in statements {
            match &statement.kind {
                StatementKind::Block(inner) => self.walk(inner, Some(scope)),
                StatementKind::Variable(variable) if variable.space == StorageSpace::Register => {
                    let bytes = element_size(&variable.element).unwrap_or(0);
                    let declared = Declared { range: variable.range, parts: variable.vector, bytes };
                    self.scopes[scope].declared.insert(variable.name.clone(), declared);
                }
                StatementKind::Label(name) => {
                    let at = self.raw.len() as u32;
                    self.scopes[scope].labels.insert(name.clone(), at);
                }
                StatementKind::BranchTargets(name, labels) => {
                    self.targets.insert(name, labels);
                }
                StatementKind::Pragma(texts) if texts.iter().any(|text| text == "nounroll") => {
                    self.not_unrolled.push(self.raw.len() as u32);
                }
                StatementKind::Instruction(instruction) => {
                    let line = statement.span.place.line;
                    for instruction in self.branches(instruction) {
                        self.raw.push(Raw { instruction, line, scope });
                    }
                }
                _ => {}
            }
        }
    }

    /// An instruction; of a `brx.idx`, a branch for each target, all but the last under a guard of which nothing is
    /// known.
    fn branches(&self, instruction: &'a Instruction) -> Vec<Cow<'a, Instruction>> {
        let targets = match instruction.operands.get(1).map(|operand| &operand.kind) {
            Some(OperandKind::Name(list)) if instruction.opcode.starts_with("brx.") => {
                self.targets.get(&**list)
            }
            _ => None,
        };
        let Some(targets) = targets else { return vec![Cow::Borrowed(instruction)] };
        let last = targets.len() - 1;
        let branch = |(number, label): (usize, &String)| {
            let span = instruction.operands[1].span;
            let unknown = Guard { name: String::new(), negated: false, span };
            Cow::Owned(Instruction {
                guard: if number < last { Some(unknown) } else { instruction.guard.clone() },
                opcode: "bra".to_owned(),
                operands: vec![Operand { kind: OperandKind::Name(label.clone()), span }],
            })
        };
        targets.iter().enumerate().map(branch).collect()
    }

    fn label(&self, scope: usize, name: &str) -> Option<u32> {
        let mut at = Some(scope);
        while let Some(here) = at {
            if let Some(pc) = self.scopes[here].labels.get(name) {
                return Some(*pc);
            }
            at = self.scopes[here].parent;
        }
        None
    }

    /// The scope that declares a register's name, and how.
    fn declaration(&self, scope: usize, name: &str) -> Option<(usize, Declared)> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut at = Some(scope);
        while let Some(here) = at {
            let declared = &self.scopes[here].declared;
            let in_range = || {
                let &found = declared.get(stem)?;
                let number = name[stem.len()..].parse::<u32>().ok()?;
                (number < found.range?).then_some((here, found))
            };
            let whole = declared.get(name).filter(|declared| declared.range.is_none());
            if let Some(found) = whole.map(|declared| (here, *declared)).or_else(in_range) {
                return Some(found);
            }
            at = self.scopes[here].parent;
        }
        None
    }

    fn register(&mut self, scope: usize, name: &str) -> Option<usize> {
        let vector = name.rsplit_once('.').map(|(vector, _)| vector);
        let (here, declared) = self.declaration(scope, vector.unwrap_or(name))?;
        let next = self.registers.len();
        let register = *self.registers.entry((here, name.to_owned())).or_insert(next);
        if register == next {
            self.bytes.push(declared.bytes);
        }
        Some(register)
    }

    fn source(&mut self, scope: usize, kind: &OperandKind) -> Source {
        match kind {
            OperandKind::Name(name)
                if self.declaration(scope, name).is_some_and(|(_, declared)| declared.parts > 1) =>
            {
                let parts = ["x", "y", "z", "w"].map(|part| OperandKind::Name(format!("{name}.{part}")));
                Source::Parts(parts.iter().map(|part| self.source(scope, part)).collect())
            }
            OperandKind::Name(name) => match self.register(scope, name) {
                Some(register) => Source::Value(register as u32),
                None => Source::Name(name.clone(), 0),
            },
            OperandKind::Not(name) => match self.register(scope, name) {
                Some(register) => Source::Not(register as u32),
                None => Source::Name(name.clone(), 0),
            },
            OperandKind::Offset(name, offset) => match self.register(scope, name) {
                // A sum is no value that an instruction makes.
                Some(register) => Source::Parts(vec![Source::Value(register as u32)]),
                None => Source::Name(name.clone(), *offset),
            },
            OperandKind::Integer(value) => Source::Integer(*value as i64),
            OperandKind::Address(name, offset) => {
                let base = self.source(scope, &OperandKind::Name(name.clone()));
                Source::Address(Box::new(base), *offset)
            }
            OperandKind::Absolute(value) => Source::Address(Box::new(Source::Integer(*value as i64)), 0),
            OperandKind::Vector(parts) => {
                Source::Parts(parts.iter().map(|part| self.source(scope, part)).collect())
            }
            OperandKind::Pair(a, b) => {
                let names = [a, b].map(|name| OperandKind::Name(name.clone()));
                Source::Parts(names.iter().map(|part| self.source(scope, part)).collect())
            }
            OperandKind::Texture(name, parts) => {
                let handle = self.register(scope, name).map(|register| Source::Value(register as u32));
                let parts = parts.iter().map(|part| self.source(scope, part));
                Source::Parts(handle.into_iter().chain(parts).collect())
            }
            OperandKind::List(parts) => {
                Source::Parts(parts.iter().map(|part| self.source(scope, &part.kind)).collect())
            }
            OperandKind::Float32(_) | OperandKind::Float64(_) | OperandKind::Discard => Source::Float,
        }
    }
}

/// Opcodes that write no register.
fn writes_nothing(opcode: &str) -> bool {
    let mut words = opcode.split('.');
    match words.next().unwrap_or("") {
        "bra" | "ret" | "exit" | "trap" | "brkpt" | "st" | "red" | "sust" | "sured" | "membar" | "fence"
        | "nanosleep" | "stackrestore" => true,
        "bar" | "barrier" => !words.any(|word| word == "red"),
        "call" => true,
        _ => false,
    }
}

/// The results of a call are a list before the name.
fn call_results(instruction: &Instruction) -> usize {
    let lists = instruction.operands.iter().filter(|operand| matches!(operand.kind, OperandKind::List(_)));
    usize::from(
        matches!(instruction.operands.first().map(|o| &o.kind), Some(OperandKind::List(_)))
            && lists.count() > 0,
    )
}

pub(super) fn flow_of(names: &Names<'_>, raw: &Raw<'_>, count: u32) -> Flow {
    let guarded = raw.instruction.guard.is_some();
    let name = raw.instruction.opcode.split('.').next().unwrap_or("");
    match name {
        "bra" => {
            let target = raw.instruction.operands.first().and_then(|operand| match &operand.kind {
                OperandKind::Name(label) => names.label(raw.scope, label),
                _ => None,
            });
            let target = target.filter(|target| *target < count);
            Flow { target, falls: guarded, exits: target.is_none() }
        }
        "ret" | "exit" | "trap" => Flow { target: None, falls: guarded, exits: true },
        _ => Flow { target: None, falls: true, exits: false },
    }
}

impl Ssa {
    /// Builds the form of a function; one without a body has no steps.
    pub fn new(function: &Function) -> Self {
        let mut names = Names::default();
        names.walk(function.body.as_deref().unwrap_or(&[]), None);
        let raw = std::mem::take(&mut names.raw);
        let count = raw.len() as u32;
        let flow: Vec<Flow> = raw.iter().map(|raw| flow_of(&names, raw, count)).collect();
        let flow = ControlFlow::new(&flow);
        let dominators = Dominators::new(&flow);
        // Operands name registers at first; renaming below replaces them by values.
        let mut steps: Vec<SsaInstruction> = raw.iter().map(|raw| step(&mut names, raw)).collect();
        let registers = names.registers.len();
        let homes = phi_places(&steps, &flow, &dominators);
        let mut definitions = vec![None];
        let mut bytes = vec![0];
        let mut leaving: Vec<Vec<ValueId>> = vec![vec![UNDEFINED; registers]; flow.blocks.len()];
        let mut phis: Vec<Vec<Phi>> = vec![Vec::new(); flow.blocks.len()];
        for &block in &dominators.order {
            let mut now = match dominators.parent[block as usize] {
                Some(parent) => leaving[parent as usize].clone(),
                None => vec![UNDEFINED; registers],
            };
            for &register in &homes[block as usize] {
                let result = definitions.len() as ValueId;
                definitions.push(None);
                bytes.push(names.bytes[register]);
                now[register] = result;
                phis[block as usize].push(Phi { result, arguments: Vec::new() });
            }
            let range = flow.blocks[block as usize].first..flow.blocks[block as usize].end;
            for pc in range {
                let step = &mut steps[pc as usize];
                step.sources.iter_mut().for_each(|source| rename(source, &now));
                if let Some((guard, _)) = &mut step.guard {
                    *guard = now[*guard as usize];
                }
                for slot in 0..step.results.len() {
                    let register = step.results[slot] as usize;
                    step.previous.push(now[register]);
                    step.results[slot] = definitions.len() as ValueId;
                    now[register] = step.results[slot];
                    definitions.push(Some(pc));
                    bytes.push(names.bytes[register]);
                }
            }
            leaving[block as usize] = now;
        }
        for &block in &dominators.order {
            for (phi, &register) in phis[block as usize].iter_mut().zip(&homes[block as usize]) {
                let from = dominators.predecessors[block as usize].iter();
                let from = from.filter(|&&from| from == 0 || dominators.parent[from as usize].is_some());
                phi.arguments = from.map(|&from| (from, leaving[from as usize][register])).collect();
            }
        }
        Ssa { steps, flow, dominators, phis, definitions, bytes, not_unrolled: names.not_unrolled }
    }

    /// The block of an instruction.
    pub fn block_of(&self, pc: u32) -> u32 {
        self.flow.block_of[pc as usize]
    }

    /// The instructions of a block.
    pub fn steps_of(&self, block: u32) -> &[SsaInstruction] {
        let range = &self.flow.blocks[block as usize];
        &self.steps[range.first as usize..range.end as usize]
    }

    /// Whether control can reach a block.
    pub fn is_reached(&self, block: u32) -> bool {
        block == 0 || self.dominators.parent[block as usize].is_some()
    }
}

/// An instruction whose operands are numbers of registers.
pub(super) fn step(names: &mut Names<'_>, raw: &Raw<'_>) -> SsaInstruction {
    let instruction = &*raw.instruction;
    let guard = instruction.guard.as_ref().and_then(|guard| {
        let register = names.register(raw.scope, &guard.name)?;
        Some((register as ValueId, guard.negated))
    });
    let written = match instruction.opcode.split('.').next() {
        Some("call") => call_results(instruction),
        _ => usize::from(!writes_nothing(&instruction.opcode)),
    };
    let mut operands: Vec<Source> =
        instruction.operands.iter().map(|operand| names.source(raw.scope, &operand.kind)).collect();
    let sources = operands.split_off(written.min(operands.len()));
    let results = operands.iter().flat_map(Source::values).collect();
    SsaInstruction {
        opcode: canonical(&instruction.opcode).into_owned(),
        line: raw.line,
        guard,
        sources,
        results,
        previous: Vec::new(),
    }
}

fn rename(source: &mut Source, now: &[ValueId]) {
    match source {
        Source::Value(value) | Source::Not(value) => *value = now[*value as usize],
        Source::Address(base, _) => rename(base, now),
        Source::Parts(parts) => parts.iter_mut().for_each(|part| rename(part, now)),
        Source::Integer(_) | Source::Name(..) | Source::Float => {}
    }
}

/// The registers that need a phi in each block: iterated dominance frontiers of their writes.
fn phi_places(steps: &[SsaInstruction], flow: &ControlFlow, dominators: &Dominators) -> Vec<BTreeSet<usize>> {
    let count = flow.blocks.len();
    let mut frontier: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); count];
    for &block in &dominators.order {
        let from = &dominators.predecessors[block as usize];
        for &start in from.iter().filter(|_| from.len() > 1 || block == 0) {
            let mut at = Some(start);
            while let Some(here) = at.filter(|here| Some(*here) != dominators.parent[block as usize]) {
                frontier[here as usize].insert(block);
                at = dominators.parent[here as usize];
            }
        }
    }
    let mut writers: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for &block in &dominators.order {
        for pc in flow.blocks[block as usize].first..flow.blocks[block as usize].end {
            for &register in &steps[pc as usize].results {
                writers.entry(register as usize).or_default().push(block);
            }
        }
    }
    let mut homes = vec![BTreeSet::new(); count];
    for (register, mut open) in writers {
        while let Some(block) = open.pop() {
            for &next in &frontier[block as usize] {
                if homes[next as usize].insert(register) {
                    open.push(next);
                }
            }
        }
    }
    homes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parser::parse;

    #[test]
    fn a_loop_counter_is_a_phi_of_start_and_step() {
        let text = ".version 7.8\n.target sm_35\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n\
            .reg .pred %p<2>;\n.reg .b32 %r<4>;\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\n\
            L:\nadd.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, %r1;\n@%p1 bra L;\n@!%p1 mov.u32 %r3, %r2;\nret;\n}";
        let module = parse(text).unwrap();
        let ssa = Ssa::new(&module.functions[0]);
        assert_eq!(ssa.flow.blocks.len(), 3);
        let counter = ssa.steps[1].results[0];
        let phi = &ssa.phis[1][0];
        assert_eq!(ssa.phis[1].len(), 2, "counter and predicate");
        assert_eq!(phi.arguments[0], (0, counter));
        assert_eq!(phi.arguments[1], (1, ssa.steps[2].results[0]));
        assert_eq!(ssa.steps[2].sources, [Source::Value(phi.result), Source::Integer(1)]);
        assert_eq!(ssa.steps[5].previous, [UNDEFINED]);
        assert_eq!(ssa.steps[5].guard, Some((ssa.steps[3].results[0], true)));
        assert_eq!(ssa.dominators.loops()[0].header, 1);
    }
}
