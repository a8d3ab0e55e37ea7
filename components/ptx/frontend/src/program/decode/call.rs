//! Calls (PTX ISA 7 and 9.7.12.5): location of parameters, and decoding of a call.
//!
//! Parameters of functions, and the `.param` variables that a caller fills, are stored in the warp: in the caller's
//! frame, word by word. `st.param` and `ld.param` move between registers and the frame; the call itself copies from the
//! caller's frame to the callee's, and the return copies back. A parameter that is declared `.reg` is moved between its
//! register and the frame by instructions that decoding adds.

use std::collections::BTreeMap;

use super::instruction::Line;
use super::operands::Wanted;
use super::{Class, Decoder, Register, RegisterType, blank};
use crate::analysis::liveness::Effects;
use crate::isa::range::RANGE_PARAMETERS;
use crate::isa::{self, Latency, RangeAction, Unit};
use crate::program::library::{self, BAD_FREE};
use crate::program::{Action, CallSite, Combine, FramePart, Instruction, MemoryForm};
use crate::syntax::ast::{Function, Module, Operand, OperandKind, Prototype, Span, StorageSpace, Variable};
use crate::syntax::error::{PtxError, nearest};
use crate::syntax::types::extent;

/// A predicate is passed as a word: 1 or 0.
const PREDICATE_BYTES: u64 = 4;

/// Parameters and results of a function.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    /// Position of its definition in the module, if it has one.
    pub(super) index: Option<u32>,
    pub(super) results: Vec<Formal>,
    pub(super) params: Vec<Formal>,
}

/// A parameter or a result: its location, and the type of its elements.
#[derive(Clone, Debug)]
pub(super) struct Formal {
    pub(super) part: FramePart,
    element: String,
    /// Elements of a vector, 1 of anything else.
    vector: u32,
}

/// Lays out the parameters or results of a function.
fn layout(variables: &[Variable], bytes: &mut u32) -> Result<Vec<Formal>, PtxError> {
    let formal = |variable: &Variable| {
        let part = frame_part(variable, bytes)?;
        Ok(Formal { part, element: variable.element.clone(), vector: variable.vector })
    };
    variables.iter().map(formal).collect()
}

/// The address of a module's function.
pub(super) fn code_address(index: u32) -> u64 {
    // No function has address 0, which is the null pointer.
    16 * (u64::from(index) + 1)
}

