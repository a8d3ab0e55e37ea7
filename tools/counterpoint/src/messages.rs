//! Messages that components exchange, by the place where they travel. They have no behaviour.
//!
//! A component that receives a message decides about each of its variants, so a new variant changes the version. `BusMessage` alone may
//! get new ones, as most of its receivers pass it on.

/// Between host and device: commands, completions, and the device's accesses to host memory.
pub mod bus {
    #[doc(inline)]
    pub use counterpoint_protocols::bus::{
        BusMessage, BusSocket, Command, CommandId, Copy, Description, Direction, Move, RowSource, RowTarget,
        Rows, Title, Work,
    };
}

/// Additions of an extension to messages, which all others pass on unread.
pub mod extra {
    #[doc(inline)]
    pub use counterpoint_protocols::extra::{Extra, LineTag, Note, Payload};
}

/// Kernel launches, from the command processor to the CTA scheduler, and thread blocks from there to the SMs.
pub mod launch {
    #[doc(inline)]
    pub use counterpoint_protocols::launch::{
        BlockContext, Counted, CtaCounts, Launch, LaunchClient, LaunchEvent, LaunchId, LaunchName,
        LaunchServer, Precedence, Preemption, RunCta, SmClient, SmEvent, SmResources, SmServer, ToScheduler,
        ToSm, fault_of,
    };
    #[doc(inline)]
    pub use counterpoint_protocols::local::{Capacity, LocalMemory};
}

/// Memory accesses: whole lines with byte masks, their values, and writes to watched buffers.
pub mod memory {
    #[doc(inline)]
    pub use counterpoint_protocols::memory::{
        AtomicLane, AtomicOperation, AtomicType, ByteMask, LINE_BYTES, Label, Line, MemAccess, MemReply,
        MemRequest, MemResult, MemoryClient, MemoryServer, Tag, line_of, merge, sectors,
    };
    #[doc(inline)]
    pub use counterpoint_protocols::values::Values;
    #[doc(inline)]
    pub use counterpoint_protocols::write_log::{WriteTarget, Written};
}

/// Between the command processor and an authority over pages.
pub mod pages {
    #[doc(inline)]
    pub use counterpoint_protocols::pages::{PageClient, PageCommand, PageEvent, PageServer};
}

/// Between an SM and the MMU, or an authority over pages in its place.
pub mod translation {
    #[doc(inline)]
    pub use counterpoint_protocols::translation::{
        Change, MmuReply, MmuRequest, RangeClaim, TranslationClient, TranslationServer,
    };
}
