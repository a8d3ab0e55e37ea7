//! `narrow-des`: packets under triple DES, by the standard's own tables.

use counterpoint_framework::topology::expression::random;

use super::{ReferenceInput, bytes_of_u32s};
use crate::workloads::des::{Rounds, pass};

/// The reference as applications name it: parameters `distinct`, `unit` and `seed`, input buffers `packets` and `keys`. Packets
/// are 32 units apart; the rest of each 32 units stays zero.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (tasks, unit, seed) = (input.tasks()?, input.size("unit")?, input.size("seed")?);
    let passes = passes(&input.u32s_of("keys", 96)?);
    let packets = input.bytes_of("packets", tasks * 32 * unit)?;
    let mut sealed = Vec::with_capacity(packets.len() / 4);
    for (task, packet) in packets.chunks(32 * unit).enumerate() {
        let bytes = units(task, seed) * unit;
        for block in packet[..bytes].as_chunks::<8>().0 {
            let out = passes.iter().fold(u64::from_be_bytes(*block), pass);
            let words = out.to_be_bytes();
            sealed.extend(words.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)));
        }
        sealed.resize((task + 1) * 8 * unit, 0);
    }
    Ok(bytes_of_u32s(&sealed))
}

/// Length of a task's packet in units, from 1 to 32.
fn units(task: usize, seed: usize) -> usize {
    1 + random(seed as u64, task as u64, 32) as usize
}

/// The three passes whose keys such words hold.
fn passes(words: &[u32]) -> Vec<Rounds> {
    let key = |pair: &[u32]| {
        let bytes = pair.iter().flat_map(|word| word.to_be_bytes());
        bytes.fold(0, |key, six| key << 6 | u64::from(six))
    };
    let rounds = |words: &[u32]| std::array::from_fn(|round| key(&words[2 * round..2 * round + 2]));
    words.chunks(32).map(rounds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::des::rounds_of;

    #[test]
    fn the_example_of_the_standard() {
        // NIST SP 800-67, appendix B: three keys, and a text of 24 bytes.
        let [first, mut second, third] =
            [0x0123_4567_89ab_cdef, 0x2345_6789_abcd_ef01, 0x4567_89ab_cdef_0123].map(rounds_of);
        second.reverse();
        let blocks = b"The qufck brown fox jump".as_chunks::<8>().0;
        let sealed =
            blocks.iter().map(|block| [first, second, third].iter().fold(u64::from_be_bytes(*block), pass));
        let expected = [0xa826_fd8c_e53b_855f, 0xcce2_1c81_1225_6fe6, 0x68d5_c05d_d9b6_b900];
        assert_eq!(sealed.collect::<Vec<u64>>(), expected);
    }

    #[test]
    fn packets_of_all_lengths_come() {
        let mut lengths: Vec<usize> = (0..512).map(|task| units(task, 1)).collect();
        lengths.sort_unstable();
        lengths.dedup();
        assert_eq!(lengths, (1..=32).collect::<Vec<_>>());
    }
}
