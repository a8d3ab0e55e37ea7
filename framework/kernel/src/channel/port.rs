//! Typed ports, through which a component sends and receives messages.
//!
//! Every wait here is exact to the receiver's clock edge. A blocking operation (`recv`, `send`, `reserve`) may run
//! ahead of the executor while nothing else happens in the island; this assumes that the component awaits one operation
//! at a time. A component that awaits several operations at once with its own combinators does so inside
//! [`concurrently`](crate::Process::concurrently); [`first`], [`any`] and [`Process::wait`] need no such care.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::link::{Inbox, Outlet};
use crate::process::queue::NEVER;
use crate::process::state::{Process, Source};
use crate::process::tried::Tries;
use crate::process::wake_registration::WakeRegistration;
use crate::time::SimTime;

/// A message on a link.
///
/// `Hash` feeds the run's hash; a message whose value matters to the simulation includes it.
pub trait Message: Hash + Send + Sized + 'static {
    /// Makes a second message like this one, for links whose faults double messages. Without it none can be doubled.
    const DUPLICATE: Option<fn(&Self) -> Self> = None;
    /// Flips a bit of the values that the message carries, chosen by a random number, for links whose faults change
    /// messages; false if this message carries none. Without it none can be changed.
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = None;

    /// Bytes that the message occupies on a link with a bandwidth.
    fn wire_bytes(&self) -> u64 {
        size_of_val(self) as u64
    }
}

macro_rules! plain_messages {
    ($($type:ty),*) => { $(impl Message for $type {
        const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
        const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|value, bits| {
            *value ^= (1 as $type) << (bits % u64::from(<$type>::BITS));
            true
        });
    })* };
}
plain_messages!(u8, u16, u32, u64, i32, i64);

impl Message for () {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

impl Message for bool {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
    const CORRUPT: Option<fn(&mut Self, u64) -> bool> = Some(|value, _| {
        *value = !*value;
        true
    });
}

/// The receiving end of links: takes messages in the order of (arrival, sender, sequence).
pub struct In<M> {
    inbox: Rc<Inbox<M>>,
    /// The component looked for a message since its last wait, and the next one concerns it.
    tried: WakeRegistration,
}

impl<M: Message> In<M> {
    pub(crate) fn new(inbox: Rc<Inbox<M>>) -> Self {
        In { inbox, tried: WakeRegistration::default() }
    }

    pub(crate) fn inbox(&self) -> &Rc<Inbox<M>> {
        &self.inbox
    }

    /// Waits for a message and takes it.
    #[inline]
    pub fn recv(&mut self) -> Receiving<'_, M> {
        Receiving(MessageWait(self))
    }

    /// Waits until a message can be taken, without taking it.
    #[inline]
    pub fn ready(&mut self) -> impl Future<Output = ()> + '_ {
        let wait = MessageWait(self);
        poll_fn(move |_| wait.0.poll_arrival())
    }

    #[inline(always)]
    fn poll_arrival(&self) -> Poll<()> {
        let owner = &self.inbox.owner;
        if owner.advance_or_sleep(self.inbox.due()) {
            return Poll::Ready(());
        }
        self.inbox.arm();
        Poll::Pending
    }

    /// Takes a message that has arrived; `None` if there is none now.
    #[inline(always)]
    pub fn try_recv(&mut self) -> Option<M> {
        if self.has_message() { Some(self.take()) } else { None }
    }

    /// Takes a message that has arrived, with the index of its sender among the senders of this input.
    ///
    /// Senders are numbered by their position in the machine; elements of an array in the order of their indices.
    #[inline]
    pub fn try_recv_from(&mut self) -> Option<(u32, M)> {
        if self.has_message() { Some((self.inbox.first_sender(), self.take())) } else { None }
    }

    /// Takes a message that is known to have arrived.
    #[inline(always)]
    fn take(&mut self) -> M {
        let owner = &self.inbox.owner;
        self.tried.arm(owner);
        // The sender has hashed the value.
        owner.record(&self.inbox.port, |_| ());
        self.inbox.pop(owner.ps())
    }

    /// Looks at the message that `try_recv` would take.
    #[inline]
    pub fn peek<R>(&self, read: impl FnOnce(&M) -> R) -> Option<R> {
        let found = self.inbox.peek(self.inbox.owner.ps(), read);
        if found.is_none() {
            self.tried.arm(&self.inbox.owner);
        }
        found
    }

    /// Whether `try_recv` would take a message.
    #[inline(always)]
    pub fn has_message(&self) -> bool {
        let arrived = self.inbox.due() <= self.inbox.owner.ps();
        if !arrived {
            self.tried.arm(&self.inbox.owner);
        }
        arrived
    }
}

impl<M> Tries for In<M> {
    #[inline]
    fn tried_due(&self) -> u64 {
        if self.tried.holds(&self.inbox.owner) { self.inbox.due() } else { NEVER }
    }

    #[inline]
    fn arm_tried(&self) {
        if self.tried.holds(&self.inbox.owner) {
            self.inbox.arm();
        }
    }
}

