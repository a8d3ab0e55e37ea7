//! A dictionary of opcodes: the instruction that an opcode names, and the nearest spellings of an unknown opcode.

use std::collections::BTreeMap;
use std::sync::{OnceLock, PoisonError, RwLock};

use super::forms::FORM_ROWS;
use super::{Known, LANE_ROWS, LaneRow};

/// The row that an opcode in its canonical spelling names.
pub fn find(opcode: &str) -> Option<Known> {
    // A memory instruction is listed by its first word, a product of matrices by its first two or one.
    let mut words = opcode.match_indices('.').map(|(at, _)| &opcode[..at]);
    let (one, two) = (words.next(), words.next());
    let listed = |words: Option<&str>| spelled(words?).filter(Known::is_listed_by_head);
    spelled(opcode).or_else(|| listed(one)).or_else(|| listed(two))
}

/// The row of a lane-wise operation.
pub fn lane_row(opcode: &str) -> Option<&'static LaneRow> {
    match spelled(opcode)? {
        Known::Lane(row) => Some(row),
        Known::Form(_) => None,
    }
}

/// The spelling nearest to an opcode, for error messages: of the same instruction if there is one, else of
/// one whose name differs by little.
pub fn similar(opcode: &str) -> Option<&'static str> {
    let known = || dictionary().keys().filter(|known| !known.contains('/'));
    let same = known().filter(|known| head(known) == head(opcode));
    let nearest = same.min_by_key(|known| strsim::levenshtein(known, opcode));
    let misspelt = || {
        known()
            .filter(|known| strsim::levenshtein(known, opcode) <= 2)
            .min_by_key(|known| strsim::levenshtein(known, opcode))
    };
    nearest.or_else(misspelt).map(String::as_str)
}

/// All spellings of instructions with the manual's section of each; of memory instructions the first word.
pub fn instructions() -> impl Iterator<Item = (&'static str, &'static str)> {
    let listed = dictionary().iter().filter(|(text, _)| !text.contains('/'));
    listed.map(|(text, known)| (text.as_str(), known.section()))
}

/// Rows of the tables by the patterns of their spellings.
#[derive(Default)]
pub(super) struct Rows {
    patterns: Vec<(&'static str, Known)>,
    /// The spellings that were looked up before: a module has many instructions of few spellings.
    found: RwLock<BTreeMap<String, Known>>,
    /// Their spellings by the words in these, for opcodes with other orders of words.
    by_words: OnceLock<BTreeMap<String, String>>,
}

impl Rows {
    /// The row of a spelling.
    fn spelled(&self, opcode: &str) -> Option<Known> {
        let before = self.found.read().unwrap_or_else(PoisonError::into_inner).get(opcode).copied();
        if before.is_some() {
            return before;
        }
        // The first byte settles most comparisons.
        let begins =
            |pattern: &str| pattern.starts_with('{') || pattern.bytes().next() == opcode.bytes().next();
        let mut rows = self.patterns.iter().filter(|(pattern, _)| begins(pattern));
        let known = rows.find(|(pattern, _)| matches(pattern, opcode))?.1;
        self.found.write().unwrap_or_else(PoisonError::into_inner).insert(opcode.to_owned(), known);
        Some(known)
    }

    /// The spelling with these words, by the key of each spelling.
    pub(super) fn with_words(&self, words: &str, key: fn(&str) -> String) -> Option<&str> {
        let spellings = || self.patterns.iter().flat_map(|(pattern, _)| expand(pattern));
        let by_words = || spellings().map(|spelling| (key(&spelling), spelling)).collect();
        self.by_words.get_or_init(by_words).get(words).map(String::as_str)
    }
}

/// All rows. A module has few of all spellings, so that the patterns are not expanded for it.
#[derive(Default)]
struct Tables {
    /// The rows whose spellings have the same first word, by this word.
    by_head: BTreeMap<&'static str, Rows>,
    /// The rows whose spellings differ in the first word.
    others: Rows,
}

/// The rows among which an opcode is, if it is known.
pub(super) fn rows_of(opcode: &str) -> impl Iterator<Item = &'static Rows> {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        let mut tables = Tables::default();
        let all: Vec<_> = patterns().map(|(pattern, known)| (head_of(pattern), pattern, known)).collect();
        for rows in all.chunk_by(|a, b| a.0 == b.0) {
            let place = match rows[0].0 {
                Some(head) => tables.by_head.entry(head).or_default(),
                None => &mut tables.others,
            };
            place.patterns.extend(rows.iter().map(|(_, pattern, known)| (*pattern, *known)));
        }
        tables
    });
    tables.by_head.get(head(opcode)).into_iter().chain([&tables.others])
}

