//! The memory accesses of a kernel: the array, the addresses, and whether both are known before the kernel runs.
//!
//! *Regular* addresses are polynomials of thread, block and loop counters with known bounds: the corners of a block
//! give their range. *Semi-regular* addresses depend on no loaded data but are not polynomials (`tid / 3`): every
//! thread must be evaluated. *Irregular* addresses depend on memory. The class of a kernel is the worst class of its
//! accesses to global memory; no other kernel sees the other spaces.

use std::collections::BTreeSet;
use std::fmt;

use super::affine::{Affine, Condition, CountedLoop, has_data};
use super::polynomial::{Atom, Polynomial};
use super::ssa::{Source, SsaInstruction};
use crate::isa::memory::modifiers;
use crate::isa::{RangeAction, Space};
use crate::syntax::ast::{Function, Module};
use crate::syntax::types::element_size;

/// Static knowledge of an address; the worse, the larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A polynomial.
    Regular,
    /// Independent of data, but not a polynomial.
    Semi,
    /// Dependent on loaded data.
    Irregular,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Regular => "regular",
            Class::Semi => "semi-regular",
            Class::Irregular => "irregular",
        })
    }
}

/// The array or base of an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Array {
    /// A pointer that is a parameter, by its index.
    Param(u32),
    /// A variable of the module or of the kernel.
    Symbol(String),
}

/// A memory access of a kernel.
#[derive(Clone, Debug)]
pub struct MemoryAccess {
    /// The instruction, as an index in [`Ssa::steps`](super::ssa::Ssa::steps).
    pub pc: u32,
    /// Line of the memory access.
    pub line: u32,
    /// Opcode of the memory access.
    pub opcode: String,
    /// The space, where it is known: a generic address has that of its array.
    pub space: Option<Space>,
    /// Whether the access reads (an atomic reads and writes).
    pub reads: bool,
    /// Whether the access writes.
    pub writes: bool,
    /// Bytes of one thread.
    pub bytes: u32,
    /// The array accessed; `None` if it is unknown.
    pub array: Option<Array>,
    /// Possible addresses of the memory access.
    pub addresses: Vec<Polynomial>,
    /// Class of the memory access.
    pub class: Class,
    /// The reason why it is not regular.
    pub reason: Option<String>,
}

/// Static knowledge of a kernel's memory accesses.
#[derive(Clone, Debug)]
pub struct KernelAccesses {
    /// The kernel's name.
    pub name: String,
    /// Its values and loops.
    pub affine: Affine,
    /// Its accesses to memory, in the order of the text; parameters are not memory.
    pub accesses: Vec<MemoryAccess>,
    /// The worst class of accesses to global memory.
    pub class: Class,
    /// The line that makes it so, and the reason, if it is not regular.
    pub reason: Option<(u32, String)>,
    /// A call of a function whose accesses are not analysed.
    pub calls: Option<(u32, String)>,
}

impl KernelAccesses {
    /// Looks at a kernel of a module.
    pub fn new(module: &Module, kernel: &Function) -> Self {
        let affine = Affine::new(kernel);
        let mut accesses = Vec::new();
        let mut calls = None;
        for pc in 0..affine.ssa.steps.len() as u32 {
            if !affine.ssa.is_reached(affine.ssa.block_of(pc)) {
                continue;
            }
            let step = &affine.ssa.steps[pc as usize];
            if step.opcode.split('.').next() == Some("call") {
                let callee = step.sources.iter().find_map(|source| match source {
                    Source::Name(name, _) => Some(name.clone()),
                    _ => None,
                });
                let callee = callee.unwrap_or_else(|| "an address".to_owned());
                // These functions touch no memory that other kernels see.
                let known = matches!(callee.as_str(), "vprintf" | "__assertfail");
                if !known && RangeAction::of_function(&callee).is_none() {
                    calls.get_or_insert((step.line, callee));
                }
            }
            accesses.extend(access(module, &affine, pc));
        }
        let global = |access: &&MemoryAccess| matches!(access.space, None | Some(Space::Global));
        let worst =
            accesses.iter().filter(global).max_by_key(|access| (access.class, std::cmp::Reverse(access.pc)));
        let mut class = worst.map_or(Class::Regular, |access| access.class);
        let mut reason = worst.and_then(|access| Some((access.line, access.reason.clone()?)));
        if let Some((line, callee)) = &calls {
            class = Class::Irregular;
            reason = Some((*line, format!("calls `{callee}`, whose accesses are not analysed")));
        }
        KernelAccesses { name: kernel.name.clone(), affine, accesses, class, reason, calls }
    }

    /// Whether the addresses of accesses to global memory, or the rounds of loops, depend on a parameter.
    pub fn asks_for(&self, index: u32) -> bool {
        let asks = |polynomial: &Polynomial| {
            let atoms = polynomial.atoms();
            atoms.into_iter().any(|atom| matches!(atom, Atom::Param { index: found, .. } if *found == index))
        };
        let exits = self.affine.loops.iter().flat_map(|found| &found.exits);
        self.global().any(|access| access.addresses.iter().any(asks))
            || exits.into_iter().any(|exit| exit.stays.sides().into_iter().any(asks))
    }

    /// The accesses that other blocks and kernels can see.
    pub fn global(&self) -> impl Iterator<Item = &MemoryAccess> {
        self.accesses.iter().filter(|access| matches!(access.space, None | Some(Space::Global)))
    }
}

