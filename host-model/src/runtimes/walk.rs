//! The order of an application's steps for any sender: names that are exchanged, rounds, and loops that the
//! device ends.

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::bus::Direction;

use crate::driver::Driver;
use crate::program::{Condition, DEFAULT_STREAM, HostStep, LaunchStep, Member, Moved, Range, Step, Task};

/// Does single steps.
#[async_trait(?Send)]
pub trait Sends {
    /// Launches a kernel.
    async fn launch(&mut self, driver: &mut Driver<'_>, launch: &LaunchStep) -> Result<(), Fault>;

    /// Copies a part of a buffer on a stream.
    async fn copy(
        &mut self,
        driver: &mut Driver<'_>,
        direction: Direction,
        part: Range,
        stream: u32,
    ) -> Result<(), Fault>;

    /// Fills or copies rows on a stream. A sender of before there were such steps refuses them.
    async fn move_rows(
        &mut self,
        _driver: &mut Driver<'_>,
        _moved: &Moved,
        _stream: u32,
    ) -> Result<(), Fault> {
        Err(Fault::new("this runtime neither fills memory nor copies rows"))
    }

    /// Does what the host does by itself.
    async fn host(&mut self, driver: &mut Driver<'_>, step: &HostStep) -> Result<(), Fault> {
        driver.host(step, None).await
    }

    /// Does what orders streams, holds the host or frees memory.
    async fn send(&mut self, driver: &mut Driver<'_>, step: &Step) -> Result<(), Fault>;

    /// Looks whether a loop is to end, behind all that was sent before.
    async fn inspect(&mut self, driver: &mut Driver<'_>, until: &Condition) -> Result<bool, Fault>;
}

/// Does the steps of an application. A runtime says what it does in its own way, and who does the rest.
#[async_trait(?Send)]
pub trait Walks {
    /// Sender of single steps.
    fn sends(&mut self) -> &mut dyn Sends;

    /// Does a task pipeline: one batch after another, unless the runtime knows better.
    async fn pipeline(
        &mut self,
        driver: &mut Driver<'_>,
        _kernels: u32,
        launches: &[Step],
    ) -> Result<(), Fault> {
        self.walk(driver, launches).await
    }

    /// Does tasks: one after another, unless the runtime knows better.
    async fn tasks(&mut self, driver: &mut Driver<'_>, tasks: &[Task]) -> Result<(), Fault> {
        for Task { copy_in, launch, copy_out, .. } in tasks {
            for &part in copy_in {
                self.sends().copy(driver, Direction::HostToDevice, part, DEFAULT_STREAM).await?;
            }
            self.sends().launch(driver, launch).await?;
            for &part in copy_out {
                self.sends().copy(driver, Direction::DeviceToHost, part, DEFAULT_STREAM).await?;
            }
        }
        Ok(())
    }

    /// Does the rounds of applications that run together: one after another, unless the runtime knows better.
    async fn co_run(
        &mut self,
        driver: &mut Driver<'_>,
        members: &[Member],
        rounds: &[Step],
    ) -> Result<(), Fault> {
        one_after_another(self, driver, members, rounds).await
    }

    /// All steps have been done: ends what was begun for them.
    async fn finish(&mut self, _driver: &mut Driver<'_>) -> Result<(), Fault> {
        Ok(())
    }

    /// Does steps in their order.
    async fn walk(&mut self, driver: &mut Driver<'_>, steps: &[Step]) -> Result<(), Fault> {
        for step in steps {
            match step {
                Step::Launch(launch) => self.sends().launch(driver, launch).await?,
                Step::Copy { direction, part, stream } => {
                    self.sends().copy(driver, *direction, *part, *stream).await?;
                }
                Step::Move { moved, stream } => self.sends().move_rows(driver, moved, *stream).await?,
                Step::Host(step) => self.sends().host(driver, step).await?,
                // A phase of a loop may have none.
                Step::Tasks(tasks) if tasks.is_empty() => {}
                Step::Tasks(tasks) => self.tasks(driver, tasks).await?,
                Step::Swap(a, b) => driver.swap(*a, *b),
                Step::Repeat(times, steps) => {
                    for _ in 0..*times {
                        self.walk(driver, steps).await?;
                    }
                }
                Step::Pipeline { kernels, launches } => self.pipeline(driver, *kernels, launches).await?,
                Step::CoRun { members, rounds } => self.co_run(driver, members, rounds).await?,
                Step::Loop { until, most, steps } => {
                    let mut rounds = 0;
                    loop {
                        self.walk(driver, steps).await?;
                        rounds += 1;
                        if self.sends().inspect(driver, until).await? {
                            break;
                        }
                        if rounds == *most {
                            return Err(Fault::new(until.never(*most)));
                        }
                    }
                }
                step => self.sends().send(driver, step).await?,
            }
        }
        Ok(())
    }
}

/// Does the rounds of applications once each, one after another.
pub(super) async fn one_after_another<W: Walks + ?Sized>(
    walker: &mut W,
    driver: &mut Driver<'_>,
    members: &[Member],
    rounds: &[Step],
) -> Result<(), Fault> {
    for (member, round) in members.iter().zip(rounds) {
        walker.walk(driver, std::slice::from_ref(round)).await?;
        for &buffer in &member.copy_out {
            let whole = driver.application().whole(buffer);
            walker.sends().copy(driver, Direction::DeviceToHost, whole, member.stream).await?;
        }
    }
    Ok(())
}
