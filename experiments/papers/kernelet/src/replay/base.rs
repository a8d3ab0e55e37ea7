//! Consolidation: whole kernels in streams, in the order of arrival. Under the left-over policy only their tails overlap.

use super::measured::Measured;
use super::outcome::{Choice, Decisions, Outcome};
use super::queue::Queue;

/// Replays a queue. Each instance starts before the end of its predecessor by their overlap, but not before
/// its arrival.
pub(super) fn run(measured: &Measured, queue: &Queue) -> Outcome {
    let mut decisions = Decisions::default();
    let mut before: Option<(usize, f64)> = None;
    let mut total: f64 = 0.0;
    for arrival in queue.arrivals() {
        let kernel = &measured.kernels[arrival.kernel];
        let free = before.map_or(arrival.time, |(other, end)| end - measured.overlap(other, arrival.kernel));
        let end = free.max(arrival.time) + kernel.alone();
        decisions.add(Choice::Alone(arrival.kernel), kernel.alone(), [u64::from(kernel.blocks), 0]);
        total = total.max(end);
        before = Some((arrival.kernel, end));
    }
    decisions.outcome(total)
}
