//! A process's wish to be woken by one of its ports during the wait that it is at.

use std::cell::Cell;

use super::process::Process;

/// A wish, which holds for the wait of a number: the next wait knows nothing of it.
#[derive(Default)]
pub(crate) struct Wish(Cell<u64>);

impl Wish {
    /// Wishes it for the current wait of `owner`.
    #[inline(always)]
    pub(crate) fn arm(&self, owner: &Process) {
        self.0.set(owner.wait_number());
    }

    #[inline(always)]
    pub(crate) fn disarm(&self) {
        self.0.set(0);
    }

    #[inline(always)]
    pub(crate) fn holds(&self, owner: &Process) -> bool {
        self.0.get() == owner.wait_number()
    }
}
