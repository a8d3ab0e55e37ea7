//! A module is printed back as it was read; changes at any of its tokens are made exactly, or refused if they overlap.
#![no_main]

use counterpoint_ptx::ast::Span;
use counterpoint_ptx::parser::parse;
use counterpoint_ptx::rewrite::{Edit, print, print_with};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<(u16, u8, String)>, &str)| {
    let (changes, text) = input;
    let Ok(module) = parse(text) else { return };
    assert_eq!(print(&module), text);
    let tokens = &module.tokens;
    let edits: Vec<Edit> = changes
        .into_iter()
        .map(|(at, count, text)| {
            let first = &tokens[at as usize % tokens.len()];
            let last = &tokens[(at as usize % tokens.len() + count as usize).min(tokens.len() - 1)];
            let end = if count == 0 { first.start } else { last.start };
            Edit { span: Span { start: first.start, end, place: first.place }, text }
        })
        .collect();
    if let Ok(changed) = print_with(&module, &edits) {
        let removed: usize = edits.iter().map(|edit| (edit.span.end - edit.span.start) as usize).sum();
        let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
        assert_eq!(changed.len(), text.len() - removed + added);
        let _ = parse(&changed);
    }
});
