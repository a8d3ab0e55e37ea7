//! The rest of an application behind its launches with time: it goes on without time, on the contents that the machine has left.

use std::mem;
use std::ops::ControlFlow;

use counterpoint_framework::kernel::Fault;
use counterpoint_ptx::functional::Space;

use super::{Files, Found, FunctionalHost, Launched, Memories};
use crate::journal::Journal;
use crate::program::{BufferId, Cursor, Next, Step};

/// A host that has come to the end of a part.
pub struct Rest {
    pub(super) host: Vec<Space>,
    pub(super) memories: Memories,
    pub(super) meaning: Vec<usize>,
    pub(super) freed: Vec<bool>,
    pub(super) launched: Vec<Launched>,
    pub(super) found: Vec<Found>,
    /// The place of the next step; none if the part was the end.
    pub(super) next: Option<Passed>,
    /// The buffers that come from the machine, by name there, and what each is here.
    pub(super) back: Vec<(BufferId, Back)>,
}

/// A place whose contents come from the machine.
pub(super) enum Back {
    /// A buffer, by position, and whether it was copied to the host.
    Buffer(usize, bool),
    /// The variables of a module.
    Variables(usize),
}

/// A place among the steps of an application.
#[derive(Default)]
pub(super) struct Passed {
    /// Items that the cursor has given.
    pub(super) items: usize,
    /// The answers to conditions among them.
    pub(super) answers: Vec<bool>,
}

impl Passed {
    /// A cursor at this place.
    fn cursor<'a>(&self, steps: &'a [Step]) -> Result<Cursor<'a>, Fault> {
        let (mut cursor, mut answers) = (Cursor::new(steps), self.answers.iter());
        for _ in 0..self.items {
            match cursor.next() {
                Some(Next::Inspect(_)) => cursor.looked(answers.next().is_some_and(|answer| *answer))?,
                Some(Next::Group(_)) => cursor.pass_by(),
                _ => {}
            }
        }
        Ok(cursor)
    }
}

impl Rest {
    /// Whether steps follow the part.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.next.is_some()
    }

    /// Launches so far, those of the part included.
    #[must_use]
    pub fn launched(&self) -> usize {
        self.launched.len()
    }

    /// Mistakes of kernels so far.
    #[must_use]
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Goes on behind the part, in a host that has run nothing; the machine has left its results in the journal.
    ///
    /// # Errors
    /// As [`FunctionalHost::run`].
    pub fn run(self, mut host: FunctionalHost<'_>, mut files: impl Files) -> Result<Ended, Fault> {
        let Rest { host: values, memories, meaning, freed, launched, found, next, back } = self;
        host.races = None;
        (host.host, host.memories, host.meaning, host.freed) = (values, memories, meaning, freed);
        (host.launched, host.found) = (launched, found);
        let journal: &Journal = host.journal;
        for (name, place) in back {
            let Some(bytes) = journal.buffer(name) else { continue };
            match place {
                Back::Variables(module) => host.variables(module)?.copy_from_slice(&bytes),
                Back::Buffer(place, is_copied) => {
                    let (on_host, device) = host.both(place)?;
                    for ((own, byte), new) in on_host.iter_mut().zip(device).zip(&bytes) {
                        if is_copied && own == byte {
                            *own = *new;
                        }
                        *byte = *new;
                    }
                }
            }
        }
        let cursor = next.unwrap_or_default().cursor(&host.application.steps)?;
        let flow = match host.walk(cursor, &mut files)? {
            ControlFlow::Continue(()) => {
                host.end(&mut files)?;
                ControlFlow::Continue(())
            }
            flow => flow,
        };
        let launched = mem::take(&mut host.launched);
        Ok(Ended { flow, launched, found: host.found })
    }
}

/// The end of an application behind its part with time.
pub struct Ended {
    /// Breaks if it was interrupted.
    pub flow: ControlFlow<()>,
    /// All launches of the application.
    pub launched: Vec<Launched>,
    /// Mistakes of kernels.
    pub found: Vec<Found>,
}
