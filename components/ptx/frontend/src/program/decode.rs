//! From the module as written to kernels that run: symbols, widths, types, rows, reconvergence.
//!
//! Scopes, storage and labels are here; the meaning of opcodes is in `decode/instruction.rs`.

mod call;
mod control;
mod copies;
mod driver;
mod fragments;
mod hints;
mod instruction;
mod lanes;
mod limits;
mod link;
mod matrix;
mod memory;
mod moves;
mod operands;
mod registers;
mod stack;
mod storage;
mod surface;
mod texture;
mod video;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::cfg::{ControlFlow, Flow, NO_PC};
use crate::analysis::liveness::{Effects, allocate};
use crate::analysis::sharing::{Shared, shared};
use crate::isa::{LaneOp, Latency, Order, Unit};
use crate::program::launches;
use crate::program::library;
use crate::program::{
    Action, CONSTANT, CallSite, FileAccesses, FramePart, Instruction, Kernel, MatrixSite, MemoryForm, NONE,
    Origin, RegisterPlace, RegisterSet, Row,
};
use crate::syntax::ast::{
    Function, Module, OperandKind, Span, Statement, StatementKind, StorageSpace, Variable,
};
use crate::syntax::error::{PtxError, SourcePosition, distinct, nearest};
use call::{Signature, frame_part};
use link::{Code, Entry, link};
use registers::Declared;
pub use registers::{Class, MOST_REGISTERS, Register, RegisterType};
use storage::Storage;

/// Decodes every kernel of a module. Every function is decoded, so that all errors of the text are reported, in the
/// order of the text.
pub fn decode(module: &Module) -> Result<Vec<Kernel>, Vec<PtxError>> {
    let linked = library::linked(module)?;
    let own = &module.source;
    let behind = linked.as_ref().map(|_| (own.matches('\n').count() as u32 + 2, own.len()));
    let module = linked.as_ref().unwrap_or(module);
    let mut errors = Vec::new();
    let signatures = call::signatures(module, &mut errors);
    let mut storage = Storage::default();
    for (name, signature) in &signatures {
        storage.code.extend(signature.index.map(|index| (name.clone(), call::code_address(index))));
    }
    for (index, kernel) in module.functions.iter().enumerate().filter(|(_, one)| one.entry) {
        storage
            .kernels
            .insert(kernel.name.clone(), launches::address(call::code_address(index as u32), &kernel.params));
    }
    for variable in &module.variables {
        if let Err(error) = storage.declare(variable) {
            errors.push(error);
        }
    }
    for function in &module.functions {
        hoist(function, function.body.as_deref().unwrap_or(&[]), &mut storage, &mut errors);
        let text = module.source.get(function.span.start as usize..function.span.end as usize);
        if let Err(error) = driver::declare(function, text.unwrap_or_default(), &mut storage) {
            errors.push(error);
        }
    }
    let origin = Origin { library: behind, ..origin(module) };
    let (mut entries, mut functions) = (Vec::new(), Vec::new());
    for (index, function) in module.functions.iter().enumerate().filter(|(_, f)| f.body.is_some()) {
        let new = |shared: Shared| Decoder {
            shared,
            needs_masks: limits::needs_masks(module.version_number(), origin.target),
            ..Decoder::new(storage.clone(), &signatures, function)
        };
        let mut decoder = new(Shared::new());
        let mut code = decoder.function(function, index as u32);
        let is_full = |code: &Code| usize::from(code.rows) >= MOST_REGISTERS;
        if decoder.is_full || code.as_ref().is_some_and(is_full) {
            decoder = new(shared(function));
            code = decoder.function(function, index as u32);
        }
        match code {
            Some(code) if function.entry => entries.push(Entry {
                code,
                params: std::mem::take(&mut decoder.storage.params),
                param_bytes: decoder.storage.param_bytes,
                storage: decoder.storage,
            }),
            Some(code) => functions.push(code),
            None => errors.append(&mut decoder.errors),
        }
    }
    let named = |variable: &Variable| {
        let names = variable.initial.iter().filter_map(|operand| match &operand.kind {
            OperandKind::Name(name) => signatures.get(name)?.index,
            _ => None,
        });
        names.collect::<Vec<u32>>()
    };
    let taken: Vec<u32> = module.variables.iter().flat_map(named).collect();
    let mut kernels = Vec::new();
    if errors.is_empty() {
        let linked = entries.into_iter().map(|entry| link(module, entry, &functions, &taken, &origin));
        kernels.extend(linked);
    }
    errors.sort_by_key(|error| (error.line, error.column));
    for error in &mut errors {
        error.compiled_from = origin.sources.find(error.line).map(|(file, line)| (file.to_owned(), line));
    }
    if errors.is_empty() { Ok(kernels) } else { Err(distinct(errors)) }
}

