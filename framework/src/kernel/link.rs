//! Links: what lies between an output and an input.
//!
//! A message leaves with its arrival time and waits in the receiver's inbox, ordered by (arrival, sender, sequence),
//! until that time has come. A message that the receiver takes sends its credit back, one latency later. Between
//! threads the same two things travel in batches at the end of each window; see [`remote`](super::remote).

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use super::local::{Frame, Local};
use super::process::Process;
use super::queue::NEVER;
use super::remote::Outgoing;
use super::ring::Ring;
use super::watch::Board;
use super::wish::Wish;
use crate::time::{BytesPerSecond, Latency, SimTime, Span, Wire};

/// Properties of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// Time from send to arrival, at least one cycle of the sender; a credit takes as long to come back.
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
    /// When the first message arrives, [`NEVER`] if there is none.
    due: Cell<u64>,
    /// The latest arrival that ever was, and the last sender among those that came then.
    last: Cell<(u64, u32)>,
    /// The receiver wants to be woken by a message.
    armed: Wish,
    queue: Local<Ring<Arrival<M>>>,
    /// Observer that is notified when the first message arrives, and the index there.
    watch: OnceCell<(Rc<Board>, u32)>,
    pub(crate) owner: Rc<Process>,
    /// Per sender, where its credits go.
    returns: Frame<Vec<Return<M>>>,
}

/// Where the credit of a taken message goes.
pub(crate) enum Return<M> {
    Local(Rc<Outlet<M>>),
    Remote { latency: u64, credits: Rc<Outgoing<u64>> },
}

impl<M> Inbox<M> {
    pub(crate) fn new(owner: Rc<Process>) -> Rc<Self> {
        Rc::new(Inbox {
            due: Cell::new(NEVER),
            last: Cell::new((0, 0)),
            armed: Wish::default(),
            queue: Local::default(),
            watch: OnceCell::new(),
            owner,
            returns: Frame::new(Vec::new()),
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
        });
    }

    /// Forgets all senders.
    pub(crate) fn remove_senders(&self) {
        let returns = self.returns.change(std::mem::take);
        drop(returns);
    }

    /// Puts a message in its place and wakes the receiver, if need be, for its arrival.
    #[inline(always)]
    pub(crate) fn receive(&self, time: u64, sender: u32, message: M) {
        if self.push(time, sender, message) {
            self.owner.wake_at(time);
        }
    }

    /// Puts a message in its place. The result tells whether the receiver must be woken by its arrival.
    #[inline(always)]
    #[must_use]
    fn push(&self, time: u64, sender: u32, message: M) -> bool {
        let (last, last_sender) = self.last.get();
        if time > last || (time == last && sender >= last_sender) {
            self.last.set((time, sender));
            self.queue.with(|queue| queue.push_back_with(|| Arrival { time, sender, message }));
        } else {
            self.insert(Arrival { time, sender, message });
        }
        if time >= self.due.get() {
            return false;
        }
        self.due.set(time);
        self.tell(time) || self.is_armed()
    }

    /// Tells who watches when the first message arrives, and whether the receiver must be woken for it.
    #[inline(always)]
    fn tell(&self, due: u64) -> bool {
        self.watch.get().is_some_and(|(board, place)| board.note(*place, due))
    }

    /// Lets a board know from now on when the first message arrives.
    pub(crate) fn watch(&self, board: &Rc<Board>, place: u32) {
        let first = self.watch.set((Rc::clone(board), place)).is_ok();
        assert!(first, "an input is watched twice");
        board.note(place, self.due.get());
    }

    /// Has the receiver be woken by a message during its current wait.
    #[inline(always)]
    pub(crate) fn arm(&self) {
        self.armed.arm(&self.owner);
    }

