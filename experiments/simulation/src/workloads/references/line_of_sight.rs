//! `line-of-sight`: each ray is walked from the observer outwards with whole numbers; a point is seen if none before it
//! rises above it.

use super::ReferenceInput;

/// The reference as applications name it: parameters `batches`, `width`, `reach`, `apart`, `steps` and `mast`, input
/// buffers `heights` and `observers`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (width, steps) = (input.size("width")?, input.size("steps")?);
    let rim = rim(input.size("reach")? as i64, input.size("apart")?);
    let heights = input.f32s_of("heights", width * width)?;
    let observers = input.u32s_of("observers", 2 * input.size("batches")?)?;
    let mast = input.parameter("mast")? as f32;
    let mut visible = Vec::new();
    for [column, row] in observers.as_chunks::<2>().0 {
        let observer = (*column as usize, *row as usize);
        let eye = heights[observer.1 * width + observer.0] + mast;
        for &target in &rim {
            let mut highest = f32::NEG_INFINITY;
            for step in 1..=steps {
                let (column, row) = cell(observer, target, step, steps);
                // Slopes are in the device's type: two slopes that f32 cannot distinguish are both visible.
                let distance = step as f32 / steps as f32 * length(target);
                let slope = (heights[row * width + column] - eye) / distance;
                highest = highest.max(slope);
                visible.push(u8::from(slope >= highest));
            }
        }
    }
    Ok(visible)
}

/// End points of rays, relative to the observer: clockwise along the rim of a square, from its upper left corner.
fn rim(reach: i64, apart: usize) -> Vec<(i64, i64)> {
    let top: Vec<_> = (-reach..reach).step_by(apart).map(|along| (along, -reach)).collect();
    let turned = |side: &Vec<(i64, i64)>| Some(side.iter().map(|(across, down)| (-down, *across)).collect());
    std::iter::successors(Some(top), turned).take(4).flatten().collect()
}

/// The cell whose centre is nearest after `step` of `steps` steps; of two equally near cells, the farther one.
fn cell(observer: (usize, usize), target: (i64, i64), step: usize, steps: usize) -> (usize, usize) {
    let (step, steps) = (step as i64, steps as i64);
    let nearest = |from: usize, to: i64| {
        let doubled = 2 * (from as i64 * steps + to * step) + steps;
        doubled.div_euclid(2 * steps) as usize
    };
    (nearest(observer.0, target.0), nearest(observer.1, target.1))
}

/// Distance of a target.
fn length((across, down): (i64, i64)) -> f32 {
    ((across * across + down * down) as f32).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rays_end_on_the_rim_of_a_square() {
        assert_eq!(rim(2, 2), [(-2, -2), (0, -2), (2, -2), (2, 0), (2, 2), (0, 2), (-2, 2), (-2, 0)]);
    }

    #[test]
    fn a_ray_meets_the_cells_between_its_ends() {
        let cells: Vec<_> = (1..=4).map(|step| cell((10, 10), (2, -1), step, 4)).collect();
        assert_eq!(cells, [(11, 10), (11, 10), (12, 9), (12, 9)]);
    }
}
