//! Input data made from a rule and a seed, so that no data needs to be kept beside an application.
//!
//! The numbers depend on the rule, the seed and the position alone: the same file comes out on every host. Changing
//! what a rule yields would change every result that was published with it, so a rule never changes; a better one gets a
//! name of its own.

use crate::element::Element;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Generator {
    /// Numbers spread evenly: from `min` up to but not including `max` for floating point, both included for whole
    /// numbers.
    Uniform {
        /// Chooses the sequence.
        seed: u64,
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// One number everywhere.
    Constant {
        /// The number.
        value: f64,
    },
    /// `start`, `start + step`, `start + 2 step`, …
    Ramp {
        /// The first number.
        start: f64,
        /// The difference of neighbours.
        step: f64,
    },
}

/// A generator as YAML names it: name, parameters with their defaults (none: must be given), what it makes.
pub struct GeneratorInfo {
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: &'static [(&'static str, Option<f64>)],
    /// What it makes.
    pub doc: &'static str,
}

/// The generators, in the order in which they are listed to users.
pub const GENERATORS: [GeneratorInfo; 3] = [
    GeneratorInfo {
        name: "uniform",
        parameters: &[("seed", Some(1.0)), ("min", Some(0.0)), ("max", Some(1.0))],
        doc: "Evenly spread numbers: min <= x < max for floating point, min <= x <= max for whole numbers.",
    },
    GeneratorInfo { name: "constant", parameters: &[("value", None)], doc: "The same number everywhere." },
    GeneratorInfo {
        name: "ramp",
        parameters: &[("start", Some(0.0)), ("step", Some(1.0))],
        doc: "Numbers with equal steps.",
    },
];

impl Generator {
    /// The generator of a name; `parameter` gives the value of each of its parameters.
    pub fn named(name: &str, parameter: impl Fn(&str) -> f64) -> Option<Self> {
        Some(match name {
            "uniform" => Generator::Uniform {
                seed: parameter("seed") as u64,
                min: parameter("min"),
                max: parameter("max"),
            },
            "constant" => Generator::Constant { value: parameter("value") },
            "ramp" => Generator::Ramp { start: parameter("start"), step: parameter("step") },
            _ => return None,
        })
    }

    /// Whether all its numbers can be held by the type.
    ///
    /// # Errors
    /// A sentence that says which cannot.
    pub fn check(&self, element: Element, elements: u64) -> Result<(), String> {
        let extremes = match *self {
            Generator::Uniform { min, max, .. } if min > max => {
                return Err(format!("min {min} is larger than max {max}"));
            }
            Generator::Uniform { min, max, .. } => [min, max],
            Generator::Constant { value } => [value, value],
            Generator::Ramp { start, step } => [start, start + step * elements.saturating_sub(1) as f64],
        };
        let Some((smallest, largest)) = element.range() else { return Ok(()) };
        for value in extremes {
            let name = element.name();
            if value.fract() != 0.0 {
                return Err(format!("{value} is not a whole number, as {name} wants it"));
            }
            if (value as i128) < smallest || (value as i128) > largest {
                return Err(format!("{value} does not fit {name}"));
            }
        }
        Ok(())
    }

    /// The bytes of that many elements.
    pub fn fill(&self, element: Element, elements: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(elements as usize * element.bytes());
        match *self {
            Generator::Uniform { seed, min, max } => {
                let mut random = SplitMix(seed);
                let span = (max as i128 - min as i128 + 1) as u128;
                for _ in 0..elements {
                    let draw = random.next();
                    if element.is_float() {
                        // 53 bits fill a double's fraction.
                        let unit = (draw >> 11) as f64 / (1_u64 << 53) as f64;
                        element.push_float(min + (max - min) * unit, &mut out);
                    } else {
                        let offset = (u128::from(draw) * span) >> 64;
                        element.push_whole(min as i128 + offset as i128, &mut out);
                    }
                }
            }
            Generator::Constant { value } => (0..elements).for_each(|_| element.push_float(value, &mut out)),
            Generator::Ramp { start, step } => {
                (0..elements).for_each(|index| element.push_float(start + step * index as f64, &mut out));
            }
        }
        out
    }
}

/// SplitMix64, by Steele, Lea and Flood (OOPSLA 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(generator: Generator, element: Element, count: u64) -> Vec<f64> {
        let bytes = generator.fill(element, count);
        bytes.chunks(element.bytes()).map(|chunk| element.value(chunk).as_f64()).collect()
    }

    #[test]
    fn the_sequence_of_a_seed_never_changes() {
        // The first outputs of SplitMix64 for seed 1234567, as its authors publish them.
        let mut random = SplitMix(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn uniform_numbers_stay_in_range_and_differ() {
        let rule = Generator::Uniform { seed: 7, min: 320.0, max: 340.0 };
        let floats = values(rule, Element::F32, 1000);
        assert!(floats.iter().all(|x| (320.0..=340.0).contains(x)));
        assert!(floats.iter().any(|x| *x < 321.0) && floats.iter().any(|x| *x > 339.0));
        let whole = values(Generator::Uniform { seed: 7, min: 0.0, max: 3.0 }, Element::U32, 1000);
        for wanted in 0..=3 {
            assert!(whole.contains(&f64::from(wanted)));
        }
        assert!(whole.iter().all(|x| *x <= 3.0));
        assert_eq!(values(rule, Element::F32, 1000), floats);
    }

    #[test]
    fn ramps_and_constants() {
        assert_eq!(values(Generator::Ramp { start: 1.0, step: 2.0 }, Element::S32, 3), [1.0, 3.0, 5.0]);
        assert_eq!(values(Generator::Constant { value: 2.5 }, Element::F64, 2), [2.5, 2.5]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let check = |generator: Generator, element| generator.check(element, 300);
        assert!(check(Generator::Constant { value: 300.0 }, Element::U8).is_err());
        assert!(check(Generator::Constant { value: 0.5 }, Element::U32).is_err());
        assert!(check(Generator::Ramp { start: 0.0, step: 1.0 }, Element::U8).is_err());
        assert!(check(Generator::Uniform { seed: 0, min: 2.0, max: 1.0 }, Element::F32).is_err());
        assert!(check(Generator::Ramp { start: 0.0, step: 0.5 }, Element::F32).is_ok());
    }

    #[test]
    fn every_listed_generator_exists() {
        for info in GENERATORS {
            assert!(Generator::named(info.name, |_| 1.0).is_some(), "{}", info.name);
        }
    }
}
