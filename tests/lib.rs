//! The common part of the system tests and the tests of papers. The system tests themselves are one test
//! binary, `main.rs`.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on has failed")]

pub mod command;
pub mod launches;
pub mod observed;
pub mod pages;
pub mod points;
pub mod probe;
pub mod quarters;
pub mod support;
