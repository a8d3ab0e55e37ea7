//! Runtimes: the order in which the host executes the steps of the application.
//!
//! A runtime is one file with its parameters and one line in the list.

mod co_run;
mod steps;
mod walk;

counterpoint_framework::variants! {
    pub(crate) fn register, of dyn Runtime;

    pub(super) mod serial::Serial;
    mod live::Live;
    mod streams::Streams;
}

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_protocols::bus::Description;

use crate::driver::Driver;
use crate::program::{Application, Step};

pub use serial::phases;
pub use steps::Sender;
pub use walk::{Sends, Walks};

/// Runs an application.
#[async_trait(?Send)]
pub trait Runtime {
    /// The application as this runtime executes it: with kernels rewritten, or kernels and buffers of its own, where it needs that.
    ///
    /// # Errors
    /// If it cannot execute it.
    fn prepare(
        &self,
        application: &Arc<Application>,
        _devices: &BTreeMap<u32, Description>,
    ) -> Result<Arc<Application>, Fault> {
        Ok(Arc::clone(application))
    }

    /// Whether each narrow task becomes a kernel of its own. Where it does not, [`Runtime::prepare`] refuses tasks that fit nowhere.
    fn launches_tasks(&self) -> bool {
        true
    }

    /// Remark on an application without any step for which this runtime is meant.
    fn remark(&self, _application: &Application) -> Option<String> {
        None
    }

    /// Executes everything from prelude to postlude, as parts of the span `run`, and returns when it is done.
    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault>;
}

/// Remark of a runtime on an application without a step for which the runtime is meant, as `is_for` tells; `what` names these
/// steps.
pub fn as_serial(application: &Application, what: &str, is_for: impl Fn(&Step) -> bool) -> Option<String> {
    if application.steps.iter().any(|step| step.any(&is_for)) {
        return None;
    }
    let named = application.streams.len() - 1;
    let streams = if named > 1 { format!(", and its {named} streams are one") } else { String::new() };
    Some(format!("`{}` has no {what}: all of it is done as under `serial`{streams}", application.name))
}

/// Executes the steps of the host before the first copy, one after another, as the part `prelude` of the span `run`.
///
/// # Errors
/// If storage or memory answers no request.
pub async fn prelude(driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
    let prelude = driver.begin(Some(run), Level::Phases, "prelude");
    for step in &driver.application().prelude {
        driver.host(step, Some(prelude)).await?;
    }
    driver.end(prelude);
    Ok(())
}

/// Executes the steps of the host behind the last copy, one after another, as the part `postlude` of the span `run`.
///
/// # Errors
/// As [`prelude`].
pub async fn postlude(driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
    let postlude = driver.begin(Some(run), Level::Phases, "postlude");
    for step in &driver.application().postlude {
        driver.host(step, Some(postlude)).await?;
    }
    driver.end(postlude);
    Ok(())
}
