//! Links between an output and an input.
//!
//! A message leaves with its arrival time and waits in the receiver's inbox, ordered by (arrival, sender, sequence),
//! until that time. Taking a message returns its credit to the sender, one latency later. Between threads, messages and
//! credits travel in batches at the end of each window; see [`remote`](super::remote).

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use super::credits::{Few, Others};
use super::remote::Outgoing;
use super::ring::Ring;
use super::watch::Board;
use crate::process::local::{Frame, Local};
use crate::process::queue::NEVER;
use crate::process::state::Process;
use crate::process::wake_registration::WakeRegistration;
use crate::time::{BytesPerSecond, Latency, SimTime, Span, Wire};

/// Properties of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// Time from send to arrival, at least one cycle of the sender; a credit returns after the same time.
    pub latency: Latency,
    /// Depth of the receiver's buffer in messages.
    pub capacity: u32,
    /// Bytes per second that pass; `None` for one message of any size per instant.
    pub bandwidth: Option<BytesPerSecond>,
}

/// Messages that wait or travel, and when the first of them arrived or will arrive.
pub(crate) type Backlog = (usize, Option<u64>);

/// A message on its way or waiting: 16 bytes beside the message.
pub(crate) struct Arrival<M> {
    pub(crate) time: u64,
    pub(crate) sender: u32,
    pub(crate) message: M,
}

impl<M> Arrival<M> {
    /// Whether a message that is sent later, arrives at `time` and is of `sender` comes after this one.
    #[inline(always)]
    fn is_before(&self, time: u64, sender: u32) -> bool {
        self.time < time || (self.time == time && self.sender <= sender)
    }
}

/// The receiving end of an input: messages of all senders. The first 64 bytes have all fields that a message touches if there is one sender.
#[repr(C)]
pub(crate) struct Inbox<M> {
    /// Arrival time of the first message; [`NEVER`] if there is none.
    due: Cell<u64>,
    /// The latest arrival that ever was.
    last: Cell<u64>,
    /// The receiver wants to be woken by a message.
    armed: WakeRegistration,
    queue: Local<Ring<Arrival<M>>>,
    pub(crate) owner: Rc<Process>,
    /// The sender, if there is no other one and it is on this thread: where credits go.
    only: Frame<Option<Rc<Outlet<M>>>>,
    /// Per sender, where its credits go.
    returns: Frame<Vec<Return<M>>>,
    /// Observer that is notified when the first message arrives. The owner knows whether any of its inputs has one.
    watch: OnceCell<Watcher>,
    /// The port's number in its component, which feeds the hash.
    pub(crate) port: u32,
}

/// The board that watches an input, and the index there.
struct Watcher {
    board: Rc<Board>,
    place: u32,
}

/// Destination of the credit of a message that was taken.
pub(crate) enum Return<M> {
    Local(Rc<Outlet<M>>),
    Remote { latency: u64, credits: Rc<Outgoing<u64>> },
}

impl<M> Inbox<M> {
    pub(crate) fn new(owner: Rc<Process>, port: u32) -> Rc<Self> {
        Rc::new(Inbox {
            due: Cell::new(NEVER),
            last: Cell::new(0),
            armed: WakeRegistration::default(),
            queue: Local::default(),
            owner,
            only: Frame::new(None),
            returns: Frame::new(Vec::new()),
            watch: OnceCell::new(),
            port,
        })
    }

    /// Registers the sender with the given index.
    pub(crate) fn add_sender(&self, sender: u32, to: Return<M>) {
        self.returns.change(|returns| {
            debug_assert_eq!(returns.len(), sender as usize, "senders register in the order of their index");
            if returns.is_empty() {
                // Most inputs have one sender.
                returns.reserve_exact(1);
            }
            returns.push(to);
            let only = match &returns[..] {
                [Return::Local(outlet)] => Some(Rc::clone(outlet)),
                _ => None,
            };
            self.only.change(|known| *known = only);
        });
    }

    /// Forgets all senders.
    pub(crate) fn remove_senders(&self) {
        let returns = self.returns.change(std::mem::take);
        let only = self.only.change(Option::take);
        drop((returns, only));
    }

