//! When each process of an island wakes next.
//!
//! A process has at most one wake-up, the earliest asked for. A few processes are kept as a plain array that is
//! scanned; many go into a hierarchical timing wheel of eleven levels with 64 slots each, whose lists are threaded
//! through the processes, so that scheduling never allocates however sparse the picosecond times are.

/// Position of a process within its island.
pub(crate) type Slot = u32;

/// No wake-up.
const NEVER: u64 = u64::MAX;

/// Up to this many processes a scan beats the wheel.
const SCAN_LIMIT: usize = 8;

/// The wake-ups of one island.
pub(crate) enum Queue {
    Scan(Vec<u64>),
    Wheel(Wheel),
}

impl Queue {
    pub(crate) fn new(processes: usize) -> Self {
        if processes <= SCAN_LIMIT {
            Queue::Scan(vec![NEVER; processes])
        } else {
            Queue::Wheel(Wheel::new(processes))
        }
    }

    /// Wakes `slot` at `time`, unless it wakes earlier already.
    #[inline]
    pub(crate) fn schedule(&mut self, slot: Slot, time: u64) {
        match self {
            Queue::Scan(times) => {
                let wake = &mut times[slot as usize];
                *wake = (*wake).min(time);
            }
            Queue::Wheel(wheel) => wheel.schedule(slot, time),
        }
    }

    /// A time before which nothing wakes; exact for a few processes, a lower bound for many.
    #[inline]
    pub(crate) fn bound(&self) -> u64 {
        match self {
            Queue::Scan(times) => times.iter().copied().fold(NEVER, u64::min),
            Queue::Wheel(wheel) => wheel.bound(),
        }
    }

    /// The time of the earliest wake-up, `u64::MAX` if there is none.
    pub(crate) fn earliest(&self) -> u64 {
        match self {
            Queue::Scan(_) => self.bound(),
            Queue::Wheel(wheel) => wheel.earliest(),
        }
    }

    /// Goes to the earliest wake-up before `limit`, if there is one: its time. [`Queue::next`] gives the processes that wake
    /// then; all of them must be taken before anything else is asked.
    #[inline]
    pub(crate) fn begin(&mut self, limit: u64) -> Option<u64> {
        match self {
            Queue::Scan(times) => times.iter().copied().min().filter(|&time| time < limit),
            Queue::Wheel(wheel) => wheel.begin(limit),
        }
    }

    /// The next process that wakes at `time`, which [`Queue::begin`] gave.
    #[inline]
    pub(crate) fn next(&mut self, time: u64) -> Option<Slot> {
        match self {
            Queue::Scan(times) => {
                let slot = times.iter().position(|&wake| wake == time)?;
                times[slot] = NEVER;
                Some(slot as Slot)
            }
            Queue::Wheel(wheel) => wheel.next(),
        }
    }
}

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 64_usize.div_ceil(BITS as usize);
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    time: u64,
    next: u32,
    previous: u32,
}

#[derive(Clone, Copy)]
struct Level {
    occupied: u64,
    heads: [u32; SLOTS],
}

/// A hierarchical timing wheel. Level l holds the times that differ from `base` first in the l-th group of six bits.
pub(crate) struct Wheel {
    base: u64,
    levels: Box<[Level; LEVELS]>,
    nodes: Box<[Node]>,
    /// The processes that wake at `base` and have not been taken yet.
    batch: u32,
}

impl Wheel {
    fn new(processes: usize) -> Self {
        Wheel {
            base: 0,
            levels: Box::new([Level { occupied: 0, heads: [NONE; SLOTS] }; LEVELS]),
            nodes: vec![Node { time: NEVER, next: NONE, previous: NONE }; processes].into_boxed_slice(),
            batch: NONE,
        }
    }

    #[inline]
    fn place(&self, time: u64) -> (usize, usize) {
        let level = (((time ^ self.base) | (SLOTS as u64 - 1)).ilog2() / BITS) as usize;
        (level, ((time >> (level as u32 * BITS)) as usize) & (SLOTS - 1))
    }

    #[inline]
    fn schedule(&mut self, process: Slot, time: u64) {
        debug_assert!(time >= self.base, "a wake-up in the past");
        let node = self.nodes[process as usize];
        if node.time <= time {
            return;
        }
        if node.time != NEVER {
            self.unlink(process, node);
        }
        self.link(process, time);
    }

