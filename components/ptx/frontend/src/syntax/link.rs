//! Linking: modules that were compiled apart (`nvcc -rdc=true`) as one.
//!
//! A symbol that one module declares `.extern`, another defines. Names local to a module get a number if another module has the same name.
//! Of several `.weak` definitions the first stays. Lines of the first module keep their numbers, so that messages about it name them.
//!
//! A runtime that brings a kernel of its own links it with the module of an application: the kernel calls functions that it declares and
//! the application defines.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::syntax::ast::{Module, Span};
use crate::syntax::error::PtxError;
use crate::syntax::lexer::TokenKind;
use crate::syntax::parser::parse;

/// Other modules' sight of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Linkage {
    Local,
    Visible,
    Weak,
    /// Not defined here.
    Extern,
}

/// A kernel, a function or variables of one declaration.
struct Item {
    span: Span,
    names: Vec<String>,
    linkage: Linkage,
}

/// The text of modules that are linked. One module stays as it is.
///
/// # Errors
/// Those of the texts, and names that are defined twice: the number of the text, counted from 0, and its errors.
pub fn link(texts: &[&str]) -> Result<String, (usize, Vec<PtxError>)> {
    if let [text] = texts {
        return Ok((*text).to_owned());
    }
    let mut modules = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let module = parse(text).map_err(|errors| (number, errors))?;
        let items = items(&module);
        modules.push((module, items));
    }
    let Some(newest) = modules.iter().map(|(module, _)| module).max_by_key(|module| key(module)) else {
        return Ok(String::new());
    };
    let defined = defined(&modules)?;
    let mut written: BTreeSet<&str> = BTreeSet::new();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut out = String::new();
    for (number, (module, items)) in modules.iter().enumerate() {
        let renamed = renamed(number, items, &defined, &mut taken);
        let mut at = 0;
        for item in items {
            let is_here = item.names.iter().all(|name| match item.linkage {
                Linkage::Local => true,
                Linkage::Visible => defined.get(name.as_str()) == Some(&number),
                // Once, and where it is defined if it is.
                Linkage::Weak => defined.get(name.as_str()) == Some(&number),
                Linkage::Extern => !defined.contains_key(name.as_str()) && !written.contains(name.as_str()),
            });
            let between = if number == 0 {
                between(module, at..item.span.start as usize, newest)
            } else {
                "\n".to_owned()
            };
            out.push_str(&between);
            at = item.span.end as usize;
            if is_here {
                if item.linkage == Linkage::Extern {
                    written.extend(item.names.iter().map(String::as_str));
                }
                print(module, item.span, &renamed, &mut out);
            } else {
                out.extend(module.source[item.span.start as usize..at].chars().filter(|&c| c == '\n'));
            }
        }
        if number == 0 {
            out.push_str(&between(module, at..module.source.len(), newest));
        }
        out.push('\n');
    }
    Ok(out)
}

/// What is between two items of the first module, with the version and the target of the newest one.
fn between(module: &Module, range: Range<usize>, newest: &Module) -> String {
    let first = module.tokens.partition_point(|token| (token.start as usize) < range.start);
    let (mut out, mut at) = (String::new(), range.start);
    // The value of a directive, which takes the place of the next token; nothing takes that of those behind it.
    let mut value: Option<&str> = None;
    for token in module.tokens[first..].iter().take_while(|token| token.end as usize <= range.end) {
        let (start, end) = (token.start as usize, token.end as usize);
        let word = &module.source[start..end];
        out.push_str(&module.source[at..start]);
        at = end;
        match (word, value) {
            (".version", _) => value = Some(&newest.version),
            (".target", _) => value = Some(&newest.target),
            (_, Some(other)) if !word.starts_with('.') => {
                out.push_str(other);
                value = Some("");
                continue;
            }
            _ => value = None,
        }
        out.push_str(word);
    }
    out.push_str(&module.source[at..range.end]);
    out
}

/// Versions and targets in the order in which they are newer.
fn key(module: &Module) -> (u32, u32, u32) {
    let number = |text: &str| text.parse().unwrap_or(0);
    let (major, minor) = module.version.split_once('.').unwrap_or((&module.version, "0"));
    let digits: String = module.target.chars().filter(char::is_ascii_digit).collect();
    (number(&digits), number(major), number(minor))
}

