//! Errors in PTX text.

use std::collections::BTreeMap;
use std::fmt;

/// A problem in PTX text, with its position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PtxError {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// The problem.
    pub message: String,
    /// The correct form, where it is known.
    pub expected: Option<String>,
    /// Whether the text is right, and the simulator does not support it: only the kernels that need it are refused.
    pub unsupported: bool,
    /// The file and line of the program that the text was compiled from, where the text has them.
    pub compiled_from: Option<(String, u32)>,
}

impl PtxError {
    /// An error without a suggestion.
    pub fn new(place: SourcePosition, message: impl Into<String>) -> Self {
        PtxError {
            line: place.line,
            column: place.column,
            message: message.into(),
            expected: None,
            unsupported: false,
            compiled_from: None,
        }
    }

    /// The error for something that PTX has and the simulator does not support.
    pub fn unsupported(place: SourcePosition, message: impl Into<String>) -> Self {
        PtxError { unsupported: true, ..PtxError::new(place, message) }
    }

    /// The error with the expected form.
    pub fn expecting(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }
}

/// Number of a function's problems that get a suggestion: the search for one takes time.
pub const SUGGESTIONS: usize = 32;

/// Each problem once, at its first position, with the number of its repetitions. A problem without a suggestion counts as a
/// repetition of the first one with the same words.
pub fn distinct(errors: Vec<PtxError>) -> Vec<PtxError> {
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
pub fn nearest<'n>(error: PtxError, name: &str, known: impl Iterator<Item = &'n String>) -> PtxError {
    let near = known.map(|known| (strsim::levenshtein(known, name), known)).min();
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
        if let Some(expected) = &self.expected {
            write!(f, " (expected {expected})")?;
        }
        match &self.compiled_from {
            Some((file, line)) => write!(f, ", compiled from {file}:{line}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PtxError {}

/// Line and column in a source text, both counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePosition {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}
