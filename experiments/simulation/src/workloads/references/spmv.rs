//! `spmv`: a sparse matrix times a vector, row by row, in double precision.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: parameters `rows` and `columns`, input buffers `starts`, `indices`, `values` and
/// `x`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let starts = input.u32s_of("starts", input.size("rows")? + 1)?;
    let (indices, values) = (input.u32s("indices")?, input.f32s("values")?);
    let x = input.f32s_of("x", input.size("columns")?)?;
    let mut y = Vec::new();
    for row in starts.windows(2) {
        let range = row[0] as usize..row[1] as usize;
        let (Some(indices), Some(values)) = (indices.get(range.clone()), values.get(range)) else {
            return Err("a row of the matrix ends behind its elements".to_owned());
        };
        let mut sum = 0.0;
        for (index, value) in indices.iter().zip(values) {
            let factor = x.get(*index as usize).ok_or_else(|| format!("there is no column {index}"))?;
            sum += f64::from(*value) * f64::from(*factor);
        }
        y.push(sum as f32);
    }
    Ok(bytes_of_f32s(&y))
}
