//! Faults: reasons for which a process cannot continue.

use std::fmt;
use std::ops::Deref;

/// Reason for which a component cannot continue. A fault is as small as a pointer, so that a process's result needs no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(Box<Reason>);

/// The reason of a [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The text, in readable form.
    pub message: String,
    /// A bug in the component's code rather than something a user can cause.
    pub panicked: bool,
    /// The remedy, if there is one that a user may not know.
    pub help: Option<String>,
}

impl Fault {
    /// A fault with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Fault(Box::new(Reason { message: message.into(), panicked: false, help: None }))
    }

    /// This fault with a remedy.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    pub(crate) fn panic(message: String) -> Self {
        Fault(Box::new(Reason { message, panicked: true, help: None }))
    }
}

impl Deref for Fault {
    type Target = Reason;

    fn deref(&self) -> &Reason {
        &self.0
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.panicked { write!(f, "panicked: {}", self.message) } else { f.write_str(&self.message) }
    }
}

impl<T: Into<String>> From<T> for Fault {
    fn from(message: T) -> Self {
        Fault::new(message)
    }
}
