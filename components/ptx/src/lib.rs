//! PTX without time: text to module, module to decoded kernels, and the execution of one warp
//! instruction at a time over 32 lanes.
//!
//! The crate owns no memory and knows no cycles. [`Warp::issue`] returns a load or store as an [`Access`]; the model of the
//! memory system answers it with [`Warp::complete_load`], at once or thousands of cycles later. [`functional`] is the smallest
//! such model: a flat array of bytes.
//!
//! The path of a kernel: [`lexer`] → [`parser`] → [`ast`] → [`decode`](decode::decode) → [`Kernel`] → [`Warp`].
//!
//! The crate has layers, and each imports only those below it, which `tests/tidy.rs` checks:
//! `syntax` → [`isa`] → [`analysis`] → `program` → `execute` → [`functional`]. [`instrument`] and [`mod@slice`]
//! are beside `program`. All up to `program` are `counterpoint-ptx-frontend`, which is compiled beside the others and for size.
//!
//! - `execute`: a warp, its accesses, and reports on one that cannot continue.
//! - [`functional`]: whole launches on a flat memory.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.
//!
//! ```
//! use counterpoint_ptx::Kernel;
//! let source = ".version 7.8\n.target sm_35\n.address_size 64\n
//!     .visible .entry nothing(.param .u32 n) { ret; }";
//! let kernel = Kernel::compile(source, None).unwrap();
//! assert_eq!((kernel.name(), kernel.param_bytes()), ("nothing", 4));
//! ```

mod execute;
pub mod functional;

pub use counterpoint_ptx_frontend::{analysis, instrument, isa, slice};
use counterpoint_ptx_frontend::{program, syntax};

pub use analysis::cfg::NO_PC;
pub use execute::{
    Access, AccessKind, Allocation, Allocations, CtaEnvironment, ExecError, Failure, FaultKind, Issue,
    Issued, PollStep, RangeCall, Rights, Votes, Waiting, Warp, Windows, endless, printf, standstill, surface,
    texture,
};
pub use isa::{AtomicOperation, AtomicType, CacheOperator, Latency, Order, RangeAction, Reach, Space, Unit};
pub use program::launches;
pub use program::{
    Class, FileAccesses, Heap, InitialAddress, Instruction, Kernel, Param, ParamField, RegisterSet, Row,
    StackSize, Symbol, VariableBases, decode,
};
pub use syntax::error::PtxError;
pub use syntax::{ast, error, lexer, link, parser, rewrite};
