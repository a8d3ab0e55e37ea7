//! Algorithm 1: decide, run until one of the two kernels ends, take in the arrivals, and decide again.

use super::measured::{Measured, PairRates};
use super::outcome::{Choice, Decisions, Outcome};
use super::pending::Pending;
use super::queue::Queue;

/// Two kernels to run together, the first not behind the second, and how.
#[derive(Clone, Copy)]
pub(crate) struct Selected {
    pub(crate) kernels: [usize; 2],
    pub(crate) together: PairRates,
}

/// Runs a queue. `choose` is asked when at least two instances are pending; where it has no answer the oldest runs alone.
pub(super) fn run<E>(
    measured: &Measured,
    queue: &Queue,
    mut choose: impl FnMut(&Pending) -> Result<Option<Selected>, E>,
) -> Result<Outcome, E> {
    let mut decisions = Decisions::default();
    let mut pending = Pending::new(measured.kernels.len());
    let mut arrivals = queue.arrivals().iter().enumerate().peekable();
    let mut now: f64 = 0.0;
    loop {
        while let Some((order, arrival)) = arrivals.next_if(|(_, arrival)| arrival.time <= now) {
            pending.add(order, arrival.kernel, u64::from(measured.kernels[arrival.kernel].blocks));
        }
        let selected = if pending.instances() > 1 { choose(&pending)? } else { None };
        if let Some(selected) = selected {
            now += together(&selected, &mut pending, &mut decisions);
        } else if let Some(kernel) = pending.oldest() {
            let blocks = pending.left(kernel, 0);
            let time = blocks as f64 / measured.kernels[kernel].rate;
            pending.ran(kernel, 0, blocks);
            pending.drop_ended(kernel);
            decisions.add(Choice::Alone(kernel), time, [blocks, 0]);
            now += time;
        } else if let Some((_, next)) = arrivals.peek() {
            now = next.time;
        } else {
            return Ok(decisions.outcome(now));
        }
    }
}

/// Runs two instances until one ends, and gives the time.
fn together(selected: &Selected, pending: &mut Pending, decisions: &mut Decisions) -> f64 {
    let Selected { kernels, together } = *selected;
    let places = [0, usize::from(kernels[0] == kernels[1])];
    let left = [0, 1].map(|at| pending.left(kernels[at], places[at]));
    let times = [0, 1].map(|at| left[at] as f64 / together.rates[at]);
    let time = times[0].min(times[1]);
    let blocks = [0, 1].map(|at| {
        let ends = times[at] <= time;
        let ran = (together.rates[at] * time).round() as u64;
        if ends { left[at] } else { ran.min(left[at]) }
    });
    (0..2).for_each(|at| pending.ran(kernels[at], places[at], blocks[at]));
    kernels.iter().for_each(|kernel| pending.drop_ended(*kernel));
    decisions.add(Choice::CoSchedule { kernels, slices: together.slices }, time, blocks);
    time
}
