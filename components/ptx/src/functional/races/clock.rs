//! Vector clocks that share their common parts: a tree of 16 children a node over the numbers of all warps.
//!
//! A grid may have a million warps, and most know nothing of each other. So an absent node is a node of nothing, and a copy is
//! one pointer. Joining goes down only where two trees differ.

use std::sync::Arc;

/// Bits of a warp's number at each level.
const BITS: u32 = 4;
const FAN: usize = 1 << BITS;

/// Knowledge about a warp: the times up to which its accesses are ordered before the knower's next access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Time for all lanes of the warp.
    pub(super) all: u32,
    /// Time for the lanes in `lanes`.
    pub(super) some: u32,
    pub(super) lanes: u32,
}

impl Entry {
    /// Accesses of these lanes up to a time.
    pub(super) fn of(lanes: u32, time: u32) -> Entry {
        match lanes {
            u32::MAX => Entry { all: time, ..Entry::default() },
            lanes => Entry { some: time, lanes, ..Entry::default() },
        }
    }

    fn covers(self, lane: u32, time: u32) -> bool {
        time <= self.all || (self.lanes >> lane & 1 != 0 && time <= self.some)
    }

    /// The knowledge of both entries. If lanes are known up to different times, the later one counts: a race may be missed, none
    /// is invented.
    fn join(self, other: Entry) -> Entry {
        let all = self.all.max(other.all);
        let mut joined = Entry { all, ..Entry::default() };
        for part in [self, other].into_iter().filter(|part| part.lanes != 0 && part.some > all) {
            joined.some = joined.some.max(part.some);
            joined.lanes |= part.lanes;
        }
        joined
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ClockNode {
    Leaf([Entry; FAN]),
    Inner([Option<Arc<ClockNode>>; FAN]),
}

impl ClockNode {
    fn empty(level: u32) -> ClockNode {
        if level == 0 {
            ClockNode::Leaf([Entry::default(); FAN])
        } else {
            ClockNode::Inner(Default::default())
        }
    }
}

/// Knowledge of all warps.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    root: Option<Arc<ClockNode>>,
    /// Levels above the leaves.
    height: u32,
}

impl Clock {
    pub(super) const NOTHING: Clock = Clock { root: None, height: 0 };

    pub(super) fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Whether a lane's access at a time is known.
    pub(super) fn covers(&self, warp: u32, lane: u32, time: u32) -> bool {
        let Some(mut node) = self.root.as_deref() else { return false };
        if !self.has_room(warp) {
            return false;
        }
        let mut level = self.height;
        loop {
            match node {
                ClockNode::Leaf(entries) => return entries[place(warp, 0)].covers(lane, time),
                ClockNode::Inner(children) => match children[place(warp, level)].as_deref() {
                    Some(child) => node = child,
                    None => return false,
                },
            }
            level -= 1;
        }
    }

    /// Learns of a warp.
    pub(super) fn note(&mut self, warp: u32, entry: Entry) {
        while !self.has_room(warp) {
            self.grow();
        }
        let mut level = self.height;
        let mut node = Arc::make_mut(self.root.get_or_insert_with(|| Arc::new(ClockNode::empty(level))));
        loop {
            match node {
                ClockNode::Leaf(entries) => {
                    let known = &mut entries[place(warp, 0)];
                    *known = known.join(entry);
                    return;
                }
                ClockNode::Inner(children) => {
                    let child = &mut children[place(warp, level)];
                    level -= 1;
                    node = Arc::make_mut(child.get_or_insert_with(|| Arc::new(ClockNode::empty(level))));
                }
            }
        }
    }

    /// Takes over another one's knowledge.
    pub(super) fn learn(&mut self, other: &Clock) {
        let Some(root) = &other.root else { return };
        if self.root.is_none() {
            self.clone_from(other);
            return;
        }
        while self.height < other.height {
            self.grow();
        }
        let mut theirs = Arc::clone(root);
        for _ in other.height..self.height {
            theirs = above(theirs);
        }
        if let Some(own) = &mut self.root {
            join(own, &theirs);
        }
    }

    fn has_room(&self, warp: u32) -> bool {
        warp.checked_shr(BITS * (self.height + 1)).unwrap_or(0) == 0
    }