/// All functions of a module by name.
pub(super) fn signatures(module: &Module, errors: &mut Vec<PtxError>) -> BTreeMap<String, Signature> {
    let mut found: BTreeMap<String, Signature> = BTreeMap::new();
    for (index, function) in module.functions.iter().enumerate().filter(|(_, function)| !function.entry) {
        let mut bytes = 0;
        let results = layout(&function.results, &mut bytes);
        let parts = results.and_then(|results| Ok((results, layout(&function.params, &mut bytes)?)));
        let (results, params) = match parts {
            Ok(parts) => parts,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let index = function.body.is_some().then_some(index as u32);
        let sizes = |formals: &[Formal]| formals.iter().map(|formal| formal.part.size).collect::<Vec<u32>>();
        match found.get_mut(&function.name) {
            None => {
                found.insert(function.name.clone(), Signature { index, results, params });
            }
            Some(known) => {
                let message = if known.index.is_some() && index.is_some() {
                    format!("`{}` is defined twice", function.name)
                } else if sizes(&known.params) != sizes(&params) || sizes(&known.results) != sizes(&results) {
                    format!("`{}` was declared with other parameters", function.name)
                } else {
                    known.index = known.index.or(index);
                    continue;
                };
                errors.push(PtxError::new(function.span.place, message));
            }
        }
    }
    for alias in &module.aliases {
        match found.get(&alias.function).cloned() {
            Some(signature) => {
                found.insert(alias.name.clone(), signature);
            }
            None => {
                let message = format!("no function is named `{}`", alias.function);
                let error = PtxError::new(alias.span.place, message);
                errors.push(nearest(error, &alias.function, found.keys()));
            }
        }
    }
    found
}

/// Allocates a parameter in a frame.
pub(super) fn frame_part(variable: &Variable, bytes: &mut u32) -> Result<FramePart, PtxError> {
    let place = variable.span.place;
    let is_predicate = variable.element == "pred" && variable.space == StorageSpace::Register;
    let (size, align) = if is_predicate { (PREDICATE_BYTES, PREDICATE_BYTES) } else { extent(variable)? };
    let offset = u64::from(*bytes).next_multiple_of(align.max(4));
    let end = (offset + size).next_multiple_of(4);
    if size == 0 || end > 1 << 16 {
        let message = format!("`{}` has no size, or the parameters take more than 64 KiB", variable.name);
        return Err(PtxError::new(place, message));
    }
    *bytes = end as u32;
    Ok(FramePart { offset: offset as u32, size: size as u32 })
}

impl Decoder<'_> {
    /// Declares the parameters and results of a function; `.reg` parameters are moved into their registers.
    pub(super) fn formals(&mut self, function: &Function) -> Result<(), PtxError> {
        for (takes, variable) in
            function.results.iter().map(|v| (false, v)).chain(function.params.iter().map(|v| (true, v)))
        {
            let part = frame_part(variable, &mut self.frame_top)?;
            self.frame_bytes = self.frame_top;
            if variable.space != StorageSpace::Register {
                self.scopes[0].frame.insert(variable.name.clone(), part);
                continue;
            }
            self.declare(variable)?;
            let place = variable.span.place;
            let names = match self.vector(&variable.name) {
                Some(parts) => parts,
                None => vec![OperandKind::Name(variable.name.clone())],
            };
            for (part, name) in parts_of(part, names.len()).zip(names) {
                let OperandKind::Name(name) = name else { continue };
                let Some(register) = self.find_register(&name, place)? else { continue };
                if takes {
                    for (instruction, effects) in
                        self.frame_moves(Action::LoadFrame, part, register, variable.span)?
                    {
                        self.push(instruction, effects);
                    }
                } else {
                    self.register_results.push((part, register));
                }
            }
        }
        Ok(())
    }

    /// Before a return: results in registers go to the frame.
    pub(super) fn store_results(&mut self, guard: &Instruction, span: Span) -> Result<(), PtxError> {
        for (part, register) in self.register_results.clone() {
            for (mut instruction, mut effects) in
                self.frame_moves(Action::StoreFrame, part, register, span)?
            {
                under_guard(&mut instruction, &mut effects, guard);
                self.push(instruction, effects);
            }
        }
        Ok(())
    }

    /// The instructions that move a register to the frame or from there; a predicate moves as a word.
    fn frame_moves(
        &mut self,
        action: Action,
        part: FramePart,
        register: Register,
        span: Span,
    ) -> Result<Vec<(Instruction, Effects)>, PtxError> {
        if register.kind != RegisterType::Predicate {
            return Ok(vec![frame_move(action, part, register, span)]);
        }
        let kind = RegisterType::Narrow(32);
        let word = Register { id: self.temporary(kind, span.place)?, kind, class: Class::Bits };
        let [zero, one] = [self.constant(0, false, span.place)?, self.constant(1, false, span.place)?];
        let mut convert = blank(span);
        convert.text = (span.end, span.end);
        let (opcode, reads, writes) = if action == Action::LoadFrame {
            convert.action = Action::Compare(Combine::None);
            convert.sources[..2].copy_from_slice(&[word.id, zero]);
            ("setp.ne.u32", word.id, register.id)
        } else {
            convert.action = Action::Lane;
            convert.sources[..3].copy_from_slice(&[one, zero, register.id]);
            ("selp.b32", register.id, word.id)
        };
        if let Some(row) = isa::lane_row(opcode) {
            (convert.op, convert.unit, convert.latency) = (row.op, row.unit, row.latency);
        }
        convert.destinations[0] = writes;
        convert.reads.insert(reads);
        convert.writes.insert(writes);
        let convert = (convert, Effects { reads: vec![reads], writes: vec![writes], ..Effects::default() });
        let moved = frame_move(action, part, word, span);
        Ok(if action == Action::LoadFrame { vec![moved, convert] } else { vec![convert, moved] })
    }

    pub(super) fn prototype(&mut self, prototype: &Prototype) -> Result<(), PtxError> {
        let mut bytes = 0;
        let results = layout(&prototype.results, &mut bytes)?;
        let params = layout(&prototype.params, &mut bytes)?;
        let signature = Signature { index: None, results, params };
        self.prototypes.insert(prototype.name.clone(), signature);
        Ok(())
    }

    /// `.calltargets`: the functions take the same parameters, so the first one's serve as the prototype.
    pub(super) fn call_targets(
        &mut self,
        name: &str,
        functions: &[String],
        span: Span,
    ) -> Result<(), PtxError> {
        let known = self.signatures;
        for function in functions {
            let Some(signature) = known.get(function) else {
                let error = PtxError::new(span.place, format!("no function is named `{function}`"));
                return Err(nearest(error, function, known.keys()));
            };
            self.taken.extend(signature.index);
            let prototype = Signature { index: None, ..signature.clone() };
            self.prototypes.entry(name.to_owned()).or_insert(prototype);
        }
        Ok(())
    }

    /// The frame's part of this name, in the scopes from here outwards.
    pub(super) fn find_frame(&self, name: &str) -> Option<FramePart> {
        let mut scope = self.scope;
        loop {
            if let Some(part) = self.scopes[scope].frame.get(name) {
                return Some(*part);
            }
            if scope == 0 {
                return None;
            }
            scope = self.scopes[scope].parent;
        }
    }
}

