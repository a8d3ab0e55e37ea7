//! A decoded kernel: the data for an SM and the executor, and the text for messages.
//!
//! Operands are indices of rows: a register's row in the warp, or, with the top bit set, a constant's
//! row in the kernel. Registers share rows where liveness allows, because the footprint of a warp in the
//! host's cache is the main cost of execution; the scoreboard's ids stay those of the registers as written,
//! so that sharing cannot show in the timing.

use std::sync::Arc;

use super::thread_registers::{Reread, ThreadRegisters};
use super::{CallSite, FramePart, Instruction, MatrixSite, Param, StackSize, Symbol};
use crate::syntax::ast::SourceLines;
use crate::syntax::error::PtxError;

/// One 32-bit value a lane; 64-bit registers take two consecutive rows, as 32 words of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u32; 32]);

impl Row {
    /// All lanes zero.
    pub const ZERO: Row = Row([0; 32]);
}

/// A function of a kernel; the entry is the first.
#[derive(Clone, Debug)]
pub struct Callable {
    pub name: String,
    /// Address of the function, as `mov` and initial values give it.
    pub address: u64,
    pub entry: u32,
    pub params: Vec<FramePart>,
    pub results: Vec<FramePart>,
    /// Bytes of parameters that it and its calls use.
    pub frame_bytes: u32,
    pub local_bytes: u32,
    /// Its own rows and predicates, which a recursive call saves.
    pub rows: std::ops::Range<u16>,
    /// Number of rows, from the first on, that are pairs of 64-bit registers.
    pub wide_rows: u16,
    /// The row, among its own, of the stack pointer with which it was called, if it changes the stack pointer.
    pub stack: Option<u16>,
    pub predicates: std::ops::Range<u16>,
}

/// The place of a register among the rows, or among the predicates, of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterPlace {
    Predicate(u16),
    Narrow(u16),
    /// The first of two rows.
    Wide(u16),
}

/// The text from which a kernel was decoded, for messages.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The file's path; empty where there is none.
    pub path: Arc<str>,
    pub text: Arc<str>,
    /// The number in `.target sm_35`; 0 if there is none.
    pub target: u32,
    pub sources: Arc<SourceLines>,
    /// Start of the device library, which follows the text: its first line, and the bytes before it.
    pub library: Option<(u32, usize)>,
    /// The text's module, parsed again when an estimate first needs it.
    pub(crate) reread: Arc<Reread>,
}

/// A decoded kernel. It does not change after decoding, so that many SMs can share it.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name of the entry.
    pub name: String,
    /// The text from which the kernel was decoded.
    pub origin: Origin,
    /// Parameters, in their order.
    pub params: Vec<Param>,
    /// Bytes of all parameters.
    pub param_bytes: u32,
    /// Variables in shared memory.
    pub shared_symbols: Vec<Symbol>,
    /// Bytes of static shared memory of a CTA.
    pub shared_bytes: u32,
    /// Local memory of a thread, its stack aside.
    pub local_bytes: u32,
    /// Whether the kernel calls a function recursively, or allocates on the stack.
    pub needs_stack: bool,
    /// Module variables in global memory.
    pub global_symbols: Vec<Symbol>,
    /// Module variables in constant memory.
    pub constant_symbols: Vec<Symbol>,
    /// The most 32-bit registers whose values live at once.
    pub live_registers: u32,
    /// Registers of a thread, as an assembler would allocate them.
    pub registers: ThreadRegisters,
    /// Instructions that cannot be executed.
    pub unsupported: Vec<PtxError>,
    /// `.maxntid` or `.reqntid`, in threads by dimension.
    pub max_ntid: Option<[u32; 3]>,
    /// Whether `max_ntid` is exact.
    pub exact_ntid: bool,
    /// `.minnctapersm`, in CTAs.
    pub min_ctas_per_sm: Option<u32>,
    /// Instructions; a pc is an index.
    pub instructions: Vec<Instruction>,
    /// Calls, by the index that their instructions have.
    pub calls: Vec<CallSite>,
    /// Products of matrices, by the index that their instructions have.
    pub matrices: Vec<MatrixSite>,
    /// Functions; the entry is the first.
    pub functions: Vec<Callable>,
    /// Rows of constants.
    pub constants: Vec<Row>,
    /// Rows of a warp.
    pub rows: u16,
    /// The row of the stack pointer, if an instruction uses it.
    pub stack: Option<u16>,
    /// Predicates of a warp.
    pub predicates: u16,
    /// One more than the largest scoreboard id.
    pub scoreboard_registers: u16,
    /// Location of each register.
    pub places: Vec<RegisterPlace>,
}

