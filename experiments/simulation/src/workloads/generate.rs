//! Input data made from a rule and a seed, so that no data needs to be kept beside an application.
//!
//! The numbers depend on the rule, the seed and the position alone: every host generates the same file. A changed rule would
//! change every result that was published with it, so a rule never changes; a better one gets a new name.

use crate::workloads::des;
use crate::workloads::element::Element;
use crate::workloads::suffix_tree::{self, WORDS};

/// The longest text that a suffix tree is made of.
const LONGEST_TEXT: f64 = (1 << 24) as f64;

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
    /// The same number in all elements.
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
    /// One number in one element, another number in all others.
    Single {
        /// The place.
        at: f64,
        /// The number there.
        value: f64,
        /// The number elsewhere.
        elsewhere: f64,
    },
    /// 0, then running sums of whole numbers spread evenly: where the rows of a sparse matrix begin, or the edges of a
    /// graph's nodes.
    Offsets {
        /// Chooses the sequence.
        seed: u64,
        /// The shortest row.
        min: f64,
        /// The longest row.
        max: f64,
    },
    /// A square matrix of numbers from -1 to 1, with its width added on the diagonal: its factors exist without pivots.
    Dominant {
        /// Chooses the sequence.
        seed: u64,
    },
    /// The nodes of a text's suffix tree, eight words each, followed by zeros. The text has the numbers that
    /// [`Generator::Uniform`] makes from the seed, from 0 to 3.
    SuffixTree {
        /// Chooses the text.
        seed: u64,
        /// Length of the text in bases.
        bases: f64,
    },
    /// Parts of such a text, one behind the other, from evenly spread places; some bases are replaced by others.
    Reads {
        /// Chooses the places and errors.
        seed: u64,
        /// Chooses the text.
        of: u64,
        /// Length of the text in bases.
        bases: f64,
        /// Length of a part in bases.
        length: f64,
        /// Share of bases that are replaced.
        errors: f64,
    },
    /// The keys of the rounds of triple DES, 48 after 48: those of each of three keys, the second ones backwards. A round has
    /// two words with the keys of four boxes each, six bits a byte, the first box in the highest byte.
    TripleDesKeys {
        /// Chooses the keys.
        seed: u64,
    },
}

/// The words of the keys of 48 rounds.
const TRIPLE_DES_WORDS: usize = 96;

/// A generator as YAML names it: name, parameters with their defaults (none: must be given), description of the output.
pub struct GeneratorInfo {
    /// Name of the generator.
    pub name: &'static str,
    /// Parameters of the generator.
    pub parameters: &'static [(&'static str, Option<f64>)],
    /// Description of its output.
    pub doc: &'static str,
}

