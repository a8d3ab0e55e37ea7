//! Shared memory: a CTA's bytes, and the bank conflicts of an access.

use counterpoint_ptx::{Access, AccessKind, Row};

/// Cycles that an access takes: the most different words that one bank must deliver. Lanes that read the same word share
/// it; atomics on the same word take turns.
pub(super) fn conflict_degree(access: &Access, banks: u32) -> u64 {
    let banks = banks as usize;
    let words = (access.width as u64).div_ceil(4);
    let atomic = matches!(access.kind, AccessKind::Atomic(..));
    let mut heads = [(0_u64, 0_u64); 32];
    let mut lists: [[u64; 64]; 32] = [[0; 64]; 32];
    let mut most = 1;
    let mut lanes = access.mask;
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize;
        lanes &= lanes - 1;
        for word in 0..words {
            let word = access.addresses[lane] / 4 + word;
            let bank = word as usize % banks;
            let (count, turns) = &mut heads[bank];
            let known = lists[bank][..*count as usize].contains(&word);
            if !known && (*count as usize) < 64 {
                lists[bank][*count as usize] = word;
                *count += 1;
            }
            *turns += u64::from(!known || atomic);
            most = most.max(*turns);
        }
    }
    most
}

/// Whether an access touches at most 32 consecutive words, in which no bank can conflict.
#[inline]
pub(super) fn is_narrow(access: &Access, banks: u32) -> bool {
    let (mut low, mut high) = (u64::MAX, 0);
    let mut lanes = access.mask;
    while lanes != 0 {
        let address = access.addresses[lanes.trailing_zeros() as usize];
        (low, high) = (low.min(address), high.max(address));
        lanes &= lanes - 1;
    }
    (high / 4 + u64::from(access.width).div_ceil(4)).saturating_sub(low / 4) <= u64::from(banks)
}

/// The first lane that reaches beyond the CTA's shared memory.
pub(super) fn out_of_bounds(access: &Access, bytes: u64) -> Option<u32> {
    (0..32).find(|&lane| {
        access.mask >> lane & 1 != 0
            && access.addresses[lane as usize].saturating_add(u64::from(access.width)) > bytes
    })
}

/// Does what the access asks; loads and atomics leave their values in `words`.
pub(super) fn execute(access: &Access, bytes: &mut [u8], words: &mut [Row; 4]) {
    match access.kind {
        AccessKind::Load => access.gather(access.mask, 0, bytes, words),
        AccessKind::Store => access.store(access.mask, 0, bytes),
        AccessKind::Atomic(..) => access.atomic(access.mask, 0, bytes, words),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: u64) -> Access {
        let addresses = std::array::from_fn(|lane| lane as u64 * stride);
        Access { addresses, mask: u32::MAX, ..Access::default() }
    }

    #[test]
    fn conflicts_are_counted_in_words_per_bank() {
        for (stride, degree) in [(0, 1), (4, 1), (8, 2), (12, 1), (16, 4), (128, 32), (132, 1)] {
            assert_eq!(conflict_degree(&strided(stride), 32), degree, "stride {stride}");
        }
        assert!(is_narrow(&strided(4), 32) && !is_narrow(&strided(8), 32));
        let wide = Access { width: 8, elements: 1, element_bytes: 8, ..strided(8) };
        assert_eq!(conflict_degree(&wide, 32), 2);
    }

    #[test]
    fn atomics_on_one_word_take_turns() {
        let kind =
            AccessKind::Atomic(counterpoint_ptx::AtomicOperation::Add, counterpoint_ptx::AtomicType::U32);
        assert_eq!(conflict_degree(&Access { kind, ..strided(0) }, 32), 32);
    }
}
