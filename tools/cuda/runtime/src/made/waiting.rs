//! Kernels that wait for the host or for another stream, and what is behind them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use crate::device::Begun;
use crate::graphs::Operation;

/// A kernel that waits.
pub(crate) struct Waiting {
    /// The binary of its module.
    pub(crate) binary: usize,
    pub(crate) stream: u32,
    pub(crate) begun: Begun,
}

/// Kernels that wait, and what is behind them.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) kernels: Vec<Waiting>,
    pub(crate) put_off: VecDeque<(u32, Operation)>,
    /// Bytes that host and device both had last, by address.
    pub(crate) synced: BTreeMap<u64, Vec<u8>>,
    /// The beginning of a call's waiting.
    pub(crate) asked: Option<Instant>,
    /// The stream of copies between host and device beside waiting kernels.
    pub(crate) beside: Option<u32>,
    /// The call is to be made again.
    pub(crate) again: bool,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// Forgets all kernels, which nobody needs any more.
    pub(crate) fn clear(&mut self) {
        *self = Queue { beside: self.beside, ..Queue::default() };
    }

    /// A call has been done.
    pub(crate) fn done(&mut self) {
        self.asked = None;
    }

    /// Notes what host and device both have at an address.
    pub(crate) fn sync(&mut self, address: u64, bytes: Vec<u8>) {
        self.synced.insert(address, bytes);
    }

    /// The stream on which an event is to be recorded when others are done.
    pub(crate) fn recorded_later(&self, event: u32) -> Option<u32> {
        let records = |(_, operation): &&(u32, Operation)| *operation == Operation::Record(event);
        self.put_off.iter().find(records).map(|(stream, _)| *stream)
    }
}
