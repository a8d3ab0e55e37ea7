//! The order of an application's steps for any sender: that of a [`Cursor`], except for the groups of steps that a runtime executes
//! in its own way.

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;

use crate::driver::Driver;
use crate::program::{Condition, Cursor, Elementary, Next, Step};

/// Executes elementary steps.
#[async_trait(?Send)]
pub trait Sends {
    /// Executes a step.
    async fn send(&mut self, driver: &mut Driver<'_>, step: Elementary<'_>) -> Result<(), Fault>;

    /// Checks whether a loop is to end, after everything sent before.
    async fn inspect(&mut self, driver: &mut Driver<'_>, until: &Condition) -> Result<bool, Fault>;
}

/// Executes the steps of an application. A runtime defines the groups that it executes in its own way, and the sender of the
/// other steps.
#[async_trait(?Send)]
pub trait Walks {
    /// Sender of elementary steps.
    fn sends(&mut self) -> &mut dyn Sends;

    /// Executes a pipeline, tasks or rounds of a co-run in the runtime's own way. False if it has none: the steps of the group are then
    /// executed one after another.
    async fn group(&mut self, _driver: &mut Driver<'_>, _group: &Step) -> Result<bool, Fault> {
        Ok(false)
    }

    /// All steps have been executed: ends the work begun for them.
    async fn finish(&mut self, _driver: &mut Driver<'_>) -> Result<(), Fault> {
        Ok(())
    }

    /// Executes steps in order.
    async fn walk(&mut self, driver: &mut Driver<'_>, steps: &[Step]) -> Result<(), Fault> {
        let mut cursor = Cursor::new(steps);
        while let Some(next) = cursor.next() {
            match next {
                Next::Do(step) => self.sends().send(driver, step).await?,
                Next::Swap(a, b) => driver.swap(a, b),
                Next::Inspect(until) => cursor.looked(self.sends().inspect(driver, until).await?)?,
                Next::Group(group) => {
                    if self.group(driver, group).await? {
                        cursor.pass_by();
                    }
                }
            }
        }
        Ok(())
    }
}
