//! Imports of a file from its own crate, read from its tokens: by `use`, and by paths in expressions and macros.
//!
//! Comments are no tokens, so documentation may point to whatever it likes.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A place in a crate: the modules that lead to it, and the name that the crate has for itself besides `crate`.
#[derive(Clone)]
pub(super) struct Origin<'a> {
    pub(super) modules: Vec<String>,
    pub(super) name: &'a str,
}

/// The modules of a file of a crate, from its path below `src`: `program` and `decode` of `program/decode.rs`.
pub(super) fn modules(place: &str) -> Vec<String> {
    let modules = place.trim_end_matches(".rs").split('/');
    modules.filter(|module| !matches!(*module, "mod" | "lib" | "main")).map(ToOwned::to_owned).collect()
}

/// The names that a text takes from a module of its own crate, the root where `inside` has none: `decode` of
/// `crate::program::decode::call`, if `inside` is `program`. `*` is all of the module, `self` the module by another name.
pub(super) fn names_of(inside: &[&str], text: &str, origin: &Origin<'_>) -> Vec<String> {
    let mut paths = Vec::new();
    let tokens: TokenStream = text.parse().expect("Rust that was compiled");
    walk(tokens, origin, &mut paths);
    paths.iter().filter_map(|path| head(inside, path)).collect()
}

/// The first name of a path behind a module.
fn head(inside: &[&str], path: &[String]) -> Option<String> {
    let mut rest = path.iter();
    for module in inside {
        match rest.next().map(String::as_str) {
            Some(name) if name == *module => {}
            // Everything around the module, and so the module itself.
            None | Some("*" | "self") => return Some("self".to_owned()),
            Some(_) => return None,
        }
    }
    Some(rest.next().map_or("self", String::as_str).to_owned())
}

/// Collects all paths that begin at the crate's root.
fn walk(tokens: TokenStream, origin: &Origin<'_>, found: &mut Vec<Vec<String>>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    // A visibility names modules and takes nothing of them: `pub(in crate::program)`.
    if is_word(trees.first(), "in") {
        return;
    }
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => {
                let mut inner = origin.clone();
                if at >= 2 && is_word(trees.get(at - 2), "mod") && is_brace(group.delimiter()) {
                    inner.modules.push(trees[at - 1].to_string());
                }
                walk(group.stream(), &inner, found);
            }
            TokenTree::Ident(_) if at < 2 || !is_path(&trees[at - 2..]) => {
                if let Some((base, length)) = root(&trees[at..], origin) {
                    extend(base, &trees[at + length..], found);
                }
            }
            _ => {}
        }
    }
}

/// The module at which a path begins, and the number of tokens that name it.
fn root(trees: &[TokenTree], origin: &Origin<'_>) -> Option<(Vec<String>, usize)> {
    if is_word(trees.first(), "crate") || is_word(trees.first(), origin.name) {
        return Some((Vec::new(), 1));
    }
    let supers = (0..).take_while(|step| {
        let at = 3 * step;
        is_word(trees.get(at), "super") && (at == 0 || is_path(&trees[at - 2..]))
    });
    let supers = supers.count();
    let left = origin.modules.len().checked_sub(supers)?;
    (supers > 0).then(|| (origin.modules[..left].to_vec(), 3 * supers - 2))
}

/// Adds the paths that go on from `base`.
fn extend(base: Vec<String>, trees: &[TokenTree], found: &mut Vec<Vec<String>>) {
    if is_word(trees.first(), "as") {
        found.push(base);
        return;
    }
    if is_path(trees) {
        names(base, &trees[2..], found);
    }
}

/// Adds the paths of a name behind `base`, or of a list of names.
fn names(mut base: Vec<String>, trees: &[TokenTree], found: &mut Vec<Vec<String>>) {
    match trees.first() {
        Some(TokenTree::Group(group)) if is_brace(group.delimiter()) => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            for item in inner.split(|tree| is_mark(Some(tree), ',')) {
                names(base.clone(), item, found);
            }
        }
        Some(name @ (TokenTree::Ident(_) | TokenTree::Punct(_))) => {
            base.push(name.to_string());
            match is_path(&trees[1..]) {
                true => names(base, &trees[3..], found),
                false => found.push(base),
            }
        }
        _ => {}
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
    let found = |modules: &[&str], text| {
        let modules = modules.iter().map(ToString::to_string).collect();
        names_of(&[], text, &Origin { modules, name: "own" })
    };
    assert_eq!(modules("lib.rs"), [""; 0]);
    assert_eq!(modules("program/mod.rs"), ["program"]);
    assert_eq!(modules("program/decode/call.rs"), ["program", "decode", "call"]);
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
        let mut names = found(&["program", "decode"], text);
        names.dedup();
        assert_eq!(names, ["functional"], "{text}");
    }
    let names = found(&["program"], "use crate::{isa, program::{Row, Symbol}, Warp};");
    assert_eq!(names, ["isa", "program", "program", "Warp"]);
    assert_eq!(found(&["program"], "use super::*; use crate as root; use crate::*;"), ["*", "self", "*"]);
    for text in [
        "// crate::functional::run\n/// [`run`](crate::functional::run)\npub(crate) fn f() { \"crate::functional\"; }",
        "use self::functional::run; use other::functional;",
        "pub(in crate::functional) fn f() {}",
    ] {
        assert!(found(&["program", "decode"], text).is_empty(), "{text}");
    }
}

#[test]
fn names_of_an_inner_module_are_seen() {
    let found = |text| {
        let modules = vec!["gpu".to_owned(), "sm".to_owned(), "issue".to_owned(), "order".to_owned()];
        names_of(&["gpu", "sm"], text, &Origin { modules, name: "own" })
    };
    assert_eq!(found("use crate::gpu::sm::retire::Writeback;"), ["retire"]);
    assert_eq!(
        found("use super::super::{retire::Writeback, Sm}; use super::gate;"),
        ["retire", "Sm", "issue"]
    );
    assert_eq!(found("use crate::{gpu::{mmu, sm::{facts, issue::gate}}, memory};"), ["facts", "issue"]);
    assert_eq!(found("use crate::gpu::sm; use super::super::*;"), ["self", "*"]);
    assert_eq!(found("use crate::gpu::*;"), ["self"]);
    assert!(found("use crate::gpu::mmu::authority; use crate::memory; use crate::gpu::Kind;").is_empty());
}
