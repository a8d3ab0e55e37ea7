//! The wait for the ports that a component tried: each port records the attempt, so that no list is written by hand.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::queue::NEVER;
use super::state::{Process, Source};
use crate::time::SimTime;

/// Ports that know whether they were tried since the last wait of their component. `derive(Ports)` implements it for all ports of a component.
pub trait Tries {
    /// When a tried port has something, in picoseconds, as far as is known now; the largest number if none has.
    fn tried_due(&self) -> u64;

    /// Asks for a wake-up by each tried port.
    fn arm_tried(&self);
}

impl<T: Tries> Tries for Option<T> {
    #[inline]
    fn tried_due(&self) -> u64 {
        self.as_ref().map_or(NEVER, Tries::tried_due)
    }

    #[inline]
    fn arm_tried(&self) {
        self.iter().for_each(Tries::arm_tried);
    }
}

impl<T: Tries> Tries for Vec<T> {
    #[inline]
    fn tried_due(&self) -> u64 {
        self.iter().map(Tries::tried_due).min().unwrap_or(NEVER)
    }

    #[inline]
    fn arm_tried(&self) {
        self.iter().for_each(Tries::arm_tried);
    }
}

/// Waits for a time, for what was tried, or for further sources; see [`Process::wait_tried`].
#[must_use = "time passes only if this is awaited"]
pub struct WaitTried<'a, T> {
    process: &'a Process,
    deadline: u64,
    /// The wait does not end before this time.
    earliest: u64,
    ports: &'a T,
    others: Vec<Option<&'a dyn Source>>,
    armed: bool,
}

impl<'a, T: Tries> WaitTried<'a, T> {
    pub(super) fn new(process: &'a Process, deadline: u64, ports: &'a T) -> Self {
        debug_assert!(!process.concurrent.get(), "a branch of several waits cannot wait for what was tried");
        let earliest = process.now().as_ps() + 1;
        WaitTried { process, deadline, earliest, ports, others: Vec::new(), armed: false }
    }

    /// Waits for these sources, too.
    pub fn or(mut self, sources: Vec<Option<&'a dyn Source>>) -> Self {
        self.others = sources;
        self
    }
}

impl<T: Tries> Future for WaitTried<'_, T> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.armed {
            return Poll::Ready(());
        }
        let others = self.others.iter().flatten().filter_map(|source| source.due()).map(SimTime::as_ps).min();
        let end = self.deadline.min(self.ports.tried_due()).min(others.unwrap_or(NEVER)).max(self.earliest);
        if self.process.advance_or_sleep(end) {
            return Poll::Ready(());
        }
        self.armed = true;
        self.ports.arm_tried();
        self.others.iter().flatten().for_each(|source| source.arm());
        Poll::Pending
    }
}

/// Ends the wait: the ports that were tried and armed count for this wait alone.
impl<T> Drop for WaitTried<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.process.end_wait();
    }
}
