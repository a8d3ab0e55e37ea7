//! `kernelet-test`: sums of vectors of four words after a number of multiply-adds each.

use counterpoint::application::ReferenceInput;

const THREADS: usize = 256;

/// The reference as applications name it: parameters `blocks`, `loads` and `work`, and the input buffer `words`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let threads = input.size("blocks")? * THREADS;
    let (loads, work) = (input.size("loads")?, input.size("work")?);
    let words = input.f32s_of("words", 4 * threads * loads)?;
    let sums = (0..threads).map(|thread| {
        let values = (0..loads).map(|load| {
            let vector = 4 * (load * threads + thread);
            worked((words[vector] + words[vector + 1]) + (words[vector + 2] + words[vector + 3]), work)
        });
        values.fold(0.0, |sum: f32, value| sum + value)
    });
    Ok(sums.flat_map(f32::to_le_bytes).collect())
}

fn worked(word: f32, work: usize) -> f32 {
    (0..work).fold(word, |value, _| value.mul_add(0.5, 1.0))
}

#[cfg(test)]
mod tests {
    use super::worked;

    #[test]
    fn each_step_halves_the_distance_to_two() {
        assert_eq!([0, 1, 2].map(|work| worked(1.0, work)), [1.0, 1.5, 1.75]);
    }
}
