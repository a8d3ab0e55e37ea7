//! A link between two threads: messages one way, credits the other, in batches.
//!
//! What is sent within a window arrives after it, so both travel at its end. The batches lie behind mutexes for which
//! nobody contends: the exchange of reports at the end of a window ([`parallel`](super::parallel)) orders the
//! accesses, and a [`Notice`] per pair of threads names the links that have something to fetch.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::link::{Inbox, Outlet};
use super::local::Local;

/// What one thread has put into its batches for another thread.
pub(crate) struct Notice {
    /// The earliest arrival among it. Written by the sending thread only.
    earliest: AtomicU64,
    /// The numbers of the batches that are not empty.
    dirty: Mutex<Vec<u32>>,
}

impl Default for Notice {
    fn default() -> Self {
        Notice { earliest: AtomicU64::new(u64::MAX), dirty: Mutex::default() }
    }
}

impl Notice {
    fn announce(&self, time: u64) {
        if time < self.earliest.load(Ordering::Relaxed) {
            self.earliest.store(time, Ordering::Relaxed);
        }
    }

    /// The earliest arrival since the last call.
    pub(crate) fn take_earliest(&self) -> u64 {
        self.earliest.swap(u64::MAX, Ordering::Relaxed)
    }

    /// Moves the numbers of the batches to fetch into `numbers`, which must be empty.
    pub(crate) fn take_dirty(&self, numbers: &mut Vec<u32>) {
        std::mem::swap(&mut *lock(&self.dirty), numbers);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Items that travel one way between two threads.
pub(crate) struct Batch<T> {
    items: Mutex<Vec<T>>,
    notice: Arc<Notice>,
    number: u32,
}

impl<T> Batch<T> {
    fn new(notice: Arc<Notice>, number: u32) -> Self {
        Batch { items: Mutex::default(), notice, number }
    }

    fn put(&self, time: u64, item: T) {
        self.notice.announce(time);
        let was_empty = {
            let mut items = lock(&self.items);
            items.push(item);
            items.len() == 1
        };
        if was_empty {
            lock(&self.notice.dirty).push(self.number);
        }
    }

    /// Moves the items into `buffer`, which must be empty; its memory goes back with the next batch.
    fn fetch(&self, buffer: &mut Vec<T>) {
        std::mem::swap(&mut *lock(&self.items), buffer);
    }
}

/// Both directions of one link.
pub(crate) struct RemoteLink<M> {
    messages: Batch<(u64, M)>,
    credits: Batch<u64>,
}

impl<M> RemoteLink<M> {
    /// Link number `number`, whose messages are announced by `there` and credits by `back`.
    pub(crate) fn new(number: u32, there: Arc<Notice>, back: Arc<Notice>) -> Self {
        RemoteLink { messages: Batch::new(there, 2 * number), credits: Batch::new(back, 2 * number + 1) }
    }

    /// Sends a message to the other thread.
    pub(crate) fn send(&self, time: u64, message: M) {
        self.messages.put(time, (time, message));
    }

    /// Sends a credit to the other thread.
    pub(crate) fn give_back(&self, time: u64) {
        self.credits.put(time, time);
    }
}

/// The number of the batch of messages, or of credits, of link `number`.
pub(crate) fn batch_number(number: u32, credits: bool) -> usize {
    2 * number as usize + usize::from(credits)
}

/// A batch that this thread fetches.
pub(crate) trait Incoming {
    /// Hands what has come to where it belongs.
    fn fetch(&self);
}

/// Messages from another thread.
pub(crate) struct IncomingMessages<M> {
    pub(crate) link: Arc<RemoteLink<M>>,
    pub(crate) inbox: Rc<Inbox<M>>,
    pub(crate) sender: u32,
    pub(crate) buffer: Local<Vec<(u64, M)>>,
}

impl<M> Incoming for IncomingMessages<M> {
    fn fetch(&self) {
        self.buffer.with(|buffer| {
            self.link.messages.fetch(buffer);
            for (time, message) in buffer.drain(..) {
                if self.inbox.push(time, self.sender, message) {
                    self.inbox.owner.wake_at(time);
                }
            }
        });
    }
}

/// Credits from another thread.
pub(crate) struct IncomingCredits<M> {
    pub(crate) link: Arc<RemoteLink<M>>,
    pub(crate) outlet: Rc<Outlet<M>>,
    pub(crate) buffer: Local<Vec<u64>>,
}

impl<M> Incoming for IncomingCredits<M> {
    fn fetch(&self) {
        self.buffer.with(|buffer| {
            self.link.credits.fetch(buffer);
            for time in buffer.drain(..) {
                self.outlet.give_back(time);
            }
        });
    }
}
