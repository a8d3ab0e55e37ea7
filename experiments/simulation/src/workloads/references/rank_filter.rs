//! `rank-filter`: the median of nine neighbours, which is the fifth of them in order.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: parameter `n`, input buffer `signal`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let signal = input.f32s_of("signal", input.size("n")?)?;
    let at = |place: i64| signal[place.clamp(0, signal.len() as i64 - 1) as usize];
    let median = |index: i64| {
        let mut window: Vec<f32> = (index - 4..=index + 4).map(at).collect();
        window.sort_by(f32::total_cmp);
        window[4]
    };
    let medians: Vec<f32> = (0..signal.len() as i64).map(median).collect();
    Ok(bytes_of_f32s(&medians))
}
