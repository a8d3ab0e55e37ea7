//! `rodinia-path`: the cheapest way to each cell of a row, a row after the other.

use counterpoint::application::ReferenceInput;

use super::bytes_of_u32s;

/// The reference as applications name it: parameters `columns`, `height` and `copies`, input buffers `before` (a row of each grid)
/// and `costs` (the rows behind it).
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (columns, height, copies) = (input.size("columns")?, input.size("height")?, input.size("copies")?);
    let before = input.u32s_of("before", copies * columns)?;
    let costs = input.u32s_of("costs", copies * columns * height)?;
    let grids = before.chunks(columns).zip(costs.chunks(columns * height));
    let after: Vec<u32> = grids.flat_map(|(row, costs)| descend(row, costs)).collect();
    Ok(bytes_of_u32s(&after))
}

/// The costs of the cheapest ways to the cells of the last row.
fn descend(row: &[u32], costs: &[u32]) -> Vec<u32> {
    let columns = row.len();
    let mut path = row.to_vec();
    for costs in costs.chunks(columns) {
        let cheapest = |x: usize| {
            let near = &path[x.saturating_sub(1)..(x + 2).min(columns)];
            near.iter().min().copied().unwrap_or(0)
        };
        path = costs.iter().enumerate().map(|(x, cost)| cost + cheapest(x)).collect();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::descend;

    #[test]
    fn a_way_goes_to_a_neighbour_at_most() {
        assert_eq!(descend(&[5, 1, 9, 9], &[0, 0, 0, 7]), [1, 1, 1, 16]);
        assert_eq!(descend(&[5, 1, 9, 9], &[0, 0, 0, 7, 1, 1, 1, 1]), [2, 2, 2, 2]);
    }
}