fn access(module: &Module, affine: &Affine, pc: u32) -> Option<MemoryAccess> {
    let step = &affine.ssa.steps[pc as usize];
    let name = step.opcode.split('.').next()?;
    if matches!(name, "suld" | "sust" | "sured") {
        return Some(surface_access(step, pc));
    }
    if !matches!(name, "ld" | "ldu" | "st" | "atom" | "red") {
        return None;
    }
    let form = modifiers(&step.opcode).ok().filter(|form| !form.param)?;
    let addresses = affine.address(step.sources.first()?);
    let array = common_array(&addresses);
    let generic = || match &array {
        Some(Array::Symbol(symbol)) => Some(module_space(module, symbol)),
        Some(Array::Param(_)) => Some(Space::Global),
        None => None,
    };
    let (class, reason) = classify(affine, &addresses);
    let (class, reason) = match (&array, class) {
        (None, Class::Regular | Class::Semi) => {
            (Class::Irregular, Some("the array it belongs to cannot be told".to_owned()))
        }
        _ => (class, reason),
    };
    Some(MemoryAccess {
        pc,
        line: step.line,
        opcode: step.opcode.clone(),
        space: form.space.or_else(generic),
        reads: name != "st",
        writes: matches!(name, "st" | "atom" | "red"),
        bytes: u32::from(form.bytes) * u32::from(form.elements),
        array,
        addresses,
        class,
        reason,
    })
}

/// An access to a surface, which a launch binds to any array.
fn surface_access(step: &SsaInstruction, pc: u32) -> MemoryAccess {
    let words = || step.opcode.split('.');
    let elements = words().find_map(|word| word.strip_prefix('v')?.parse().ok()).unwrap_or(1);
    let element = words().find_map(element_size).unwrap_or_default();
    MemoryAccess {
        pc,
        line: step.line,
        opcode: step.opcode.clone(),
        space: Some(Space::Global),
        reads: !step.opcode.starts_with("sust"),
        writes: !step.opcode.starts_with("suld"),
        bytes: element * elements,
        array: None,
        addresses: Vec::new(),
        class: Class::Irregular,
        reason: Some("a launch says which array the surface is".to_owned()),
    }
}

/// The state space of a generic address of a variable: global or constant memory if the module declares it,
/// else shared memory or the thread's own, neither of which is visible to others.
fn module_space(module: &Module, symbol: &str) -> Space {
    use crate::syntax::ast::StorageSpace;
    match module.variables.iter().find(|variable| variable.name == symbol).map(|variable| variable.space) {
        Some(StorageSpace::Const) => Space::Const,
        Some(StorageSpace::Global) => Space::Global,
        _ => Space::Shared,
    }
}

/// The array of an address: the one pointer or variable that is added once.
pub(super) fn array_of(address: &Polynomial) -> Option<Array> {
    let mut found = None;
    for (atoms, factor) in address.terms() {
        let array = match atoms {
            [Atom::Param { index, offset: 0, bytes: 8 }] if factor == 1 => Array::Param(*index),
            [Atom::Symbol(name)] if factor == 1 => Array::Symbol(name.clone()),
            _ => continue,
        };
        if found.replace(array).is_some() {
            return None;
        }
    }
    found
}

fn common_array(addresses: &[Polynomial]) -> Option<Array> {
    let arrays: BTreeSet<Option<Array>> = addresses.iter().map(array_of).collect();
    if arrays.len() == 1 { arrays.into_iter().next().flatten() } else { None }
}

/// The class of a set of addresses, and the reason why it is not regular.
fn classify(affine: &Affine, addresses: &[Polynomial]) -> (Class, Option<String>) {
    let mut worst = (Class::Regular, None);
    let mut note = |class, reason: String| {
        if class > worst.0 {
            worst = (class, Some(reason));
        }
    };
    for atom in addresses.iter().flat_map(Polynomial::atoms) {
        match atom {
            Atom::Unknown { data: true, line, .. } => {
                note(Class::Irregular, format!("the address depends on what line {line} loads or receives"));
            }
            Atom::Unknown { line, .. } => {
                note(Class::Semi, format!("line {line} makes the address by no polynomial"));
            }
            Atom::Derived(_, a, b) if varies(a) || varies(b) => {
                note(Class::Semi, format!("{atom} is not a polynomial"));
            }
            Atom::Counter(header) => {
                if let Some((class, reason)) = uncounted(affine, *header) {
                    note(class, reason);
                }
            }
            _ => {}
        }
    }
    worst
}

/// Differs between threads or rounds, or between blocks.
fn varies(polynomial: &Polynomial) -> bool {
    let differs = |atom: &&Atom| matches!(atom, Atom::Tid(_) | Atom::Ctaid(_) | Atom::Counter(_));
    polynomial.atoms().iter().any(differs)
}

fn uncounted(affine: &Affine, header: u32) -> Option<(Class, String)> {
    let found: &CountedLoop = affine.loops.iter().find(|found| found.body.header == header)?;
    if found.exits.iter().any(|exit| is_counted(&exit.stays)) {
        return None;
    }
    let data = found.exits.is_empty() || found.exits.iter().any(|exit| exit.data);
    Some(match data {
        true => {
            (Class::Irregular, format!("the rounds of the loop at line {} depend on loaded data", found.line))
        }
        false => (Class::Semi, format!("the rounds of the loop at line {} are not counted", found.line)),
    })
}

/// Whether a condition bounds the rounds: it compares known values.
fn is_counted(condition: &Condition) -> bool {
    let known = |polynomial: &Polynomial| {
        !has_data(polynomial) && !polynomial.atoms().iter().any(|atom| matches!(atom, Atom::Unknown { .. }))
    };
    match condition {
        Condition::Compare { left, right, .. } => left.iter().chain(right.iter()).all(known),
        Condition::Both(a, b) => is_counted(a) || is_counted(b),
        Condition::Either(a, b) => is_counted(a) && is_counted(b),
        Condition::Unknown => false,
    }
}
