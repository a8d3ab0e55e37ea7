//! The launches of a program that have time.

use std::fmt;
use std::ops::Range;

/// The launches that have time: all, a range of their numbers, from 1, or the first ones of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timed {
    /// All launches.
    All,
    /// Those with these numbers.
    Numbers(Range<u64>),
    /// The first launch of a kernel of this name, and those of the same name right behind it.
    Named(String),
}

impl Timed {
    /// Parses `3..5`, `3..`, `..5`, `3`, or a kernel's name. Both ends belong to a range.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str, other: u64| if text.is_empty() { Ok(other) } else { text.parse::<u64>() };
        let bounds = match text.split_once("..") {
            Some((from, to)) => (number(from, 1), number(to, u64::MAX - 1)),
            None => (text.parse(), text.parse()),
        };
        match bounds {
            (Ok(from), Ok(to)) if 1 <= from && from <= to => Ok(Timed::Numbers(from..to + 1)),
            (Ok(_), Ok(_)) => {
                Err("launches are counted from 1, and the first one is not behind the last".to_owned())
            }
            _ if text.contains("..") || text.is_empty() => {
                Err("expected `FROM..TO`, a number or a kernel's name".to_owned())
            }
            _ => Ok(Timed::Named(text.to_owned())),
        }
    }

    /// Whether launch `number`, of this name, begins the work that has time, and whether it is one of those that have.
    pub fn covers(&self, number: u64, kernel: &str) -> bool {
        match self {
            Timed::All => true,
            Timed::Numbers(range) => range.contains(&number),
            Timed::Named(name) => kernel == name,
        }
    }
}

impl fmt::Display for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Timed::All => f.write_str("all"),
            Timed::Numbers(range) => write!(f, "{}..{}", range.start, range.end - 1),
            Timed::Named(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_chosen_by_number_or_by_name() {
        let parse = |text: &str| Timed::parse(text).ok();
        assert_eq!(parse("3..5"), Some(Timed::Numbers(3..6)));
        assert_eq!(parse("..5"), Some(Timed::Numbers(1..6)));
        assert_eq!(parse("7"), Some(Timed::Numbers(7..8)));
        assert_eq!(parse("add"), Some(Timed::Named("add".to_owned())));
        assert!(["5..3", "0..2", "", "a..b"].map(parse).iter().all(Option::is_none));
        assert!(Timed::Numbers(3..6).covers(5, "add") && !Timed::Numbers(3..6).covers(6, "add"));
    }
}
