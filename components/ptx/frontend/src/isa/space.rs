//! State spaces whose accesses leave the core, and their windows among generic addresses (PTX ISA 5.1).

/// State spaces whose accesses can leave the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Device memory.
    Global,
    /// The CTA's own memory; addresses are offsets in it.
    Shared,
    /// The thread's own memory; addresses are offsets in it.
    Local,
    /// Constant memory.
    Const,
}

/// An address window of the generic space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Shared,
    Local,
    Global,
    Const,
    /// The local memory of the function that runs.
    Frame,
}
