//! Sets of bytes, as ranges that neither touch nor overlap.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    /// Ends of the ranges, by their beginnings.
    all: BTreeMap<u64, u64>,
}

impl Ranges {
    pub(crate) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        // Ranges that touch or overlap the new one, the last one first.
        while let Some((&first, &last)) =
            self.all.range(..=end).next_back().filter(|(_, last)| **last >= start)
        {
            self.all.remove(&first);
            (start, end) = (start.min(first), end.max(last));
        }
        self.all.insert(start, end);
    }

    pub(crate) fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        while let Some((&first, &last)) =
            self.all.range(..range.end).next_back().filter(|(_, last)| **last > range.start)
        {
            self.all.remove(&first);
            self.insert(first..range.start.max(first));
            if last > range.end {
                self.all.insert(range.end, last);
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.all.iter().map(|(&start, &end)| start..end)
    }

    /// The ranges of bytes in groups, at most `most` of them: the gap between two groups is larger than any
    /// gap within a group.
    pub(crate) fn groups(&self, mut gap: u64, most: usize) -> Vec<Range<u64>> {
        loop {
            let mut groups: Vec<Range<u64>> = Vec::new();
            for range in self.iter() {
                match groups.last_mut() {
                    Some(last) if range.start - last.end <= gap => last.end = range.end,
                    _ => groups.push(range),
                }
            }
            if groups.len() <= most {
                return groups;
            }
            gap = gap.saturating_mul(4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_agree_with_a_set_of_single_bytes() {
        let (mut ranges, mut bytes) = (Ranges::default(), [false; 64]);
        let mut seed = 7_u32;
        for _ in 0..3000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (start, length) = (u64::from(seed >> 26), u64::from(seed >> 16 & 15));
            let range = start..(start + length).min(64);
            let inserts = seed >> 8 & 1 == 0;
            bytes[range.start as usize..range.end as usize].fill(inserts);
            if inserts {
                ranges.insert(range)
            } else {
                ranges.remove(range)
            }
            let found: Vec<u64> = ranges.iter().flatten().collect();
            let expected: Vec<u64> = (0..64).filter(|byte| bytes[*byte as usize]).collect();
            assert_eq!(found, expected);
            assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(one, next)| one.end < next.start));
        }
    }

    #[test]
    fn groups_are_few() {
        let mut ranges = Ranges::default();
        (0..100).for_each(|index| ranges.insert(8 * index..8 * index + 1));
        ranges.insert(1 << 20..(1 << 20) + 5);
        assert_eq!(ranges.groups(7, 2), [0..793, 1 << 20..(1 << 20) + 5]);
        assert_eq!(ranges.groups(1, 2), ranges.groups(7, 2), "gaps are widened");
    }
}
