//! `c = a + b`.

use super::{ReferenceInput, bytes_of_f32s};

/// The sums, element by element.
fn vecadd(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// The reference as applications name it: `c = a + b`, or `c1 = a1 + b1` for the buffers of device 1.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let part = input.wanted.trim_start_matches('c');
    Ok(bytes_of_f32s(&vecadd(&input.f32s(&format!("a{part}"))?, &input.f32s(&format!("b{part}"))?)))
}
