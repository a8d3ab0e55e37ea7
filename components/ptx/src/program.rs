//! A decoded kernel: what an SM and the executor need, and no text but for messages.
//!
//! Operands are indices of rows: a register's row in the warp, or, with the top bit set, a constant's
//! row in the program. Registers share rows where liveness allows, because the footprint of a warp in
//! the host's cache is what execution costs most; the scoreboard's ids stay those of the registers as
//! written, so that sharing cannot show in the timing.

mod class;
pub(crate) mod polls;
mod register_sets;

use std::sync::Arc;

use crate::isa::forms::PredicateOp;
use crate::isa::warp::{Reduction, WarpOp};
use crate::isa::{
    AtomicOperation, AtomicType, Base, CacheOperator, LaneOp, Latency, Order, RangeAction, Space, Unit,
};
pub use class::Class;
pub use register_sets::{FileAccesses, RegisterSet};

/// One 32-bit value a lane; 64-bit registers take two consecutive rows, as 32 words of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u32; 32]);

impl Row {
    /// All lanes zero.
    pub const ZERO: Row = Row([0; 32]);
}

/// "No register" in an operand field.
pub(crate) const NONE: u16 = u16::MAX;
/// Marks an operand as a row of the program's constants.
pub(crate) const CONSTANT: u16 = 0x8000;

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX text.
    pub name: String,
    /// Offset in the parameter bytes.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Alignment.
    pub align: u32,
    /// The element type without its dot, such as `u64`.
    pub element: String,
}

/// A variable with static storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name in the PTX text.
    pub name: String,
    /// Offset in its space's bytes.
    pub offset: u64,
    /// Bytes; 0 for `.extern .shared x[]`.
    pub size: u64,
    /// Its first bytes, for `.global` and `.const`; short or empty means zeros.
    pub initial: Vec<u8>,
    /// Addresses of variables among these bytes, which hold zeros there.
    pub addresses: Vec<InitialAddress>,
}

/// Eight initial bytes that are the address of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialAddress {
    /// Where they stand in the variable.
    pub at: u64,
    /// The address lies in constant memory, else in global.
    pub constant: bool,
    /// Offset in that space's bytes.
    pub offset: u64,
}

impl Symbol {
    /// Whether an offset in its space lies in it; in what has no size lies all that follows.
    pub(crate) fn holds(&self, offset: u64) -> bool {
        offset.checked_sub(self.offset).is_some_and(|inside| inside < self.size || self.size == 0)
    }

    /// Its first bytes, where global and constant variables begin at these addresses.
    pub fn initial_bytes(&self, global_base: u64, constant_base: u64) -> Vec<u8> {
        let mut bytes = self.initial.clone();
        for address in &self.addresses {
            let base = if address.constant { constant_base } else { global_base };
            let value = base.wrapping_add(address.offset).to_le_bytes();
            if let Some(place) = bytes.get_mut(address.at as usize..address.at as usize + 8) {
                place.copy_from_slice(&value);
            }
        }
        bytes
    }
}

/// How a comparison's truth is combined with a third predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    None,
    And,
    Or,
    Xor,
}

/// What a `set` writes for true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetValue {
    Ones,
    One,
}

/// Special registers, PTX ISA 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    WarpCount,
    SmId,
    SmCount,
    GridId,
    Clock,
    ClockHigh,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    DynamicShared,
    TotalShared,
}

/// What an instruction does, beyond the lane-wise table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The table's operation into one row.
    Lane,
    /// The table's operation into a 64-bit register.
    LaneWide,
    /// The table's operation into one row or a 64-bit register, and the carry, which another one computes, into
    /// the second destination.
    Carry(LaneOp),
    /// The table's comparison into predicates.
    Compare(Combine),
    /// The table's comparison into a number.
    Set(Combine, SetValue),
    Predicate(PredicateOp),
    Special(Special),
    /// Address of a module variable: base in the environment plus `offset`.
    SymbolAddress(Base),
    /// `cvta`: source plus a window's base.
    ToGeneric(Base),
    /// `cvta.to`: source minus a window's base.
    FromGeneric(Base),
    /// `isspacep`
    InSpace(Base),
    /// `mov.b64 d, {a, b}` and the 16-bit form.
    Pack,
    /// `mov.b64 {a, b}, s` and the 16-bit form.
    Unpack,
    LoadParam,
    Memory,
    Branch,
    Barrier {
        waits: bool,
    },
    /// A barrier that returns what the CTA's predicates come to.
    BarrierReduction(Reduction),
    /// Lanes among each other; a mask of lanes is the fourth source.
    Warp(WarpOp),
    /// `tex`; the texture is the global variable at `offset`, or its handle is in the address register.
    Texture {
        floats: bool,
        result_floats: bool,
    },
    Fence,
    /// Parameters of calls, which lie in the warp.
    LoadFrame,
    StoreFrame,
    /// `offset` is the call site.
    Call,
    Return,
    /// `vprintf`; `offset` is the call site.
    Print,
    /// One of the functions that tell ranges; `offset` is the call site.
    Range(RangeAction),
    Exit,
    Trap,
    /// `__assertfail`
    Assert,
}

