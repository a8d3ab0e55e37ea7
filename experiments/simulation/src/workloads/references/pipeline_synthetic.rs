//! `pipeline-synthetic`: two kernels of a linear congruential generator with look-ups in a table, batch by batch.

use super::{ReferenceInput, bytes_of_u32s};

/// Result of a thread's work on a number.
fn work(mut x: u32, table: &[u32], rounds: u32, loads: u32) -> u32 {
    for _ in 0..rounds {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        for load in 0..loads {
            x = x.wrapping_add(table[(x >> 8) as usize % table.len()] ^ load);
        }
    }
    x
}

/// The reference as applications name it: input buffers `seeds` and `table`, and the parameters of both kernels.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let [batches, threads, words] = ["batches", "threads", "words"].map(|name| input.size(name));
    let (batches, threads, words) = (batches?, threads?, words?);
    let kernel = |name: &str| -> Result<(usize, u32, u32), String> {
        let of = |what: &str| input.size(&format!("{name}_{what}"));
        Ok((of("blocks")? * threads, of("rounds")? as u32, of("loads")? as u32))
    };
    let ((first, first_rounds, first_loads), (second, second_rounds, second_loads)) =
        (kernel("first")?, kernel("second")?);
    let (seeds, table) = (input.u32s_of("seeds", batches * threads)?, input.u32s_of("table", words)?);
    let mut results = Vec::with_capacity(batches * second);
    for seeds in seeds.chunks_exact(threads) {
        let of_seed = |thread: usize| work(seeds[thread % threads], &table, first_rounds, first_loads);
        let between: Vec<u32> = (0..first).map(of_seed).collect();
        let of_first = |thread: usize| work(between[thread % first], &table, second_rounds, second_loads);
        results.extend((0..second).map(of_first));
    }
    Ok(bytes_of_u32s(&results))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rounds_by_hand() {
        assert_eq!(work(1, &[0], 1, 0), 1_015_568_748);
        // The place in a table of four is bits 8 and 9 of 1,015,568,748, which are 01.
        assert_eq!(work(1, &[9, 5, 9, 9], 1, 1), 1_015_568_753);
        assert_eq!(1_015_568_748_u32 >> 8 & 3, 1);
    }
}
