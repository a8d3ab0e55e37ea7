//! What can be known of a run before it begins: that blocks fit on the SMs, buffers, code and local memory into the memory of devices, and
//! that the machine has all that kernels need.

use counterpoint_framework::model::{Diagnostic, Diagnostics, Registry, Report};
use counterpoint_framework::time::Bytes;
use counterpoint_framework::topology::{Instance, Loaded, Machine};
use counterpoint_hardware::gpu::room::Room;
use counterpoint_host_model::Layout;
use counterpoint_host_model::program::Application;

use super::{RunError, RunRequest};
use crate::application::{Launched, LoadedApplication};

/// Finds what keeps a run from ending well, as far as that can be known before it begins.
///
/// # Errors
/// All of it.
pub fn feasible(
    request: &RunRequest,
    registry: &Registry,
    machine: &Loaded,
    loaded: &LoadedApplication,
) -> Result<(), Vec<RunError>> {
    let mut errors = Vec::new();
    let rooms = Room::of(&machine.machine, registry.families());
    if !request.functional {
        let mut diagnostics = Diagnostics::default();
        let mut told = Vec::<&Launched>::new();
        for launched in &loaded.launched {
            // Of a launch in rounds, the first one that fits nowhere is enough.
            if told.iter().any(|before| before.span == launched.span) {
                continue;
            }
            if let Some(diagnostic) = infeasible(launched, &rooms) {
                diagnostics.report(diagnostic);
                told.push(launched);
            }
        }
        if !diagnostics.is_empty() {
            errors.push(Report::new(&diagnostics, loaded.sources.clone()).into());
        }
    }
    errors.extend(lacking(&machine.machine, &loaded.application, &rooms).into_iter().map(RunError::Usage));
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Why a launch cannot run with time.
fn infeasible(Launched { span, launch }: &Launched, rooms: &[Room]) -> Option<Diagnostic> {
    let kernel = &launch.kernel;
    if kernel.prints() {
        let message = format!("`{}` calls vprintf, which only a run without time has", kernel.name());
        return Some(Diagnostic::new(*span, message).help("run it with `--functional`"));
    }
    let threads = launch.block.iter().product();
    let shared = kernel.shared_bytes() + launch.shared;
    let why = rooms.get(launch.device as usize)?.lacks(threads, launch.registers, shared)?;
    let diagnostic = Diagnostic::new(*span, format!("a block of `{}` {why}", kernel.name()));
    let has = format!(
        "it has {threads} threads of {} registers (`registers:`, or an estimate) and {shared} bytes of shared memory (`shared:` and \
         what the kernel declares)",
        launch.registers
    );
    Some(diagnostic.help(has))
}

/// Which devices are not there, or too small for the buffers and what kernels need besides.
fn lacking(machine: &Machine, application: &Application, rooms: &[Room]) -> Vec<String> {
    let of = |kind: &'static str| machine.instances.iter().filter(move |one| one.kind == kind);
    let bytes = |one: &Instance, name: &str| one.params.get(name)?.as_scalar()?.parse::<Bytes>().ok();
    let Some(page) = of("host/cpu").next().and_then(|cpu| bytes(cpu, "page")) else { return Vec::new() };
    let layout = Layout::of(application, page.get());
    let fronts: Vec<&Instance> = of("gpu/command-processor").collect();
    // Of devices of other kinds nothing is known before they run.
    if fronts.is_empty() {
        return Vec::new();
    }
    let why = |&device: &u32| match fronts.get(device as usize) {
        Some(front) => {
            let memory = bytes(front, "memory")?.get();
            let capacity = rooms.get(device as usize).map(Room::capacity).unwrap_or_default();
            layout.all_beyond(application, page.get(), device, memory, capacity)
        }
        None => Some(format!("device {device} of {} does not exist", fronts.len())),
    };
    layout.ends.keys().filter_map(why).collect()
}
