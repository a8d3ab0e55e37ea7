//! `pathfinder`: the cheapest way to each cell of a row, a row after the other.

use super::{ReferenceInput, bytes_of_u32s};

/// The reference as applications name it: parameters `columns` and `rows`, input buffers `path` (the first row) and
/// `costs` (the others).
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (columns, rows) = (input.size("columns")?, input.size("rows")?);
    let mut path = input.u32s_of("path", columns)?;
    let costs = input.u32s_of("costs", columns * rows.saturating_sub(1))?;
    for row in costs.chunks(columns) {
        let cheapest = |x: usize| {
            let near = &path[x.saturating_sub(1)..(x + 2).min(columns)];
            near.iter().min().copied().unwrap_or(0)
        };
        path = row.iter().enumerate().map(|(x, cost)| cost + cheapest(x)).collect();
    }
    Ok(bytes_of_u32s(&path))
}
