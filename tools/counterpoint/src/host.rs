//! The host: runtimes, which do the steps of an application, and the driver, through which they reach the devices.
//!
//! A [`Runtime`] is `async` and a trait object: its implementations bear [`macro@async_trait`].

#[doc(inline)]
pub use async_trait::async_trait;
#[doc(inline)]
pub use counterpoint_host_model::Driver;
#[doc(inline)]
pub use counterpoint_host_model::driver::threads::{Move, Piece, Thread};
#[doc(inline)]
pub use counterpoint_host_model::functional::Memories;
#[doc(inline)]
pub use counterpoint_host_model::runtimes::{
    Runtime, Sender, Sends, Walks, as_serial, phases, postlude, prelude,
};

/// Applications as runtimes see them: buffers, streams, and steps.
pub mod program {
    #[doc(inline)]
    pub use counterpoint_host_model::program::{
        Application, Argument, Awaited, Buffer, BufferId, BufferPlace, Condition, Cursor, DEFAULT_STREAM,
        Elementary, EventId, HostStep, LaunchStep, Member, Moved, Next, Range, Rows, Step, Stream, Task,
        Transfer,
    };
}
