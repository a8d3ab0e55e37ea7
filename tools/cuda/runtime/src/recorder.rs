//! The record of the program, if one is wanted: entries, and the processor time between them.

use std::io::Write;
use std::path::Path;

use counterpoint_cuda_capture::{Blob, Entry, Journal, Machine, Way};

/// Work of the host that is too short to be noted.
const LEAST_NANOSECONDS: u64 = 500;

pub(crate) struct Recorder {
    journal: Option<Journal>,
    /// Processor time of the program since the last entry.
    work: u64,
    /// Bytes of data at most.
    limit: u64,
    /// The machine on which the program's work runs as it calls.
    pub(crate) machine: Option<Box<dyn Machine>>,
    /// Bytes that were kept last, for that machine.
    kept: Vec<u8>,
}

impl Recorder {
    /// A recorder that writes to a folder, this many bytes of data at most, or nowhere.
    pub(crate) fn new(folder: Option<&Path>, limit: u64, machine: Option<Box<dyn Machine>>) -> Self {
        let journal = folder.and_then(|folder| match Journal::create(folder, limit) {
            Ok(journal) => Some(journal),
            Err(error) => {
                say(&format!("nothing is recorded: {}: {error}", folder.display()));
                None
            }
        });
        Recorder { journal, work: 0, limit, machine, kept: Vec::new() }
    }

    /// The program has called, after so much processor time.
    pub(crate) fn enter(&mut self, work: u64) {
        self.work += work;
    }

    /// Writes the work of the host since the last entry.
    pub(crate) fn settle(&mut self) {
        if self.work >= LEAST_NANOSECONDS {
            let nanoseconds = std::mem::take(&mut self.work);
            self.write(&Entry::Work { nanoseconds });
        }
    }

    /// Picoseconds that have passed on the machine, behind the work of the host; 0 without one.
    pub(crate) fn now(&mut self) -> u64 {
        self.settle();
        self.machine.as_mut().map_or(0, |machine| machine.now())
    }

    /// Writes an entry of something that devices do, behind the work of the host before it.
    pub(crate) fn entry(&mut self, entry: &Entry) {
        self.settle();
        self.write(entry);
    }

    pub(crate) fn write(&mut self, entry: &Entry) {
        let written = self.journal.as_mut().map_or(Ok(()), |journal| journal.entry(entry));
        self.stop_on(written);
        // A copy to the host has been made before its entry.
        let is_out = matches!(entry, Entry::Copy { way: Way::Out, .. });
        if let Some(machine) = self.machine.as_mut().filter(|_| !is_out) {
            machine.entry(entry, &self.kept);
        }
    }

    pub(crate) fn keep(&mut self, bytes: &[u8]) -> Blob {
        if self.machine.is_some() {
            self.kept.clear();
            self.kept.extend_from_slice(bytes);
        }
        let kept = self.journal.as_mut().map(|journal| journal.keep(bytes));
        match kept.transpose() {
            Ok(Some(Some(blob))) => blob,
            Ok(Some(None)) => {
                self.write(&Entry::Limit { bytes: self.limit });
                self.journal = None;
                Blob::default()
            }
            Ok(None) => Blob::default(),
            Err(error) => {
                self.stop_on(Err(error));
                Blob::default()
            }
        }
    }

    pub(crate) fn file(&mut self, name: &str, contents: &str) {
        if let Some(machine) = &mut self.machine {
            machine.file(name, contents);
        }
        let written = self.journal.as_ref().map_or(Ok(()), |journal| journal.file(name, contents.as_bytes()));
        self.stop_on(written);
    }

    /// The record ends where it cannot be written; the program goes on.
    fn stop_on(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written {
            say(&format!("the record ends here, the program goes on: {error}"));
            self.journal = None;
        }
    }
}

/// Prints a line for the user, beside what the program prints.
pub(crate) fn say(message: &str) {
    // If nobody reads the message, the program continues.
    let _ = writeln!(std::io::stderr(), "counterpoint: {message}");
}
