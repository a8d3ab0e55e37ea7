//! The order of an application's steps, whoever sends them: names that are exchanged, rounds, and loops that the device ends.

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;

use crate::driver::Driver;
use crate::program::{Condition, Step};

/// Sends steps to the devices.
#[async_trait(?Send)]
pub(super) trait Sends {
    /// Does a step that has no steps within it.
    async fn send(&mut self, driver: &mut Driver<'_>, step: &Step) -> Result<(), Fault>;

    /// Looks whether a loop is to end, behind all that was sent before.
    async fn look(&mut self, driver: &mut Driver<'_>, until: &Condition) -> Result<bool, Fault>;

    /// Does a task pipeline of so many kernels: one batch after another, unless the runtime knows better.
    async fn pipeline(
        &mut self,
        driver: &mut Driver<'_>,
        _kernels: u32,
        launches: &[Step],
    ) -> Result<(), Fault> {
        for launch in launches {
            self.send(driver, launch).await?;
        }
        Ok(())
    }

    /// Does steps in their order.
    async fn walk(&mut self, driver: &mut Driver<'_>, steps: &[Step]) -> Result<(), Fault> {
        for step in steps {
            match step {
                Step::Swap(a, b) => driver.swap(*a, *b),
                Step::Repeat(times, steps) => {
                    for _ in 0..*times {
                        self.walk(driver, steps).await?;
                    }
                }
                Step::Pipeline { kernels, launches } => self.pipeline(driver, *kernels, launches).await?,
                Step::Loop { until, most, steps } => {
                    let mut rounds = 0;
                    loop {
                        self.walk(driver, steps).await?;
                        rounds += 1;
                        if self.look(driver, until).await? {
                            break;
                        }
                        if rounds == *most {
                            return Err(Fault::new(until.never(*most)));
                        }
                    }
                }
                step => self.send(driver, step).await?,
            }
        }
        Ok(())
    }
}