/// Waits for a message; see [`In::recv`].
#[must_use = "nothing is received unless this is awaited"]
pub struct Receiving<'a, M>(MessageWait<'a, M>);

impl<M: Message> Future for Receiving<'_, M> {
    type Output = M;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<M> {
        let input = &mut *self.get_mut().0.0;
        if input.poll_arrival().is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(input.take())
    }
}

/// A wait for a message. When it ends, done or dropped half-way, nobody is to be woken by a message any more.
struct MessageWait<'a, M>(&'a mut In<M>);

impl<M> Drop for MessageWait<'_, M> {
    #[inline]
    fn drop(&mut self) {
        self.0.disarm();
    }
}

impl<M> Source for In<M> {
    fn due(&self) -> Option<SimTime> {
        Some(self.inbox.due()).filter(|&time| time != u64::MAX).map(SimTime::from_ps)
    }

    fn arm(&self) {
        self.inbox.arm();
    }

    fn disarm(&self) {
        self.inbox.disarm();
    }
}

/// The sending end of a link.
pub struct Out<M> {
    outlet: Rc<Outlet<M>>,
    /// The component requested a credit since its last wait, and the next wait concerns this port.
    tried: WakeRegistration,
}

impl<M: Message> Out<M> {
    pub(crate) fn new(outlet: Rc<Outlet<M>>) -> Self {
        Out { outlet, tried: WakeRegistration::default() }
    }

    /// Sends a message as soon as there is a credit. With one, this takes no time; the message arrives the link's latency
    /// later.
    #[inline]
    pub fn send(&mut self, message: M) -> Sending<'_, M> {
        self.send_after(SimTime::ZERO, message)
    }

    /// Sends a message, as soon as there is a credit, that leaves `delay` later: latency rides on the message.
    #[inline]
    pub fn send_after(&mut self, delay: SimTime, message: M) -> Sending<'_, M> {
        Sending { out: self, delay, message: Some(message) }
    }

    /// Waits for a credit and keeps it for one message: sending on the permit cannot fail.
    #[inline]
    pub fn reserve(&mut self) -> impl Future<Output = Permit<'_, M>> {
        let mut wait = CreditWait(Some(self));
        poll_fn(move |_| {
            let out = wait.0.take().expect("polled after completion");
            match out.poll_credit() {
                Poll::Ready(()) => {
                    out.disarm();
                    Poll::Ready(Permit { out })
                }
                Poll::Pending => {
                    wait.0 = Some(out);
                    Poll::Pending
                }
            }
        })
    }

    #[inline(always)]
    fn poll_credit(&self) -> Poll<()> {
        let owner = &self.outlet.owner;
        let taken = self.outlet.take(owner.ps())
            || (owner.advance_or_sleep(self.outlet.due()) && self.outlet.take(owner.ps()));
        if taken {
            return Poll::Ready(());
        }
        self.outlet.arm();
        Poll::Pending
    }

    /// Takes a credit if there is one now.
    #[inline]
    pub fn try_reserve(&mut self) -> Option<Permit<'_, M>> {
        self.tried.arm(&self.outlet.owner);
        // A permit that is made is a credit that is given back: none may be made without one.
        if self.outlet.take(self.outlet.owner.ps()) { Some(Permit { out: self }) } else { None }
    }

    /// Sends the first message of a queue, if there is one and a credit, so that it leaves `delay` later. The output counts as tried if
    /// messages are left: [`Process::wait_tried`] ends when the next one can be sent.
    #[inline]
    pub fn send_front(&mut self, queue: &mut VecDeque<M>, delay: SimTime) {
        let owner = &self.outlet.owner;
        if !queue.is_empty()
            && self.outlet.take(owner.ps())
            && let Some(message) = queue.pop_front()
        {
            self.dispatch(delay, message);
        }
        if !queue.is_empty() {
            self.tried.arm(&self.outlet.owner);
        }
    }

    /// Sends a message if there is a credit now, and hands it back otherwise.
    ///
    /// # Errors
    /// The message, when the link has no credit.
    #[inline]
    pub fn try_send(&mut self, message: M) -> Result<(), M> {
        match self.try_reserve() {
            Some(permit) => {
                permit.send(message);
                Ok(())
            }
            None => Err(message),
        }
    }

    /// Messages that could be sent now: the credits that are here.
    #[inline]
    pub fn credits(&self) -> u32 {
        self.outlet.available(self.outlet.owner.ps())
    }

    #[inline]
    fn dispatch(&self, after: SimTime, message: M) {
        self.outlet.send(after.as_ps(), message, M::wire_bytes, |time, message| {
            self.outlet.owner.record(&self.outlet.port, |hasher| {
                time.hash(hasher);
                message.hash(hasher);
            });
        });
    }
}

/// Sends a message as soon as there is a credit; see [`Out::send`].
#[must_use = "nothing is sent unless this is awaited"]
pub struct Sending<'a, M> {
    out: &'a mut Out<M>,
    delay: SimTime,
    message: Option<M>,
}

impl<M> Drop for Sending<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        self.out.outlet.disarm();
    }
}

/// The message is moved in and out and never pinned.
impl<M> Unpin for Sending<'_, M> {}

