//! Lanes: where the messages of one link wait, and which lane of an input comes first.
//!
//! Every link has a lane of its own, so a message is put behind those of its sender only and the usual one goes to the
//! end. An input looks at the first message of each of its lanes: [`Heads`] finds the earliest.

use super::queue::NEVER;
use super::ring::Ring;

/// A message on its way or waiting.
pub(crate) struct Arrival<M> {
    pub(crate) time: u64,
    pub(crate) message: M,
}

/// The messages of one link, in the order of (arrival, sequence).
pub(crate) struct Lane<M> {
    /// The latest arrival that ever was.
    last: u64,
    queue: Ring<Arrival<M>>,
}

impl<M> Default for Lane<M> {
    fn default() -> Self {
        Lane { last: 0, queue: Ring::default() }
    }
}

impl<M> Lane<M> {
    /// Puts a message in its place, and tells whether it comes before all others now.
    #[inline(always)]
    pub(crate) fn push(&mut self, time: u64, message: M) -> bool {
        let arrival = Arrival { time, message };
        if time < self.last {
            return self.insert(arrival);
        }
        self.last = time;
        let first = self.queue.is_empty();
        self.queue.push_back(arrival);
        first
    }

    /// Puts a message that overtakes another one in its place, searched from the back.
    #[inline(never)]
    fn insert(&mut self, arrival: Arrival<M>) -> bool {
        let place = self.queue.iter().rposition(|other| other.time <= arrival.time);
        let place = place.map_or(0, |place| place + 1);
        self.queue.insert(place, arrival);
        place == 0
    }

    /// Takes the first message; the second result is when the next one arrives, [`NEVER`] if there is none.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> (M, u64) {
        let Arrival { message, .. } = self.queue.pop_front().expect("a message is due");
        (message, self.queue.front().map_or(NEVER, |next| next.time))
    }

    pub(crate) fn front(&self) -> Option<&M> {
        self.queue.front().map(|first| &first.message)
    }

    /// Number of messages that wait or travel here, and the first arrival among them.
    pub(crate) fn backlog(&self) -> (usize, Option<u64>) {
        (self.queue.len(), self.queue.front().map(|first| first.time))
    }
}

/// Lanes that are looked at together when the earliest is sought.
const BLOCK: usize = 8;

/// When the first message of each of several lanes of an input arrives.
#[derive(Default)]
pub(crate) struct Heads {
    /// By lane, in blocks; places behind the last lane stay [`NEVER`].
    times: Vec<[u64; BLOCK]>,
    /// The earliest of each block.
    blocks: Vec<u64>,
}

impl Heads {
    /// Makes room for so many lanes; new ones are empty.
    pub(crate) fn grow(&mut self, lanes: usize) {
        self.times.resize(lanes.div_ceil(BLOCK), [NEVER; BLOCK]);
        self.blocks.resize(lanes.div_ceil(BLOCK), NEVER);
    }

    /// The first message of a lane arrives at `time`, earlier than it did.
    #[inline]
    pub(crate) fn set(&mut self, lane: u32, time: u64) {
        let (block, place) = (lane as usize / BLOCK, lane as usize % BLOCK);
        self.times[block][place] = time;
        self.blocks[block] = time.min(self.blocks[block]);
    }

    /// The first message of a lane, which was the earliest of all, arrives at `time` now: the earliest and its lane, the
    /// lower one in a tie.
    #[inline(never)]
    pub(crate) fn replace(&mut self, lane: u32, time: u64) -> (u64, u32) {
        let (block, place) = (lane as usize / BLOCK, lane as usize % BLOCK);
        let times = &mut self.times[block];
        times[place] = time;
        let (earliest, place) = least(times);
        self.blocks[block] = earliest;
        if self.blocks.len() == 1 {
            return (earliest, place);
        }
        let (earliest, block) = least(&self.blocks);
        let (_, place) = least(&self.times[block as usize]);
        (earliest, block * BLOCK as u32 + place)
    }
}

/// The least of some times and the place of the first that is.
#[inline(always)]
fn least(times: &[u64]) -> (u64, u32) {
    let mut best = (NEVER, 0);
    for (&time, place) in times.iter().zip(0..) {
        best = if time < best.0 { (time, place) } else { best };
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queued_message_takes_eight_bytes_more_than_its_size() {
        assert_eq!(size_of::<Arrival<u32>>(), 16);
        assert_eq!(size_of::<Arrival<u64>>(), 8 + 8);
        assert_eq!(size_of::<Arrival<[u64; 16]>>(), 128 + 8);
    }

    #[test]
    fn a_message_overtakes_those_that_arrive_later() {
        let mut lane = Lane::default();
        assert!(lane.push(5, 'a'));
        assert!(!lane.push(9, 'b'));
        assert!(!lane.push(5, 'c'));
        assert!(lane.push(3, 'd'));
        assert!(!lane.push(9, 'e'));
        assert_eq!(lane.backlog(), (5, Some(3)));
        let taken: Vec<(char, u64)> = (0..5).map(|_| lane.pop()).collect();
        assert_eq!(taken, [('d', 5), ('a', 5), ('c', 9), ('b', 9), ('e', NEVER)]);
    }

    #[test]
    fn heads_find_the_earliest_lane_among_any_number() {
        for lanes in [2_usize, 8, 9, 64, 100] {
            let mut heads = Heads::default();
            heads.grow(lanes);
            let mut model = vec![NEVER; lanes];
            for step in 0..2_000_u64 {
                let random = step.wrapping_mul(6_364_136_223_846_793_005) >> 33;
                let (lane, time) = (random as usize % lanes, random / 128 % 50);
                if time < model[lane] {
                    heads.set(lane as u32, time);
                    model[lane] = time;
                }
                let earliest = (0..lanes).min_by_key(|&lane| model[lane]).unwrap();
                model[earliest] = if time > 40 { NEVER } else { model[earliest] + time };
                let found = heads.replace(earliest as u32, model[earliest]);
                let earliest = (0..lanes).min_by_key(|&lane| model[lane]).unwrap();
                assert_eq!(found.0, model[earliest]);
                assert!(found.0 == NEVER || found.1 as usize == earliest);
            }
        }
    }
}
