//! Parts of the GPU that an extension can supply: policies, rules, and authorities.

#[doc(inline)]
pub use counterpoint_hardware::memory::table::Table;

/// The CTA scheduler: policies that choose the SM of each block.
pub mod cta_scheduler {
    #[doc(inline)]
    pub use counterpoint_hardware::gpu::cta_scheduler::{
        CtaPolicy, CtaScheduler, Departure, Occupancy, Placement, Resident, Running, Sm, Turn, View, check,
        neighbours,
    };

    /// Blocks that fit on an SM.
    pub mod occupancy {
        #[doc(inline)]
        pub use counterpoint_hardware::gpu::cta_scheduler::occupancy::blocks;
    }
}

/// Warp schedulers of an SM: policies that choose the warp that issues.
pub mod warp_scheduler {
    #[doc(inline)]
    pub use counterpoint_hardware::gpu::sm::{L1Lookup, L1Result, NextInstruction, View, WarpPolicy};
}

/// Slices of the L2, with rules for lines that bear the tag of an extension.
pub mod l2 {
    #[doc(inline)]
    pub use counterpoint_hardware::memory::l2_slice::L2Slice;
    #[doc(inline)]
    pub use counterpoint_hardware::memory::line_rule::LineRule;
}

/// The MMU, with authorities that decide when a launch may access a page.
pub mod mmu {
    #[doc(inline)]
    pub use counterpoint_hardware::gpu::mmu::Mmu;
    #[doc(inline)]
    pub use counterpoint_hardware::gpu::mmu::authority::{Authority, Outbox, Tables};
}

/// Sizes and costs of an SM, for components of another crate that stand for SMs. They are unstable: a change of them does not change the
/// version.
pub mod sm {
    #[doc(inline)]
    pub use counterpoint_hardware::gpu::room::ModelledSms;
    #[doc(inline)]
    pub use counterpoint_hardware::gpu::sm::params::SmParams;
    #[doc(inline)]
    pub use counterpoint_hardware::gpu::sm::{SharedBanks, Units};
}
