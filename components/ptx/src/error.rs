//! What can be wrong with PTX text, and with a kernel while it runs.

use std::fmt;

use crate::program::Program;

/// A problem in PTX text, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxError {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What would have been right here, where that is known.
    pub expected: Option<String>,
}

impl PtxError {
    /// An error without a suggestion.
    pub(crate) fn new(place: Place, message: impl Into<String>) -> Self {
        PtxError { line: place.line, column: place.column, message: message.into(), expected: None }
    }

    /// The same error with what would have been right.
    pub(crate) fn expecting(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }
}

/// The error with the known name that is nearest to the one written, if one is near.
pub(crate) fn nearest<'n>(error: PtxError, name: &str, known: impl Iterator<Item = &'n String>) -> PtxError {
    let near = known.map(|known| (crate::isa::distance(known, name), known)).min();
    match near {
        Some((distance, known)) if distance <= 2.max(name.chars().count() / 3) => {
            error.expecting(format!("something like `{known}`"))
        }
        _ => error,
    }
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        match &self.expected {
            Some(expected) => write!(f, " (expected {expected})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PtxError {}

/// Line and column in a source text, both counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

/// A fault of the simulated program: its author can cause it, so it is never a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecError {
    /// Source line of the instruction that faulted.
    pub line: u32,
    /// The lane that faulted first.
    pub lane: u32,
    /// What happened.
    pub message: String,
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, lane {}: {}", self.line, self.lane, self.message)
    }
}

impl std::error::Error for ExecError {}

/// A block of a launch that cannot go on, and where: the same words at every level of detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `%ctaid` of the block.
    pub ctaid: [u32; 3],
    /// The warp of the block; none if the block as a whole cannot go on.
    pub warp: Option<u32>,
    /// The instruction, as [`Program::quote`] shows it.
    pub place: String,
    /// What happened; its line is 0 where no instruction is to blame.
    pub error: ExecError,
}

impl Failure {
    /// What a warp must not do.
    pub fn of_warp(program: &Program, ctaid: [u32; 3], warp: u32, error: ExecError) -> Self {
        Failure { ctaid, warp: Some(warp), place: program.quote(error.line), error }
    }

    /// What the warps of a block must not do together.
    pub fn of_block(ctaid: [u32; 3], message: String) -> Self {
        Failure { ctaid, warp: None, place: String::new(), error: ExecError { line: 0, lane: 0, message } }
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
