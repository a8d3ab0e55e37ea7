//! The storey of text: tokens, the module as it is written, and what can be wrong with it.

pub mod ast;
pub mod error;
pub mod lexer;
pub mod parser;
pub mod rewrite;
pub(crate) mod types;
