//! Connecting the ports of one thread's processes, to each other and to other threads.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use super::ends::{Endpoint, LinkSpec};
use super::link::{Backlog, Channel, Far, Inbox, Outlet, Return, Route, Target, Travel};
use super::port::{In, Message, Out, Socket};
use super::remote::{
    Flush, Incoming, IncomingCredits, IncomingMessages, Outgoing, Post, RemoteLink, batch_number,
};
use crate::process::local::Local;
use crate::process::state::Process;
use crate::time::Latency;

/// Remote links under construction: the first of the two threads makes the link.
#[derive(Default)]
pub(crate) struct Crossings(Mutex<BTreeMap<usize, Arc<dyn Any + Send + Sync>>>);

impl Crossings {
    fn link<M: Message>(&self, number: usize) -> Arc<RemoteLink<M>> {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let link = links.entry(number).or_insert_with(|| Arc::<RemoteLink<M>>::default());
        Arc::clone(link).downcast().unwrap_or_else(|_| panic!("link {number} joins ports of different types"))
    }
}

/// Arguments for connecting a link to another thread.
pub(crate) struct Crossing<'a> {
    pub(crate) crossings: &'a Crossings,
    pub(crate) number: usize,
    pub(crate) post: &'a Rc<Post>,
}

/// This thread's side of a link to another thread.
pub(crate) struct Side {
    pub(crate) incoming: Box<dyn Incoming>,
    pub(crate) outgoing: Rc<dyn Flush>,
}

/// The numbers of a link that both ends need.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) latency: u64,
    pub(crate) credits: u32,
    pub(crate) sender: u32,
}

/// A receiving end whose message type is not known here.
pub(crate) trait AnyInbox {
    fn as_any(self: Rc<Self>) -> Rc<dyn Any>;
    fn connect_remote(self: Rc<Self>, figures: Figures, crossing: &Crossing<'_>) -> Side;
    /// Drops the references to the senders, which refer to the receiver: neither would ever be freed.
    fn disconnect(&self);
    /// Backlog of all senders, if the owner waits for a message.
    fn idle(&self) -> Option<Backlog>;
    fn backlog_of(&self, sender: u32) -> Backlog;
    /// See [`Inbox::level`].
    fn level(&self, sender: u32, now: u64) -> (usize, usize, Option<u64>);
}

impl<M: Message> AnyInbox for Inbox<M> {
    fn as_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }

    fn connect_remote(self: Rc<Self>, figures: Figures, crossing: &Crossing<'_>) -> Side {
        let RemoteLink { messages, credits } = &*crossing.crossings.link::<M>(crossing.number);
        let Figures { latency, sender, .. } = figures;
        let number = batch_number(crossing.number, true);
        let credits = Outgoing::new(Arc::clone(credits), Rc::clone(crossing.post), number);
        self.add_sender(sender, Return::Remote { latency, credits: Rc::clone(&credits) });
        let batch = Arc::clone(messages);
        let incoming = Box::new(IncomingMessages { batch, inbox: self, sender, buffer: Local::default() });
        Side { incoming, outgoing: credits }
    }

    fn disconnect(&self) {
        self.remove_senders();
    }

    fn idle(&self) -> Option<Backlog> {
        self.is_awaited().then(|| self.backlog(None))
    }

    fn backlog_of(&self, sender: u32) -> Backlog {
        self.backlog(Some(sender))
    }

    fn level(&self, sender: u32, now: u64) -> (usize, usize, Option<u64>) {
        Inbox::level(self, sender, now)
    }
}

/// A sending end whose message type is not known here.
pub(crate) trait AnyOutlet {
    fn connect_local(self: Rc<Self>, link: &LinkSpec, figures: Figures, inbox: &Rc<dyn AnyInbox>);
    fn connect_remote(self: Rc<Self>, link: &LinkSpec, figures: Figures, crossing: &Crossing<'_>) -> Side;
    /// Number of credits in all, if the owner waits for one.
    fn starved(&self) -> Option<usize>;
    /// Credits that were there before `now`, those on their way, and all.
    fn credits(&self, now: u64) -> (usize, usize, usize);
}

fn travel(outlet: &Outlet<impl Message>, link: &LinkSpec) -> Travel {
    match (link.options.bandwidth, link.options.latency) {
        (Some(bandwidth), _) => Travel::Channel(Channel::new(bandwidth)),
        (None, Latency::Cycles(cycles)) => Travel::Cycles(outlet.owner.clock().cycles(cycles)),
        (None, Latency::Time(_)) => Travel::Time,
    }
}

impl<M: Message> AnyOutlet for Outlet<M> {
    fn connect_local(self: Rc<Self>, link: &LinkSpec, figures: Figures, inbox: &Rc<dyn AnyInbox>) {
        let inbox = Rc::clone(inbox).as_any().downcast::<Inbox<M>>();
        let inbox = inbox.unwrap_or_else(|_| panic!("{:?} and {:?} differ in type", link.from, link.to));
        let Figures { latency, credits, sender } = figures;
        inbox.add_sender(sender, Return::Local(Rc::clone(&self)));
        let route = match travel(&self, link) {
            Travel::Cycles(span) => Route::Near { inbox, sender, span },
            travel => Route::Far(Box::new(Far { target: Target::Local { inbox, sender }, travel })),
        };
        self.connect(latency, credits, route);
    }

