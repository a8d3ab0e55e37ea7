//! `narrow-exchange`: the threads of a block each add another one's number to three times their own, round by round.

use super::{ReferenceInput, bytes_of_u32s};

/// The reference as applications name it: parameters `tasks`, `threads`, `blocks` and `rounds`, input buffer `given`. Tasks with
/// rounds and tasks without take turns.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (tasks, threads, blocks) = (input.size("tasks")?, input.size("threads")?, input.size("blocks")?);
    let rounds = input.size("rounds")?;
    let given = input.u32s_of("given", 2 * tasks * blocks * threads)?;
    let mut exchanged = Vec::with_capacity(given.len());
    for (number, block) in given.chunks_exact(threads).enumerate() {
        let has_rounds = number / blocks % 2 == 0;
        exchanged.extend(exchange(block.to_vec(), if has_rounds { rounds } else { 0 }));
    }
    Ok(bytes_of_u32s(&exchanged))
}

fn exchange(mut values: Vec<u32>, rounds: usize) -> Vec<u32> {
    for round in 0..rounds {
        let mut others = values.clone();
        others.rotate_left((1 + round) % values.len());
        values
            .iter_mut()
            .zip(others)
            .for_each(|(value, other)| *value = value.wrapping_mul(3).wrapping_add(other));
    }
    values.into_iter().map(|value| value.wrapping_add(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::exchange;

    #[test]
    fn numbers_go_round() {
        assert_eq!(exchange(vec![1, 10, 100], 0), [2, 11, 101]);
        assert_eq!(exchange(vec![1, 10, 100], 1), [14, 131, 302]);
    }
}
