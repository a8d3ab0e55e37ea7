//! Explanations by processes of a run that hangs: the reasons for which a process lets others wait, and the contents of addresses on
//! which a reason depends.
//!
//! A core that polls a word knows the value that it sees, and not the current value in memory. The core gives the address in its
//! reason ([`HangReason::about`]) and registers it before the run hangs ([`Process::ask`](crate::Process::ask)); processes that hold
//! the contents of addresses ([`Process::recall`](crate::Process::recall)) add them to the report.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::time::SimTime;

/// A reason for which a process lets others wait: a line of the report of a run that hangs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangReason {
    /// The line.
    pub text: String,
    /// Group of the reason, and name of the reason in it: the report writes out one reason of a group, and a few names of the
    /// others.
    pub group: Option<(String, String)>,
    /// Address on whose contents the reason depends, and the time from which the process has its copy of them.
    pub(crate) place: Option<(u64, SimTime)>,
}

impl HangReason {
    /// A reason of this text.
    pub fn new(text: impl Into<String>) -> Self {
        HangReason { text: text.into(), group: None, place: None }
    }

    /// Puts the reason into a group, with a name.
    #[must_use]
    pub fn among(self, group: impl Into<String>, name: impl Into<String>) -> Self {
        HangReason { group: Some((group.into(), name.into())), ..self }
    }

    /// Makes the reason depend on an address (`place`), of whose contents the process has had a copy since this time. The report adds the
    /// copy's age and the current contents.
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

/// Contents of an address, as a process holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recall {
    /// Level of the holder. Of several processes that hold the address, the one of the highest level has the newest contents: a cache has a
    /// higher level than the memory behind it.
    pub level: u8,
    /// The contents, in readable form.
    pub contents: String,
}

/// Addresses that processes of all threads have registered with [`Process::ask`](crate::Process::ask).
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

/// Contents of an address at a process: the index of the process, the address, and the contents.
pub(crate) type Known = (usize, u64, Recall);
