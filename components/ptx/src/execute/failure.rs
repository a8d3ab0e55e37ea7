//! Errors of a kernel at run time.

use std::fmt;

use crate::program::Kernel;

/// The kind of a fault, as CUDA distinguishes them (CUDA's `driver_types.h`, `cudaError`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultKind {
    /// An access to memory that is not there, was freed, or must not be touched so.
    IllegalAddress,
    /// An access whose address is no multiple of its size, in any space.
    MisalignedAddress,
    /// An access to a space on which the instruction does not work.
    InvalidAddressSpace,
    /// A call to an address without a function.
    InvalidProgramCounter,
    /// An assertion of the program failed.
    Assertion,
    /// Calls or allocations have taken all of a thread's stack.
    StackOverflow,
    /// Anything else.
    #[default]
    Other,
}

/// A fault of the simulated program: its author can cause it, so it is never a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecError {
    /// Sort of the fault.
    pub kind: FaultKind,
    /// Source line of the instruction that faulted.
    pub line: u32,
    /// The lane that faulted first.
    pub lane: u32,
    /// The event.
    pub message: String,
}

impl ExecError {
    /// A fault of no particular sort.
    pub fn new(line: u32, lane: u32, message: String) -> Self {
        ExecError { kind: FaultKind::Other, line, lane, message }
    }

    /// The error with this kind.
    #[must_use]
    pub fn of(self, kind: FaultKind) -> Self {
        ExecError { kind, ..self }
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, lane {}: {}", self.line, self.lane, self.message)
    }
}

impl std::error::Error for ExecError {}

/// A block of a launch that cannot continue, and its position: the same words at every level of detail.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// `%ctaid` of the block.
    pub ctaid: [u32; 3],
    /// The warp of the block; `None` if the block as a whole cannot continue.
    pub warp: Option<u32>,
    /// The instruction, as [`Kernel::quote`] shows it.
    pub place: String,
    /// The error; its line is 0 where no instruction is to blame.
    pub error: ExecError,
}

impl Failure {
    /// A fault of one warp.
    pub fn of_warp(kernel: &Kernel, ctaid: [u32; 3], warp: u32, error: ExecError) -> Self {
        Failure { ctaid, warp: Some(warp), place: kernel.quote(error.line), error }
    }

    /// A fault of a block's warps together.
    pub fn of_block(ctaid: [u32; 3], message: String) -> Self {
        Failure { ctaid, warp: None, place: String::new(), error: ExecError::new(0, 0, message) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.ctaid;
        write!(f, "block ({x}, {y}, {z})")?;
        let ExecError { lane, message, .. } = &self.error;
        match self.warp {
            Some(warp) => write!(f, ", warp {warp}, lane {lane}: {}: {message}", self.place),
            None => write!(f, ": {message}"),
        }
    }
}

impl std::error::Error for Failure {}
