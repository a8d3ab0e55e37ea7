//! Search for the first point of a grid at which a falling function is no longer above 0.
//!
//! The result of a search on a grid is the same to the bit wherever the search begins. So a search may begin at the
//! result of the last one, which is seldom far away, without depending on earlier searches.

/// Points from 0 up: evenly spaced at first, then twice as far apart whenever they are twice as far up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Distance between the first points.
    pub(super) spacing: f64,
    /// Number of the first points, as a power of two.
    pub(super) even: u32,
    /// Number of times that the spacing doubles.
    pub(super) doublings: u32,
}

impl Grid {
    pub(super) const fn points(self) -> u32 {
        1 + (1 << self.even) + (self.doublings << (self.even - 1))
    }

    pub(super) fn point(self, number: u32) -> f64 {
        let even = 1 << self.even;
        let Some(beyond) = number.checked_sub(even) else {
            return f64::from(number) * self.spacing;
        };
        let (doublings, rest) = (beyond / (even / 2), beyond % (even / 2));
        f64::from(even + 2 * rest) * (1u64 << doublings) as f64 * self.spacing
    }
}

/// The first of `points` points at which `excess`, which falls along them, is not above 0, or the last if it
/// is above 0 at all of them. The search is short if the result is close to `near`, where the search begins.
///
/// Each step evaluates two neighbours. If the result is not between them, their slope gives the next guess (Newton's method); every
/// fifth step halves the rest, in case the slope misleads.
pub(super) fn first(points: u32, near: u32, excess: impl Fn(u32) -> f64) -> u32 {
    let (mut low, mut high, mut at) = (0, points - 1, near);
    for step in 1.. {
        at = at.clamp(low, high);
        let here = excess(at);
        let slope = if here > 0.0 {
            low = (at + 1).min(high);
            if low == high {
                break;
            }
            let next = excess(low);
            if next <= 0.0 {
                return low;
            }
            low += 1;
            next - here
        } else {
            high = at;
            if low == high {
                break;
            }
            let last = excess(high - 1);
            if last > 0.0 {
                break;
            }
            high -= 1;
            here - last
        };
        at = if step % 5 == 0 || slope.is_nan() || slope >= 0.0 {
            low + (high - low) / 2
        } else {
            (f64::from(at) - here / slope) as u32
        };
    }
    high
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    const GRID: Grid = Grid { spacing: 0.25, even: 4, doublings: 3 };

    #[test]
    fn points_are_twice_as_far_apart_when_they_are_twice_as_far_up() {
        let points: Vec<f64> = (0..GRID.points()).map(|number| GRID.point(number)).collect();
        assert_eq!(points[..4], [0.0, 0.25, 0.5, 0.75]);
        assert_eq!(points[15..19], [3.75, 4.0, 4.5, 5.0]);
        assert_eq!(points[23..26], [7.5, 8.0, 9.0]);
        assert_eq!(points.last(), Some(&32.0));
    }

    #[test]
    fn a_search_that_begins_where_it_ends_looks_twice() {
        let looks = Cell::new(0);
        let falling = |at: u32| {
            looks.set(looks.get() + 1);
            1000.0 / f64::from(at + 1) - 2.5
        };
        assert_eq!(first(1 << 20, 399, falling), 399);
        assert_eq!(looks.replace(0), 2);
        assert_eq!(first(1 << 20, 0, falling), 399);
        assert!(looks.get() < 40, "{}", looks.get());
    }

    proptest! {
        #[test]
        fn what_is_found_is_the_first_point_from_wherever_it_is_looked_for(
            points in 1u32..3000,
            edge in 0u32..3500,
            near in 0u32..4000,
            power in 0.2f64..4.0,
            kink in 0.0f64..1.0,
        ) {
            // Falls at a speed of its own on either side of the edge, or not at all.
            let falling = |at: u32| {
                let distance = f64::from(edge) - f64::from(at) - 0.5;
                distance.signum() * distance.abs().powf(power) * if distance < 0.0 { kink } else { 1.0 }
            };
            prop_assert_eq!(first(points, near, falling), edge.min(points - 1));
        }
    }
}
