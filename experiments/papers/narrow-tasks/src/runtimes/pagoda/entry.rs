//! Conditions for a task to fit into an entry of the TaskTable.

use crate::task_entry::{ARGUMENTS, Demand, FUNCTIONS};
use counterpoint::host::program::{LaunchStep, Task};
use counterpoint::ptx::Kernel;

/// The demand of a task.
///
/// # Errors
/// If it is no narrow task: blocks of whole warps in one dimension.
pub fn demand(Task { launch, barrier, .. }: &Task) -> Result<Demand, String> {
    let LaunchStep { grid: [blocks, 1, 1], block: [threads, 1, 1], shared, .. } = *launch else {
        return Err("its threads and blocks must have one dimension".to_owned());
    };
    if !threads.is_multiple_of(32) {
        return Err(format!("its blocks have {threads} threads, which are not whole warps of 32"));
    }
    Ok(Demand { blocks, warps: threads / 32, shared, barrier: *barrier })
}

/// Whether the arguments of a task fit into an entry.
///
/// # Errors
/// If they do not.
pub fn check_arguments(task: &Task) -> Result<(), String> {
    let bytes = task.launch.kernel.param_bytes() as usize;
    if bytes > ARGUMENTS {
        return Err(format!("its {bytes} bytes of arguments: an entry of the TaskTable has {ARGUMENTS}"));
    }
    Ok(())
}

/// The position of a kernel's task function in the table of the module that has this MasterKernel.
///
/// # Errors
/// If there is none.
pub fn function(master: &Kernel, kernel: &str) -> Result<u32, String> {
    let wanted = format!("{kernel}_task");
    let functions = master.functions_in(FUNCTIONS);
    let functions = functions.ok_or_else(|| format!("{} has no table `{FUNCTIONS}`", master.origin()))?;
    let position = functions.iter().position(|function| *function == Some(&wanted));
    position.map(|position| position as u32).ok_or_else(|| {
        let known: Vec<String> = functions.iter().flatten().map(|name| format!("`{name}`")).collect();
        format!("`{FUNCTIONS}` in {} has no `{wanted}`: it holds {}", master.origin(), known.join(", "))
    })
}
