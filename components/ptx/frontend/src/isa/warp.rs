//! Operations of a warp's lanes together (PTX ISA 9.7.9.5 and 9.7.13): each of one row.
//!
//! A lane's group is the set of lanes whose values it may see. The functions take the values of all 32 lanes and never
//! read a lane outside the group, except in a shuffle: its result from a lane that does not take part is unpredictable
//! in the manual; here it is the value of that lane's register.

/// An operation of a warp's lanes among each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpOp {
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    ShuffleIndex,
    VoteAll,
    VoteAny,
    VoteUniform,
    Ballot,
    MatchAny,
    MatchAll,
    ActiveMask,
    ReduceAdd,
    ReduceMinU32,
    ReduceMinS32,
    ReduceMaxU32,
    ReduceMaxS32,
    ReduceAnd,
    ReduceOr,
    ReduceXor,
    Elect,
    /// Elements of an 8×8 matrix of halves, two in each lane, change rows and columns.
    Transpose,
    /// `bar.warp.sync`: only the check that all lanes have arrived.
    Sync,
}

/// The reduction of a CTA's predicates by `bar.red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    Popc,
    And,
    Or,
}

/// The lane that a shuffle reads, and whether it is in the segment; if not, a lane reads itself.
#[inline(always)]
pub fn shuffle_source(op: WarpOp, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let least = lane & segment;
    let most = least | (clamp & !segment);
    let (source, inside) = match op {
        // Upwards, the clamp is the lower bound.
        WarpOp::ShuffleUp => (lane.wrapping_sub(b), lane as i32 - b as i32 >= most as i32),
        WarpOp::ShuffleDown => (lane + b, lane + b <= most),
        WarpOp::ShuffleXor => (lane ^ b, lane ^ b <= most),
        _ => {
            let source = least | (b & !segment);
            (source, source <= most)
        }
    };
    if inside { (source & 31, true) } else { (lane, false) }
}

/// A vote's truth, given the lanes that are for it and those that vote.
#[inline]
pub fn vote(op: WarpOp, truth: u32, group: u32) -> bool {
    match op {
        WarpOp::VoteAll => truth & group == group,
        WarpOp::VoteAny => truth & group != 0,
        _ => truth & group == group || truth & group == 0,
    }
}

#[inline]
pub fn equal_lanes(values: &[u64; 32], lane: usize, group: u32) -> u32 {
    let equal = values.iter().enumerate().map(|(other, value)| u32::from(*value == values[lane]) << other);
    equal.fold(0, |all, bit| all | bit) & group
}

/// The sum, extremum or logic of a group's values.
#[inline]
pub fn reduce(op: WarpOp, values: &[u32; 32], group: u32) -> u32 {
    let members = (0..32).filter(|lane| group >> lane & 1 != 0).map(|lane| values[lane]);
    let result = members.reduce(|a, b| match op {
        WarpOp::ReduceAdd => a.wrapping_add(b),
        WarpOp::ReduceMinU32 => a.min(b),
        WarpOp::ReduceMinS32 => (a as i32).min(b as i32) as u32,
        WarpOp::ReduceMaxU32 => a.max(b),
        WarpOp::ReduceMaxS32 => (a as i32).max(b as i32) as u32,
        WarpOp::ReduceAnd => a & b,
        WarpOp::ReduceOr => a | b,
        _ => a ^ b,
    });
    result.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_stay_in_their_segments() {
        // The whole warp: CUDA's clamp is 31 but upwards, where it is 0.
        assert_eq!(shuffle_source(WarpOp::ShuffleDown, 30, 1, 31), (31, true));
        assert_eq!(shuffle_source(WarpOp::ShuffleDown, 31, 1, 31), (31, false));
        assert_eq!(shuffle_source(WarpOp::ShuffleUp, 1, 1, 0), (0, true));
        assert_eq!(shuffle_source(WarpOp::ShuffleUp, 0, 1, 0), (0, false));
        assert_eq!(shuffle_source(WarpOp::ShuffleXor, 5, 16, 31), (21, true));
        assert_eq!(shuffle_source(WarpOp::ShuffleIndex, 5, 40, 31), (8, true));
        // Segments of eight: CUDA's width is (32 - 8) << 8 with the clamp in the low bits.
        let eight = 24 << 8;
        assert_eq!(shuffle_source(WarpOp::ShuffleDown, 14, 1, eight | 31), (15, true));
        assert_eq!(shuffle_source(WarpOp::ShuffleDown, 15, 1, eight | 31), (15, false));
        assert_eq!(shuffle_source(WarpOp::ShuffleUp, 8, 1, eight), (8, false));
        assert_eq!(shuffle_source(WarpOp::ShuffleIndex, 13, 2, eight | 31), (10, true));
        assert_eq!(shuffle_source(WarpOp::ShuffleXor, 13, 8, eight | 31), (5, true));
        assert_eq!(shuffle_source(WarpOp::ShuffleXor, 5, 8, eight | 31), (5, false));
    }

    #[test]
    fn votes_look_at_the_group_alone() {
        assert!(vote(WarpOp::VoteAll, 0b0110, 0b0110) && !vote(WarpOp::VoteAll, 0b0110, 0b1110));
        assert!(vote(WarpOp::VoteAny, 0b0110, 0b1100) && !vote(WarpOp::VoteAny, 0b0110, 0b1001));
        assert!(vote(WarpOp::VoteUniform, 0b0110, 0b1001) && !vote(WarpOp::VoteUniform, 0b0110, 0b1100));
    }

    #[test]
    fn reductions_and_matches() {
        let values: [u32; 32] = std::array::from_fn(|lane| (lane as u32).wrapping_sub(2));
        assert_eq!(reduce(WarpOp::ReduceAdd, &values, 0b1111), u32::MAX - 1);
        assert_eq!(reduce(WarpOp::ReduceMinU32, &values, 0b1111), 0);
        assert_eq!(reduce(WarpOp::ReduceMinS32, &values, 0b1111), u32::MAX - 1);
        assert_eq!(reduce(WarpOp::ReduceMaxU32, &values, 0b1100), 1);
        assert_eq!(reduce(WarpOp::ReduceMaxS32, &values, 0b1111), 1);
        let halves: [u64; 32] = std::array::from_fn(|lane| lane as u64 / 16);
        assert_eq!(equal_lanes(&halves, 3, 0x0001_00ff), 0xff);
        assert_eq!(equal_lanes(&halves, 20, 0x0001_00ff), 0x1_0000);
    }
}