/// The part of the text that messages need.
fn origin(module: &Module) -> Origin {
    let name = module.target.split(',').find_map(|name| name.trim().strip_prefix("sm_"));
    let digits = name.map_or("", |name| name.trim_end_matches(|c: char| !c.is_ascii_digit()));
    Origin {
        text: module.source.as_str().into(),
        target: digits.parse().unwrap_or_default(),
        sources: Arc::new(module.sources.clone()),
        ..Origin::default()
    }
}

/// Allocates the variables of a function that outlive it beside those of the module: every kernel of the module has them at
/// the same offset. Only a kernel's declarations in shared memory are its own.
fn hoist(function: &Function, statements: &[Statement], storage: &mut Storage, errors: &mut Vec<PtxError>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Block(inner) => hoist(function, inner, storage, errors),
            StatementKind::Variable(variable) if is_hoisted(variable, function.entry) => {
                let name = hoisted(&function.name, &variable.name);
                if let Err(error) = storage.declare(&Variable { name, ..variable.clone() }) {
                    errors.push(error);
                }
            }
            _ => {}
        }
    }
}

/// Whether a variable in a function, which may be a kernel, is allocated beside those of the module.
fn is_hoisted(variable: &Variable, entry: bool) -> bool {
    match variable.space {
        StorageSpace::Global | StorageSpace::Const => true,
        StorageSpace::Shared => !entry,
        _ => false,
    }
}

/// The name of a function's variable among the module's; no name of the text has blanks.
fn hoisted(function: &str, variable: &str) -> String {
    format!("{variable} of {function}")
}

#[derive(Default)]
struct Scope {
    parent: usize,
    /// Declared names, and prefixes of ranges.
    declared: BTreeMap<String, Declared>,
    labels: BTreeMap<String, u32>,
    /// `.param` variables.
    frame: BTreeMap<String, FramePart>,
}

pub struct Decoder<'m> {
    storage: Storage,
    signatures: &'m BTreeMap<String, Signature>,
    name: String,
    /// A kernel, not a function.
    entry: bool,
    errors: Vec<PtxError>,
    /// Instructions that PTX has and the simulator does not support.
    unsupported: Vec<PtxError>,
    scopes: Vec<Scope>,
    scope: usize,
    registers: Vec<RegisterType>,
    /// For each id, the register's number in the register file, if it is in the file.
    numbers: Vec<Option<u8>>,
    /// (scope, name) to register.
    names: BTreeMap<(usize, String), u16>,
    instructions: Vec<Instruction>,
    effects: Vec<Effects>,
    /// Branches to resolve: pc, scope, label, place.
    branches: Vec<(usize, usize, String, SourcePosition)>,
    constants: Vec<Row>,
    constant_index: BTreeMap<(u64, bool), u16>,
    /// Bytes of the frame that are in use, and the most that ever are.
    frame_top: u32,
    frame_bytes: u32,
    /// Results that are declared `.reg`.
    register_results: Vec<(FramePart, Register)>,
    calls: Vec<CallSite>,
    matrices: Vec<MatrixSite>,
    prototypes: BTreeMap<String, Signature>,
    branch_targets: BTreeMap<String, Vec<String>>,
    indirect: bool,
    taken: Vec<u32>,
    /// The carry flag, once something uses it.
    carry: Option<u16>,
    /// Whether an instruction uses the stack pointer.
    stack: bool,
    /// Votes and shuffles name the lanes that take part.
    needs_masks: bool,
    /// Names that share registers, and the registers that some of them have already.
    shared: Shared,
    shared_ids: BTreeMap<usize, u16>,
    /// Whether there were more registers than numbers.
    is_full: bool,
}