    /// Withdraws that wish.
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
        self.is_armed() || self.watch.get().is_some_and(|(board, _)| board.is_armed())
    }

    /// Puts a message that arrives before another one in its place, searched from the back.
    #[inline(never)]
    fn insert(&self, arrival: Arrival<M>) {
        let key = (arrival.time, arrival.sender);
        self.queue.with(|queue| {
            let place = queue.iter().rposition(|other| (other.time, other.sender) <= key);
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
        let island = &self.owner.island;
        island.moved.set(now);
        if self.owner.acts.get() {
            island.acted.set(now);
        }
        let due = self.queue.with(|queue| queue.second().map_or(NEVER, |next| next.time));
        self.due.set(due);
        self.tell(due);
        match &self.returns.get()[self.first_sender() as usize] {
            Return::Local(outlet) => outlet.give_back(now + outlet.latency.get()),
            Return::Remote { latency, credits } => credits.put(now + latency, now + latency),
        }
        self.queue.with(|queue| queue.pop_front().expect("a message is due").message)
    }

    /// When the first message arrives.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.due.get()
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

/// The sending end of a link, with its credits.
pub(crate) struct Outlet<M> {
    /// Credits that can be used, as far as has been counted.
    available: Cell<u32>,
    /// The sender wants to be woken by a credit.
    waiting: Wish,
    /// Times at which further credits come back, in order.
    returning: Local<Ring<u64>>,
    /// How long a message takes that is not sent in cycles, and a credit.
    latency: Cell<u64>,
    pub(crate) owner: Rc<Process>,
    route: Frame<Route<M>>,
    /// Messages that the link holds at most.
    pub(crate) capacity: Cell<u32>,
}

/// The way from an output to its input.
pub(crate) enum Route<M> {
    /// The ports have not been connected yet.
    Open,
    /// The usual link: to this thread, with a latency in cycles of the sender and no bandwidth.
    Near { inbox: Rc<Inbox<M>>, sender: u32, one_clock: bool, span: Span },
    /// Any other.
    Far(Box<Far<M>>),
}

/// A link that is not the usual one.
pub(crate) struct Far<M> {
    pub(crate) target: Target<M>,
    pub(crate) travel: Travel,
}

/// Where messages go.
pub(crate) enum Target<M> {
    Local { inbox: Rc<Inbox<M>>, sender: u32 },
    Remote(Rc<Outgoing<(u64, M)>>),
}

/// How long messages take.
pub(crate) enum Travel {
    Cycles(Span),
    Time,
    /// The time is that after the last byte.
    Channel(Channel),
}

impl<M> Outlet<M> {
    pub(crate) fn new(owner: Rc<Process>) -> Rc<Self> {
        Rc::new(Outlet {
            available: Cell::new(0),
            waiting: Wish::default(),
            returning: Local::default(),
            latency: Cell::new(0),
            owner,
            route: Frame::new(Route::Open),
            capacity: Cell::new(0),
        })
    }

    /// Connects the outlet, whose credits come back after `latency`.
    pub(crate) fn connect(&self, latency: u64, capacity: u32, route: Route<M>) {
        self.available.set(capacity);
        self.capacity.set(capacity);
        self.latency.set(latency);
        self.route.change(|known| *known = route);
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

    /// Has the sender be woken by a credit during its current wait.
    #[inline(always)]
    pub(crate) fn arm(&self) {
        self.waiting.arm(&self.owner);
    }

    /// Withdraws that wish.
    #[inline(always)]
    pub(crate) fn disarm(&self) {
        self.waiting.disarm();
    }

    /// Whether the sender waits for a credit.
    #[inline(always)]
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiting.holds(&self.owner)
    }

    /// Takes one credit if there is one.
    #[inline]
    pub(crate) fn take(&self, now: u64) -> bool {
        let mut available = self.available.get();
        if available == 0 {
            available = self.available(now);
            if available == 0 {
                return false;
            }
        }
        self.available.set(available - 1);
        true
    }

    /// Puts back a credit that was taken and not used.
    pub(crate) fn untake(&self) {
        self.available.set(self.available.get() + 1);
    }

    /// A credit comes back at `time`.
    #[inline(always)]
    pub(crate) fn give_back(&self, time: u64) {
        if self.returning.with(|returning| returning.is_full()) {
            self.make_room();
        }
        self.returning.with(|returning| returning.push_back(time));
        // One that was on its way before will wake the sender.
        if self.is_awaited() && self.returning.with(|returning| returning.len()) == 1 {
            self.owner.wake_at(time);
        }
    }

    /// Those that are back already make room: the ring stays as small as what is really on its way.
    #[inline(never)]
    fn make_room(&self) {
        self.available(self.owner.ps());
    }

    /// Credits that were back before `now`, counted or not, and those on their way.
    pub(crate) fn back_before(&self, now: u64) -> (usize, usize) {
        self.returning.with(|returning| {
            let back = returning.iter().take_while(|&&time| time < now).count();
            (self.available.get() as usize + back, returning.len() - back)
        })
    }

    /// When the next credit comes back.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.returning.with(|returning| returning.front().copied().unwrap_or(NEVER))
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
        let far = match self.route.get() {
            Route::Near { inbox, sender, one_clock, span } => {
                let (clock, edge) = (self.owner.clock(), self.owner.edge());
                let time = clock.after(edge, *span).time().as_ps() + after;
                seen(time, &message);
                if inbox.push(time, *sender, message) {
                    if *one_clock && after == 0 {
                        inbox.owner.wake_in_cycle(edge.index() + span.cycles());
                    } else {
                        inbox.owner.wake_at(time);
                    }
                }
                return;
            }
            Route::Far(far) => far,
            Route::Open => unreachable!("ports are connected before a component runs"),
        };
        let time = self.arrival(&far.travel, after, || bytes(&message));
        seen(time, &message);
        match &far.target {
            Target::Local { inbox, sender } => inbox.receive(time, *sender, message),
            Target::Remote(messages) => messages.put(time, (time, message)),
        }
    }

    /// When a message arrives that is handed over `after` later than now.
    #[inline(never)]
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

    /// When the last byte of a message that is ready at `start` has entered the link.
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

    #[test]
    fn a_queued_message_takes_sixteen_bytes_more_than_its_size() {
        assert_eq!(size_of::<Arrival<u32>>(), 16);
        assert_eq!(size_of::<Arrival<u64>>(), 8 + 16);
        assert_eq!(size_of::<Arrival<[u64; 16]>>(), 128 + 16);
    }
}
