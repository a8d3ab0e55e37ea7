//! Links: what lies between an output and an input.
//!
//! A message leaves with its arrival time and waits in the receiver's inbox, ordered by (arrival, sender, sequence),
//! until that time has come. A message that the receiver takes sends its credit back, one latency later. Between
//! threads the same two things travel in batches at the end of each window; see [`remote`](super::remote).

use std::cell::{Cell, OnceCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::local::Local;
use super::process::Process;
use super::remote::RemoteLink;
use crate::time::{BytesPerSecond, Latency, SimTime, Span, Wire};

/// What a link is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// Time from send to arrival, at least one cycle of the sender.
    pub latency: Latency,
    /// Depth of the receiver's buffer in messages.
    pub capacity: u32,
    /// Bytes per second that pass; `None` for one message of any size per instant.
    pub bandwidth: Option<BytesPerSecond>,
}

/// A message on its way or waiting: 16 bytes beside the message.
pub(crate) struct Arrival<M> {
    pub(crate) time: u64,
    pub(crate) sender: u32,
    pub(crate) message: M,
}

/// The receiving end of an input: messages of all senders.
pub(crate) struct Inbox<M> {
    queue: Local<VecDeque<Arrival<M>>>,
    /// The receiver wants to be woken by a message.
    pub(crate) armed: Cell<bool>,
    pub(crate) owner: Rc<Process>,
    /// Per sender, where its credits go.
    returns: Local<Vec<Return>>,
}

/// Where the credit of a taken message goes.
#[derive(Clone)]
pub(crate) struct Return {
    pub(crate) latency: u64,
    pub(crate) to: ReturnPath,
}

#[derive(Clone)]
pub(crate) enum ReturnPath {
    Local(Rc<Credits>),
    Remote(Arc<dyn CreditSink>),
}

/// Takes credits that leave the thread.
pub(crate) trait CreditSink: Send + Sync {
    fn give_back(&self, time: u64);
}

impl<M> Inbox<M> {
    pub(crate) fn new(owner: Rc<Process>) -> Rc<Self> {
        Rc::new(Inbox { queue: Local::default(), armed: Cell::new(false), owner, returns: Local::default() })
    }

    /// Registers the sender with the given index.
    pub(crate) fn add_sender(&self, sender: u32, to: Return) {
        self.returns.with(|returns| {
            debug_assert_eq!(returns.len(), sender as usize, "senders register in the order of their index");
            returns.push(to);
        });
    }

    /// Puts a message in its place and wakes the receiver if it became the first.
    #[inline]
    pub(crate) fn push(&self, time: u64, sender: u32, message: M) {
        let first = self.queue.with(|queue| {
            let arrival = Arrival { time, sender, message };
            match queue.back() {
                Some(last) if (last.time, last.sender) > (time, sender) => {
                    // Messages nearly always come in order; the few that overtake are searched from the back.
                    let place = queue.iter().rposition(|other| (other.time, other.sender) <= (time, sender));
                    queue.insert(place.map_or(0, |place| place + 1), arrival);
                    place.is_none()
                }
                _ => {
                    queue.push_back(arrival);
                    queue.len() == 1
                }
            }
        });
        if first && self.armed.get() {
            self.owner.wake_at(time);
        }
    }

    /// Takes the first message that has arrived by `now`.
    #[inline]
    pub(crate) fn pop(&self, now: u64) -> Option<(u32, M)> {
        let arrival = self.queue.with(|queue| match queue.front() {
            Some(first) if first.time <= now => queue.pop_front(),
            _ => None,
        })?;
        self.owner.island.moved.set(now);
        self.returns.with(|returns| {
            let Return { latency, to } = &returns[arrival.sender as usize];
            match to {
                ReturnPath::Local(credits) => credits.give_back(now + latency),
                ReturnPath::Remote(sink) => sink.give_back(now + latency),
            }
        });
        Some((arrival.sender, arrival.message))
    }

    /// When the first message arrives.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.queue.with(|queue| queue.front().map_or(u64::MAX, |first| first.time))
    }

    /// Looks at the first message that has arrived by `now`.
    #[inline]
    pub(crate) fn peek<R>(&self, now: u64, look: impl FnOnce(&M) -> R) -> Option<R> {
        self.queue
            .with(|queue| queue.front().filter(|first| first.time <= now).map(|first| look(&first.message)))
    }

    /// Number of messages that wait or travel here, from one sender or from all, and the first arrival among them.
    pub(crate) fn backlog(&self, sender: Option<u32>) -> (usize, Option<u64>) {
        self.queue.with(|queue| {
            let mut times = queue
                .iter()
                .filter(|arrival| sender.is_none_or(|s| s == arrival.sender))
                .map(|arrival| arrival.time);
            let first = times.next();
            (first.map_or(0, |_| 1 + times.count()), first)
        })
    }
}

