//! The measured rates of a card, as they lie in `measured/`.

use counterpoint::component::Report;

use super::measured::Measured;
use super::table::Source;
use crate::schedule::Card;

/// A table in `measured/`.
macro_rules! table {
    ($file:literal) => {
        Source { name: concat!("measured/", $file), text: include_str!(concat!("../../measured/", $file)) }
    };
}

/// Kernels, pairs and tails.
const C2050: [Source<'static>; 3] =
    [table!("c2050/kernels.csv"), table!("c2050/pairs.csv"), table!("c2050/tails.csv")];
const GTX680: [Source<'static>; 3] =
    [table!("gtx680/kernels.csv"), table!("gtx680/pairs.csv"), table!("gtx680/tails.csv")];

impl Measured {
    /// The rates on the machine of a card's name; without `tails` whole kernels do not overlap.
    ///
    /// # Errors
    /// As [`Measured::read`].
    pub fn of_card(card: &Card, tails: bool) -> Result<Measured, Box<Report>> {
        let is_fermi = card.gpu.name == Card::C2050.gpu.name;
        let [kernels, pairs, both] = if is_fermi { C2050 } else { GTX680 };
        Measured::read(kernels, pairs, tails.then_some(both))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::APPLICATIONS;

    #[test]
    fn the_tables_have_the_kernels_of_the_paper() {
        for card in [Card::C2050, Card::GTX680] {
            let measured = Measured::of_card(&card, true).unwrap();
            let names: Vec<&str> = measured.kernels().iter().map(|kernel| &*kernel.name).collect();
            assert_eq!(names, APPLICATIONS.map(|(_, kernel)| kernel));
        }
    }
}
