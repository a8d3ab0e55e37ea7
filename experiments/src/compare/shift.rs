//! A number that is not the same on both sides, and by how much.

use std::cmp::Ordering;

use counterpoint_framework::topology::natural;

/// A number on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    /// The name of its quantity.
    pub name: String,
    /// Value in A.
    pub a: f64,
    /// Value in B.
    pub b: f64,
    /// Unit of the value.
    pub unit: String,
}

impl Shift {
    /// Whether both are the same.
    pub fn is_none(&self) -> bool {
        self.a == self.b
    }

    /// B by A; none where A is zero.
    pub fn ratio(&self) -> Option<f64> {
        (self.a != 0.0).then(|| self.b / self.a)
    }

    /// The difference in parts of the larger of the two: the same whichever is A, and one where only one is zero.
    pub fn relative(&self) -> f64 {
        if self.is_none() { 0.0 } else { (self.b - self.a).abs() / self.a.abs().max(self.b.abs()) }
    }

    /// The order by relative difference, the largest first; of equals by the difference itself, then by name.
    pub(super) fn larger_first(&self, other: &Shift) -> Ordering {
        let difference = |shift: &Shift| (shift.b - shift.a).abs();
        other
            .relative()
            .total_cmp(&self.relative())
            .then_with(|| difference(other).total_cmp(&difference(self)))
            .then_with(|| natural(&self.name, &other.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_relative_difference_comes_first() {
        let shift = |name: &str, a, b| Shift { name: name.to_owned(), a, b, unit: String::new() };
        let mut shifts = [
            shift("small", 100.0, 101.0),
            shift("x[10]", 0.0, 5.0),
            shift("halved", 8.0, 4.0),
            shift("x[2]", 5.0, 0.0),
            shift("doubled", 400.0, 800.0),
            shift("new", 0.0, 7.0),
        ];
        shifts.sort_by(Shift::larger_first);
        let names = shifts.each_ref().map(|shift| shift.name.as_str());
        assert_eq!(names, ["new", "x[2]", "x[10]", "doubled", "halved", "small"]);
        assert_eq!((shifts[0].ratio(), shifts[3].ratio()), (None, Some(2.0)));
        assert_eq!((shifts[0].relative(), shifts[3].relative()), (1.0, 0.5));
    }
}
