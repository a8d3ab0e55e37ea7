//! What can be wrong with PTX text, and with a kernel while it runs.

use std::collections::BTreeMap;
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

/// So many problems of a function come with a suggestion: to look for one takes time.
pub(crate) const SUGGESTIONS: usize = 32;

/// Each problem once, where it is first, with the number of places that are like it. One without a suggestion is like the first one
/// of its words.
pub(crate) fn distinct(errors: Vec<PtxError>) -> Vec<PtxError> {
    let mut first = BTreeMap::<(String, Option<String>), usize>::new();
    let mut found: Vec<(PtxError, u32)> = Vec::new();
    for error in errors {
        let key = (error.message.clone(), error.expected.clone());
        let of_its_words = |(known, _): &(&(String, Option<String>), &usize)| known.0 == error.message;
        let like = match &error.expected {
            Some(_) => first.get(&key).copied(),
            None => first.range((key.0.clone(), None)..).next().filter(of_its_words).map(|(_, place)| *place),
        };
        match like {
            Some(place) => found[place].1 += 1,
            None => {
                first.insert(key, found.len());
                found.push((error, 0));
            }
        }
    }
    let told = |(error, more): (PtxError, u32)| match more {
        0 => error,
        more => PtxError { message: format!("{} (and {more} more like it)", error.message), ..error },
    };
    found.into_iter().map(told).collect()
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

#[cfg(test)]
mod tests {
    use crate::program::Program;

    #[test]
    fn a_cause_is_told_once_with_the_number_of_its_places() {
        let module = |lines: &str| {
            format!(".version 7.8\n.target sm_35\n.address_size 64\n.entry k() {{\n{lines}ret;\n}}\n")
        };
        let many = module(&"foo.bar.u32 %r1, %r2;\n".repeat(10_000));
        let begun = std::time::Instant::now();
        let errors = Program::compile(&many, None).err().unwrap();
        assert!(begun.elapsed().as_secs() < 2, "{:?}", begun.elapsed());
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(
            texts[0].starts_with("5:1: unknown instruction `foo.bar.u32` (and 9999 more like it)"),
            "{texts:?}"
        );
        let two = module("mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r1, 1;\n");
        let texts: Vec<String> =
            Program::compile(&two, None).err().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["5:9: `%r1` is not declared (and 1 more like it)", "6:9: `%r2` is not declared"]);
    }

    #[test]
    fn a_text_of_another_kind_is_one_problem() {
        assert!(crate::parser::is_ptx("/* made by hand */ .version 7.8\n.target sm_35\n"));
        for text in ["# A heading\n\nIt's no PTX.\n", "__global__ void k() { int a = 'x'; }\n", ""] {
            let texts: Vec<String> = match crate::parser::parse(text) {
                Ok(_) => Vec::new(),
                Err(errors) => errors.iter().map(ToString::to_string).collect(),
            };
            let expected = "1:1: this is not PTX: it has no `.version`";
            assert!(texts == [expected] || text.is_empty() && texts.is_empty(), "{texts:?}");
        }
    }
}