    /// Inserts a message in order of arrival and, if needed, wakes the receiver when it arrives.
    #[inline(always)]
    pub(crate) fn receive(&self, time: u64, sender: u32, message: M) {
        let arrival = |message| Arrival { time, sender, message };
        if time > self.last.get() || self.is_last(time, sender) {
            self.last.set(time);
            self.queue.with(|queue| queue.push_back_with(|| arrival(message)));
        } else {
            self.insert(arrival(message));
        }
        if time < self.due.get() {
            self.due.set(time);
            if self.tell(time) || self.is_armed() {
                self.owner.wake_at(time);
            }
        }
    }

    /// Whether a message is last in order, although others arrive at this time, or later.
    #[inline(never)]
    fn is_last(&self, time: u64, sender: u32) -> bool {
        self.queue.with(|queue| queue.back().is_none_or(|last| last.is_before(time, sender)))
    }

    /// Reports the arrival time of the first message to the watcher, if there is one; the result is whether the receiver must be
    /// woken for it.
    #[inline(always)]
    fn tell(&self, due: u64) -> bool {
        self.owner.watches.get() && self.tell_watcher(due)
    }

    #[inline(never)]
    fn tell_watcher(&self, due: u64) -> bool {
        self.watch.get().is_some_and(|watcher| watcher.board.note(watcher.place, due))
    }

    /// Reports the arrival time of the first message to a board from now on.
    pub(crate) fn watch(&self, board: &Rc<Board>, place: u32) {
        let first = self.watch.set(Watcher { board: Rc::clone(board), place }).is_ok();
        assert!(first, "an input is watched twice");
        self.owner.watches.set(true);
        board.note(place, self.due.get());
    }

    /// Registers the receiver to be woken by a message during its current wait.
    #[inline(always)]
    pub(crate) fn arm(&self) {
        self.armed.arm(&self.owner);
    }

    /// Withdraws that request.
    #[inline(always)]
    pub(crate) fn disarm(&self) {
        self.armed.disarm();
    }

    #[inline(always)]
    fn is_armed(&self) -> bool {
        self.armed.holds(&self.owner)
    }

    /// Whether the receiver waits for a message.
    pub(crate) fn is_awaited(&self) -> bool {
        self.is_armed() || self.watch.get().is_some_and(|watcher| watcher.board.is_armed())
    }

    /// Inserts a message that arrives before one already queued; the position is searched from the back.
    #[inline(never)]
    fn insert(&self, arrival: Arrival<M>) {
        self.queue.with(|queue| {
            let place = queue.iter().rposition(|other| other.is_before(arrival.time, arrival.sender));
            queue.insert(place.map_or(0, |place| place + 1), arrival);
        });
    }

    /// The sender of the first message, which there must be.
    #[inline(always)]
    pub(crate) fn first_sender(&self) -> u32 {
        self.queue.with(|queue| queue.front().expect("a message is due").sender)
    }

    /// Takes the first message, which must have arrived by `now`.
    ///
    /// The message is moved last of all: nothing that happens in between keeps the compiler from moving it only once.
    #[inline(always)]
    pub(crate) fn pop(&self, now: u64) -> M {
        debug_assert!(self.due.get() <= now, "no message has arrived");
        self.owner.goes_on();
        let due = self.queue.with(|queue| queue.second().map_or(NEVER, |next| next.time));
        self.due.set(due);
        self.tell(due);
        match self.only.get() {
            Some(outlet) => outlet.give_back(now),
            None => self.give_back(now),
        }
        self.queue.with(|queue| queue.pop_front().expect("a message is due").message)
    }

    /// Returns the credit of the first message, taken now, to its sender, where there are several senders.
    #[inline]
    fn give_back(&self, now: u64) {
        match &self.returns.get()[self.first_sender() as usize] {
            Return::Local(outlet) => outlet.give_back(now),
            Return::Remote { latency, credits } => credits.put(now + latency, now + latency),
        }
    }

    /// Arrival time of the first message.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.due.get()
    }

    /// Looks at the first message that has arrived by `now`.
    #[inline]
    pub(crate) fn peek<R>(&self, now: u64, read: impl FnOnce(&M) -> R) -> Option<R> {
        self.queue
            .with(|queue| queue.front().filter(|first| first.time <= now).map(|first| read(&first.message)))
    }

    /// Number of messages that wait or travel here, from one sender or from all, and the first arrival among them.
    pub(crate) fn backlog(&self, sender: Option<u32>) -> Backlog {
        self.queue.with(|queue| {
            let mut times = queue
                .iter()
                .filter(|arrival| sender.is_none_or(|s| s == arrival.sender))
                .map(|arrival| arrival.time);
            let first = times.next();
            (first.map_or(0, |_| 1 + times.count()), first)
        })
    }

    /// Messages of a sender that arrived before `now`, those on their way, and when the oldest of the first arrived.
    pub(crate) fn level(&self, sender: u32, now: u64) -> (usize, usize, Option<u64>) {
        self.queue.with(|queue| {
            let own = queue.iter().filter(|arrival| arrival.sender == sender);
            let (mut waiting, mut travelling, mut oldest) = (0, 0, None);
            for arrival in own {
                if arrival.time < now {
                    waiting += 1;
                    oldest = oldest.or(Some(arrival.time));
                } else {
                    travelling += 1;
                }
            }
            (waiting, travelling, oldest)
        })
    }
}

