//! The message for a block whose warps all wait at barriers: the position of each, and the number of missing threads.

use std::collections::BTreeMap;

use crate::program::Kernel;

/// The barrier at which a warp waits, or a part of it, and the instruction that made it wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiting {
    /// The barrier, among the block's.
    pub barrier: u32,
    /// The instruction.
    pub pc: u32,
    /// The lanes that wait: all for a whole warp, those included that have ended.
    pub lanes: u32,
}

impl Waiting {
    /// The wait of a whole warp.
    pub fn whole(barrier: u32, pc: u32) -> Self {
        Waiting { barrier, pc, lanes: u32::MAX }
    }
}

/// Describes where each warp waits. Warps without an entry in `warps` have ended; parts of a warp may wait at several
/// instructions. `arrived` gives for a barrier the number of threads that have arrived and the number for which it waits.
///
/// # Panics
/// If an instruction is not in the kernel.
pub fn standstill(kernel: &Kernel, warps: &[Vec<Waiting>], arrived: impl Fn(u32) -> (u32, u32)) -> String {
    let mut places: BTreeMap<Waiting, Vec<usize>> = BTreeMap::new();
    for (warp, waits) in warps.iter().enumerate() {
        for waiting in waits {
            places.entry(*waiting).or_default().push(warp);
        }
    }
    let told = places.iter().map(|(waiting, warps)| {
        let Waiting { barrier, pc, lanes } = *waiting;
        let (come, wanted) = arrived(barrier);
        let one = if lanes == u32::MAX { warps.len() } else { lanes.count_ones() as usize } == 1;
        let verb = if one { "waits" } else { "wait" };
        let place = kernel.quote(kernel.instructions()[pc as usize].line);
        let part = if lanes == u32::MAX { String::new() } else { format!("{} of ", lanes_of(lanes)) };
        format!(
            "{part}{} {verb} at barrier {barrier}, which has {come} of {wanted} threads ({place})",
            listed(warps)
        )
    });
    let ended: Vec<usize> = (0..warps.len()).filter(|warp| warps[*warp].is_empty()).collect();
    let ended = (!ended.is_empty()).then(|| {
        let verb = if ended.len() == 1 { "has" } else { "have" };
        format!("{} {verb} ended", listed(&ended))
    });
    let told: Vec<String> = told.chain(ended).collect();
    format!("no warp can go on: {}", told.join("; "))
}

/// `lane 3`, `lanes 0 to 15`.
pub(crate) fn lanes_of(mask: u32) -> String {
    let lanes: Vec<usize> = (0..32).filter(|lane| mask >> lane & 1 != 0).collect();
    listed(&lanes).replacen("warp", "lane", 1)
}

/// `warp 3`, `warps 0 to 2 and 5`.
pub(crate) fn listed(warps: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &warp in warps {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == warp => *last = warp,
            _ => ranges.push((warp, warp)),
        }
    }
    let range = |&(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        1 => format!("{first} and {last}"),
        _ => format!("{first} to {last}"),
    };
    let words: Vec<String> = ranges.iter().map(range).collect();
    let noun = if warps.len() == 1 { "warp" } else { "warps" };
    format!("{noun} {}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_are_listed_in_ranges() {
        assert_eq!(listed(&[3]), "warp 3");
        assert_eq!(listed(&[0, 1]), "warps 0 and 1");
        assert_eq!(listed(&[0, 1, 2, 5, 7, 8, 9]), "warps 0 to 2, 5, 7 to 9");
    }
}
