//! Runtimes: the order in which the host does what the application asks for.
//!
//! A runtime is one file with its parameters and one line in `register`.

mod serial;

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Registry;

use crate::driver::Driver;

/// Registers the runtimes, in the order in which they are listed to users.
pub(crate) fn register(registry: &mut Registry) {
    registry.variant::<dyn Runtime, serial::Serial>();
}

/// Runs an application.
#[async_trait(?Send)]
pub trait Runtime {
    /// Does everything from prelude to postlude and returns when it is done.
    async fn run(&self, driver: &mut Driver<'_>) -> Result<(), Fault>;
}
