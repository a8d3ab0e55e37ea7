//! Printing a module back: its own text, token by token with the text between, changed only on request.
//!
//! Blanks, comments and debug directives are kept because they are never read into the tree: they are the gaps
//! between two tokens.

use std::borrow::Cow;

use crate::syntax::ast::{Module, Span};
use crate::syntax::error::PtxError;

/// A change: the bytes of `span` become `text`. A span without bytes inserts before its first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes replaced.
    pub span: Span,
    /// Their replacement.
    pub text: String,
}

/// The text of a module as it was read, byte for byte.
pub fn print(module: &Module) -> String {
    let mut out = String::with_capacity(module.source.len());
    let mut at = 0;
    for token in &module.tokens {
        let (start, end) = (token.start as usize, token.end as usize);
        out.push_str(&module.source[at..start]);
        out.push_str(&module.source[start..end]);
        at = end;
    }
    out.push_str(&module.source[at..]);
    out
}

/// The text of a module with changes, in any order; several insertions before one byte keep theirs. Changes
/// that overlap are an error at the place of the later one.
pub fn print_with(module: &Module, edits: &[Edit]) -> Result<String, PtxError> {
    print_part(module, Span { start: 0, end: module.source.len() as u32, ..Span::default() }, edits)
}

/// The text of a part of a module with changes.
///
/// # Errors
/// If changes overlap or are outside of the part.
pub fn print_part(module: &Module, part: Span, edits: &[Edit]) -> Result<String, PtxError> {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let source = module.source.get(..part.end as usize).unwrap_or_default();
    let mut out = String::with_capacity(source.len());
    let mut at = part.start as usize;
    for edit in ordered {
        let (start, end) = (edit.span.start as usize, edit.span.end as usize);
        let kept = source.get(at..start).filter(|_| start <= end && end <= source.len());
        let Some(kept) = kept else {
            return Err(PtxError::new(
                edit.span.place,
                "two changes overlap, or one lies outside of the text",
            ));
        };
        out.push_str(kept);
        out.push_str(&edit.text);
        at = end;
    }
    out.push_str(&source[at..]);
    Ok(out)
}

/// The text of a module whose loads of global memory bypass the L1 where they name no cache operator: the
/// effect of `ptxas -dlcm=cg` (NVIDIA, CUDA compiler driver, `--def-load-cache`). Loads whose space is known
/// only when they run are among them; in other spaces the operator means nothing.
pub fn loads_past_l1(module: &Module) -> String {
    let mut out = String::with_capacity(module.source.len());
    let mut at = 0;
    for token in &module.tokens {
        let (start, end) = (token.start as usize, token.end as usize);
        out.push_str(&module.source[at..start]);
        out.push_str(&past_l1(&module.source[start..end]));
        at = end;
    }
    out.push_str(&module.source[at..]);
    out
}

/// An opcode, or another token, that goes past the L1 if it is a load that does not say otherwise.
fn past_l1(opcode: &str) -> Cow<'_, str> {
    const SAID: [&str; 13] = [
        "volatile", "relaxed", "acquire", "ca", "cg", "cs", "lu", "cv", "nc", "shared", "local", "param",
        "const",
    ];
    let mut words = opcode.split('.');
    if words.next() != Some("ld") || words.clone().any(|word| SAID.contains(&word)) || opcode == "ld" {
        return Cow::Borrowed(opcode);
    }
    let (before, after): (Vec<&str>, Vec<&str>) = words.partition(|word| matches!(*word, "weak" | "global"));
    Cow::Owned(["ld"].into_iter().chain(before).chain(["cg"]).chain(after).collect::<Vec<_>>().join("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parser::parse;

    const TEXT: &str = "// head\n.version 7.8\n.target sm_35 // tail\n.address_size 64\n\
        .visible .entry k(.param .u32 n)\n{\n\t/* why */ ret;\n}\n";

    #[test]
    fn changes_are_the_only_difference() {
        let module = parse(TEXT).unwrap();
        assert_eq!(print(&module), TEXT);
        let span = module.functions[0].params[0].span;
        let end = Span { start: span.end, ..span };
        let edits = [
            Edit { span: end, text: ", .param .u32 m".into() },
            Edit { span, text: ".param .u32 size".into() },
        ];
        let text = print_with(&module, &edits).unwrap();
        assert_eq!(text, TEXT.replace(".u32 n", ".u32 size, .param .u32 m"));
        assert_eq!(parse(&text).unwrap().functions[0].params.len(), 2);
        let twice = [edits[1].clone(), edits[1].clone()];
        assert!(print_with(&module, &twice).unwrap_err().message.contains("overlap"));
    }

    #[test]
    fn loads_without_a_word_of_caches_go_past_the_l1() {
        let cases = [
            ("ld.global.f32", "ld.global.cg.f32"),
            ("ld.u64", "ld.cg.u64"),
            ("ld.global.v4.f32", "ld.global.cg.v4.f32"),
            ("ld.weak.global.b8", "ld.weak.global.cg.b8"),
            ("ld.global.ca.f32", "ld.global.ca.f32"),
            ("ld.global.nc.f32", "ld.global.nc.f32"),
            ("ld.volatile.global.u32", "ld.volatile.global.u32"),
            ("ld.shared.u32", "ld.shared.u32"),
            ("ld.param.u64", "ld.param.u64"),
            ("st.global.u32", "st.global.u32"),
            ("ldu.global.f32", "ldu.global.f32"),
            ("ld", "ld"),
        ];
        for (opcode, expected) in cases {
            assert_eq!(past_l1(opcode), expected);
        }
        let text = |load: &str| {
            format!(
                ".version 7.8\n.target sm_35\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b64 %r<4>;\n\
                 ld.param.u64 %r1, [p]; // ld.global.u64\n{load} %r2, [%r1];\nret;\n}}\n"
            )
        };
        let module = parse(&text("ld.global.u64")).unwrap();
        assert_eq!(loads_past_l1(&module), text("ld.global.cg.u64"));
    }
}