/// Bytes in the parameters of a function that runs: offset and size, at multiples of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FramePart {
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

/// A call as the caller sees it.
#[derive(Clone, Debug)]
pub(crate) struct CallSite {
    /// Index in [`Program::functions`]; `None` if the address is in the first source.
    pub(crate) callee: Option<u32>,
    pub(crate) arguments: Vec<FramePart>,
    pub(crate) results: Vec<FramePart>,
}

/// A function of a program; the kernel is the first.
#[derive(Clone, Debug)]
pub(crate) struct Callable {
    pub(crate) name: String,
    /// Its address, as `mov` and initial values give it.
    pub(crate) address: u64,
    pub(crate) entry: u32,
    pub(crate) params: Vec<FramePart>,
    pub(crate) results: Vec<FramePart>,
    /// Bytes of parameters that it and its calls use.
    pub(crate) frame_bytes: u32,
    pub(crate) local_bytes: u32,
    /// Its own rows and predicates, which a recursive call saves.
    pub(crate) rows: std::ops::Range<u16>,
    /// How many of the rows, from the first on, are pairs of 64-bit registers.
    pub(crate) wide_rows: u16,
    pub(crate) predicates: std::ops::Range<u16>,
}

/// The parts of a memory instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryForm {
    /// `None` is generic.
    pub(crate) space: Option<Space>,
    /// The address is that of a module variable: `offset` counts from this base.
    pub(crate) base: Option<Base>,
    pub(crate) store: bool,
    pub(crate) atomic: Option<(AtomicOperation, AtomicType)>,
    pub(crate) volatile: bool,
    pub(crate) cache: CacheOperator,
    pub(crate) elements: u8,
    pub(crate) bytes: u8,
    pub(crate) signed: bool,
    /// The address register has 64 bits.
    pub(crate) wide_address: bool,
    /// The value registers have 64 bits.
    pub(crate) wide_value: bool,
}

impl MemoryForm {
    pub(crate) const NONE: MemoryForm = MemoryForm {
        space: None,
        base: None,
        store: false,
        atomic: None,
        volatile: false,
        cache: CacheOperator::Default,
        elements: 0,
        bytes: 0,
        signed: false,
        wide_address: false,
        wide_value: false,
    };
}

/// A decoded instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    pub(crate) action: Action,
    pub(crate) op: LaneOp,
    pub(crate) destinations: [u16; 4],
    pub(crate) sources: [u16; 4],
    /// Address register, or `NONE`.
    pub(crate) address: u16,
    pub(crate) guard: u16,
    pub(crate) guard_negated: bool,
    pub(crate) memory: MemoryForm,
    pub(crate) offset: i64,
    /// See [`Instruction::drains`].
    pub(crate) drains: bool,
    /// A barrier that all threads of a warp must execute together.
    pub(crate) aligned: bool,
    /// What it orders among the memory accesses of its threads.
    pub order: Order,
    /// The branch of a loop that waits for a word of shared memory.
    pub(crate) polls: bool,
    /// Where a branch goes; `NO_PC` for others.
    pub target: u32,
    /// Where the paths of a branch meet again; `NO_PC` if only at the end.
    pub reconvergence: u32,
    /// The unit it occupies.
    pub unit: Unit,
    /// Its latency class.
    pub latency: Latency,
    /// Scoreboard ids of the registers it reads, its guard included.
    pub reads: RegisterSet,
    /// Scoreboard ids of the registers it writes.
    pub writes: RegisterSet,
    /// Its accesses to the register file.
    pub accesses: FileAccesses,
    /// Line in the PTX text.
    pub line: u32,
    /// Its bytes in the PTX text.
    pub text: (u32, u32),
}

impl Instruction {
    /// Whether a predicate decides which lanes execute it.
    pub fn is_guarded(&self) -> bool {
        self.guard != NONE
    }

    /// Whether it may be issued only when no register of the warp waits for a value: a recursive call saves
    /// registers, and its return restores them.
    #[inline]
    pub fn drains(&self) -> bool {
        self.drains
    }

    /// Whether it makes a memory access that leaves the core (`ld.param` does not).
    pub fn is_memory(&self) -> bool {
        self.action == Action::Memory
    }

    /// Whether it is a load or an atomic whose value is wanted.
    pub fn is_load(&self) -> bool {
        self.is_memory() && !self.memory.store && self.destinations[0] != NONE
    }
}

/// Where a register lies among the rows, or among the predicates, of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterPlace {
    Predicate(u16),
    Narrow(u16),
    /// The first of two rows.
    Wide(u16),
}

/// The text that a program comes from, for messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The file's path; empty where there is none.
    pub(crate) path: Arc<str>,
    pub(crate) text: Arc<str>,
    /// The number in `.target sm_35`; 0 if there is none.
    pub(crate) target: u32,
}