/// The sending end of a link, with its credits. What every message of the usual link touches comes first, in 64 bytes. Ends lie side by side:
/// lines of their own would leave gaps, and those cost more than an end across two lines.
#[repr(C)]
pub(crate) struct Outlet<M> {
    /// Credits that can be used, as far as has been counted.
    available: Cell<u32>,
    /// The number among the senders of the inbox.
    sender: Cell<u32>,
    /// The sender wants to be woken by a credit.
    waiting: WakeRegistration,
    /// Times at which the next credits return.
    returning: Few,
    /// Latency of a credit, and of a message.
    latency: Cell<u64>,
    pub(crate) owner: Rc<Process>,
    /// The inbox behind the usual link: on this thread, with a latency in cycles of the sender and no bandwidth.
    near: Frame<Option<Rc<Inbox<M>>>>,
    /// Times at which further credits return, if there ever were any.
    others: Others,
    /// The part that rounding cuts off the latency of the usual link, in fractions of its clock.
    fraction: Cell<u64>,
    far: Frame<Option<Box<Far<M>>>>,
    /// Messages that the link holds at most.
    pub(crate) capacity: Cell<u32>,
    /// The port's number in its component, which feeds the hash.
    pub(crate) port: u32,
}

/// The way from an output to its input.
pub(crate) enum Route<M> {
    Near { inbox: Rc<Inbox<M>>, sender: u32, span: Span },
    Far(Box<Far<M>>),
}

/// A link that is not the usual one.
pub(crate) struct Far<M> {
    pub(crate) target: Target<M>,
    pub(crate) travel: Travel,
}

/// Destination of messages.
pub(crate) enum Target<M> {
    Local { inbox: Rc<Inbox<M>>, sender: u32 },
    Remote(Rc<Outgoing<(u64, M)>>),
}

/// Time that messages take.
pub(crate) enum Travel {
    Cycles(Span),
    Time,
    /// The time is that after the last byte.
    Channel(Channel),
}

impl<M> Outlet<M> {
    pub(crate) fn new(owner: Rc<Process>, port: u32) -> Rc<Self> {
        Rc::new(Outlet {
            available: Cell::new(0),
            sender: Cell::new(0),
            waiting: WakeRegistration::default(),
            returning: Few::new(),
            latency: Cell::new(0),
            owner,
            near: Frame::new(None),
            others: Others::default(),
            fraction: Cell::new(0),
            far: Frame::new(None),
            capacity: Cell::new(0),
            port,
        })
    }

    /// Connects the outlet, whose credits return after `latency`.
    pub(crate) fn connect(&self, latency: u64, capacity: u32, route: Route<M>) {
        self.available.set(capacity);
        self.capacity.set(capacity);
        self.latency.set(latency);
        match route {
            Route::Near { inbox, sender, span } => {
                self.sender.set(sender);
                debug_assert_eq!(span.floor().as_ps(), latency);
                self.fraction.set(span.fraction());
                self.near.change(|near| *near = Some(inbox));
            }
            Route::Far(far) => self.far.change(|known| *known = Some(far)),
        }
    }

    /// Collects the credits that have returned by `now`; the result is the number that can be used.
    #[inline]
    pub(crate) fn available(&self, now: u64) -> u32 {
        let available = self.available.get() + self.returning.take_back(&self.others, now);
        self.available.set(available);
        available
    }

    /// Registers the sender to be woken by a credit during its current wait.
    #[inline(always)]
    pub(crate) fn arm(&self) {
        self.waiting.arm(&self.owner);
    }

    /// Withdraws that request.
    #[inline(always)]
    pub(crate) fn disarm(&self) {
        self.waiting.disarm();
    }

