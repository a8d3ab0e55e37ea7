//! Linking of a kernel with the functions that it can reach.
//!
//! Every function has rows of its own; only if a function is called again while it runs are its rows saved. An
//! instruction's operands are therefore the same numbers for every caller, and calls cost the others nothing.

use super::call::code_address;
use super::limits::shared_memory;
use crate::analysis::cfg::NO_PC;
use crate::isa::forms::StackOp;
use crate::isa::order::{FIRST_TARGET, Order};
use crate::program::call_tree::CallTree;
use crate::program::thread_registers::ThreadRegisters;
use crate::program::{
    Action, CONSTANT, CallSite, Callable, FramePart, Instruction, Kernel, MatrixSite, NONE, Origin, Param,
    RegisterPlace, Row, polls, spins,
};
use crate::syntax::ast::{Function, Module};
use crate::syntax::error::PtxError;

/// A decoded function that has no place in a kernel yet.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// Position in the module.
    pub(super) index: u32,
    pub(super) instructions: Vec<Instruction>,
    /// Per instruction, which operands are predicates: bits of the sources, then of the destinations.
    pub(super) predicate_operands: Vec<u8>,
    pub(super) constants: Vec<Row>,
    pub(super) rows: u16,
    pub(super) wide_rows: u16,
    /// Whether the last row is the stack pointer with which it was called.
    pub(super) stack: bool,
    pub(super) predicates: u16,
    pub(super) scoreboard_registers: u16,
    pub(super) places: Vec<RegisterPlace>,
    /// Registers of values that live at once, in the order of the text.
    pub(super) live: u32,
    pub(super) frame_bytes: u32,
    pub(super) local_bytes: u32,
    pub(super) params: Vec<FramePart>,
    pub(super) results: Vec<FramePart>,
    /// Callees are positions in the module.
    pub(super) calls: Vec<CallSite>,
    pub(super) matrices: Vec<MatrixSite>,
    pub(super) indirect: bool,
    /// Functions whose addresses it takes.
    pub(super) taken: Vec<u32>,
    /// Instructions that the simulator does not support.
    pub(super) unsupported: Vec<PtxError>,
}

/// A decoded `.entry`: the part that a function lacks.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) code: Code,
    pub(super) params: Vec<Param>,
    pub(super) param_bytes: u32,
    pub(super) storage: super::storage::Storage,
}

/// Links a kernel with the functions that it can reach. `taken` are functions to which variables point.
pub(super) fn link(
    module: &Module,
    entry: Entry,
    functions: &[Code],
    taken: &[u32],
    origin: &Origin,
) -> Kernel {
    let mut codes = vec![entry.code.clone()];
    let mut indirect = false;
    let mut next = 0;
    while let Some(code) = codes.get(next) {
        let mut wanted: Vec<u32> = code.calls.iter().filter_map(|site| site.callee).collect();
        if code.indirect && !indirect {
            indirect = true;
            let everywhere = functions.iter().chain([&entry.code]).flat_map(|code| &code.taken);
            wanted.extend(everywhere.chain(taken));
        }
        for index in wanted {
            if codes.iter().all(|code| code.index != index) {
                codes.extend(functions.iter().find(|code| code.index == index).cloned());
            }
        }
        next += 1;
    }
    let function = &module.functions[entry.code.index as usize];
    let position = |index: u32| codes.iter().position(|code| code.index == index).unwrap_or(0);
    let edges: Vec<Vec<usize>> = codes
        .iter()
        .map(|code| {
            let direct = code.calls.iter().filter_map(|site| site.callee).map(position);
            // An indirect call may go to whatever has an address: it counts as one to every function.
            direct.chain((1..codes.len()).filter(|_| code.indirect)).collect()
        })
        .collect();
    let tree = CallTree::new(edges);
    let recursive = tree.is_recursive();
    let weights = |weight: &dyn Fn(&Code) -> u32| codes.iter().map(weight).collect::<Vec<u32>>();
    let live = weights(&|code| code.live);
    let live_registers = tree.together(&live);
    let local_bytes = match recursive {
        true => codes[0].local_bytes,
        false => tree.together(&weights(&|code| code.local_bytes)),
    };
    let functions = codes.iter().map(|code| code.index).zip(live).collect();
    let mut unsupported: Vec<PtxError> = codes.iter().flat_map(|code| code.unsupported.clone()).collect();
    let reached: Vec<&Function> = codes.iter().map(|code| &module.functions[code.index as usize]).collect();
    unsupported.extend(shared_memory(module, &reached, &entry.storage.shared.symbols).err());
    let mut kernel = Kernel {
        name: function.name.clone(),
        origin: origin.clone(),
        params: entry.params,
        param_bytes: entry.param_bytes,
        shared_bytes: entry.storage.static_shared_bytes(),
        shared_symbols: entry.storage.shared.symbols,
        local_bytes,
        needs_stack: recursive || codes.iter().any(|code| code.stack),
        global_symbols: entry.storage.global.symbols,
        constant_symbols: entry.storage.constant.symbols,
        live_registers,
        registers: ThreadRegisters::new(function, functions, tree),
        unsupported,
        max_ntid: function.max_ntid,
        exact_ntid: function.exact_ntid,
        min_ctas_per_sm: function.min_ctas_per_sm,
        instructions: Vec::new(),
        calls: Vec::new(),
        matrices: Vec::new(),
        functions: Vec::new(),
        constants: Vec::new(),
        rows: 0,
        stack: None,
        predicates: 0,
        scoreboard_registers: 0,
        places: Vec::new(),
    };
    for code in &codes {
        let numbers = [
            kernel.constants.len() + code.constants.len(),
            usize::from(kernel.rows) + usize::from(code.rows),
            usize::from(kernel.predicates) + usize::from(code.predicates),
            usize::from(kernel.scoreboard_registers) + usize::from(code.scoreboard_registers),
        ];
        if numbers.into_iter().any(|number| number >= super::MOST_REGISTERS) {
            let message = format!(
                "`{}` and the functions it calls have more than {} registers or different constants",
                function.name,
                super::MOST_REGISTERS
            );
            if kernel.unsupported.is_empty() {
                kernel.unsupported.push(PtxError::unsupported(function.span.place, message));
            }
            break;
        }
        let name = &module.functions[code.index as usize].name;
        append(&mut kernel, (name, code), recursive, &position);
    }
    add_stack_pointer(&mut kernel);
    if origin.target < FIRST_TARGET {
        kernel.instructions.iter_mut().for_each(|instruction| instruction.order = Order::NONE);
    }
    polls::mark(&mut kernel.instructions);
    if origin.target >= FIRST_TARGET {
        spins::mark(&mut kernel);
    }
    kernel
}