impl<'m> Decoder<'m> {
    fn new(storage: Storage, signatures: &'m BTreeMap<String, Signature>, function: &Function) -> Self {
        Decoder {
            storage,
            signatures,
            name: function.name.clone(),
            entry: function.entry,
            errors: Vec::new(),
            unsupported: Vec::new(),
            scopes: vec![Scope::default()],
            scope: 0,
            registers: Vec::new(),
            numbers: Vec::new(),
            names: BTreeMap::new(),
            instructions: Vec::new(),
            effects: Vec::new(),
            branches: Vec::new(),
            constants: Vec::new(),
            constant_index: BTreeMap::new(),
            frame_top: 0,
            frame_bytes: 0,
            register_results: Vec::new(),
            calls: Vec::new(),
            matrices: Vec::new(),
            prototypes: BTreeMap::new(),
            branch_targets: BTreeMap::new(),
            indirect: false,
            taken: Vec::new(),
            carry: None,
            stack: false,
            needs_masks: false,
            shared: Shared::new(),
            shared_ids: BTreeMap::new(),
            is_full: false,
        }
    }

    fn function(&mut self, function: &Function, index: u32) -> Option<Code> {
        if self.entry {
            for param in &function.params {
                if let Err(error) = self.storage.declare_param(param) {
                    self.errors.push(error);
                }
            }
        } else if let Err(error) = self.formals(function) {
            self.errors.push(error);
        }
        let body = function.body.as_deref().unwrap_or(&[]);
        self.declare_prototypes(body);
        if let Some(directive) = &function.cluster {
            let message = format!("`{directive}` is not supported: clusters of blocks are not simulated");
            self.unsupported.push(PtxError::unsupported(function.span.place, message));
        }
        self.statements(body);
        self.end_body(function.span);
        self.resolve_branches();
        if !self.errors.is_empty() {
            return None;
        }
        let flow: Vec<Flow> = self.instructions.iter().map(flow_of).collect();
        let graph = ControlFlow::new(&flow);
        for (pc, instruction) in self.instructions.iter_mut().enumerate() {
            if instruction.action == Action::Branch {
                instruction.reconvergence = graph.reconvergence(pc as u32);
            }
        }
        Some(self.finish(index, function, &graph))
    }

