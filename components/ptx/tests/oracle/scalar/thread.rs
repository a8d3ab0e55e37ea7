//! One thread: its frames, and the effect of an instruction on them.

use std::collections::BTreeMap;

use counterpoint_ptx::ast::{Instruction, Operand, OperandKind, StorageSpace, Variable};

use super::access::{LOCAL_WINDOW, Memories, Room, SHARED_WINDOW, resolve};
use super::code::{Code, element, size};
use super::opcode::{Opcode, PREDICATE, Type};
use super::operation::{Outcome, evaluate};
use super::warp::is_collective;

/// Bytes of local memory of a thread.
const LOCAL: usize = 1 << 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runs,
    Waits,
    /// At an instruction that the threads of its warp execute together.
    Meets,
    Ended,
}

/// A scope of a function and a name in it.
type Name = (usize, String);

/// A function that runs.
struct Frame {
    function: usize,
    next: usize,
    registers: BTreeMap<Name, u64>,
    parameters: BTreeMap<Name, Vec<u8>>,
    /// Addresses of local variables, and the first address behind them.
    locals: BTreeMap<Name, u64>,
    local_end: u64,
    carry: bool,
}

impl Frame {
    fn new(functions: &[Code<'_>], function: usize, local_start: u64) -> Self {
        let mut frame = Frame {
            function,
            next: 0,
            registers: BTreeMap::new(),
            parameters: BTreeMap::new(),
            locals: BTreeMap::new(),
            local_end: local_start,
            carry: false,
        };
        for (scope, variable) in functions[function].variables(StorageSpace::Local) {
            frame.locals.insert((scope, variable.name.clone()), frame.local_end);
            frame.local_end = (frame.local_end + size(variable) as u64).next_multiple_of(16);
        }
        if !functions[function].function.entry {
            for (scope, variable) in functions[function].variables(StorageSpace::Param) {
                frame.parameters.insert((scope, variable.name.clone()), vec![0; size(variable)]);
            }
        }
        frame
    }
}

pub(crate) struct Thread {
    pub(crate) state: State,
    pub(crate) count: u64,
    frames: Vec<Frame>,
    local: Vec<u8>,
    index: u32,
    /// `%ntid.x`, `%nctaid.x`, `%ctaid.x`.
    shape: [u32; 3],
}

/// An address operand, resolved.
enum Target {
    Memory(Room, u64),
    /// Parameters of a call, and the offset in them.
    Frame(Name, usize),
    Kernel(usize),
}

impl Thread {
    pub(crate) fn new(functions: &[Code<'_>], kernel: usize, index: u32, shape: [u32; 3]) -> Self {
        Thread {
            state: State::Runs,
            count: 0,
            frames: vec![Frame::new(functions, kernel, 0)],
            local: vec![0; LOCAL],
            index,
            shape,
        }
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a thread that runs is in a function")
    }

    /// Its function, and the instruction that it executes next.
    pub(super) fn place(&self) -> (usize, usize) {
        let frame = &self.frames[self.frames.len() - 1];
        (frame.function, frame.next)
    }

    /// Goes on behind an instruction that the warp has executed together.
    pub(super) fn advance(&mut self) {
        self.frame().next += 1;
        self.state = State::Runs;
    }

    /// Executes the next instruction.
    pub(crate) fn step(&mut self, functions: &[Code<'_>], memories: &mut Memories<'_>) {
        self.count += 1;
        let frame = self.frame();
        let code = &functions[frame.function];
        let Some(&(scope, instruction)) = code.steps.get(frame.next) else {
            return self.leave(functions);
        };
        frame.next += 1;
        if let Some(guard) = &instruction.guard {
            let truth = self.register(code, scope, &guard.name) != 0;
            if truth == guard.negated {
                return;
            }
        }
        let op = Opcode::new(&instruction.opcode);
        let operands = &instruction.operands;
        if is_collective(&op) {
            self.frame().next -= 1;
            self.state = State::Meets;
            return;
        }
        match op.head {
            "bra" => {
                let OperandKind::Name(label) = &operands[0].kind else { panic!("a label") };
                self.frame().next = code.label(scope, label);
            }
            "ret" => self.leave(functions),
            "exit" => self.state = State::Ended,
            "bar" | "barrier" => self.state = State::Waits,
            "membar" | "fence" => {}
            "call" => self.call(functions, scope, operands),
            "ld" | "st" | "ldu" => self.transfer(&op, code, scope, operands, memories),
            "atom" | "red" => self.atomic(&op, code, scope, operands, memories),
            "cvta" => {
                let window = match op.one_of(&["shared", "local"]) {
                    Some("shared") => SHARED_WINDOW,
                    Some("local") => LOCAL_WINDOW,
                    _ => 0,
                };
                let address = self.value(code, scope, &operands[1].kind, op.types[0], memories);
                let moved = if op.has("to") { address - window } else { address + window };
                self.write(code, scope, &operands[0].kind, op.types[0], moved);
            }
            "mov" if op.types[0] != PREDICATE => self.mov(&op, code, scope, operands, memories),
            _ => self.compute(&op, code, scope, instruction, memories),
        }
    }

    /// An instruction that is a function of registers.
    fn compute(
        &mut self,
        op: &Opcode<'_>,
        code: &Code<'_>,
        scope: usize,
        instruction: &Instruction,
        memories: &Memories<'_>,
    ) {
        let (result, types) = op.signature().unwrap_or_else(|| panic!("`{}` is not known", op.text));
        let operands = &instruction.operands;
        let sources: Vec<u64> = operands[1..]
            .iter()
            .zip(&types)
            .map(|(operand, ty)| self.value(code, scope, &operand.kind, *ty, memories))
            .collect();
        assert_eq!(sources.len(), types.len(), "`{}`", op.text);
        let outcome = evaluate(op, &sources, &mut self.frame().carry);
        match (outcome, &operands[0].kind) {
            (Outcome::Value(value), to) => self.write(code, scope, to, result, value),
            (Outcome::Truth(first, second), OperandKind::Pair(p, q)) => {
                for (name, truth) in [(p, first), (q, second)] {
                    if name != "_" {
                        self.write(code, scope, &OperandKind::Name(name.clone()), PREDICATE, truth.into());
                    }
                }
            }
            (Outcome::Truth(truth, _), to) => self.write(code, scope, to, PREDICATE, truth.into()),
        }
    }

    // Values.

    fn register(&self, code: &Code<'_>, scope: usize, name: &str) -> u64 {
        let (home, _) = code.find(scope, name).unwrap_or_else(|| panic!("`{name}` is not declared"));
        let registers = &self.frames[self.frames.len() - 1].registers;
        *registers.get(&(home, name.to_owned())).unwrap_or_else(|| panic!("`{name}` was not written before"))
    }

    /// An operand, as a type sees it.
    pub(super) fn value(
        &self,
        code: &Code<'_>,
        scope: usize,
        kind: &OperandKind,
        ty: Type,
        memories: &Memories<'_>,
    ) -> u64 {
        let name = match kind {
            OperandKind::Name(name) => name,
            OperandKind::Not(name) => return u64::from(self.register(code, scope, name) == 0),
            OperandKind::Integer(value) if ty == PREDICATE => return u64::from(*value != 0),
            OperandKind::Integer(value) => return ty.cut(*value),
            OperandKind::Float32(bits) => return u64::from(*bits),
            OperandKind::Float64(bits) if ty.bits == 64 => return *bits,
            _ => panic!("{kind:?} is no value"),
        };
        if let Some((home, variable)) = code.find(scope, name) {
            return match variable.space {
                StorageSpace::Register => ty.cut(self.register(code, scope, name)),
                StorageSpace::Local => self.frames[self.frames.len() - 1].locals[&(home, name.clone())],
                space => panic!("`{name}` lies in {space:?}"),
            };
        }
        if let Some(offset) = memories.names.get(name.as_str()) {
            return *offset;
        }
        let [threads, ctas, cta] = self.shape;
        u64::from(match name.as_str() {
            "%tid.x" => self.index,
            "%ntid.x" => threads,
            "%nctaid.x" => ctas,
            "%ctaid.x" => cta,
            "%laneid" => self.index % 32,
            "%warpid" => self.index / 32,
            "%lanemask_lt" => (1 << (self.index % 32)) - 1,
            "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" => 0,
            "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" => 1,
            _ => panic!("`{name}` is not known"),
        })
    }

    /// Writes a register, which is filled with zeros or the sign where it is wider than the type.
    pub(super) fn write(&mut self, code: &Code<'_>, scope: usize, kind: &OperandKind, ty: Type, value: u64) {
        let OperandKind::Name(name) = kind else {
            assert_eq!(*kind, OperandKind::Discard);
            return;
        };
        let (home, variable) = code.find(scope, name).unwrap_or_else(|| panic!("`{name}` is not declared"));
        assert_eq!(variable.space, StorageSpace::Register);
        let value = element(variable).cut(ty.number(value) as u64);
        self.frame().registers.insert((home, name.clone()), value);
    }

    fn mov(
        &mut self,
        op: &Opcode<'_>,
        code: &Code<'_>,
        scope: usize,
        operands: &[Operand],
        memories: &Memories<'_>,
    ) {
        let ty = op.types[0];
        let part = |count: usize| Type { bits: ty.bits / count as u32, ..ty };
        match (&operands[0].kind, &operands[1].kind) {
            (to, OperandKind::Vector(parts)) => {
                let piece = part(parts.len());
                let values = parts.iter().enumerate().map(|(index, kind)| {
                    self.value(code, scope, kind, piece, memories) << (index as u32 * piece.bits)
                });
                let value = values.fold(0, |all, value| all | value);
                self.write(code, scope, to, ty, value);
            }
            (OperandKind::Vector(parts), from) => {
                let piece = part(parts.len());
                let value = self.value(code, scope, from, ty, memories);
                for (index, kind) in parts.iter().enumerate() {
                    self.write(code, scope, kind, piece, piece.cut(value >> (index as u32 * piece.bits)));
                }
            }
            (to, from) => {
                let value = self.value(code, scope, from, ty, memories);
                self.write(code, scope, to, ty, value);
            }
        }
    }

    // Memory.

    fn target(
        &self,
        op: &Opcode<'_>,
        code: &Code<'_>,
        scope: usize,
        operand: &Operand,
        memories: &Memories<'_>,
    ) -> Target {
        let (name, offset) = match &operand.kind {
            OperandKind::Address(name, offset) => (name, *offset),
            other => panic!("{other:?} is not an address"),
        };
        let room = match op.one_of(&["global", "shared", "local"]) {
            Some("global") => Some(Room::Global),
            Some("shared") => Some(Room::Shared),
            Some("local") => Some(Room::Local),
            _ => None,
        };
        match code.find(scope, name) {
            Some((home, variable)) if variable.space == StorageSpace::Param => {
                if code.function.entry && home == 0 {
                    return Target::Kernel(parameter(&code.function.params, name) + offset as usize);
                }
                Target::Frame((home, name.clone()), offset as usize)
            }
            Some((home, variable)) if variable.space == StorageSpace::Local => {
                let start = self.frames[self.frames.len() - 1].locals[&(home, name.clone())];
                Target::Memory(Room::Local, start.wrapping_add(offset as u64))
            }
            Some((_, variable)) => {
                let register = self.register(code, scope, name);
                let address = element(variable).cut(register.wrapping_add(offset as u64));
                let (room, address) = room.map_or_else(|| resolve(address), |room| (room, address));
                Target::Memory(room, address)
            }
            None => Target::Memory(Room::Shared, memories.names[name.as_str()].wrapping_add(offset as u64)),
        }
    }

    /// `ld` and `st`
    fn transfer(
        &mut self,
        op: &Opcode<'_>,
        code: &Code<'_>,
        scope: usize,
        operands: &[Operand],
        memories: &mut Memories<'_>,
    ) {
        let ty = op.types[0];
        let stores = op.head == "st";
        let (values, address) =
            if stores { (&operands[1], &operands[0]) } else { (&operands[0], &operands[1]) };
        let values = match &values.kind {
            OperandKind::Vector(parts) => parts.as_slice(),
            kind => std::slice::from_ref(kind),
        };
        let bytes = ty.bits as usize / 8;
        let target = self.target(op, code, scope, address, memories);
        let stored: Vec<u8> = match stores {
            true => values
                .iter()
                .flat_map(|kind| self.value(code, scope, kind, ty, memories).to_le_bytes()[..bytes].to_vec())
                .collect(),
            false => Vec::new(),
        };
        let place: &mut [u8] = match target {
            Target::Memory(room, address) => {
                memories.bytes(room, &mut self.local, address, bytes * values.len())
            }
            Target::Frame(name, offset) => {
                let frame = self.frames.last_mut().expect("a frame");
                let whole = frame.parameters.entry(name.clone()).or_insert_with(|| {
                    let (_, variable) = code.find(scope, &name.1).expect("it was found before");
                    vec![0; size(variable)]
                });
                &mut whole[offset..offset + bytes * values.len()]
            }
            Target::Kernel(offset) => {
                &mut memories.parameters[offset..offset + bytes * values.len()].to_vec()
            }
        };
        if stores {
            place.copy_from_slice(&stored);
            return;
        }
        let loaded: Vec<u64> = place.chunks_exact(bytes).map(number).collect();
        for (kind, value) in values.iter().zip(loaded) {
            self.write(code, scope, kind, ty, value);
        }
    }

    /// `atom` and `red`, whose operation is a function of the old value and the operands.
    fn atomic(
        &mut self,
        op: &Opcode<'_>,
        code: &Code<'_>,
        scope: usize,
        operands: &[Operand],
        memories: &mut Memories<'_>,
    ) {
        let ty = op.types[0];
        let returns = usize::from(op.head == "atom");
        let rest = &operands[returns..];
        let value = |index: usize| self.value(code, scope, &rest[index].kind, ty, memories);
        let b = value(1);
        let c = if rest.len() > 2 { value(2) } else { 0 };
        let Target::Memory(room, address) = self.target(op, code, scope, &rest[0], memories) else {
            panic!("atomics are on memory");
        };
        let place = memories.bytes(room, &mut self.local, address, ty.bits as usize / 8);
        let old = number(place);
        let arithmetic = |text: &'static str| match evaluate(&Opcode::new(text), &[old, b], &mut false) {
            Outcome::Value(value) => value,
            Outcome::Truth(..) => unreachable!("no atomic compares"),
        };
        let new = match op.one_of(&["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"]) {
            Some("exch") => b,
            Some("cas") if old == b => c,
            Some("cas") => old,
            Some("inc") if old >= b => 0,
            Some("inc") => old + 1,
            Some("dec") if old == 0 || old > b => b,
            Some("dec") => old - 1,
            Some("and") => old & b,
            Some("or") => old | b,
            Some("xor") => old ^ b,
            Some("add") if ty.is_float() => {
                arithmetic(if ty.bits == 32 { "add.rn.f32" } else { "add.rn.f64" })
            }
            Some("add") => old.wrapping_add(b),
            Some("min") => ty.number(old).min(ty.number(b)) as u64,
            Some("max") => ty.number(old).max(ty.number(b)) as u64,
            _ => panic!("`{}` is not known", op.text),
        };
        place.copy_from_slice(&new.to_le_bytes()[..place.len()]);
        if returns == 1 {
            self.write(code, scope, &operands[0].kind, ty, old);
        }
    }

    // Calls.

    fn call(&mut self, functions: &[Code<'_>], scope: usize, operands: &[Operand]) {
        let caller = &functions[self.frame().function];
        let (_, arguments, name) = parts(operands);
        let callee = functions.iter().position(|code| code.function.name == name).expect("a function");
        let formals = &functions[callee].function.params;
        assert_eq!(arguments.len(), formals.len());
        let mut frame = Frame::new(functions, callee, self.frame().local_end);
        for (argument, formal) in arguments.iter().zip(formals) {
            let bytes = match &argument.kind {
                OperandKind::Name(name) => match caller.find(scope, name) {
                    Some((home, variable)) if variable.space == StorageSpace::Param => {
                        self.frame().parameters[&(home, name.clone())].clone()
                    }
                    _ => self.register(caller, scope, name).to_le_bytes().to_vec(),
                },
                OperandKind::Integer(value) => value.to_le_bytes().to_vec(),
                other => panic!("{other:?} is not an argument"),
            };
            let key = (0, formal.name.clone());
            if formal.space == StorageSpace::Register {
                frame.registers.insert(key, element(formal).cut(number(&bytes)));
            } else {
                frame.parameters.insert(key, bytes[..size(formal)].to_vec());
            }
        }
        self.frames.push(frame);
    }

    /// Returns, or ends where the kernel itself returns.
    fn leave(&mut self, functions: &[Code<'_>]) {
        let callee = self.frames.pop().expect("a frame");
        let formals = &functions[callee.function].function.results;
        let Some(frame) = self.frames.last_mut() else {
            self.state = State::Ended;
            return;
        };
        let caller = &functions[frame.function];
        let (scope, call) = caller.steps[frame.next - 1];
        let (results, ..) = parts(&call.operands);
        for (result, formal) in results.iter().zip(formals) {
            let OperandKind::Name(name) = &result.kind else { panic!("a result") };
            let key = (0, formal.name.clone());
            let (home, variable) = caller.find(scope, name).expect("a place for the result");
            let bytes = match formal.space {
                StorageSpace::Register => callee.registers[&key].to_le_bytes()[..size(formal)].to_vec(),
                _ => callee.parameters[&key].clone(),
            };
            if variable.space == StorageSpace::Param {
                frame.parameters.insert((home, name.clone()), bytes);
            } else {
                frame.registers.insert((home, name.clone()), number(&bytes));
            }
        }
    }
}

/// Results, arguments and function of a call.
fn parts(operands: &[Operand]) -> (&[Operand], &[Operand], &str) {
    let at = operands.iter().position(|operand| matches!(operand.kind, OperandKind::Name(_)));
    let at = at.expect("a function's name");
    let OperandKind::Name(name) = &operands[at].kind else { unreachable!("found above") };
    (list(operands[..at].last()), list(operands.get(at + 1)), name)
}

fn list(operand: Option<&Operand>) -> &[Operand] {
    match operand.map(|operand| &operand.kind) {
        Some(OperandKind::List(list)) => list,
        _ => &[],
    }
}

/// Offset of a kernel's parameter: each lies at a multiple of its alignment.
fn parameter(params: &[Variable], name: &str) -> usize {
    let mut offset: usize = 0;
    for variable in params {
        let align = variable.align.unwrap_or(element(variable).bits / 8);
        offset = offset.next_multiple_of(align as usize);
        if variable.name == name {
            return offset;
        }
        offset += size(variable);
    }
    panic!("no parameter `{name}`")
}

/// A little-endian number of at most eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
}