    #[inline]
    fn link(&mut self, process: Slot, time: u64) {
        let (level, slot) = self.place(time);
        let level = &mut self.levels[level];
        let head = level.heads[slot];
        if head == NONE {
            level.occupied |= 1 << slot;
        } else {
            self.nodes[head as usize].previous = process;
        }
        level.heads[slot] = process;
        self.nodes[process as usize] = Node { time, next: head, previous: NONE };
    }

    #[inline]
    fn unlink(&mut self, process: Slot, node: Node) {
        if node.next != NONE {
            self.nodes[node.next as usize].previous = node.previous;
        }
        if node.previous != NONE {
            self.nodes[node.previous as usize].next = node.next;
        } else {
            let (level, slot) = self.place(node.time);
            let level = &mut self.levels[level];
            debug_assert_eq!(level.heads[slot], process);
            level.heads[slot] = node.next;
            if node.next == NONE {
                level.occupied &= !(1 << slot);
            }
        }
        self.nodes[process as usize].time = NEVER;
    }

    /// The first occupied slot and the earliest time it can hold.
    #[inline]
    fn first(&self) -> Option<(usize, usize, u64)> {
        let level = self.levels.iter().position(|level| level.occupied != 0)?;
        let slot = self.levels[level].occupied.trailing_zeros() as usize;
        let shift = level as u32 * BITS;
        // Everything above this level's bits is shared with the base.
        let above = if shift + BITS >= u64::BITS { 0 } else { self.base >> (shift + BITS) << (shift + BITS) };
        Some((level, slot, above | ((slot as u64) << shift)))
    }

    #[inline]
    fn bound(&self) -> u64 {
        if self.batch != NONE {
            return self.base;
        }
        self.first().map_or(NEVER, |(_, _, start)| start)
    }

    fn earliest(&self) -> u64 {
        let Some((level, slot, start)) = self.first() else {
            return NEVER;
        };
        if level == 0 {
            return start;
        }
        let (mut best, mut process) = (NEVER, self.levels[level].heads[slot]);
        while process != NONE {
            let node = self.nodes[process as usize];
            best = best.min(node.time);
            process = node.next;
        }
        best
    }

    #[inline]
    fn begin(&mut self, limit: u64) -> Option<u64> {
        while self.batch == NONE {
            let (level, slot, start) = self.first()?;
            if start >= limit {
                return None;
            }
            // Nothing wakes before `start`, and it lies inside the window: the base may follow.
            self.base = start;
            let head = self.levels[level].heads[slot];
            self.levels[level].heads[slot] = NONE;
            self.levels[level].occupied &= !(1 << slot);
            if level == 0 {
                self.batch = head;
                break;
            }
            let mut process = head;
            while process != NONE {
                let node = self.nodes[process as usize];
                self.link(process, node.time);
                process = node.next;
            }
        }
        Some(self.base)
    }

    /// A process in the batch keeps its time until it is taken: nothing can schedule it earlier, so nothing unlinks it.
    #[inline]
    fn next(&mut self) -> Option<Slot> {
        let process = self.batch;
        let node = self.nodes.get_mut(process as usize)?;
        self.batch = node.next;
        node.time = NEVER;
        Some(process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both queues against the obvious model, over sparse and dense times.
    #[test]
    fn scan_and_wheel_agree() {
        let mut state = 7_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let (mut wheel, mut model) = (Queue::Wheel(Wheel::new(40)), Queue::Scan(vec![NEVER; 40]));
        let mut now = 0;
        for round in 0..20_000_u64 {
            let slot = (random() % 40) as Slot;
            let distance = 1 + random() % [3, 90, 5_000, 1 << 30][(round % 4) as usize];
            wheel.schedule(slot, now + distance);
            model.schedule(slot, now + distance);
            assert_eq!(wheel.earliest(), model.earliest());
            assert!(wheel.bound() <= model.bound());
            if random() % 3 == 0 {
                let limit = now + 1 + random() % 10_000;
                let mut woken = Vec::new();
                while let Some(time) = wheel.begin(limit) {
                    assert!(time >= now && time < limit);
                    now = time;
                    while let Some(slot) = wheel.next(time) {
                        woken.push((time, slot));
                    }
                }
                let mut expected = Vec::new();
                while let Some(time) = model.begin(limit) {
                    while let Some(slot) = model.next(time) {
                        expected.push((time, slot));
                    }
                }
                woken.sort_unstable();
                expected.sort_unstable();
                assert_eq!(woken, expected);
                now = limit;
            }
        }
    }
}
