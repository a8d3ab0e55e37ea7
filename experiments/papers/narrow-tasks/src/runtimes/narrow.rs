//! The common part of runtimes of narrow tasks: the times of copies, and kernels that stay on the GPU and
//! take tasks from memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::task_entry::{self, Demand, FREE, Parameters};
use counterpoint::component::Choice;
use counterpoint::host::program::{Application, BufferId, DEFAULT_STREAM, LaunchStep, Range, Step, Task};
use counterpoint::host::{Driver, as_serial};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Direction;
use counterpoint::messages::launch::SmResources;
use counterpoint::ptx::Kernel;
use counterpoint::telemetry::SpanId;

use super::pagoda::entry;

/// When inputs and results of tasks are copied.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    /// With each task, or with the tasks that are sent together.
    Beside,
    /// All inputs before the first task, all results when the last one is done: the time between is that of
    /// the tasks alone.
    Apart,
}

/// The name of a module and its device.
pub(super) type Key = (Arc<str>, u32);

/// The module and the device of a launch.
pub(super) fn key(launch: &LaunchStep) -> Key {
    (Arc::clone(&launch.code), launch.device)
}

/// The module and the device of the tasks of a step; `None` if the step has none.
///
/// # Errors
/// If the tasks are of several modules or devices: the kernel that takes them is part of one.
pub(super) fn key_of(tasks: &[Task]) -> Result<Option<Key>, Fault> {
    let mut keys = tasks.iter().map(|task| key(&task.launch));
    let Some(first) = keys.next() else { return Ok(None) };
    match keys.find(|key| *key != first) {
        None => Ok(Some(first)),
        Some(other) => Err(Fault::new(format!(
            "the tasks of a step are in the modules `{}` and `{}`: what takes them from memory is part of one module and calls \
             functions of that",
            first.0, other.0
        ))),
    }
}

/// The steps of tasks of an application by their modules.
///
/// # Errors
/// If the tasks of a step are of several.
pub(super) fn steps(application: &Application) -> Result<BTreeMap<Key, Vec<&[Task]>>, Fault> {
    fn collect<'a>(steps: &'a [Step], found: &mut BTreeMap<Key, Vec<&'a [Task]>>) -> Result<(), Fault> {
        for step in steps {
            match step {
                Step::Tasks(tasks) => {
                    if let Some(key) = key_of(tasks)? {
                        found.entry(key).or_default().push(tasks);
                    }
                }
                step => collect(step.inner(), found)?,
            }
        }
        Ok(())
    }
    let mut found = BTreeMap::new();
    collect(&application.steps, &mut found)?;
    Ok(found)
}

/// Remark on an application without narrow tasks.
pub(super) fn remark(application: &Application) -> Option<String> {
    as_serial(application, "narrow tasks", |step| matches!(step, Step::Tasks(_)))
}

/// The tasks of an application by their modules.
///
/// # Errors
/// If those of a step are of several.
pub(super) fn tasks(application: &Application) -> Result<BTreeMap<Key, Vec<&Task>>, Fault> {
    let steps = steps(application)?.into_iter();
    Ok(steps.map(|(key, steps)| (key, steps.into_iter().flatten().collect())).collect())
}

/// Puts a kernel into the module of an application.
pub(super) fn add_kernel(application: &mut Application, key: &Key, kernel: &Arc<Kernel>) {
    let mut modules = application.modules.iter_mut();
    if let Some(module) = modules.find(|module| *module.name == *key.0 && module.device == key.1)
        && module.kernels.iter().all(|known| known.name() != kernel.name())
    {
        module.kernels.push(Arc::clone(kernel));
    }
}

/// A resident kernel in the module of an application, and the buffers that were added for it.
///
/// # Errors
/// If the kernel or a buffer is missing.
pub(super) fn find<const N: usize>(
    application: &Application,
    key: &Key,
    kernel: &str,
    buffers: [String; N],
) -> Result<(Arc<Kernel>, [BufferId; N]), Fault> {
    let unknown = || Fault::new(format!("`{}` has no `{kernel}`", key.0));
    let mut modules = application.modules.iter();
    let module =
        modules.find(|module| *module.name == *key.0 && module.device == key.1).ok_or_else(unknown)?;
    let found = module.kernels.iter().find(|known| known.name() == kernel).ok_or_else(unknown)?;
    let mut places = [BufferId(0); N];
    for (place, name) in places.iter_mut().zip(buffers) {
        let position = application.buffers.iter().position(|buffer| buffer.name == name);
        *place = BufferId(position.ok_or_else(unknown)? as u32);
    }
    Ok((Arc::clone(found), places))
}

