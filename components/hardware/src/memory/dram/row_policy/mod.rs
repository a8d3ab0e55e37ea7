//! Row policies of a DRAM: the time for which a row stays open after its last access.
//!
//! A policy is one file and one line in the list.

counterpoint_framework::variants! {
    /// Registers the row policies of this folder.
    pub(crate) fn register, of dyn RowPolicy;

    mod open::Open;
    mod closed::Closed;
    mod timeout::Timeout;
}

/// Decides when a row is closed that no queued access wants. An access to another row closes it in any case.
pub trait RowPolicy {
    /// Whether rows stay open until another row of their bank is wanted. Then nothing else is asked.
    fn keeps_open(&self) -> bool {
        false
    }

    /// Notes what an access has found in its bank.
    fn found(&mut self, _bank: usize, _state: RowState) {}

    /// Cycles from the last column command to the precharge, which needs no slot of the command bus: 0 is a column command
    /// with auto-precharge. The precharge waits for the timings of the row, and an access to the row that is queued in time
    /// cancels it. `None`: the row stays open.
    fn closes_after(&mut self, bank: usize) -> Option<u64>;
}

/// State in which an access finds its bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// The row of the access is open.
    Hit,
    /// No row is open.
    Closed,
    /// Another row is open.
    Conflict,
}