/// The parts of a frame's part that a vector's elements have; all of it if there is one.
fn parts_of(whole: FramePart, count: usize) -> impl Iterator<Item = FramePart> {
    let size = whole.size / count as u32;
    (0..count as u32).map(move |index| FramePart { offset: whole.offset + index * size, size })
}

/// A move between a register and the frame, without text of its own.
fn frame_move(action: Action, part: FramePart, register: Register, span: Span) -> (Instruction, Effects) {
    let mut instruction = blank(span);
    let mut effects = Effects::default();
    instruction.action = action;
    (instruction.unit, instruction.latency) = (Unit::Sp, Latency::IntOther);
    instruction.text = (span.end, span.end);
    instruction.offset = i64::from(part.offset);
    instruction.memory = MemoryForm {
        elements: 1,
        bytes: part.size.min(u32::from(register.kind.bits()) / 8) as u8,
        wide_value: register.kind == RegisterType::Wide,
        store: action == Action::StoreFrame,
        ..MemoryForm::NONE
    };
    if action == Action::LoadFrame {
        instruction.destinations[0] = register.id;
        instruction.writes.insert(register.id);
        effects.writes.push(register.id);
    } else {
        instruction.sources[0] = register.id;
        instruction.reads.insert(register.id);
        effects.reads.push(register.id);
    }
    (instruction, effects)
}

/// Gives an added instruction the guard of its original instruction.
pub(super) fn under_guard(instruction: &mut Instruction, effects: &mut Effects, guard: &Instruction) {
    (instruction.guard, instruction.guard_negated) = (guard.guard, guard.guard_negated);
    if guard.is_guarded() {
        instruction.reads.insert(guard.guard);
        effects.reads.push(guard.guard);
        effects.guarded = true;
    }
}