/// For each name the module that defines it, of names that others see.
fn defined(modules: &[(Module, Vec<Item>)]) -> Result<BTreeMap<&str, usize>, (usize, Vec<PtxError>)> {
    let mut strong: BTreeMap<&str, usize> = BTreeMap::new();
    let mut weak: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, (module, items)) in modules.iter().enumerate() {
        for item in items {
            for name in &item.names {
                let before = match item.linkage {
                    Linkage::Visible if is_definition(module, name) => strong.insert(name, number),
                    Linkage::Weak => {
                        weak.entry(name).or_insert(number);
                        None
                    }
                    _ => None,
                };
                if before.is_some_and(|before| before != number) {
                    let message = format!("`{name}` is defined by another module, too");
                    return Err((number, vec![PtxError::new(item.span.place, message)]));
                }
            }
        }
    }
    weak.extend(strong);
    Ok(weak)
}

/// Whether a name is a variable, or a function with a body.
fn is_definition(module: &Module, name: &str) -> bool {
    let mut functions = module.functions.iter().filter(|function| function.name == name).peekable();
    functions.peek().is_none() || functions.any(|function| function.body.is_some())
}

/// New names of symbols that are local to a module and that another module names as well.
fn renamed(
    number: usize,
    items: &[Item],
    defined: &BTreeMap<&str, usize>,
    taken: &mut BTreeSet<String>,
) -> BTreeMap<String, String> {
    let mut renamed = BTreeMap::new();
    let local = items.iter().filter(|item| item.linkage == Linkage::Local);
    for name in local.flat_map(|item| &item.names).collect::<BTreeSet<_>>() {
        if !defined.contains_key(name.as_str()) && taken.insert(name.clone()) {
            continue;
        }
        let mut other = format!("{name}_{}", number + 1);
        while defined.contains_key(other.as_str()) || !taken.insert(other.clone()) {
            other.push('_');
        }
        renamed.insert(name.clone(), other);
    }
    renamed
}

/// Declarations of a module, in the order of the text.
fn items(module: &Module) -> Vec<Item> {
    let variables = module.variables.iter().map(|variable| (variable.span, variable.name.clone()));
    let functions = module.functions.iter().map(|function| (function.span, function.name.clone()));
    let mut all: Vec<(Span, String)> = variables.chain(functions).collect();
    all.sort_by_key(|(span, _)| (span.start, span.end));
    let mut items: Vec<Item> = Vec::new();
    for (span, name) in all {
        match items.last_mut().filter(|item| span.start < item.span.end) {
            Some(item) => {
                item.span.end = item.span.end.max(span.end);
                item.names.push(name);
            }
            None => items.push(Item { span, names: vec![name], linkage: linkage(module, span) }),
        }
    }
    for item in &mut items {
        let behind = module.tokens.iter().find(|token| token.start >= item.span.end);
        if let Some(token) = behind.filter(|token| token.kind == TokenKind::Mark(b';')) {
            item.span.end = token.end;
        }
    }
    items
}

fn linkage(module: &Module, span: Span) -> Linkage {
    let first = module.tokens.partition_point(|token| token.start < span.start);
    let word = module.tokens.get(first).map(|token| &module.source[token.start as usize..token.end as usize]);
    match word {
        Some(".visible" | ".entry") => Linkage::Visible,
        Some(".weak" | ".common") => Linkage::Weak,
        Some(".extern") => Linkage::Extern,
        _ => Linkage::Local,
    }
}

/// Prints an item with other names.
fn print(module: &Module, span: Span, renamed: &BTreeMap<String, String>, out: &mut String) {
    let first = module.tokens.partition_point(|token| token.start < span.start);
    let mut at = span.start as usize;
    for token in module.tokens[first..].iter().take_while(|token| token.end <= span.end) {
        let (start, end) = (token.start as usize, token.end as usize);
        let word = &module.source[start..end];
        out.push_str(&module.source[at..start]);
        out.push_str(renamed.get(word).map_or(word, String::as_str));
        at = end;
    }
    out.push_str(&module.source[at..span.end as usize]);
}