impl<M: Message> Future for Sending<'_, M> {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.out.poll_credit().is_pending() {
            return Poll::Pending;
        }
        let message = self.message.take().expect("polled after completion");
        self.out.dispatch(self.delay, message);
        Poll::Ready(())
    }
}

/// A wait for a credit. When it is dropped half-way, nobody is to be woken by a credit any more.
struct CreditWait<'a, M: Message>(Option<&'a mut Out<M>>);

impl<M: Message> Drop for CreditWait<'_, M> {
    #[inline]
    fn drop(&mut self) {
        if let Some(out) = &self.0 {
            out.disarm();
        }
    }
}

impl<M: Message> Source for Out<M> {
    fn due(&self) -> Option<SimTime> {
        if self.outlet.available(self.outlet.owner.ps()) > 0 {
            return Some(SimTime::ZERO);
        }
        Some(self.outlet.due()).filter(|&time| time != u64::MAX).map(SimTime::from_ps)
    }

    fn arm(&self) {
        self.outlet.arm();
    }

    fn disarm(&self) {
        self.outlet.disarm();
    }
}

impl<M: Message> Tries for Out<M> {
    #[inline]
    fn tried_due(&self) -> u64 {
        match self.tried.holds(&self.outlet.owner) {
            true => self.due().map_or(NEVER, SimTime::as_ps),
            false => NEVER,
        }
    }

    #[inline]
    fn arm_tried(&self) {
        if self.tried.holds(&self.outlet.owner) {
            self.outlet.arm();
        }
    }
}

/// A credit for one message. Dropping it unused returns the credit.
#[must_use = "a permit that is dropped sends nothing"]
pub struct Permit<'a, M: Message> {
    out: &'a mut Out<M>,
}

impl<M: Message> Permit<'_, M> {
    /// Sends the message; this cannot fail.
    #[inline]
    pub fn send(self, message: M) {
        self.send_after(SimTime::ZERO, message);
    }

    /// Sends the message so that it leaves `delay` later.
    #[inline]
    pub fn send_after(self, delay: SimTime, message: M) {
        self.out.dispatch(delay, message);
        std::mem::forget(self);
    }
}

impl<M: Message> Drop for Permit<'_, M> {
    fn drop(&mut self) {
        self.out.outlet.untake();
    }
}

/// A pair of ports to one peer: messages `S` out, messages `R` in.
pub struct Socket<S, R> {
    /// Towards the peer.
    pub tx: Out<S>,
    /// From the peer.
    pub rx: In<R>,
}

impl<S: Message, R> Tries for Socket<S, R> {
    #[inline]
    fn tried_due(&self) -> u64 {
        self.tx.tried_due().min(self.rx.tried_due())
    }

    #[inline]
    fn arm_tried(&self) {
        self.tx.arm_tried();
        self.rx.arm_tried();
    }
}

/// One of two results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// From the first.
    Left(A),
    /// From the second.
    Right(B),
}

/// Takes a message from whichever input has one first; the left one wins a tie.
pub async fn first<A: Message, B: Message>(left: &mut In<A>, right: &mut In<B>) -> Either<A, B> {
    let process: Rc<Process> = Rc::clone(&left.inbox.owner);
    loop {
        if let Some(message) = left.try_recv() {
            return Either::Left(message);
        }
        if let Some(message) = right.try_recv() {
            return Either::Right(message);
        }
        process.wait(SimTime::MAX, [left.when(true), right.when(true)]).await;
    }
}

/// Order in which several inputs with messages are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fairness {
    /// The one whose message arrived first; the lower index wins a tie.
    #[default]
    Oldest,
    /// The next one after the given index, in turn.
    After(usize),
}

/// A wait for a message on any of several inputs; see [`MessageWait`].
struct AnyWait<'a, M>(&'a [In<M>]);

impl<M> Drop for AnyWait<'_, M> {
    #[inline]
    fn drop(&mut self) {
        self.0.iter().for_each(Source::disarm);
    }
}

/// Takes a message from one of several inputs, with the input's index.
///
/// # Panics
/// If there are no inputs.
pub async fn any<M: Message>(inputs: &mut [In<M>], fairness: Fairness) -> (usize, M) {
    let process = Rc::clone(&inputs[0].inbox.owner);
    let wait = AnyWait(inputs);
    poll_fn(|_| {
        let earliest = wait.0.iter().map(|input| input.inbox.due()).min().unwrap_or(NEVER);
        if earliest <= process.ps() || process.advance_or_sleep(earliest) {
            return Poll::Ready(());
        }
        wait.0.iter().for_each(Source::arm);
        Poll::Pending
    })
    .await;
    drop(wait);
    let count = inputs.len();
    let ready = |&index: &usize| inputs[index].has_message();
    let chosen = match fairness {
        Fairness::Oldest => (0..count).filter(ready).min_by_key(|&index| inputs[index].inbox.due()),
        Fairness::After(last) => (1..=count).map(|step| (last + step) % count).find(ready),
    };
    let index = chosen.expect("an input has a message");
    let message = inputs[index].try_recv().expect("it has a message");
    (index, message)
}
