//! The unit of an L2 slice that executes atomics: the time of a request, by the conflicts of its lanes. The unit knows times and no
//! values.
//!
//! Lanes on different words of a line are changed several in a cycle. Lanes on one word take turns: the next one begins when the
//! word has been written, which takes `same_word` cycles. So a request takes passes, each with one lane of every word that has lanes
//! left. Requests are served one after another; a request whose words are still being written waits for them, and a request for
//! other words does not.

use std::collections::VecDeque;

use counterpoint_framework::model::Params;
use counterpoint_protocols::memory::{AtomicLane, LINE_BYTES};

/// Rates of atomics. NVIDIA's white papers give them for whole chips, in operations a clock: 24 on independent addresses and 1/9 on a
/// shared one for GF110, 64 and 1 for GK104 (GeForce GTX 680 white paper), a slice of the L2 for every 32 bytes a clock.
#[derive(Clone, Debug, Params)]
pub struct AtomicParams {
    /// Lanes on different words of a line that the unit serves in a cycle. With 0, an atomic takes the time of a read of its sectors, even
    /// if lanes share words (GPGPU-Sim).
    #[param(default = "0", max = "32")]
    pub lanes: u32,
    /// Cycles between two updates of one word.
    #[param(default = "1", min = "1", max = "1000")]
    pub same_word: u64,
    /// Requests that wait in front of the unit. When the queue is full, the slice accepts no further request.
    #[param(default = "8", min = "1", max = "1024")]
    pub queue: u32,
}

/// A word that was changed not long ago.
#[derive(Clone, Copy, Debug)]
struct Busy {
    address: u64,
    /// The next change may begin then.
    free: u64,
}

/// The unit's work, and the cycles in which it is done.
#[derive(Debug)]
pub struct AtomicUnit {
    lanes: u64,
    same_word: u64,
    queue: usize,
    /// The next request begins then.
    free: u64,
    /// Cycles in which the requests in the unit or in front of it leave, in order.
    ends: VecDeque<u64>,
    /// Words that may still be written.
    busy: Vec<Busy>,
}

impl AtomicUnit {
    /// An idle unit; `None` if atomics take the time of reads.
    pub fn new(params: &AtomicParams) -> Option<Self> {
        let AtomicParams { lanes, same_word, queue } = *params;
        let queue = queue as usize;
        let ends = VecDeque::with_capacity(queue + 1);
        let unit = || AtomicUnit { lanes: lanes.into(), same_word, queue, free: 0, ends, busy: Vec::new() };
        (lanes > 0).then(unit)
    }

    /// Cycle in which the unit can take another request, if it is full in this cycle.
    pub fn full_until(&mut self, cycle: u64) -> Option<u64> {
        while self.ends.front().is_some_and(|end| *end <= cycle) {
            self.ends.pop_front();
        }
        let beyond = self.ends.len().checked_sub(self.queue + 1)?;
        self.ends.get(beyond).copied()
    }

    /// Takes a request for a line that arrives in this cycle; returns the cycle in which its last lane is done.
    pub fn take(&mut self, line: u64, lanes: &[AtomicLane], cycle: u64) -> u64 {
        let begin = self.free.max(cycle);
        self.busy.retain(|word| word.free > begin);
        // The words by their position in the line, and the number of lanes of each.
        let (mut counts, mut words) = ([0_u8; LINE_BYTES as usize], [0_u8; 32]);
        let (mut distinct, mut most) = (0, 0);
        for lane in lanes {
            let count = &mut counts[lane.offset as usize];
            if *count == 0 && distinct < words.len() {
                words[distinct] = lane.offset;
                distinct += 1;
            }
            *count += 1;
            most = most.max(*count);
        }
        let words = &words[..distinct];
        let in_line = |word: &Busy| word.address & !(LINE_BYTES - 1) == line;
        let asked = |word: &&Busy| in_line(word) && counts[(word.address - line) as usize] > 0;
        let begin = self.busy.iter().filter(asked).map(|word| word.free).fold(begin, u64::max);
        let (mut start, mut end) = (begin, begin);
        for pass in 0..most {
            let left = words.iter().filter(|&&offset| counts[offset as usize] > pass).count() as u64;
            end = start + left.div_ceil(self.lanes);
            start = end.max(start + self.same_word);
        }
        // A word is taken to be free when all of the last pass are.
        if start > end {
            self.busy.retain(|word| !asked(&word));
            self.busy
                .extend(words.iter().map(|offset| Busy { address: line + u64::from(*offset), free: start }));
        }
        self.free = end;
        self.ends.push_back(end);
        end
    }
}

#[cfg(test)]
mod tests {
    use counterpoint_protocols::memory::{AtomicOperation, AtomicType};

    use super::*;

    fn lanes(offsets: impl IntoIterator<Item = u8>) -> Vec<AtomicLane> {
        let lane = |(lane, offset): (usize, u8)| AtomicLane {
            lane: lane as u8,
            offset,
            operation: AtomicOperation::Add,
            kind: AtomicType::U32,
            operand: 1,
            swap: 0,
        };
        offsets.into_iter().enumerate().map(lane).collect()
    }

    fn unit(lanes: u32, same_word: u64) -> AtomicUnit {
        AtomicUnit::new(&AtomicParams { lanes, same_word, queue: 2 }).unwrap()
    }

    #[test]
    fn lanes_on_a_word_take_turns_and_others_go_together() {
        let line = || lanes((0..32).map(|lane| 4 * lane));
        let one = || lanes([8; 32]);
        let two = || lanes((0..32).map(|lane| lane % 2 * 4));
        // Lanes a cycle, cycles on a word; and what a line of words, one word and two words take.
        for (rate, same_word, expected) in [
            (2, 9, [16, 31 * 9 + 1, 15 * 9 + 1]),
            (4, 1, [8, 32, 16]),
            (1, 1, [32, 32, 32]),
            (32, 3, [1, 94, 46]),
        ] {
            let found = [line(), one(), two()].map(|lanes| unit(rate, same_word).take(0, &lanes, 100) - 100);
            assert_eq!(found, expected, "{rate} lanes, {same_word} cycles on a word");
        }
    }

    #[test]
    fn a_word_that_is_being_written_holds_up_its_next_change_alone() {
        let mut unit = unit(2, 9);
        assert_eq!(unit.take(128, &lanes([0]), 10), 11);
        // Another line, and another word of the line: behind it at once.
        assert_eq!(unit.take(256, &lanes([0]), 10), 12);
        assert_eq!(unit.take(128, &lanes([4]), 10), 13);
        // The same word: nine cycles after the change before.
        assert_eq!(unit.take(128, &lanes([0]), 10), 20);
        assert_eq!(unit.take(128, &lanes([0]), 10), 29);
        assert_eq!(unit.take(128, &lanes([0]), 40), 41, "nobody writes it any more");
    }

    #[test]
    fn a_full_queue_says_when_it_has_room() {
        let mut unit = unit(1, 1);
        for end in [11, 12, 13] {
            assert_eq!(unit.full_until(10), None);
            assert_eq!(unit.take(0, &lanes([0]), 10), end);
        }
        // One is in the unit, two wait.
        assert_eq!(unit.full_until(10), Some(11));
        assert_eq!(unit.full_until(11), None);
    }

    #[test]
    fn without_a_rate_there_is_no_unit() {
        assert!(AtomicUnit::new(&AtomicParams { lanes: 0, same_word: 1, queue: 2 }).is_none());
    }
}
