//! Report of the host program to its user: the results, and its progress.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::program::BufferId;

/// The notes of a run: an edge to the outside world, given as a resource.
#[derive(Default)]
pub struct Journal {
    buffers: Mutex<BTreeMap<BufferId, Bytes>>,
    bytes: AtomicU64,
    launches: AtomicU64,
}

impl Journal {
    /// Notes a result.
    pub(crate) fn result(&self, buffer: BufferId, values: Bytes) {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).insert(buffer, values);
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
