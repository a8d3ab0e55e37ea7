//! Checks of a run before it begins: that blocks fit on the SMs, buffers, code and local memory into the
//! memory of devices, and that the machine has all that kernels need.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint_framework::model::{Diagnostic, Diagnostics, Params, Reader, Registry, Report};
use counterpoint_framework::time::Bytes;
use counterpoint_framework::topology::{Instance, Loaded, Machine};
use counterpoint_hardware::gpu::room::Room;
use counterpoint_host_model::Layout;
use counterpoint_host_model::cpu::CpuParams;
use counterpoint_host_model::program::Application;
use counterpoint_protocols::bus::Description;
use counterpoint_protocols::local::Capacity;
use counterpoint_protocols::roles;

use super::{RunError, RunErrors, RunRequest};
use crate::application::{Launched, LoadedApplication};

/// Finds reasons for which a run cannot succeed, as far as they are known before it begins.
///
/// # Errors
/// All reasons.
pub fn feasible(
    request: &RunRequest,
    registry: &Registry,
    machine: &Loaded,
    loaded: &LoadedApplication,
) -> Result<(), RunErrors> {
    let cpu = cpu(&machine.machine, registry);
    let rooms = Room::of(&machine.machine, registry);
    let devices = described(&machine.machine, &rooms);
    let runtime = cpu.as_ref().and_then(CpuParams::runtime);
    let mut errors: Vec<RunError> = Vec::new();
    if !request.functional {
        let mut diagnostics = Diagnostics::default();
        let mut told = Vec::<&Launched>::new();
        let launches_tasks = runtime.as_ref().is_none_or(|runtime| runtime.launches_tasks());
        for launched in loaded.launched.iter().filter(|launched| launches_tasks || !launched.task) {
            // One report is enough for a launch that is repeated in rounds.
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
    // The needs of other kinds of device are unknown before they run.
    if let Some(cpu) = cpu.filter(|_| !devices.is_empty()) {
        let application = Arc::new(loaded.application.clone());
        let prepared = match runtime.filter(|_| errors.is_empty() && !request.functional) {
            Some(runtime) => runtime.prepare(&application, &devices),
            None => Ok(application),
        };
        match prepared {
            Ok(application) => {
                let lacking = lacking(&application, cpu.page().get(), &devices, request.functional);
                errors.extend(lacking.into_iter().map(RunError::Usage));
            }
            Err(fault) => errors.push(RunError::Usage(fault.to_string())),
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.into_iter().collect()) }
}

/// The runtime's remark on an application.
pub(super) fn remark(registry: &Registry, machine: &Loaded, loaded: &LoadedApplication) -> Option<String> {
    cpu(&machine.machine, registry)?.runtime()?.remark(&loaded.application)
}

/// Why a launch cannot run with time.
fn infeasible(Launched { span, launch, cooperative, .. }: &Launched, rooms: &[Room]) -> Option<Diagnostic> {
    let kernel = &launch.kernel;
    if let Some(why) = rooms.get(launch.device as usize)?.lacks_unit(kernel) {
        let diagnostic = Diagnostic::new(*span, format!("`{}` {why}", kernel.name()));
        return Some(diagnostic.help("give the SMs `tensor.units`, or run it with `--functional`"));
    }
    let threads = launch.block.iter().product();
    let shared = kernel.shared_bytes() + launch.shared;
    let room = rooms.get(launch.device as usize)?;
    let at_once = room.blocks(threads, launch.registers, shared);
    if *cooperative && at_once > 0 && launch.ctas() > at_once {
        let message = format!(
            "the {} blocks of `{}` cannot all run at once, and the launch is cooperative",
            launch.ctas(),
            kernel.name()
        );
        return Some(
            Diagnostic::new(*span, message).help(format!("the device has room for {at_once} of them")),
        );
    }
    let why = room.lacks(threads, launch.registers, shared)?;
    let diagnostic = Diagnostic::new(*span, format!("a block of `{}` {why}", kernel.name()));
    let has = format!(
        "it has {threads} threads of {} registers (`registers:`, or an estimate) and {shared} bytes of shared memory (`shared:` and \
         what the kernel declares)",
        launch.registers
    );
    Some(diagnostic.help(has))
}

fn cpu(machine: &Machine, registry: &Registry) -> Option<CpuParams> {
    let cpu = machine.instances.iter().find(|one| one.role == roles::HOST)?;
    CpuParams::read(&cpu.params, &mut Reader::new(registry.families(), &mut Diagnostics::default()))
}

/// Devices of the machine as a run finds them, by number.
type Devices = BTreeMap<u32, Description>;

fn described(machine: &Machine, rooms: &[Room]) -> Devices {
    let fronts = machine.instances.iter().filter(|one| one.kind == "gpu/command-processor");
    let memory = |front: &Instance| front.params.get("memory")?.as_scalar()?.parse::<Bytes>().ok();
    let describe = |(front, room): (&Instance, Option<&Room>)| {
        let memory = memory(front)?.get();
        Some(room.map_or_else(
            || Description { memory, ..Description::default() },
            |room| room.description(memory),
        ))
    };
    let rooms = rooms.iter().map(Some).chain(std::iter::repeat(None));
    (0..).zip(fronts.zip(rooms)).filter_map(|(device, one)| Some((device, describe(one)?))).collect()
}

/// Devices that are missing, or too small for the buffers and the kernels' other memory; local memory of threads needs room only
/// with time.
fn lacking(application: &Application, page: u64, devices: &Devices, functional: bool) -> Vec<String> {
    let layout = Layout::of(application, page);
    let why = |&device: &u32| match devices.get(&device) {
        Some(Description { memory, capacity, .. }) => {
            let threads = if functional { Capacity::default() } else { *capacity };
            layout.all_beyond(application, page, device, *memory, threads)
        }
        None => Some(format!("device {device} of {} does not exist", devices.len())),
    };
    layout.ends.keys().filter_map(why).collect()
}