impl Line<'_, '_, '_> {
    pub(super) fn return_(&mut self) -> Result<(), PtxError> {
        self.operands(0..=0)?;
        if self.decoder.entry {
            (self.out.action, self.out.latency) = (Action::Exit, Latency::Exit);
        } else {
            self.decoder.store_results(self.out, self.span)?;
            self.out.action = Action::Return;
        }
        Ok(())
    }

    /// `call (results), target, (arguments), prototype;`
    pub(super) fn call(&mut self) -> Result<(), PtxError> {
        let mut rest = self.operands(1..=4)?;
        let mut list = || match rest {
            [Operand { kind: OperandKind::List(list), .. }, tail @ ..] => {
                rest = tail;
                list.as_slice()
            }
            _ => &[],
        };
        let results = list();
        let Some((target, after)) = rest.split_first() else {
            return Err(self.error("the call names no function").expecting("a function or a register"));
        };
        rest = after;
        let mut list = || match rest {
            [Operand { kind: OperandKind::List(list), .. }, tail @ ..] => {
                rest = tail;
                list.as_slice()
            }
            _ => &[],
        };
        let arguments = list();
        let OperandKind::Name(name) = &target.kind else {
            return Err(self.misfit(target, "a function or a register"));
        };
        let place = target.span.place;
        let (signature, action, callee) = if let Some(register) = self.decoder.find_register(name, place)? {
            self.check(name, register, Wanted::exactly("u64"), place)?;
            self.effects.reads.push(register.id);
            self.out.sources[0] = register.id;
            let [Operand { kind: OperandKind::Name(prototype), span }] = rest else {
                let error = PtxError::new(place, "an indirect call needs a prototype");
                return Err(
                    error.expecting("the label of a `.callprototype` or `.calltargets` behind the arguments")
                );
            };
            let known = &self.decoder.prototypes;
            let signature = known.get(prototype).cloned().ok_or_else(|| {
                let error = PtxError::new(
                    span.place,
                    format!("no `.callprototype` or `.calltargets` is named `{prototype}`"),
                );
                nearest(error, prototype, known.keys())
            })?;
            self.decoder.indirect = true;
            (signature, Action::Call, None)
        } else {
            let known = self.decoder.signatures;
            let Some(signature) = known.get(name) else {
                let error = PtxError::new(place, format!("no function is named `{name}`"));
                return Err(nearest(error, name, known.keys()));
            };
            if let [extra, ..] = rest {
                return Err(self.misfit(extra, "`;`: a direct call has no prototype"));
            }
            let action = match (signature.index, name.as_str()) {
                (Some(_), _) => Action::Call,
                (None, "__assertfail") => Action::Assert,
                (None, BAD_FREE) => Action::BadFree,
                (None, name) => match RangeAction::of_function(name) {
                    Some(action) => Action::Range(action),
                    None => {
                        let message = format!("`{name}` has no body, and there is no linker");
                        let known: Vec<String> = library::names().map(|name| format!("`{name}`")).collect();
                        let expected = format!(
                            "a function of this file, {}, `__assertfail` or one that tells ranges",
                            known.join(", ")
                        );
                        return Err(PtxError::unsupported(place, message).expecting(expected));
                    }
                },
            };
            (signature.clone(), action, signature.index)
        };
        let site = CallSite {
            callee,
            arguments: self.passed(arguments, &signature.params, "arguments", true)?,
            results: self.passed(results, &signature.results, "results", false)?,
        };
        if matches!(action, Action::Range(_))
            && !(site.arguments.iter().map(|part| part.size).eq(RANGE_PARAMETERS) && site.results.is_empty())
        {
            let message = format!("`{name}` takes an array, two addresses and a number, and gives nothing");
            return Err(self.error(message).expecting("arguments of 8, 8, 8 and 4 bytes"));
        }
        self.out.action = action;
        self.out.offset = self.decoder.calls.len() as i64;
        self.decoder.calls.push(site);
        Ok(())
    }

    /// Location of the values of a call in the caller's frame. Registers and constants get a location there, and
    /// instructions that fill it or read it.
    fn passed(
        &mut self,
        operands: &[Operand],
        formals: &[Formal],
        what: &str,
        takes: bool,
    ) -> Result<Vec<FramePart>, PtxError> {
        if operands.len() != formals.len() {
            let message = format!("the call has {} {what}, the function {}", operands.len(), formals.len());
            return Err(self.error(message).expecting(format!("{} {what}", formals.len())));
        }
        let mut parts = Vec::new();
        for (operand, Formal { part: formal, element, vector }) in operands.iter().zip(formals) {
            let name = if let OperandKind::Name(name) = &operand.kind { name.as_str() } else { "" };
            if let Some(part) = self.decoder.find_frame(name) {
                if part.size != formal.size {
                    let message = format!("`{name}` has {} bytes", part.size);
                    let error = PtxError::new(operand.span.place, message);
                    return Err(error.expecting(format!("{} bytes", formal.size)));
                }
                parts.push(part);
                continue;
            }
            let part = FramePart { offset: self.decoder.frame_top.next_multiple_of(8), size: formal.size };
            self.decoder.frame_top = part.offset + formal.size.next_multiple_of(4);
            self.decoder.frame_bytes = self.decoder.frame_bytes.max(self.decoder.frame_top);
            parts.push(part);
            let elements = self.decoder.vector(name).unwrap_or_else(|| vec![operand.kind.clone()]);
            let is_ignored = !takes && operand.kind == OperandKind::Discard;
            if elements.len() != *vector as usize && !is_ignored {
                let wanted = format!("a vector of {vector} elements of `.{element}`");
                let wanted = if *vector == 1 { format!("a value of `.{element}`") } else { wanted };
                return Err(self.misfit(operand, &wanted));
            } else if *vector == 1 && formal.size > 8 && !is_ignored {
                let wanted = format!("a `.param` variable of {} bytes", formal.size);
                return Err(self.misfit(operand, &wanted));
            }
            for (part, kind) in parts_of(part, elements.len()).zip(elements) {
                let operand = Operand { kind, span: operand.span };
                if takes {
                    self.pass_argument(&operand, part, element)?;
                } else if operand.kind != OperandKind::Discard {
                    self.take_result(&operand, part, element)?;
                }
            }
        }
        Ok(parts)
    }

    /// Behind the call its result goes to a register.
    fn take_result(&mut self, operand: &Operand, part: FramePart, element: &str) -> Result<(), PtxError> {
        let (place, wanted) = (operand.span.place, "a `.param` variable or a register");
        let OperandKind::Name(name) = &operand.kind else { return Err(self.misfit(operand, wanted)) };
        let Some(register) = self.decoder.find_register(name, place)? else {
            return Err(self.misfit(operand, wanted));
        };
        if element == "pred" {
            self.decoder.predicate(name, place)?;
        } else {
            let bits = (part.size * 8) as u8;
            self.check(name, register, Wanted::at_least(element).of(bits), place)?;
        }
        for (mut load, mut effects) in
            self.decoder.frame_moves(Action::LoadFrame, part, register, self.span)?
        {
            under_guard(&mut load, &mut effects, self.out);
            self.after.push((load, effects));
        }
        Ok(())
    }

    /// Before the call its argument goes to the frame.
    fn pass_argument(&mut self, operand: &Operand, part: FramePart, element: &str) -> Result<(), PtxError> {
        let place = operand.span.place;
        if element == "pred" {
            let OperandKind::Name(name) = &operand.kind else {
                return Err(self.misfit(operand, "a predicate"));
            };
            let id = self.decoder.predicate(name, place)?;
            let register = Register { id, kind: RegisterType::Predicate, class: Class::Bits };
            for (mut store, mut effects) in
                self.decoder.frame_moves(Action::StoreFrame, part, register, self.span)?
            {
                store.text = (self.span.start, self.span.start);
                under_guard(&mut store, &mut effects, self.out);
                self.decoder.push(store, effects);
            }
            return Ok(());
        }
        let bits = (part.size.min(8) * 8) as u8;
        let mut store = blank(self.span);
        let before = self.effects.reads.len();
        store.sources[0] = self.read(operand, Wanted::exactly(element).of(bits))?;
        let mut effects = Effects { reads: self.effects.reads.split_off(before), ..Effects::default() };
        for &id in &effects.reads {
            store.reads.insert(id);
        }
        store.action = Action::StoreFrame;
        (store.unit, store.latency) = (Unit::Sp, Latency::IntOther);
        store.offset = i64::from(part.offset);
        store.text = (self.span.start, self.span.start);
        store.memory = MemoryForm {
            elements: 1,
            bytes: bits / 8,
            wide_value: bits == 64,
            store: true,
            ..MemoryForm::NONE
        };
        under_guard(&mut store, &mut effects, self.out);
        self.decoder.push(store, effects);
        Ok(())
    }
}
