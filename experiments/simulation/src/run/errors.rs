//! Why a run did not begin, or its results could not be kept.

use std::fmt;

use counterpoint_framework::model::Report;

use crate::output::WriteError;

/// One reason for which a run did not begin, or for which a call on it failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// A name, or a combination of options.
    Usage(String),
    /// Problems in files or settings.
    Input(Box<Report>),
    /// A file could not be written.
    Write(WriteError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Usage(message) => write!(f, "error: {message}"),
            RunError::Input(report) => report.fmt(f),
            RunError::Write(error) => write!(f, "error: {error}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Report> for RunError {
    fn from(report: Report) -> Self {
        RunError::Input(Box::new(report))
    }
}

impl From<WriteError> for RunError {
    fn from(error: WriteError) -> Self {
        RunError::Write(error)
    }
}

/// All reasons for which a run did not begin, or the one for which a call on it failed; never empty. Their text is the
/// output of the command; [`RunErrors::causes`] has them one by one, with their positions.
#[derive(Debug)]
pub struct RunErrors(Vec<RunError>);

/// One problem with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cause {
    /// The mistake, in a sentence without the place.
    pub message: String,
    /// Position of the problem, if it is in a file or a setting.
    pub place: Option<CausePlace>,
    /// The nearest valid name.
    pub suggestion: Option<String>,
    /// The expected value, or the remedy.
    pub help: Option<String>,
}

/// A place in a file or a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CausePlace {
    /// The file; settings of the command line have a name of their own.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl RunErrors {
    /// The problems one by one, those of a file in the order of their positions.
    pub fn causes(&self) -> Vec<Cause> {
        let plain = |message: String| Cause { message, place: None, suggestion: None, help: None };
        let causes = self.0.iter().flat_map(|error| match error {
            RunError::Usage(message) => vec![plain(message.clone())],
            RunError::Write(error) => vec![plain(error.to_string())],
            RunError::Input(report) => of_report(report),
        });
        causes.collect()
    }

    /// An error of how the run was asked for.
    pub fn usage(message: impl Into<String>) -> Self {
        RunErrors(vec![RunError::Usage(message.into())])
    }
}

fn of_report(report: &Report) -> Vec<Cause> {
    let cause = |one: &counterpoint_framework::model::Diagnostic| {
        let place = report.sources.place(one.span);
        Cause {
            message: one.message.clone(),
            place: Some(CausePlace { file: place.name.to_owned(), line: place.line, column: place.column }),
            suggestion: one.suggestion.clone(),
            help: one.help.clone(),
        }
    };
    report.diagnostics.iter().map(cause).collect()
}

impl fmt::Display for RunErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            let gap = if number > 0 { "\n" } else { "" };
            write!(f, "{gap}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for RunErrors {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0[..] {
            [RunError::Input(report)] => Some(report),
            [RunError::Write(error)] => Some(error),
            _ => None,
        }
    }
}

impl std::ops::Deref for RunErrors {
    type Target = [RunError];

    fn deref(&self) -> &[RunError] {
        &self.0
    }
}

impl IntoIterator for RunErrors {
    type Item = RunError;
    type IntoIter = std::vec::IntoIter<RunError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<E: Into<RunError>> From<E> for RunErrors {
    fn from(error: E) -> Self {
        RunErrors(vec![error.into()])
    }
}

impl FromIterator<RunError> for RunErrors {
    fn from_iter<I: IntoIterator<Item = RunError>>(errors: I) -> Self {
        RunErrors(errors.into_iter().collect())
    }
}
