//! The text layer: tokens, the module as it is written, and errors in it.

pub mod ast;
pub mod error;
pub mod lexer;
pub mod link;
pub mod parser;
pub mod rewrite;
pub mod types;