    fn finish(&mut self, index: u32, function: &Function, graph: &ControlFlow) -> Code {
        let classes: Vec<u8> = self
            .registers
            .iter()
            .map(|kind| match kind {
                RegisterType::Wide => 0,
                RegisterType::Narrow(_) => 1,
                RegisterType::Predicate => 2,
            })
            .collect();
        let weights: Vec<u32> = classes.iter().map(|class| [2, 1, 0][*class as usize]).collect();
        let found = allocate(graph, &self.effects, &classes, &weights);
        let count = |class: usize| found.slot_counts.get(class).copied().unwrap_or(0);
        let wide_rows = count(0) * 2;
        let row = |operand: u16| {
            if operand & CONSTANT != 0 {
                return operand;
            }
            let slot = found.slots[operand as usize];
            match self.registers[operand as usize] {
                RegisterType::Wide => slot * 2,
                RegisterType::Narrow(_) => wide_rows + slot,
                RegisterType::Predicate => slot,
            }
        };
        let mut instructions = std::mem::take(&mut self.instructions);
        let mut predicate_operands = Vec::new();
        for instruction in &mut instructions {
            let operands = instruction.sources.iter().chain(&instruction.destinations);
            let is_predicate =
                |operand: &u16| self.registers.get(*operand as usize) == Some(&RegisterType::Predicate);
            predicate_operands.push(
                operands
                    .enumerate()
                    .fold(0, |all, (index, operand)| all | u8::from(is_predicate(operand)) << index),
            );
            for operand in instruction.destinations.iter_mut().chain(&mut instruction.sources) {
                *operand = row(*operand);
            }
            instruction.address = row(instruction.address);
            instruction.guard = row(instruction.guard);
        }
        let mut matrices = std::mem::take(&mut self.matrices);
        for register in matrices.iter_mut().flat_map(|site| &mut site.registers).flatten() {
            *register = row(*register);
        }
        let place = |(id, kind): (usize, &RegisterType)| match kind {
            RegisterType::Wide => RegisterPlace::Wide(row(id as u16)),
            RegisterType::Narrow(_) => RegisterPlace::Narrow(row(id as u16)),
            RegisterType::Predicate => RegisterPlace::Predicate(row(id as u16)),
        };
        let places = self.registers.iter().enumerate().map(place).collect();
        let signature = self.signatures.get(&function.name).filter(|_| !self.entry);
        Code {
            index,
            instructions,
            predicate_operands,
            constants: std::mem::take(&mut self.constants),
            rows: wide_rows + count(1) + u16::from(self.stack),
            wide_rows,
            stack: self.stack,
            predicates: count(2),
            scoreboard_registers: self.registers.len() as u16,
            places,
            live: found.pressure,
            frame_bytes: self.frame_bytes,
            // A callee's local memory begins as aligned as the first.
            local_bytes: (self.storage.local.bytes as u32).next_multiple_of(if self.entry { 1 } else { 16 }),
            params: signature.map_or(Vec::new(), |it| it.params.iter().map(|formal| formal.part).collect()),
            results: signature.map_or(Vec::new(), |it| it.results.iter().map(|formal| formal.part).collect()),
            calls: std::mem::take(&mut self.calls),
            matrices,
            indirect: self.indirect,
            taken: std::mem::take(&mut self.taken),
            unsupported: std::mem::take(&mut self.unsupported),
        }
    }

    fn push(&mut self, mut instruction: Instruction, effects: Effects) {
        let numbers = |ids: &mut dyn Iterator<Item = u16>| -> Vec<u8> {
            ids.filter_map(|id| self.numbers[usize::from(id)]).collect()
        };
        let guard = effects.reads.iter().position(|&id| id == instruction.guard);
        let mut operands =
            effects.reads.iter().enumerate().filter(|(place, _)| Some(*place) != guard).map(|(_, &id)| id);
        let reads = numbers(&mut operands);
        let writes = numbers(&mut effects.writes.iter().copied());
        instruction.accesses = FileAccesses::new(reads, writes);
        self.instructions.push(instruction);
        self.effects.push(effects);
    }