/// A decoded kernel. It does not change after decoding, so that many SMs can share it.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) params: Vec<Param>,
    pub(crate) param_bytes: u32,
    pub(crate) shared_symbols: Vec<Symbol>,
    pub(crate) shared_bytes: u32,
    pub(crate) local_bytes: u32,
    pub(crate) global_symbols: Vec<Symbol>,
    pub(crate) constant_symbols: Vec<Symbol>,
    pub(crate) registers_per_thread: u32,
    pub(crate) max_ntid: Option<[u32; 3]>,
    pub(crate) min_ctas_per_sm: Option<u32>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) calls: Vec<CallSite>,
    pub(crate) functions: Vec<Callable>,
    pub(crate) constants: Vec<Row>,
    pub(crate) rows: u16,
    pub(crate) predicates: u16,
    pub(crate) scoreboard_registers: u16,
    /// Where each register of the scoreboard lies.
    pub(crate) places: Vec<RegisterPlace>,
}

impl Program {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same program, whose messages name the file that its text was read from.
    #[must_use]
    pub fn from_file(mut self, path: &str) -> Self {
        self.origin.path = path.into();
        self
    }

    /// A line of the PTX text for people: its file and number, and what stands there.
    pub fn quote(&self, line: u32) -> String {
        let Origin { path, text, .. } = &self.origin;
        let place = if path.is_empty() { format!("PTX line {line}") } else { format!("{path}:{line}") };
        let text = (line as usize).checked_sub(1).and_then(|index| text.lines().nth(index));
        let code = text.map_or("", |text| text.split("//").next().unwrap_or_default());
        let words: Vec<&str> = code.split_whitespace().collect();
        if words.is_empty() { place } else { format!("{place}, `{}`", words.join(" ")) }
    }

    /// The number of the architecture that the text was written for, such as 35 for `sm_35`; 0 if it does not say.
    pub fn target(&self) -> u32 {
        self.origin.target
    }

    /// Its parameters.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Bytes of all parameters.
    pub fn param_bytes(&self) -> u32 {
        self.param_bytes
    }

    /// Static shared memory of a CTA; dynamic shared memory starts behind it.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// Variables in shared memory.
    pub fn shared_symbols(&self) -> &[Symbol] {
        &self.shared_symbols
    }

    /// Local memory of a thread.
    pub fn local_bytes(&self) -> u32 {
        self.local_bytes
    }

    /// Module variables in global memory, with offsets from [`CtaEnvironment::global_base`].
    ///
    /// [`CtaEnvironment::global_base`]: crate::CtaEnvironment::global_base
    pub fn global_symbols(&self) -> &[Symbol] {
        &self.global_symbols
    }

    /// Module variables in constant memory, with offsets from [`CtaEnvironment::constant_base`].
    ///
    /// [`CtaEnvironment::constant_base`]: crate::CtaEnvironment::constant_base
    pub fn constant_symbols(&self) -> &[Symbol] {
        &self.constant_symbols
    }

    /// Estimated 32-bit registers of a thread: the most that live at once, at least 4.
    pub fn registers_per_thread(&self) -> u32 {
        self.registers_per_thread
    }

    /// `.maxntid` or `.reqntid`.
    pub fn max_ntid(&self) -> Option<[u32; 3]> {
        self.max_ntid
    }

    /// `.minnctapersm`.
    pub fn min_ctas_per_sm(&self) -> Option<u32> {
        self.min_ctas_per_sm
    }

    /// Whether it calls `vprintf` somewhere.
    pub fn prints(&self) -> bool {
        self.instructions.iter().any(|instruction| matches!(instruction.action, Action::Print))
    }

    /// The instructions; a pc is an index.
    #[inline]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// One more than the largest scoreboard id.
    pub fn scoreboard_registers(&self) -> u16 {
        self.scoreboard_registers
    }

    /// The text of the module that it comes from.
    pub fn source(&self) -> &str {
        &self.origin.text
    }

    /// The file that the text was read from, or what stands for it.
    pub fn origin(&self) -> &str {
        if self.origin.path.is_empty() { "PTX" } else { &self.origin.path }
    }

    /// The decoded text of the kernel named `name`, or the only one if `name` is `None`.
    pub fn compile(source: &str, name: Option<&str>) -> Result<Program, Vec<crate::PtxError>> {
        let module = crate::parser::parse(source)?;
        let mut programs = crate::decode::decode(&module)?;
        let names: Vec<String> = programs.iter().map(|p| format!("`{}`", p.name)).collect();
        let wanted = match name {
            Some(name) => programs.iter().position(|program| program.name == name),
            None if programs.len() == 1 => Some(0),
            None => None,
        };
        match wanted {
            Some(index) => Ok(programs.swap_remove(index)),
            None => Err(vec![
                crate::PtxError::new(
                    crate::error::Place { line: 1, column: 1 },
                    match name {
                        Some(name) => format!("no kernel is named `{name}`"),
                        None => "the kernel must be named, there is not exactly one".to_owned(),
                    },
                )
                .expecting(names.join(", ")),
            ]),
        }
    }
}