/// The patterns of all rows.
fn patterns() -> impl Iterator<Item = (&'static str, Known)> {
    let lanes = LANE_ROWS.iter().map(|row| (row.spellings, Known::Lane(row)));
    let forms = FORM_ROWS.iter().map(|row| (row.spellings, Known::Form(row)));
    let rows = lanes.chain(forms);
    rows.flat_map(|(spellings, known)| spellings.split_ascii_whitespace().map(move |text| (text, known)))
}

/// The first word of all texts that match a pattern, if they have the same.
fn head_of(pattern: &'static str) -> Option<&'static str> {
    let (word, rest) = pattern.split_at(pattern.find(['.', '{']).unwrap_or(pattern.len()));
    let choices = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    let ends = |(choices, tail): (&str, &str)| {
        let mut behind = choices.split('|').map(|choice| if choice.is_empty() { tail } else { choice });
        behind.all(|behind| behind.is_empty() || behind.starts_with('.'))
    };
    choices.is_none_or(ends).then_some(word)
}

/// The first word of an opcode.
pub(super) fn head(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or(opcode)
}

/// The row of a spelling.
pub(super) fn spelled(opcode: &str) -> Option<Known> {
    rows_of(opcode).find_map(|rows| rows.spelled(opcode))
}

/// Whether a text matches a pattern with `{a|b}`.
fn matches(pattern: &str, text: &str) -> bool {
    let parts = pattern.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    let Some((head, (choices, tail))) = parts else { return pattern == text };
    let Some(rest) = text.strip_prefix(head) else { return false };
    choices.split('|').any(|choice| rest.strip_prefix(choice).is_some_and(|rest| matches(tail, rest)))
}

/// All spellings, for lists and for messages about an unknown opcode.
pub(super) fn dictionary() -> &'static BTreeMap<String, Known> {
    static DICTIONARY: OnceLock<BTreeMap<String, Known>> = OnceLock::new();
    DICTIONARY.get_or_init(|| {
        let texts = |(pattern, known)| expand(pattern).into_iter().map(move |text| (text, known));
        patterns().flat_map(texts).collect()
    })
}

/// All texts that match a pattern with `{a|b}`.
fn expand(pattern: &str) -> Vec<String> {
    let Some((head, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let Some((choices, tail)) = rest.split_once('}') else { return vec![pattern.to_owned()] };
    let tails = expand(tail);
    let mut texts = Vec::new();
    for choice in choices.split('|') {
        texts.extend(tails.iter().map(|tail| format!("{head}{choice}{tail}")));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_share_a_spelling() {
        let lanes = LANE_ROWS.iter().map(|row| (row.section, row.spellings, format!("{:?}", row.op)));
        let forms = FORM_ROWS.iter().map(|row| (row.section, row.spellings, format!("{:?}", row.form)));
        let mut seen = BTreeMap::new();
        for (section, spellings, name) in lanes.chain(forms) {
            assert!(section.starts_with("9.7."));
            for text in spellings.split_whitespace().flat_map(expand) {
                if let Some(other) = seen.insert(text.clone(), name.clone()) {
                    panic!("`{text}` is {other} and {name}");
                }
            }
        }
        assert!(seen.len() > 1000);
    }

    #[test]
    fn every_spelling_is_found_by_its_pattern() {
        for (text, known) in dictionary() {
            let found = spelled(text).unwrap_or_else(|| panic!("`{text}` is not found"));
            assert_eq!(format!("{found:?}"), format!("{known:?}"), "{text}");
        }
        assert!(spelled("add").is_none() && spelled("add.u33").is_none() && spelled("").is_none());
    }

    #[test]
    fn the_nearest_spelling_is_offered() {
        assert_eq!(similar("mul.wide.s31"), Some("mul.wide.s32"));
        assert_eq!(similar("frobnicate"), None);
    }
}
