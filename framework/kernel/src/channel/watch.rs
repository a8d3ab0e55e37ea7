//! Many inputs of one component, watched together.
//!
//! A component that has dozens of inputs and serves a few of them in a cycle cannot check each, nor arm each when it
//! waits. A watch learns from every inbox when its first message arrives, so that one object knows which inputs have a
//! message, and one [`Source`] wakes the component for any of them.

use std::cell::Cell;
use std::rc::Rc;

use super::inputs::{Inputs, Words, members};
use super::port::{In, Message};
use crate::process::queue::NEVER;
use crate::process::state::{Process, Source};
use crate::process::wake_registration::WakeRegistration;
use crate::time::SimTime;

/// Inputs that share a word of bits.
#[derive(Debug)]
struct Word {
    /// Inputs with a message, arrived or on its way.
    pending: Cell<u64>,
    /// Inputs that the component is interested in.
    among: Cell<u64>,
}

/// The first messages of all inputs that are watched.
pub(crate) struct Board {
    /// Per input when its first message arrives, [`NEVER`] if there is none.
    dues: Box<[Cell<u64>]>,
    words: Box<[Word]>,
    /// The component wants to be woken by one of these.
    armed: WakeRegistration,
    /// The component's process; `None` if no input is watched.
    owner: Option<Rc<Process>>,
}

impl Board {
    /// The first message of an input arrives at `due`. The result is whether the component must be woken by its arrival.
    #[inline(always)]
    pub(crate) fn note(&self, place: u32, due: u64) -> bool {
        self.dues[place as usize].set(due);
        let (word, bit) = (&self.words[place as usize / 64], 1 << (place % 64));
        let pending = word.pending.get();
        word.pending.set(if due == NEVER { pending & !bit } else { pending | bit });
        word.among.get() & bit != 0 && self.is_armed()
    }

    /// Whether the component waits for one of these.
    #[inline(always)]
    pub(crate) fn is_armed(&self) -> bool {
        self.owner.as_ref().is_some_and(|owner| self.armed.holds(owner))
    }

    /// Inputs with a message that the component is interested in, lowest first.
    #[inline]
    fn wanted(&self) -> impl Iterator<Item = usize> {
        let words = self.words.iter().enumerate();
        words.flat_map(|(number, word)| members(number, word.pending.get() & word.among.get()))
    }
}

/// Knows which of many inputs have a message, and waits for any of them.
pub struct Watch {
    board: Rc<Board>,
}

impl Watch {
    /// Watches these inputs of a component, numbered in this order.
    ///
    /// # Panics
    /// If one of them is watched already.
    pub fn new<'a, M: Message>(inputs: impl IntoIterator<Item = &'a In<M>>) -> Self {
        let inboxes: Vec<_> = inputs.into_iter().map(In::inbox).collect();
        let word = || Word { pending: Cell::new(0), among: Cell::new(u64::MAX) };
        let board = Rc::new(Board {
            dues: vec![Cell::new(NEVER); inboxes.len()].into_boxed_slice(),
            words: (0..inboxes.len().div_ceil(64)).map(|_| word()).collect(),
            armed: WakeRegistration::default(),
            owner: inboxes.first().map(|inbox| Rc::clone(&inbox.owner)),
        });
        for (inbox, place) in inboxes.iter().zip(0..) {
            inbox.watch(&board, place);
        }
        Watch { board }
    }

    /// Sets the inputs in which the component is interested; initially all of them.
    #[inline]
    pub fn set<W: Words>(&self, among: &Inputs<W>) {
        for (word, &among) in self.board.words.iter().zip(among.words()) {
            word.among.set(among);
        }
    }

    /// Watched inputs with a message that can be taken now.
    #[inline]
    pub fn arrived(&self, process: &Process) -> impl Iterator<Item = usize> {
        let now = process.ps();
        self.board.wanted().filter(move |&place| self.board.dues[place].get() <= now)
    }
}

impl Source for Watch {
    fn due(&self) -> Option<SimTime> {
        let dues = self.board.wanted().map(|place| self.board.dues[place].get());
        dues.min().map(SimTime::from_ps)
    }

    fn arm(&self) {
        self.board.owner.iter().for_each(|owner| self.board.armed.arm(owner));
    }

    fn disarm(&self) {
        self.board.armed.disarm();
    }
}