    fn grow(&mut self) {
        self.root = self.root.take().map(above);
        self.height += 1;
    }
}

/// The place of a warp among the children of a node.
fn place(warp: u32, level: u32) -> usize {
    (warp.checked_shr(BITS * level).unwrap_or(0)) as usize & (FAN - 1)
}

/// A node whose first child is this one.
fn above(node: Arc<ClockNode>) -> Arc<ClockNode> {
    let mut children: [Option<Arc<ClockNode>>; FAN] = Default::default();
    children[0] = Some(node);
    Arc::new(ClockNode::Inner(children))
}

/// Joins a node into another of the same level, which stays the same pointer if it knows all already.
fn join(own: &mut Arc<ClockNode>, other: &Arc<ClockNode>) {
    if Arc::ptr_eq(own, other) {
        return;
    }
    match (&**own, &**other) {
        (ClockNode::Leaf(known), ClockNode::Leaf(more)) => {
            let joined: [Entry; FAN] = std::array::from_fn(|index| known[index].join(more[index]));
            if joined == *more {
                *own = Arc::clone(other);
            } else if joined != *known {
                *own = Arc::new(ClockNode::Leaf(joined));
            }
        }
        (ClockNode::Inner(known), ClockNode::Inner(more)) => {
            let mut joined = known.clone();
            let (mut is_own, mut is_other) = (true, true);
            for ((child, before), more) in joined.iter_mut().zip(known).zip(more) {
                match (child.as_mut(), more) {
                    (Some(child), Some(more)) => join(child, more),
                    (None, Some(more)) => *child = Some(Arc::clone(more)),
                    (_, None) => {}
                }
                let same = |a: &Option<Arc<ClockNode>>, b: &Option<Arc<ClockNode>>| match (a, b) {
                    (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                    (a, b) => a.is_none() && b.is_none(),
                };
                is_own &= same(child, before);
                is_other &= same(child, more);
            }
            if is_other {
                *own = Arc::clone(other);
            } else if !is_own {
                *own = Arc::new(ClockNode::Inner(joined));
            }
        }
        // Both nodes have the same level.
        (ClockNode::Leaf(_), ClockNode::Inner(_)) | (ClockNode::Inner(_), ClockNode::Leaf(_)) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_knows_what_it_was_told_and_no_more() {
        let mut clock = Clock::default();
        clock.note(3, Entry::of(u32::MAX, 7));
        clock.note(70_000, Entry::of(0b100, 5));
        for (warp, lane, time, known) in [
            (3, 9, 7, true),
            (3, 9, 8, false),
            (4, 9, 1, false),
            (70_000, 2, 5, true),
            (70_000, 3, 5, false),
            (70_000, 2, 6, false),
            (u32::MAX, 0, 1, false),
        ] {
            assert_eq!(clock.covers(warp, lane, time), known, "{warp} {lane} {time}");
        }
        clock.note(u32::MAX, Entry::of(u32::MAX, 1));
        assert!(clock.covers(u32::MAX, 0, 1) && clock.covers(3, 0, 7) && !clock.covers(3, 0, 8));
    }

    #[test]
    fn learning_takes_the_later_time_of_each_warp() {
        let mut one = Clock::default();
        one.note(1, Entry::of(u32::MAX, 4));
        one.note(20, Entry::of(1, 9));
        let mut other = Clock::default();
        other.note(1, Entry::of(u32::MAX, 6));
        other.note(900, Entry::of(u32::MAX, 2));
        let kept = one.clone();
        one.learn(&other);
        assert!(one.covers(1, 0, 6) && one.covers(20, 0, 9) && one.covers(900, 0, 2));
        assert!(!kept.covers(1, 0, 6), "a copy stays as it was");
        other.learn(&kept);
        assert_eq!(one.root, other.root, "whoever learns from whom");
    }

    #[test]
    fn knowledge_in_common_is_kept_once() {
        let mut all = Clock::default();
        (0..4096).for_each(|warp| all.note(warp, Entry::of(u32::MAX, 1)));
        let mut one = Clock::default();
        one.note(17, Entry::of(u32::MAX, 1));
        one.learn(&all);
        assert!(Arc::ptr_eq(one.root.as_ref().unwrap(), all.root.as_ref().unwrap()));
    }

    #[test]
    fn lanes_with_different_times_are_joined_upwards() {
        let entry = Entry::of(1, 5).join(Entry::of(2, 7));
        assert!(entry.covers(0, 7) && entry.covers(1, 7) && !entry.covers(2, 1));
        let whole = entry.join(Entry::of(u32::MAX, 7));
        assert_eq!(whole, Entry::of(u32::MAX, 7), "lanes that add nothing are forgotten");
    }
}
