//! The words of processes about a run that hangs: the reasons for which they let others wait, and the contents of places on which a
//! reason depends.
//!
//! A core that polls a word knows the value that it sees, and not the value that memory has by now. It gives the place in its reason
//! ([`HangReason::about`]) and names it in time ([`Process::ask`](crate::Process::ask)); processes that hold places
//! ([`Process::recall`](crate::Process::recall)) add their contents to the report.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::time::SimTime;

/// A reason for which a process lets others wait: a line of the report of a run that hangs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangReason {
    /// The line.
    pub text: String,
    /// Its group and its name there: of all reasons of a group one is written out, and of the others a few names.
    pub group: Option<(String, String)>,
    /// A place on whose contents it depends, and since when the process has its copy of them.
    pub(crate) place: Option<(u64, SimTime)>,
}

impl HangReason {
    /// A reason of this text.
    pub fn new(text: impl Into<String>) -> Self {
        HangReason { text: text.into(), group: None, place: None }
    }

    /// Puts it into a group, with a name.
    #[must_use]
    pub fn among(self, group: impl Into<String>, name: impl Into<String>) -> Self {
        HangReason { group: Some((group.into(), name.into())), ..self }
    }

    /// Depends on a place, of whose contents the process has had a copy since this time. The report adds the copy's age and the contents.
    #[must_use]
    pub fn about(self, place: u64, since: SimTime) -> Self {
        HangReason { place: Some((place, since)), ..self }
    }
}

impl From<String> for HangReason {
    fn from(text: String) -> Self {
        HangReason::new(text)
    }
}

/// The contents of a place, as a process holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recall {
    /// Of several processes that hold the place, the one of the highest level has the newest contents: a cache before the memory behind it.
    pub level: u8,
    /// The contents, in readable form.
    pub contents: String,
}

/// The places about which processes have asked, of all threads.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<BTreeSet<u64>>);

impl Places {
    pub(crate) fn add(&self, place: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(place);
    }

    pub(crate) fn all(&self) -> Vec<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

/// A process's contents of a place: the process, the place, and the contents.
pub(crate) type Known = (usize, u64, Recall);
