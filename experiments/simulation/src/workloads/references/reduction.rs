//! `reduction`: a sum in double precision.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: parameter `n`, input buffers `values` and `total`, to which all is added.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let values = input.f32s_of("values", input.size("n")?)?;
    let before = input.f32s_of("total", 1)?;
    let sum: f64 = before.iter().chain(&values).map(|value| f64::from(*value)).sum();
    Ok(bytes_of_f32s(&[sum as f32]))
}