    /// Whether the sender waits for a credit.
    #[inline(always)]
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiting.holds(&self.owner)
    }

    /// Takes one credit if there is one. As this collects those that are back, few are kept at a time.
    #[inline]
    pub(crate) fn take(&self, now: u64) -> bool {
        let available = self.available(now);
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

    /// The receiver takes a message now: its credit returns one latency later.
    #[inline(always)]
    fn give_back(&self, now: u64) {
        self.return_credit(now + self.latency.get());
    }

    /// A credit returns at `time`.
    #[inline(always)]
    pub(crate) fn return_credit(&self, time: u64) {
        let is_first = self.returning.add(&self.others, time);
        // An earlier credit on its way will wake the sender.
        if is_first && self.is_awaited() {
            self.owner.wake_at(time);
        }
    }

    /// Credits that were back before `now`, counted or not, and those on their way.
    pub(crate) fn back_before(&self, now: u64) -> (usize, usize) {
        let (back, travelling) = self.returning.split(&self.others, now);
        (self.available.get() as usize + back, travelling)
    }

    /// Time at which the next credit returns.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.returning.first()
    }

    /// Sends a message that is handed over `after` later than now. `seen` learns when it arrives.
    #[inline(always)]
    pub(crate) fn send(
        &self,
        after: u64,
        message: M,
        bytes: impl FnOnce(&M) -> u64,
        seen: impl FnOnce(u64, &M),
    ) {
        let Some(inbox) = self.near.get() else {
            return self.send_far(after, message, bytes, seen);
        };
        let (clock, edge) = (self.owner.clock_ref(), self.owner.edge());
        let passed = match clock.is_whole() {
            true => edge.time().as_ps() + self.latency.get(),
            false => clock.time_after(edge, self.latency.get(), self.fraction.get()),
        };
        let time = passed + after;
        seen(time, &message);
        inbox.receive(time, self.sender.get(), message);
    }

    #[inline(never)]
    fn send_far(&self, after: u64, message: M, bytes: impl FnOnce(&M) -> u64, seen: impl FnOnce(u64, &M)) {
        let far = self.far.get().as_ref().expect("ports are connected before a component runs");
        let time = self.arrival(&far.travel, after, || bytes(&message));
        seen(time, &message);
        match &far.target {
            Target::Local { inbox, sender } => inbox.receive(time, *sender, message),
            Target::Remote(messages) => messages.put(time, (time, message)),
        }
    }

    /// Arrival time of a message that is handed over `after` later than now.
    fn arrival(&self, travel: &Travel, after: u64, bytes: impl FnOnce() -> u64) -> u64 {
        let start = self.owner.ps() + after;
        match travel {
            Travel::Cycles(span) => self.owner.clock().after(self.owner.edge(), *span).time().as_ps() + after,
            Travel::Time => start + self.latency.get(),
            // A message's last byte leaves between two edges: the latency counts from there.
            Travel::Channel(channel) => channel.pass(start, bytes()) + self.latency.get(),
        }
    }
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

    /// Time at which the last byte of a message that is ready at `start` has entered the link.
    fn pass(&self, start: u64, bytes: u64) -> u64 {
        let mut wire = self.wire.get();
        let end = wire.pass(SimTime::from_ps(start), bytes, self.bandwidth);
        self.wire.set(wire);
        end.as_ps()
    }
}

#[cfg(test)]
mod tests {
    use super::Arrival;

    /// Cells that check their use in debug builds are larger there.
    #[cfg(not(debug_assertions))]
    #[test]
    fn a_message_touches_64_bytes_of_each_end() {
        use std::mem::offset_of;

        use super::{Inbox, Outlet};
        use crate::process::domain::Domain;
        use crate::process::state::Process;

        assert_eq!((offset_of!(Outlet<u64>, others), size_of::<Outlet<u64>>()), (64, 96));
        assert_eq!((offset_of!(Inbox<u64>, returns), size_of::<Inbox<u64>>()), (64, 112));
        assert_eq!((size_of::<Process>(), size_of::<Domain>()), (64, 192));
    }

    #[test]
    fn a_queued_message_takes_sixteen_bytes_more_than_its_size() {
        assert_eq!(size_of::<Arrival<u32>>(), 16);
        assert_eq!(size_of::<Arrival<u64>>(), 8 + 16);
        assert_eq!(size_of::<Arrival<[u64; 16]>>(), 128 + 16);
    }
}