/// The credits of one link, held by the sender.
pub(crate) struct Credits {
    available: Cell<u32>,
    /// Times at which credits come back, in order.
    returning: Local<VecDeque<u64>>,
    /// The sender waits for a credit.
    pub(crate) waiting: Cell<bool>,
    pub(crate) owner: Rc<Process>,
    pub(crate) total: u32,
}

impl Credits {
    pub(crate) fn new(owner: Rc<Process>, total: u32) -> Rc<Self> {
        Rc::new(Credits {
            available: Cell::new(total),
            returning: Local::default(),
            waiting: Cell::new(false),
            owner,
            total,
        })
    }

    /// Collects the credits that have come back by `now` and says how many there are.
    #[inline]
    pub(crate) fn available(&self, now: u64) -> u32 {
        let back = self.returning.with(|returning| {
            let mut count = 0;
            while returning.front().is_some_and(|&time| time <= now) {
                returning.pop_front();
                count += 1;
            }
            count
        });
        let available = self.available.get() + back;
        self.available.set(available);
        available
    }

    /// Takes one credit if there is one.
    #[inline]
    pub(crate) fn take(&self, now: u64) -> bool {
        let mut available = self.available.get();
        if available == 0 {
            available = self.available(now);
        }
        if available == 0 {
            return false;
        }
        self.available.set(available - 1);
        true
    }

    /// Puts back a credit that was taken and not used.
    pub(crate) fn untake(&self) {
        self.available.set(self.available.get() + 1);
    }

    /// A credit comes back at `time`.
    #[inline]
    pub(crate) fn give_back(&self, time: u64) {
        let first = self.returning.with(|returning| {
            returning.push_back(time);
            returning.len() == 1
        });
        if first && self.waiting.get() {
            self.owner.wake_at(time);
        }
    }

    /// When the next credit comes back.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.returning.with(|returning| returning.front().copied().unwrap_or(u64::MAX))
    }
}

/// The sending end of a link.
pub(crate) struct Outlet<M> {
    pub(crate) owner: Rc<Process>,
    pub(crate) wired: OnceCell<Wired<M>>,
}

/// What an outlet knows once it is connected.
pub(crate) struct Wired<M> {
    pub(crate) credits: Rc<Credits>,
    pub(crate) target: Target<M>,
    pub(crate) sender: u32,
    pub(crate) delay: Delay,
    pub(crate) channel: Option<Channel>,
}

/// Where messages go.
pub(crate) enum Target<M> {
    Local(Rc<Inbox<M>>),
    Remote(Arc<RemoteLink<M>>),
}

/// A latency, prepared for the sender's clock.
#[derive(Clone, Copy)]
pub(crate) enum Delay {
    Cycles(Span),
    Time(u64),
}

/// The serialising part of a link with a bandwidth.
pub(crate) struct Channel {
    bandwidth: BytesPerSecond,
    wire: Cell<Wire>,
}

impl Channel {
    pub(crate) fn new(bandwidth: BytesPerSecond) -> Self {
        Channel { bandwidth, wire: Cell::default() }
    }

    /// When the last byte of a message that is ready at `start` has entered the link.
    fn pass(&self, start: u64, bytes: u64) -> u64 {
        let mut wire = self.wire.get();
        let end = wire.pass(SimTime::from_ps(start), bytes, self.bandwidth);
        self.wire.set(wire);
        end.as_ps()
    }
}

impl<M> Wired<M> {
    /// When a message arrives that is handed over `after` later than now.
    #[inline]
    pub(crate) fn arrival(&self, owner: &Process, after: u64, bytes: impl FnOnce() -> u64) -> u64 {
        let mut start = owner.island.now() + after;
        if let Some(channel) = &self.channel {
            start = channel.pass(start, bytes());
            // A message's last byte leaves between two edges: the latency counts from there.
            return start
                + match self.delay {
                    Delay::Cycles(span) => span.floor().as_ps(),
                    Delay::Time(time) => time,
                };
        }
        match self.delay {
            Delay::Cycles(span) => owner.clock.after(owner.edge(), span).time().as_ps() + after,
            Delay::Time(time) => start + time,
        }
    }
}
