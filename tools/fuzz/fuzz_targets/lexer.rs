//! Tokens of any text follow one another without overlap up to its end; a refusal names existing lines.
#![no_main]

use counterpoint_ptx::lexer::{TokenKind, tokenize};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match tokenize(text) {
        Ok(tokens) => {
            let mut end = 0;
            for token in &tokens {
                let (start, stop) = (token.start as usize, token.end as usize);
                assert!(end <= start, "tokens overlap");
                assert!(text.get(start..stop).is_some(), "a token ends within a character");
                assert_eq!(start == stop, token.kind == TokenKind::End);
                end = stop;
            }
            assert_eq!(end, text.len(), "the last token is not the end");
        }
        Err(errors) => {
            let lines = text.split('\n').count();
            assert!(!errors.is_empty(), "refused without a reason");
            assert!(errors.iter().all(|error| (1..=lines).contains(&(error.line as usize))), "{errors:?}");
        }
    }
});
