//! Report of the host program to its user: the results, and its progress.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use counterpoint_ptx::functional::FlatMemory;

use crate::program::BufferId;

/// The notes of a run: an edge to the outside world, given as a resource.
#[derive(Default)]
pub struct Journal {
    buffers: Mutex<BTreeMap<BufferId, Bytes>>,
    bytes: AtomicU64,
    launches: AtomicU64,
    printed: Mutex<Printed>,
}

/// Text that kernels have printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text, in the order in which the kernels reserved places for it.
    pub text: String,
    /// Bytes of records that newer ones have overwritten before the host read them.
    pub lost: u64,
}

impl Journal {
    pub(crate) fn result(&self, buffer: BufferId, values: Bytes) {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).insert(buffer, values);
    }

    /// Notes text that kernels have printed, and the bytes of records that were lost.
    pub(crate) fn printed(&self, text: &str, lost: u64) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.text.push_str(text);
        printed.lost += lost;
    }

    /// Notes text that kernels have printed in a memory without time.
    pub(crate) fn printed_in(&self, memory: &mut FlatMemory) {
        let lost = memory.printed_lost();
        let text = memory.take_printed();
        self.printed(&text, memory.printed_lost() - lost);
    }

    /// Takes the text that kernels have printed so far.
    pub fn take_printed(&self) -> Printed {
        std::mem::take(&mut *self.printed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that data has moved.
    pub(crate) fn moved(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes that a launch has ended.
    pub(crate) fn launched(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    /// Contents of a buffer at the end.
    pub fn buffer(&self, buffer: BufferId) -> Option<Bytes> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).get(&buffer).cloned()
    }

    /// Bytes that files, host and devices have exchanged so far.
    pub fn bytes_moved(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Launches that have ended so far.
    pub fn launches_ended(&self) -> u64 {
        self.launches.load(Ordering::Relaxed)
    }
}