/// Gives a kernel a stack pointer, which all its functions share, if an instruction uses it.
fn add_stack_pointer(kernel: &mut Kernel) {
    if kernel.functions.iter().all(|function| function.stack.is_none()) {
        return;
    }
    let (row, id) = (kernel.rows, kernel.scoreboard_registers);
    kernel.stack = Some(row);
    kernel.rows += 1;
    kernel.scoreboard_registers += 1;
    kernel.places.push(RegisterPlace::Narrow(row));
    for instruction in &mut kernel.instructions {
        let Action::Stack(operation) = instruction.action else { continue };
        instruction.reads.insert(id);
        if operation != StackOp::Save {
            instruction.writes.insert(id);
        }
    }
}

fn append(kernel: &mut Kernel, (name, code): (&str, &Code), drains: bool, position: &dyn Fn(u32) -> usize) {
    let (entry, first_call) = (kernel.instructions.len() as u32, kernel.calls.len() as i64);
    let (rows, predicates, constants) = (kernel.rows, kernel.predicates, kernel.constants.len() as u16);
    let (first_id, first_matrix) = (kernel.scoreboard_registers, kernel.matrices.len() as i64);
    kernel.functions.push(Callable {
        name: name.to_owned(),
        address: code_address(code.index),
        entry,
        params: code.params.clone(),
        results: code.results.clone(),
        frame_bytes: code.frame_bytes,
        local_bytes: code.local_bytes,
        rows: rows..rows + code.rows,
        wide_rows: code.wide_rows,
        stack: code.stack.then(|| rows + code.rows - 1),
        predicates: predicates..predicates + code.predicates,
    });
    for (instruction, predicate_operands) in code.instructions.iter().zip(&code.predicate_operands) {
        let mut moved = instruction.clone();
        for (index, operand) in moved.sources.iter_mut().chain(&mut moved.destinations).enumerate() {
            let is_predicate = predicate_operands >> index & 1 != 0;
            *operand = shift(*operand, if is_predicate { predicates } else { rows }, constants);
        }
        moved.address = shift(moved.address, rows, constants);
        moved.guard = shift(moved.guard, predicates, constants);
        for at in [&mut moved.target, &mut moved.reconvergence] {
            *at += if *at == NO_PC { 0 } else { entry };
        }
        moved.reads.shift(first_id);
        moved.writes.shift(first_id);
        if matches!(moved.action, Action::Call | Action::Range(_)) {
            moved.offset += first_call;
        }
        if moved.action == Action::Matrix {
            moved.offset += first_matrix;
        }
        moved.drains = drains && matches!(moved.action, Action::Call | Action::Return);
        kernel.instructions.push(moved);
    }
    for site in &code.calls {
        let callee = site.callee.map(|index| position(index) as u32);
        kernel.calls.push(CallSite { callee, ..site.clone() });
    }
    for site in &code.matrices {
        let mut moved = site.clone();
        moved
            .registers
            .iter_mut()
            .flatten()
            .for_each(|register| *register = shift(*register, rows, constants));
        kernel.matrices.push(moved);
    }
    kernel.places.extend(code.places.iter().map(|place| match *place {
        RegisterPlace::Predicate(at) => RegisterPlace::Predicate(at + predicates),
        RegisterPlace::Narrow(at) => RegisterPlace::Narrow(at + rows),
        RegisterPlace::Wide(at) => RegisterPlace::Wide(at + rows),
    }));
    kernel.constants.extend_from_slice(&code.constants);
    kernel.rows += code.rows;
    kernel.predicates += code.predicates;
    kernel.scoreboard_registers += code.scoreboard_registers;
}

fn shift(operand: u16, rows: u16, constants: u16) -> u16 {
    match operand {
        NONE => NONE,
        constant if constant & CONSTANT != 0 => constant + constants,
        row => row + rows,
    }
}
