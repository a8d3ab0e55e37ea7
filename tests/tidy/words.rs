//! Words that the tree does not use, because the trade or the rest of the tree has another word for the same thing.

use super::sources;
use crate::support::root;

/// Words of names and comments, in lower case, each with the words to use instead.
const REFUSED: [(&str, &str); 9] = [
    ("reins", "run control"),
    ("crew", "worker pool"),
    ("berth", "hand-off slot"),
    ("parcel", "share, or payload"),
    ("wish", "wake registration, or request"),
    ("glance", "peek, or inspect"),
    ("ear", "listener"),
    ("outlook", "prospect: what a path may still do"),
    ("smstate", "SmContext"),
];

/// Phrases, with what to write instead.
const PHRASES: [(&str, &str); 8] = [
    ("forgets its lines", "invalidates its lines"),
    ("forgets the line", "invalidates the line"),
    ("places for warps", "warp slots"),
    ("places for blocks", "block slots"),
    ("as many as there are", "the number itself, such as `slots`"),
    ("around: &", "the role of the parameter, such as `sm`, `scope` or `outer`"),
    ("ptx::profile", "ptx::instrument"),
    ("for people", "in readable form, or for the reader"),
];

/// Names of types that say too little: with more than one of a name, a reader has to ask which one is meant.
const BROAD: [&str; 5] = ["Part", "Node", "Place", "Step", "Machine"];

/// The words of a line in lower case: identifiers are taken apart at underscores and at capitals.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for character in line.chars() {
        if !character.is_ascii_alphanumeric() || before.is_ascii_lowercase() && character.is_ascii_uppercase()
        {
            words.push(String::new());
        }
        if character.is_ascii_alphanumeric() {
            words.last_mut().expect("one is there").push(character.to_ascii_lowercase());
        }
        before = character;
    }
    words
}

/// The refused word or phrase of a line, with what to write instead.
fn refused(line: &str) -> Option<(&'static str, &'static str)> {
    let words = words(line);
    let is_in = |refused: &str| {
        words.iter().any(|word| word.strip_suffix('s').unwrap_or(word) == refused.trim_end_matches('s'))
    };
    let word = REFUSED.into_iter().find(|(word, _)| is_in(word));
    let lower = line.to_lowercase();
    word.or_else(|| PHRASES.into_iter().find(|(phrase, _)| lower.contains(phrase)))
}

#[test]
fn refused_words_do_not_occur() {
    let texts = ["rs", "yaml"].into_iter().flat_map(sources);
    let mut seen = 0;
    for (path, text) in texts.filter(|(path, _)| !path.ends_with("tidy/words.rs")) {
        for (line, number) in text.lines().zip(1..) {
            if let Some((found, instead)) = refused(line) {
                panic!("{}:{number} has `{found}`; write: {instead}\n{line}", path.display());
            }
        }
        seen += 1;
    }
    assert!(seen > 1000, "the walk found {seen} files only");
}

#[test]
fn refused_words_are_found_in_names_and_sentences() {
    let finds = |line| refused(line).map(|(found, _)| found);
    assert_eq!(finds("struct MessageWish;"), Some("wish"));
    assert_eq!(finds("const FIRST_GLANCE: u64 = 1;"), Some("glance"));
    assert_eq!(finds("/// It waits in two berths."), Some("berth"));
    assert_eq!(finds("// The L1 forgets its lines."), Some("forgets its lines"));
    assert_eq!(finds("fn step(around: &mut Sm) {}"), Some("around: &"));
    assert_eq!(finds("/// The earliest of them all hears nothing."), None);
}

#[test]
fn broad_names_have_one_meaning() {
    for name in BROAD {
        let defines = |line: &&str| {
            let mut words =
                line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            words.any(|word| word == "struct" || word == "enum") && words.next() == Some(name)
        };
        let mut found = Vec::new();
        for (path, text) in sources("rs") {
            let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let place = path.strip_prefix(root()).unwrap().display().to_string();
            found.extend(lines.filter(defines).map(|_| place.clone()));
        }
        assert!(
            found.len() <= 1,
            "{name} is the name of {} types, say of what: {}",
            found.len(),
            found.join(", ")
        );
    }
}