    /// Prototypes and lists of targets may be behind the calls and branches that name them.
    fn declare_prototypes(&mut self, statements: &[Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Block(inner) => self.declare_prototypes(inner),
                StatementKind::Prototype(prototype) => {
                    if let Err(error) = self.prototype(prototype) {
                        self.errors.push(error);
                    }
                }
                StatementKind::BranchTargets(name, labels) => {
                    self.branch_targets.insert(name.clone(), labels.clone());
                }
                StatementKind::CallTargets(name, functions) => {
                    if let Err(error) = self.call_targets(name, functions, statement.span) {
                        self.errors.push(error);
                    }
                }
                _ => {}
            }
        }
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Block(inner) => {
                    let parent = self.scope;
                    self.scopes.push(Scope { parent, ..Scope::default() });
                    self.scope = self.scopes.len() - 1;
                    // The parameters of a call are dead after it: those of the next call use the same bytes of the frame.
                    let frame = self.frame_top;
                    self.statements(inner);
                    self.frame_top = frame;
                    self.scope = parent;
                }
                StatementKind::Variable(variable) => {
                    if let Err(error) = self.declare(variable) {
                        self.errors.push(error);
                    }
                }
                StatementKind::Label(name) => {
                    let pc = self.instructions.len() as u32;
                    let labels = &mut self.scopes[self.scope].labels;
                    if labels.insert(name.clone(), pc).is_some() {
                        let message = format!("label `{name}` is defined twice");
                        self.errors.push(PtxError::new(statement.span.place, message));
                    }
                }
                StatementKind::Prototype(_)
                | StatementKind::BranchTargets(..)
                | StatementKind::CallTargets(..)
                | StatementKind::Pragma(_) => {}
                StatementKind::Instruction(instruction) => {
                    match self.instruction(instruction, statement.span) {
                        Err(error) if error.unsupported => {
                            self.unsupported.push(error);
                            // The trap takes the position of the instruction, so that instructions and lines of the text still
                            // correspond.
                            let trap = Instruction { action: Action::Trap, ..blank(statement.span) };
                            self.push(trap, Effects::default());
                        }
                        Err(error) => self.errors.push(error),
                        Ok(()) => {}
                    }
                }
            }
        }
    }

    fn declare(&mut self, variable: &Variable) -> Result<(), PtxError> {
        if variable.space == StorageSpace::Param {
            let part = frame_part(variable, &mut self.frame_top)?;
            self.frame_bytes = self.frame_bytes.max(self.frame_top);
            if self.scopes[self.scope].frame.insert(variable.name.clone(), part).is_some() {
                let message = format!("`{}` is declared twice in this scope", variable.name);
                return Err(PtxError::new(variable.span.place, message));
            }
            return Ok(());
        }
        if is_hoisted(variable, self.entry) {
            return self.storage.alias(variable, &hoisted(&self.name, &variable.name));
        }
        if variable.space != StorageSpace::Register {
            return self.storage.declare(variable);
        }
        self.declare_registers(variable)
    }

    /// A function always ends in an exit, so that no pc can run off its end.
    fn end_body(&mut self, span: Span) {
        let ends = self.instructions.last().is_some_and(|last| {
            last.guard == NONE && matches!(last.action, Action::Exit | Action::Return | Action::Branch)
        });
        let end = self.instructions.len() as u32;
        let labelled = self.scopes.iter().any(|scope| scope.labels.values().any(|pc| *pc == end));
        if !ends || labelled {
            let mut exit = blank(span);
            (exit.action, exit.latency) = (Action::Exit, Latency::Exit);
            if !self.entry {
                if let Err(error) = self.store_results(&blank(span), span) {
                    self.errors.push(error);
                }
                (exit.action, exit.latency) = (Action::Return, Latency::Branch);
            }
            exit.text = (span.end, span.end);
            self.push(exit, Effects::default());
        }
    }

    fn resolve_branches(&mut self) {
        for (pc, from, label, place) in std::mem::take(&mut self.branches) {
            let mut scope = from;
            let target = loop {
                match self.scopes[scope].labels.get(&label) {
                    Some(&target) => break Some(target),
                    None if scope == 0 => break None,
                    None => scope = self.scopes[scope].parent,
                }
            };
            match target {
                Some(target) => self.instructions[pc].target = target,
                None => {
                    let labels = self.scopes.iter().flat_map(|scope| scope.labels.keys());
                    let error = PtxError::new(place, format!("no label `{label}` can be reached from here"));
                    self.errors.push(nearest(error, &label, labels));
                }
            }
        }
    }
}

/// An instruction that does nothing yet.
pub fn blank(span: Span) -> Instruction {
    Instruction {
        action: Action::Fence,
        op: LaneOp::MovB32,
        destinations: [NONE; 4],
        sources: [NONE; 4],
        address: NONE,
        guard: NONE,
        guard_negated: false,
        memory: MemoryForm::NONE,
        offset: 0,
        drains: false,
        aligned: false,
        order: Order::NONE,
        waits: false,
        scope: None,
        polls: false,
        spins: false,
        target: NO_PC,
        reconvergence: NO_PC,
        unit: Unit::Control,
        work: 0,
        latency: Latency::Fence,
        reads: RegisterSet::default(),
        writes: RegisterSet::default(),
        accesses: FileAccesses::default(),
        line: span.place.line,
        text: (span.start, span.end),
    }
}

fn flow_of(instruction: &Instruction) -> Flow {
    let guarded = instruction.guard != NONE;
    match instruction.action {
        Action::Branch => Flow { target: Some(instruction.target), falls: guarded, exits: false },
        Action::Exit | Action::Return => Flow { target: None, falls: guarded, exits: true },
        _ => Flow { target: None, falls: true, exits: false },
    }
}
