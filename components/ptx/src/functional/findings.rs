//! Mistakes of a kernel after which it continues: the first of each kind in full, then counts.

use std::collections::BTreeMap;

use crate::execute::{ExecError, Failure};
use crate::program::Kernel;

/// A sort of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Check {
    /// A load of bytes that nobody has written.
    Unwritten,
    /// Accesses to a byte of shared or global memory in an order that nothing decides.
    Race,
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Check::Unwritten => "uninitialised memory",
            Check::Race => "race",
        })
    }
}

/// A mistake that one instruction makes, or two make together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The sort of mistake.
    pub check: Check,
    /// The lines of the instructions, the lower one first; twice the same if there is one.
    pub lines: [u32; 2],
    /// The first time.
    pub first: Failure,
    /// Number of occurrences, over all threads.
    pub count: u64,
}

/// The findings of a launch, in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    places: BTreeMap<(Check, [u32; 2]), usize>,
}

impl Findings {
    /// Counts a mistake of several threads; not if it is the first of its sort, as [`Findings::begin`]
    /// reports.
    #[cold]
    pub(super) fn count(&mut self, check: Check, lines: [u32; 2], threads: u32) -> bool {
        let known = self.places.get(&(check, lines)).copied();
        if let Some(index) = known {
            self.list[index].count += u64::from(threads);
        }
        known.is_some()
    }

    /// Notes the first mistake of its sort.
    pub(super) fn begin(&mut self, check: Check, lines: [u32; 2], threads: u32, first: Failure) {
        self.places.insert((check, lines), self.list.len());
        self.list.push(Finding { check, lines, first, count: threads.into() });
    }

    pub(super) fn list(&self) -> &[Finding] {
        &self.list
    }
}

/// A warp whose mistake the message describes.
pub(super) fn mistake(
    kernel: &Kernel,
    ctaid: [u32; 3],
    warp: usize,
    lane: u32,
    pc: u32,
    message: String,
) -> Failure {
    let line = kernel.instructions()[pc as usize].line;
    Failure::of_warp(kernel, ctaid, warp as u32, ExecError::new(line, lane, message))
}
