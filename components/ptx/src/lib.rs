//! PTX without time: text to module, module to decoded kernels, and the execution of one warp
//! instruction at a time over 32 lanes.
//!
//! The crate owns no memory and knows no cycles. A load or store comes out of [`Warp::issue`] as an
//! [`Access`]; whoever models the memory system answers it with [`Warp::complete_load`], at once or
//! thousands of cycles later. [`functional`] is the smallest such model: a flat array of bytes.
//!
//! The way of a kernel: [`lexer`] → [`parser`] → [`ast`] → [`decode`](decode::decode) → [`Program`] → [`Warp`].
//!
//! ```
//! use counterpoint_ptx::Program;
//! let source = ".version 7.8\n.target sm_35\n.address_size 64\n
//!     .visible .entry nothing(.param .u32 n) { ret; }";
//! let program = Program::compile(source, None).unwrap();
//! assert_eq!((program.name(), program.param_bytes()), ("nothing", 4));
//! ```

mod allocations;
pub mod analysis;
pub mod ast;
pub mod decode;
pub mod endless;
pub mod error;
mod execute;
pub mod functional;
mod image;
pub mod isa;
pub mod lexer;
pub mod parser;
pub mod printf;
pub mod profile;
mod program;
pub mod rewrite;
mod standstill;
pub mod texture;
mod types;

pub use allocations::{Allocation, Allocations, Rights};
pub use analysis::cfg::NO_PC;
pub use error::PtxError;
pub use execute::{
    Access, AccessKind, CtaEnvironment, ExecError, Failure, Issue, Issued, PollStep, RangeCall, Votes, Warp,
    Windows,
};
pub use image::VariableBases;
pub use isa::{AtomicOperation, AtomicType, CacheOperator, Latency, Order, RangeAction, Reach, Space, Unit};
pub use program::{
    Class, FileAccesses, InitialAddress, Instruction, Param, Program, RegisterSet, Row, Symbol,
};
pub use standstill::{Waiting, standstill};
