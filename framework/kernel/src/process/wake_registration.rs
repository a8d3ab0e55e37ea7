//! Registration of a process to be woken by one of its ports during its current wait.

use std::cell::Cell;

use super::state::Process;

/// Registration for the wait with a number; the next wait does not have it.
#[derive(Default)]
pub(crate) struct WakeRegistration(Cell<u64>);

impl WakeRegistration {
    /// Registers for the current wait of `owner`.
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
