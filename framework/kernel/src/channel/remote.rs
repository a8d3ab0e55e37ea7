//! A link between two threads: messages travel one way and credits the other, in batches.
//!
//! Messages sent within a window arrive after it, so both travel at its end: a thread collects the messages or credits
//! for a link in a list of its own, and swaps the list into the link's batch when the window is over. The batches are
//! behind mutexes without contention: the exchange of reports at the end of a window
//! ([`parallel`](crate::windows::parallel)) orders the accesses, and a [`Notice`] per pair of threads names the batches
//! that have something to fetch. The two threads exchange the lists, so nothing is allocated once the lists have grown.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::link::{Inbox, Outlet};
use crate::process::local::Local;
use crate::process::queue::NEVER;

/// The numbers of the batches that one thread has for another one to fetch.
#[derive(Default)]
pub(crate) struct Notice(Mutex<Vec<u32>>);

impl Notice {
    /// Moves the numbers into `numbers`, which must be empty.
    pub(crate) fn take(&self, numbers: &mut Vec<u32>) {
        std::mem::swap(&mut *lock(&self.0), numbers);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Items that travel one way between two threads.
pub(crate) struct Batch<T>(Mutex<Vec<T>>);

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Batch(Mutex::default())
    }
}

/// Both directions of one link.
pub(crate) struct RemoteLink<M> {
    pub(crate) messages: Arc<Batch<(u64, M)>>,
    pub(crate) credits: Arc<Batch<u64>>,
}

impl<M> Default for RemoteLink<M> {
    fn default() -> Self {
        RemoteLink { messages: Arc::default(), credits: Arc::default() }
    }
}

/// The number of the batch of messages, or of credits, of link `number`.
pub(crate) fn batch_number(number: usize, credits: bool) -> usize {
    2 * number + usize::from(credits)
}

/// A thread's post for another one in this window: the numbers of its lists that are not empty.
pub(crate) struct Post {
    /// The earliest arrival among it.
    earliest: Cell<u64>,
    dirty: Local<Vec<u32>>,
}

impl Default for Post {
    fn default() -> Self {
        Post { earliest: Cell::new(NEVER), dirty: Local::default() }
    }
}

impl Post {
    /// Hands everything over. The result is the earliest arrival among it.
    pub(crate) fn flush(&self, notice: &Notice, outgoing: &[Option<Rc<dyn Flush>>]) -> u64 {
        self.dirty.with(|dirty| {
            if !dirty.is_empty() {
                for outgoing in dirty.iter().filter_map(|&number| outgoing[number as usize].as_ref()) {
                    outgoing.flush();
                }
                lock(&notice.0).append(dirty);
            }
        });
        self.earliest.replace(NEVER)
    }
}

/// A batch that this thread fills.
pub(crate) trait Flush {
    /// Moves the collected items to the batch from which the other thread fetches.
    fn flush(&self);
}

/// The filling end of a batch.
pub(crate) struct Outgoing<T> {
    items: Local<Vec<T>>,
    batch: Arc<Batch<T>>,
    post: Rc<Post>,
    number: u32,
}

impl<T> Outgoing<T> {
    pub(crate) fn new(batch: Arc<Batch<T>>, post: Rc<Post>, number: usize) -> Rc<Self> {
        Rc::new(Outgoing { items: Local::default(), batch, post, number: number as u32 })
    }

    /// Adds an item that arrives at `time`.
    #[inline]
    pub(crate) fn put(&self, time: u64, item: T) {
        if time < self.post.earliest.get() {
            self.post.earliest.set(time);
        }
        let first = self.items.with(|items| {
            items.push(item);
            items.len() == 1
        });
        if first {
            self.post.dirty.with(|dirty| dirty.push(self.number));
        }
    }
}

impl<T> Flush for Outgoing<T> {
    fn flush(&self) {
        self.items.with(|items| {
            let mut batch = lock(&self.batch.0);
            if batch.is_empty() {
                std::mem::swap(&mut *batch, items);
            } else {
                // The other thread has not yet fetched the items of the window before. It then fetches both, which does no harm:
                // no message arrives before the window is over.
                batch.append(items);
            }
        });
    }
}

/// A batch that this thread fetches.
pub(crate) trait Incoming {
    /// Hands the messages and credits of the batch to their receivers.
    fn fetch(&self);
}

pub(crate) struct IncomingMessages<M> {
    pub(crate) batch: Arc<Batch<(u64, M)>>,
    pub(crate) inbox: Rc<Inbox<M>>,
    pub(crate) sender: u32,
    pub(crate) buffer: Local<Vec<(u64, M)>>,
}

impl<M> Incoming for IncomingMessages<M> {
    fn fetch(&self) {
        self.buffer.with(|buffer| {
            std::mem::swap(&mut *lock(&self.batch.0), buffer);
            for (time, message) in buffer.drain(..) {
                self.inbox.receive(time, self.sender, message);
            }
        });
    }
}

pub(crate) struct IncomingCredits<M> {
    pub(crate) batch: Arc<Batch<u64>>,
    pub(crate) outlet: Rc<Outlet<M>>,
    pub(crate) buffer: Local<Vec<u64>>,
}

impl<M> Incoming for IncomingCredits<M> {
    fn fetch(&self) {
        self.buffer.with(|buffer| {
            std::mem::swap(&mut *lock(&self.batch.0), buffer);
            for time in buffer.drain(..) {
                self.outlet.return_credit(time);
            }
        });
    }
}