    fn connect_remote(self: Rc<Self>, link: &LinkSpec, figures: Figures, crossing: &Crossing<'_>) -> Side {
        let RemoteLink { messages, credits } = &*crossing.crossings.link::<M>(crossing.number);
        let number = batch_number(crossing.number, false);
        let messages = Outgoing::new(Arc::clone(messages), Rc::clone(crossing.post), number);
        let target = Target::Remote(Rc::clone(&messages));
        let route = Route::Far(Box::new(Far { target, travel: travel(&self, link) }));
        self.connect(figures.latency, figures.credits, route);
        let batch = Arc::clone(credits);
        let incoming = Box::new(IncomingCredits { batch, outlet: self, buffer: Local::default() });
        Side { incoming, outgoing: messages }
    }

    fn starved(&self) -> Option<usize> {
        self.is_awaited().then(|| self.capacity.get() as usize)
    }

    fn credits(&self, now: u64) -> (usize, usize, usize) {
        let (back, travelling) = self.back_before(now);
        (back, travelling, self.capacity.get() as usize)
    }
}

/// The ports of one thread's processes.
#[derive(Default)]
pub(crate) struct Ports {
    pub(crate) inboxes: BTreeMap<Endpoint, Rc<dyn AnyInbox>>,
    pub(crate) outlets: BTreeMap<Endpoint, Rc<dyn AnyOutlet>>,
}

/// The ends of a link that are on a thread.
pub(crate) type Ends = (Option<Rc<dyn AnyOutlet>>, Option<Rc<dyn AnyInbox>>);

impl Ports {
    pub(crate) fn ends(&self, link: &LinkSpec) -> Ends {
        (self.outlets.get(&link.from).cloned(), self.inboxes.get(&link.to).cloned())
    }
}

/// Hands a starting process its ports.
pub struct Wiring<'a> {
    pub(crate) ports: &'a mut Ports,
    pub(crate) process: Rc<Process>,
    /// This process's ports that have links: (name, index).
    pub(crate) connected: &'a [(String, Option<u32>)],
    /// Ports handed out so far: their numbers feed the hash.
    pub(crate) next_port: u32,
}

impl Wiring<'_> {
    /// The process that is being started.
    pub fn process(&self) -> Rc<Process> {
        Rc::clone(&self.process)
    }

    /// Number of elements of an array of ports: one more than the highest index that has a link.
    pub fn len(&self, name: &str) -> u32 {
        let indices = self.connected.iter().filter(|(port, _)| port == name).filter_map(|(_, index)| *index);
        indices.max().map_or(0, |last| last + 1)
    }

    /// Whether a port has a link.
    pub fn is_connected(&self, name: &str) -> bool {
        self.connected.iter().any(|(port, _)| port == name)
    }

    fn endpoint(&mut self, name: &str, index: Option<u32>) -> (Endpoint, u32) {
        let port = self.next_port;
        self.next_port += 1;
        (Endpoint { process: self.process.index as usize, port: name.into(), index }, port)
    }

    /// The input `name`, or element `index` of the array of that name.
    pub fn input<M: Message>(&mut self, name: &str, index: Option<u32>) -> In<M> {
        let (endpoint, port) = self.endpoint(name, index);
        let inbox = Inbox::new(Rc::clone(&self.process), port);
        self.ports.inboxes.insert(endpoint, Rc::<Inbox<M>>::clone(&inbox));
        In::new(inbox)
    }

    /// The output `name`, or element `index` of the array of that name.
    pub fn output<M: Message>(&mut self, name: &str, index: Option<u32>) -> Out<M> {
        let (endpoint, port) = self.endpoint(name, index);
        let outlet = Outlet::new(Rc::clone(&self.process), port);
        self.ports.outlets.insert(endpoint, Rc::<Outlet<M>>::clone(&outlet));
        Out::new(outlet)
    }

    /// The socket `name`, or element `index` of the array of that name.
    pub fn socket<S: Message, R: Message>(&mut self, name: &str, index: Option<u32>) -> Socket<S, R> {
        Socket { tx: self.output(name, index), rx: self.input(name, index) }
    }
}
