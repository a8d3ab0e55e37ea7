//! PTX from text to programs. `counterpoint-ptx` above this crate executes the programs and exports all items; this crate is
//! public for it alone.
//!
//! Each layer imports only those above it in this list, which `tests/tidy.rs` checks:
//!
//! - [`syntax`]: tokens, the module as it is written, errors of the text, and printing it back.
//! - [`isa`]: the instruction table, operations on lanes, state spaces.
//! - [`analysis`]: control flow, liveness, values, and the addresses of accesses.
//! - [`instrument`]: modules whose kernels report the bytes that their blocks may touch.
//! - [`mod@slice`]: kernels that run a part of a grid.
//! - [`program`]: decoding, and kernels as it leaves them.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.
#![allow(missing_docs, reason = "what people use is documented, and exported by `counterpoint-ptx`")]

pub mod analysis;
pub mod instrument;
pub mod isa;
pub mod program;
pub mod slice;
pub mod syntax;