/// The generators, in the order in which they are listed to users.
pub const GENERATORS: [GeneratorInfo; 9] = [
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
    GeneratorInfo {
        name: "single",
        parameters: &[("at", Some(0.0)), ("value", None), ("elsewhere", Some(0.0))],
        doc: "One number at one place, another elsewhere.",
    },
    GeneratorInfo {
        name: "offsets",
        parameters: &[("seed", Some(1.0)), ("min", None), ("max", None)],
        doc: "0, then sums of evenly spread whole numbers: where the rows of a sparse matrix begin.",
    },
    GeneratorInfo {
        name: "dominant",
        parameters: &[("seed", Some(1.0))],
        doc: "A square matrix from -1 to 1 with its width added on the diagonal.",
    },
    GeneratorInfo {
        name: "suffix-tree",
        parameters: &[("seed", Some(1.0)), ("bases", None)],
        doc: "The suffix tree of the text that `uniform` makes from 0 to 3: eight u32 a node, at most two nodes a base.",
    },
    GeneratorInfo {
        name: "reads",
        parameters: &[
            ("seed", Some(1.0)),
            ("of", Some(1.0)),
            ("bases", None),
            ("length", None),
            ("errors", Some(0.0)),
        ],
        doc: "Parts of the text that `uniform` makes of the seed `of` from 0 to 3, with errors.",
    },
    GeneratorInfo {
        name: "triple-des-keys",
        parameters: &[("seed", Some(1.0))],
        doc: "The keys of the 48 rounds of triple DES, two u32 a round: six bits a byte for each of the eight boxes.",
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
            "single" => Generator::Single {
                at: parameter("at"),
                value: parameter("value"),
                elsewhere: parameter("elsewhere"),
            },
            "offsets" => Generator::Offsets {
                seed: parameter("seed") as u64,
                min: parameter("min"),
                max: parameter("max"),
            },
            "dominant" => Generator::Dominant { seed: parameter("seed") as u64 },
            "suffix-tree" => {
                Generator::SuffixTree { seed: parameter("seed") as u64, bases: parameter("bases") }
            }
            "reads" => Generator::Reads {
                seed: parameter("seed") as u64,
                of: parameter("of") as u64,
                bases: parameter("bases"),
                length: parameter("length"),
                errors: parameter("errors"),
            },
            "triple-des-keys" => Generator::TripleDesKeys { seed: parameter("seed") as u64 },
            _ => return None,
        })
    }

    /// Whether all its numbers can be held by the type.
    ///
    /// # Errors
    /// A sentence that names the number that does not fit.
    pub fn check(&self, element: Element, elements: u64) -> Result<(), String> {
        let extremes = match *self {
            Generator::Uniform { min, max, .. } | Generator::Offsets { min, max, .. } if min > max => {
                return Err(format!("min {min} is larger than max {max}"));
            }
            Generator::Offsets { min, max, .. } if min < 0.0 || min.fract() != 0.0 || max.fract() != 0.0 => {
                return Err(format!("rows have a whole number of elements, not {min} to {max}"));
            }
            Generator::Offsets { max, .. } => [0.0, max * elements.saturating_sub(1) as f64],
            Generator::Single { at, .. } if at < 0.0 || at.fract() != 0.0 || at >= elements as f64 => {
                return Err(format!("there is no element {at} of {elements}"));
            }
            Generator::Single { value, elsewhere, .. } => [value.min(elsewhere), value.max(elsewhere)],
            Generator::Dominant { .. } if !element.is_float() => {
                return Err(format!("{} cannot hold numbers between whole ones", element.name()));
            }
            Generator::Dominant { .. } if elements.isqrt().pow(2) != elements => {
                return Err(format!("{elements} elements make no square matrix"));
            }
            Generator::Dominant { .. } => return Ok(()),
            Generator::TripleDesKeys { .. } if element != Element::U32 => {
                return Err(format!("keys are of u32, not of {}", element.name()));
            }
            Generator::TripleDesKeys { .. } if !elements.is_multiple_of(TRIPLE_DES_WORDS as u64) => {
                return Err(format!("keys have {TRIPLE_DES_WORDS} words, found {elements} elements"));
            }
            Generator::TripleDesKeys { .. } => return Ok(()),
            Generator::SuffixTree { bases, .. } | Generator::Reads { bases, .. }
                if !(1.0..=LONGEST_TEXT).contains(&bases) || bases.fract() != 0.0 =>
            {
                return Err(format!("a text has 1 to {LONGEST_TEXT} bases, not {bases}"));
            }
            Generator::SuffixTree { .. } if element != Element::U32 => {
                return Err(format!("a suffix tree is of u32, not of {}", element.name()));
            }
            Generator::SuffixTree { bases, .. } if (elements as f64) < 2.0 * bases * WORDS as f64 => {
                return Err(format!(
                    "the suffix tree of {bases} bases may have {} words, found {elements}",
                    2.0 * bases * WORDS as f64
                ));
            }
            Generator::Reads { bases, length, .. }
                if !(1.0..=bases).contains(&length) || length.fract() != 0.0 =>
            {
                return Err(format!("no part of {bases} bases is {length} long"));
            }
            Generator::Reads { errors, .. } if !(0.0..=1.0).contains(&errors) => {
                return Err(format!("errors are a share from 0 to 1, not {errors}"));
            }
            Generator::SuffixTree { .. } => return Ok(()),
            Generator::Reads { .. } => [0.0, 3.0],
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
                    if element.is_float() {
                        element.push_float(min + (max - min) * random.unit(), &mut out);
                    } else {
                        element.push_whole(min as i128 + random.below(span), &mut out);
                    }
                }
            }
            Generator::Constant { value } => (0..elements).for_each(|_| element.push_float(value, &mut out)),
            Generator::Ramp { start, step } => {
                (0..elements).for_each(|index| element.push_float(start + step * index as f64, &mut out));
            }
            Generator::Single { at, value, elsewhere } => (0..elements).for_each(|index| {
                element.push_float(if index == at as u64 { value } else { elsewhere }, &mut out);
            }),
            Generator::Offsets { seed, min, max } => {
                let mut random = SplitMix(seed);
                let span = (max - min) as u128 + 1;
                let mut sum = 0;
                for _ in 0..elements {
                    element.push_whole(sum, &mut out);
                    sum += min as i128 + random.below(span);
                }
            }
            Generator::Dominant { seed } => {
                let mut random = SplitMix(seed);
                let width = elements.isqrt();
                for index in 0..elements {
                    let diagonal = if index / width == index % width { width as f64 } else { 0.0 };
                    element.push_float(diagonal + 2.0 * random.unit() - 1.0, &mut out);
                }
            }
            Generator::TripleDesKeys { seed } => {
                let mut random = SplitMix(seed);
                for _ in 0..elements as usize / TRIPLE_DES_WORDS {
                    let [first, mut second, third] = [(); 3].map(|()| des::rounds_of(random.next()));
                    second.reverse();
                    for key in [first, second, third].concat() {
                        let six = |index: u32| i128::from(key >> (42 - 6 * index) & 63);
                        for half in [0, 4] {
                            let word = (half..half + 4).fold(0, |word, index| word << 8 | six(index));
                            element.push_whole(word, &mut out);
                        }
                    }
                }
            }
            Generator::SuffixTree { seed, bases } => {
                let table = suffix_tree::table(&text(seed, bases));
                let words = table.into_iter().chain(std::iter::repeat(0));
                words.take(elements as usize).for_each(|word| element.push_whole(word.into(), &mut out));
            }
            Generator::Reads { seed, of, bases, length, errors } => {
                let mut random = SplitMix(seed);
                let (text, length) = (text(of, bases), length as u64);
                let places = text.len() as u64 - length + 1;
                let mut place = 0;
                for index in 0..elements {
                    if index % length == 0 {
                        place = random.below(places.into()) as u64;
                    }
                    let base = i128::from(text[(place + index % length) as usize]);
                    let wrong = random.unit() < errors;
                    let other = (base + 1 + random.below(3)) % 4;
                    element.push_whole(if wrong { other } else { base }, &mut out);
                }
            }
        }
        out
    }
}

