//! Share of a study's points for one of several processes: `2/8` is the second of eight.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

/// A part of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StudyPart {
    number: NonZero<usize>,
    of: NonZero<usize>,
}

impl StudyPart {
    /// Whether the point at a position in the order of points belongs to this part. Neighbours belong to different parts, so that each
    /// has some of the longest points.
    pub fn takes(self, place: usize) -> bool {
        place % self.of == self.number.get() - 1
    }
}

impl fmt::Display for StudyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for StudyPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| {
            Some((number.trim().parse::<usize>().ok()?, of.trim().parse::<usize>().ok()?))
        });
        let Some((number, of)) = numbers else {
            return Err("expected the number of a part and how many there are, such as `2/8`".to_owned());
        };
        let Some(parts) = NonZero::new(of) else {
            return Err("there is at least one part: the first of eight is `1/8`".to_owned());
        };
        match NonZero::new(number) {
            Some(number) if number <= parts => Ok(StudyPart { number, of: parts }),
            Some(_) => Err(format!("of {of} parts the last is `{of}/{of}`")),
            None => Err(format!(
                "parts are numbered from 1, so the first of {of} is `1/{of}`; add 1 to an index that begins at 0"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_share_all_places_and_none_twice() {
        let parts: Vec<StudyPart> = (1..=3).map(|number| format!("{number}/3").parse().unwrap()).collect();
        for place in 0..10 {
            assert_eq!(parts.iter().filter(|part| part.takes(place)).count(), 1);
        }
        assert_eq!(parts[1].to_string(), "2/3");
        assert!(parts[1].takes(1) && parts[1].takes(4) && !parts[1].takes(3));
    }

    #[test]
    fn wrong_parts_are_refused_with_the_nearest_right_one() {
        for (text, expected) in [
            ("3/2", "of 2 parts the last is `2/2`"),
            ("0/4", "the first of 4 is `1/4`; add 1"),
            ("1/0", "there is at least one part"),
            ("3", "such as `2/8`"),
            ("a/b", "such as `2/8`"),
            ("-1/4", "such as `2/8`"),
            ("", "such as `2/8`"),
        ] {
            let error = text.parse::<StudyPart>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
