//! The steady state of a chain: the vector that a step leaves unchanged, whose elements add up to 1.
//!
//! The solution is direct, in time cubic in the number of states. Power iteration is slower here at every size that memory allows:
//! a chain of long latencies settles after tens of thousands of steps, 60 s for 2025 states where the direct solution takes
//! seconds.

/// Parts below 0 by more than this are not rounding.
const ROUNDING: f64 = 1e-9;

/// The steady state of a chain from its transition matrix, row by row; `None` if it has several.
///
/// Solves `(P^T - I) x = 0`. One of its rows is the negative sum of the others; in its place is that the parts add up to 1.
pub(super) fn solve(transitions: &[Vec<f64>]) -> Option<Vec<f64>> {
    let last = transitions.len() - 1;
    // A row of the transition matrix is a column of the system.
    let mut columns = transitions.to_vec();
    for (state, column) in columns.iter_mut().enumerate() {
        column[state] -= 1.0;
        column[last] = 1.0;
    }
    let mut sum = vec![0.0; transitions.len()];
    sum[last] = 1.0;
    columns.push(sum);
    eliminate(&mut columns);
    let steady = substitute(columns)?;
    steady.iter().all(|part| *part >= -ROUNDING).then_some(steady)
}

/// Gaussian elimination with partial pivoting: the system, whose last column is the right side, becomes an upper triangle.
fn eliminate(columns: &mut [Vec<f64>]) {
    for row in 0..columns.len() - 1 {
        let (done, behind) = columns.split_at_mut(row + 1);
        let pivots = &mut done[row];
        let larger =
            |best: usize, other: usize| if pivots[other].abs() > pivots[best].abs() { other } else { best };
        let largest = (row..pivots.len()).fold(row, larger);
        if pivots[largest] == 0.0 {
            continue;
        }
        pivots.swap(row, largest);
        let inverse = 1.0 / pivots[row];
        pivots[row + 1..].iter_mut().for_each(|factor| *factor *= inverse);
        for column in behind {
            column.swap(row, largest);
            let (head, below) = column[row..].split_at_mut(1);
            for (value, factor) in below.iter_mut().zip(&pivots[row + 1..]) {
                *value -= head[0] * factor;
            }
        }
    }
}

/// The solution of an upper triangle; `None` if there are several.
fn substitute(mut triangle: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let mut right = triangle.pop()?;
    for row in (0..right.len()).rev() {
        let column = &triangle[row];
        if column[row] == 0.0 {
            return None;
        }
        let (above, value) = right[..=row].split_at_mut(row);
        value[0] /= column[row];
        for (other, factor) in above.iter_mut().zip(column) {
            *other -= value[0] * factor;
        }
    }
    Some(right)
}
