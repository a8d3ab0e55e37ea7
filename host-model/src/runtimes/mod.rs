//! Runtimes: the order in which the host does what the application asks for.
//!
//! A runtime is one file with its parameters and one line in the list.

counterpoint_framework::variants! {
    /// Registers the runtimes.
    pub(crate) fn register, of dyn Runtime;

    mod serial::Serial;
}

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;

use crate::driver::Driver;

/// Runs an application.
#[async_trait(?Send)]
pub trait Runtime {
    /// Does everything from prelude to postlude and returns when it is done.
    async fn run(&self, driver: &mut Driver<'_>) -> Result<(), Fault>;
}