impl Kernel {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel with the path of the file from which its text was read, for messages.
    #[must_use]
    pub fn from_file(mut self, path: &str) -> Self {
        self.origin.path = path.into();
        self
    }

    /// A line of the PTX text in readable form: its file and number, and its text.
    pub fn quote(&self, line: u32) -> String {
        let Origin { path, text, library, .. } = &self.origin;
        let in_library = library.is_some_and(|(first, _)| line >= first);
        let place = match in_library {
            true => "the device library".to_owned(),
            false if path.is_empty() => format!("PTX line {line}"),
            false => format!("{path}:{line}"),
        };
        let text = (line as usize).checked_sub(1).and_then(|index| text.lines().nth(index));
        let code = text.map_or("", |text| text.split("//").next().unwrap_or_default());
        let words: Vec<&str> = code.split_whitespace().collect();
        let place = match self.origin.sources.find(line).filter(|_| !in_library) {
            Some((file, source)) => format!("{file}:{source} ({place})"),
            None => place,
        };
        if words.is_empty() { place } else { format!("{place}, `{}`", words.join(" ")) }
    }

    /// The number of the architecture that the text was written for, such as 35 for `sm_35`; 0 if it does not say.
    pub fn target(&self) -> u32 {
        self.origin.target
    }

    /// Parameters of the kernel.
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

    /// Local memory of a thread whose stack has this size, if it needs one.
    #[inline]
    pub fn local_bytes(&self, stack: StackSize) -> u32 {
        self.local_bytes + if self.needs_stack { stack.bytes() } else { 0 }
    }

    /// Whether it takes memory of a stack: it has a recursive call, or allocates.
    pub fn needs_stack(&self) -> bool {
        self.needs_stack
    }

    /// Module variables in global memory, with offsets from `CtaEnvironment::global_base`.
    pub fn global_symbols(&self) -> &[Symbol] {
        &self.global_symbols
    }

    /// Module variables in constant memory, with offsets from `CtaEnvironment::constant_base`.
    pub fn constant_symbols(&self) -> &[Symbol] {
        &self.constant_symbols
    }

    /// The most 32-bit registers whose values live at once, in the order of the text.
    pub fn live_registers(&self) -> u32 {
        self.live_registers
    }

    /// Estimated 32-bit registers of a thread, as an assembler would allocate them for the module's architecture. It takes more than
    /// live at once for gaps and loads that go out early, and fewer because constants and what all threads share need none.
    pub fn registers_per_thread(&self) -> u32 {
        self.registers.number(&self.origin)
    }

    /// Unsupported instructions of the kernel and of the functions that it can reach. A kernel that has one must not run, and
    /// [`compile`](Kernel::compile) refuses it.
    pub fn unsupported(&self) -> &[PtxError] {
        &self.unsupported
    }

    /// Whether blocks have exactly the size that [`max_ntid`](Kernel::max_ntid) gives (`.reqntid`).
    pub fn needs_exact_ntid(&self) -> bool {
        self.exact_ntid
    }

    /// `.maxntid` or `.reqntid`.
    pub fn max_ntid(&self) -> Option<[u32; 3]> {
        self.max_ntid
    }

    /// `.minnctapersm`.
    pub fn min_ctas_per_sm(&self) -> Option<u32> {
        self.min_ctas_per_sm
    }

    /// Whether it multiplies matrices somewhere.
    pub fn multiplies(&self) -> bool {
        !self.matrices.is_empty()
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

    /// The text of the module of the kernel.
    pub fn source(&self) -> &str {
        let own = self.origin.library.map_or(self.origin.text.len(), |(_, bytes)| bytes);
        self.origin.text.get(..own).unwrap_or_default()
    }

    /// The file that the text was read from, or its substitute.
    pub fn origin(&self) -> &str {
        if self.origin.path.is_empty() { "PTX" } else { &self.origin.path }
    }
}
