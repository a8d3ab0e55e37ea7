//! PTX: parsed, compiled into kernels, and executed.

#[doc(inline)]
pub use counterpoint_ptx::ast::Module;
#[doc(inline)]
pub use counterpoint_ptx::link::link;
#[doc(inline)]
pub use counterpoint_ptx::parser::parse;
#[doc(inline)]
pub use counterpoint_ptx::rewrite::loads_past_l1;
#[doc(inline)]
pub use counterpoint_ptx::{
    Access, AccessKind, Allocations, Class, Failure, Instruction, Issue, Issued, Kernel, PtxError,
    RegisterSet, Space, Unit, VariableBases, Windows,
};

/// Whole grids, executed without time.
pub mod functional {
    #[doc(inline)]
    pub use counterpoint_ptx::functional::{
        Check, Finding, FlatMemory, Grid, Observer, Options, Statistics, ctas, run,
    };
}

/// Kernels that name the bytes that the blocks of another kernel may touch.
pub mod instrument {
    #[doc(inline)]
    pub use counterpoint_ptx::instrument::{
        Instrumented, InstrumentedKernel, Options, Semi, dimension_parameters, instrument, is_pre_profiler,
        pre_profiler,
    };
}

/// Kernels that run a part of a grid.
pub mod slice {
    #[doc(inline)]
    pub use counterpoint_ptx::slice::{
        Carry, Dimensions, Options, Refusal, Slice, Sliced, SlicedKernel, is_sliced, parameters, slice,
        sliced,
    };
}