/// The text of a seed, of bases 0 to 3.
fn text(seed: u64, bases: f64) -> Vec<u8> {
    Generator::Uniform { seed, min: 0.0, max: 3.0 }.fill(Element::U8, bases as u64)
}

/// Random numbers, the same on every computer: SplitMix64, by Steele, Lea and Flood (OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SplitMix(pub(crate) u64);

impl SplitMix {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Self {
        SplitMix(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A random number in [0, 1); 53 bits fill a double's fraction.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number from 0 up to but not including `span`.
    pub fn below(&mut self, span: u128) -> i128 {
        ((u128::from(self.next()) * span) >> 64) as i128
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
    fn irregular_inputs_have_their_shape() {
        let single = Generator::Single { at: 2.0, value: 0.0, elsewhere: -1.0 };
        assert_eq!(values(single, Element::S32, 4), [-1.0, -1.0, 0.0, -1.0]);
        let offsets = values(Generator::Offsets { seed: 3, min: 2.0, max: 5.0 }, Element::U32, 1000);
        assert_eq!(offsets[0], 0.0);
        let rows: Vec<f64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!((2..=5).all(|length| rows.contains(&f64::from(length))));
        assert!(rows.iter().all(|length| (2.0..=5.0).contains(length)));
        let matrix = values(Generator::Dominant { seed: 1 }, Element::F32, 64);
        for (row, values) in matrix.chunks(8).enumerate() {
            let others: f64 = values.iter().map(|value| value.abs()).sum::<f64>() - values[row];
            assert!(values[row] > others * 0.9, "{values:?}");
        }
    }

    #[test]
    fn reads_are_parts_of_the_text_that_the_tree_is_made_of() {
        let text = Generator::Uniform { seed: 4, min: 0.0, max: 3.0 }.fill(Element::U8, 500);
        let reads = |errors| Generator::Reads { seed: 9, of: 4, bases: 500.0, length: 20.0, errors };
        let exact = reads(0.0).fill(Element::U8, 2000);
        assert!(exact.chunks(20).all(|read| text.windows(20).any(|part| part == read)));
        let wrong = reads(0.1).fill(Element::U8, 2000);
        let errors = exact.iter().zip(&wrong).filter(|(a, b)| a != b).count();
        assert!((120..280).contains(&errors) && wrong.iter().all(|base| *base < 4), "{errors} of 2000");
        let tree = values(Generator::SuffixTree { seed: 4, bases: 500.0 }, Element::U32, 8000);
        let ends = tree.chunks(WORDS).filter(|node| node[4] + node[5] == 500.0).count();
        assert_eq!(ends, 500, "a suffix ends at each of them");
    }

    #[test]
    fn keys_of_rounds_have_six_bits_a_byte() {
        let generator = Generator::TripleDesKeys { seed: 5 };
        let words = values(generator, Element::U32, 192);
        assert!(words.iter().all(|word| *word as u32 & 0xc0c0_c0c0 == 0));
        assert_ne!(words[..96], words[96..], "keys of their own");
        let first = des::rounds_of(SplitMix(5).next())[0];
        let (high, low) = (words[0] as u64, words[1] as u64);
        let bytes =
            (0..4).map(|byte| high >> (24 - 8 * byte)).chain((0..4).map(|byte| low >> (24 - 8 * byte)));
        assert_eq!(bytes.fold(0, |key, six| key << 6 | six & 63), first);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let check = |generator: Generator, element| generator.check(element, 300);
        assert!(check(Generator::Constant { value: 300.0 }, Element::U8).is_err());
        assert!(check(Generator::Constant { value: 0.5 }, Element::U32).is_err());
        assert!(check(Generator::Ramp { start: 0.0, step: 1.0 }, Element::U8).is_err());
        assert!(check(Generator::Uniform { seed: 0, min: 2.0, max: 1.0 }, Element::F32).is_err());
        assert!(check(Generator::Ramp { start: 0.0, step: 0.5 }, Element::F32).is_ok());
        let offsets = |min, max| Generator::Offsets { seed: 0, min, max };
        assert!(check(offsets(2.0, 1.0), Element::U32).is_err());
        assert!(check(offsets(-1.0, 1.0), Element::S32).is_err());
        assert!(check(offsets(0.0, 2.0), Element::U8).is_err());
        assert!(check(offsets(0.0, 2.0), Element::U16).is_ok());
        assert!(check(Generator::Single { at: 300.0, value: 1.0, elsewhere: 0.0 }, Element::U8).is_err());
        assert!(check(Generator::Dominant { seed: 0 }, Element::F32).is_err(), "300 is not a square");
        let tree = |bases| Generator::SuffixTree { seed: 0, bases };
        assert!(check(tree(18.0), Element::U32).is_ok());
        assert!(check(tree(18.0), Element::S32).is_err());
        assert!(check(tree(19.0), Element::U32).is_err(), "304 words may be needed");
        assert!(check(tree(0.0), Element::U32).is_err());
        assert!(check(Generator::TripleDesKeys { seed: 0 }, Element::U32).is_err(), "300 words");
        assert!(Generator::TripleDesKeys { seed: 0 }.check(Element::U64, 96).is_err());
        let reads = |length, errors| Generator::Reads { seed: 0, of: 0, bases: 9.0, length, errors };
        assert!(check(reads(9.0, 0.5), Element::U8).is_ok());
        assert!(check(reads(10.0, 0.5), Element::U8).is_err());
        assert!(check(reads(9.0, 1.5), Element::U8).is_err());
    }

    #[test]
    fn every_listed_generator_exists() {
        for info in GENERATORS {
            assert!(Generator::named(info.name, |_| 1.0).is_some(), "{}", info.name);
        }
    }
}
