//! Imports of a crate's file from the crate's root, read from its tokens: by `use`, and by paths in
//! expressions and macros.
//!
//! Comments are no tokens, so documentation may point to whatever it likes.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The beginning of a path: the module of the file, and the name that the crate has for itself besides
/// `crate`.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    /// Modules between the crate's root and the file's own code: 0 in `lib.rs`, 2 in `program/decode.rs`.
    pub(super) depth: usize,
    pub(super) name: &'a str,
}

/// The depth of a file of a crate, from its path below `src`.
pub(super) fn depth(place: &str) -> usize {
    let modules = place.trim_end_matches(".rs").split('/');
    modules.filter(|module| !matches!(*module, "mod" | "lib" | "main")).count()
}

/// The names that a text takes from the root: `program` of `crate::program::decode`. `*` is all of it, `self` the root by another name.
pub(super) fn from_root(text: &str, origin: Origin<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let tokens: TokenStream = text.parse().expect("Rust that was compiled");
    walk(tokens, origin, &mut found);
    found
}

fn walk(tokens: TokenStream, origin: Origin<'_>, found: &mut Vec<String>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => {
                let inner = at >= 2 && is_word(trees.get(at - 2), "mod") && is_brace(group.delimiter());
                walk(group.stream(), Origin { depth: origin.depth + usize::from(inner), ..origin }, found);
            }
            TokenTree::Ident(_) => {
                if let Some(length) = root(&trees[at..], origin) {
                    heads(&trees[at + length..], found);
                }
            }
            _ => {}
        }
    }
}

/// The number of tokens that lead to the root, if these do.
fn root(trees: &[TokenTree], Origin { depth, name }: Origin<'_>) -> Option<usize> {
    if is_word(trees.first(), "crate") || is_word(trees.first(), name) {
        return Some(1);
    }
    let supers = (0..).take_while(|step| {
        let at = 3 * step;
        is_word(trees.get(at), "super") && (at == 0 || is_path(&trees[at - 2..]))
    });
    let supers = supers.count();
    (supers > 0 && supers == depth).then(|| 3 * supers - 2)
}

/// The names behind the root.
fn heads(trees: &[TokenTree], found: &mut Vec<String>) {
    if is_word(trees.first(), "as") {
        found.push("self".to_owned());
    }
    if !is_path(trees) {
        return;
    }
    match trees.get(2) {
        Some(TokenTree::Group(group)) if is_brace(group.delimiter()) => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let items = inner.split(|tree| is_mark(Some(tree), ','));
            found.extend(items.filter_map(|item| item.first().map(ToString::to_string)));
        }
        head => found.extend(head.map(ToString::to_string)),
    }
}

fn is_word(tree: Option<&TokenTree>, word: &str) -> bool {
    matches!(tree, Some(TokenTree::Ident(ident)) if ident == word)
}

fn is_mark(tree: Option<&TokenTree>, mark: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

fn is_path(trees: &[TokenTree]) -> bool {
    is_mark(trees.first(), ':') && is_mark(trees.get(1), ':')
}

fn is_brace(delimiter: Delimiter) -> bool {
    delimiter == Delimiter::Brace
}

#[test]
fn every_way_to_the_root_is_seen() {
    let found = |depth, text| from_root(text, Origin { depth, name: "own" });
    assert_eq!([depth("lib.rs"), depth("program/mod.rs"), depth("program/decode/call.rs")], [0, 1, 3]);
    for text in [
        "use crate::functional::run;",
        "use crate::{functional::{run, Grid}};",
        "pub(crate) use super::super::functional;",
        "fn f() { let _ = crate::functional::run(); }",
        "fn f() { call!(super::super::functional::run) }",
        "macro_rules! m { () => { $crate::functional::run() }; }",
        "mod tests { use super::super::super::functional::run; }",
        "use own::functional::run;",
    ] {
        assert_eq!(found(2, text), ["functional"], "{text}");
    }
    assert_eq!(found(2, "use crate::{isa, program::{Row, Symbol}, Warp};"), ["isa", "program", "Warp"]);
    assert_eq!(found(1, "use super::*; use crate as root; use crate::*;"), ["*", "self", "*"]);
    for text in [
        "use super::functional::run;",
        "mod tests { use super::super::functional; }",
        "// crate::functional::run\n/// [`run`](crate::functional::run)\npub(crate) fn f() { \"crate::functional\"; }",
        "use self::functional::run; use other::functional;",
    ] {
        assert!(found(2, text).is_empty(), "{text}");
    }
}
