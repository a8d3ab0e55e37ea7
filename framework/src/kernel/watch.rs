//! Many inputs of one component, watched together.
//!
//! A component that has dozens of inputs and serves a few of them in a cycle cannot look at each, nor arm each when it
//! waits. What watches them learns from every inbox when its first message arrives, so that one place tells which inputs
//! have something, and one [`Source`] wakes the component for any of them.

use std::cell::Cell;
use std::rc::Rc;

use super::port::{In, Message};
use super::process::{Process, Source};
use super::queue::NEVER;
use crate::time::SimTime;

/// A set of watched inputs, a bit each.
pub type Inputs = u128;

/// What inboxes tell, and the component asks.
pub(crate) struct Board {
    /// Per input when its first message arrives, [`NEVER`] if there is none.
    dues: Box<[Cell<u64>]>,
    /// Inputs with a message, arrived or on its way.
    pending: Cell<Inputs>,
    /// Inputs that the component is interested in.
    among: Cell<Inputs>,
    /// The component wants to be woken by one of these.
    pub(crate) armed: Cell<bool>,
}

impl Board {
    /// The first message of an input arrives at `due`. The result tells whether the component must be woken by its arrival.
    #[inline(always)]
    pub(crate) fn note(&self, place: u32, due: u64) -> bool {
        let bit = 1 << place;
        self.dues[place as usize].set(due);
        let pending = self.pending.get();
        self.pending.set(if due == NEVER { pending & !bit } else { pending | bit });
        self.armed.get() && self.among.get() & bit != 0
    }
}

/// Tells which of many inputs have a message, and waits for any of them.
pub struct Watch {
    board: Rc<Board>,
}

impl Watch {
    /// Inputs that can be watched together.
    pub const MOST: usize = Inputs::BITS as usize;

    /// Watches these inputs of a component, numbered in this order, from now on.
    ///
    /// # Panics
    /// If there are more than [`Watch::MOST`], or if one of them is watched already.
    pub fn new<'a, M: Message>(inputs: impl IntoIterator<Item = &'a In<M>>) -> Self {
        let inboxes: Vec<_> = inputs.into_iter().map(In::inbox).collect();
        assert!(inboxes.len() <= Self::MOST, "more inputs than can be watched together");
        let board = Rc::new(Board {
            dues: vec![Cell::new(NEVER); inboxes.len()].into_boxed_slice(),
            pending: Cell::new(0),
            among: Cell::new(Inputs::MAX),
            armed: Cell::new(false),
        });
        for (inbox, place) in inboxes.iter().zip(0..) {
            inbox.watch(&board, place);
        }
        Watch { board }
    }

    /// The members of a set, lowest first.
    #[inline]
    pub fn members(set: Inputs) -> impl Iterator<Item = usize> {
        // In halves, which are what a processor has registers for.
        let (mut half, mut high, mut first) = (set as u64, (set >> 64) as u64, 0);
        std::iter::from_fn(move || {
            if half == 0 {
                if high == 0 {
                    return None;
                }
                (half, high, first) = (high, 0, 64);
            }
            let lowest = first + half.trailing_zeros() as usize;
            half &= half - 1;
            Some(lowest)
        })
    }

    /// Says which inputs the component is interested in, at first all of them.
    #[inline]
    pub fn set(&self, among: Inputs) {
        self.board.among.set(among);
    }

    /// Those inputs that the component is interested in and whose message can be taken now.
    #[inline]
    pub fn arrived(&self, process: &Process) -> impl Iterator<Item = usize> {
        process.observe();
        let Board { dues, pending, among, .. } = &*self.board;
        let now = process.ps();
        Self::members(pending.get() & among.get()).filter(move |&place| dues[place].get() <= now)
    }
}

impl Source for Watch {
    fn due(&self) -> Option<SimTime> {
        let Board { dues, pending, among, .. } = &*self.board;
        let dues = Self::members(pending.get() & among.get()).map(|place| dues[place].get());
        dues.min().map(SimTime::from_ps)
    }

    fn arm(&self) {
        self.board.armed.set(true);
    }

    fn disarm(&self) {
        self.board.armed.set(false);
    }
}