/// Refuses a task whose descriptor does not fit into an entry.
pub(super) fn check(task: &Task, kernel: &Kernel) -> Result<(), Fault> {
    let name = task.launch.kernel.name();
    let fits = entry::function(kernel, name).and_then(|_| entry::check_arguments(task));
    fits.map_err(|error| Fault::new(format!("task `{name}`: {error}")))
}

/// Descriptor of a task with this demand, in the form in which a resident kernel reads it from memory.
pub(super) fn queued(
    driver: &Driver<'_>,
    kernel: &Kernel,
    launch: &LaunchStep,
    demand: Demand,
) -> Result<Vec<u8>, Fault> {
    let function = entry::function(kernel, launch.kernel.name()).map_err(Fault::new)?;
    let parameters = Parameters { demand, function, arguments: driver.params_of(launch) };
    Ok(task_entry::bytes(FREE, &parameters))
}

/// Blocks of a resident kernel that an SM holds, with these threads, registers a thread and bytes of shared
/// memory besides the kernel's own.
pub(super) fn most_blocks(
    kernel: &Kernel,
    sm: SmResources,
    threads: u32,
    registers: u32,
    dynamic: u32,
) -> u32 {
    let fit = |offered: u32, demanded: u32| offered.checked_div(demanded).unwrap_or(u32::MAX);
    let most = sm.ctas.min(fit(sm.threads, threads));
    most.min(fit(sm.registers, registers * threads)).min(fit(sm.shared, kernel.shared_bytes() + dynamic))
}

/// Blocks of a resident kernel on each SM: the requested number, or for 0 the largest number that fits
/// ([`most_blocks`]).
///
/// # Errors
/// If the SM does not hold the requested number.
pub(super) fn blocks(
    kernel: &Kernel,
    sm: SmResources,
    threads: u32,
    registers: u32,
    dynamic: u32,
    wanted: u32,
) -> Result<u32, Fault> {
    let shared = kernel.shared_bytes() + dynamic;
    let most = most_blocks(kernel, sm, threads, registers, dynamic);
    if most == 0 || wanted > most {
        return Err(Fault::new(format!(
            "an SM holds {most} blocks of `{}` with {threads} threads of {registers} registers, not {}: each takes {shared} bytes of \
             shared memory, and it has {} threads, {} registers and {} bytes",
            kernel.name(),
            wanted.max(1),
            sm.threads,
            sm.registers,
            sm.shared
        )));
    }
    Ok(if wanted == 0 { most } else { wanted })
}

/// Copies inputs or results of tasks in streams that take turns, and waits for the copies.
///
/// # Errors
/// If a buffer has been freed.
pub(super) async fn copy_all(
    driver: &mut Driver<'_>,
    tasks: &[Task],
    direction: Direction,
    streams: std::ops::Range<u32>,
    parent: SpanId,
) -> Result<(), Fault> {
    let mut copies = Vec::new();
    for (task, stream) in tasks.iter().zip(streams.cycle()) {
        let parts = match direction {
            Direction::HostToDevice => &task.copy_in,
            Direction::DeviceToHost => &task.copy_out,
        };
        for &part in parts {
            copies.push(driver.copy_part(direction, part, stream, Some(parent)).await?);
        }
    }
    for copy in copies {
        driver.wait(copy).await?;
    }
    Ok(())
}

/// Copies a part of a buffer and waits for the copy.
///
/// # Errors
/// If the buffer has been freed.
pub(super) async fn copied(
    driver: &mut Driver<'_>,
    direction: Direction,
    part: Range,
    parent: SpanId,
) -> Result<(), Fault> {
    let copy = driver.copy_part(direction, part, DEFAULT_STREAM, Some(parent)).await?;
    driver.wait(copy).await
}
