//! An entry of the TaskTable as it lies in memory, and which tasks fit into one.
//!
//! The bytes are those of `TaskEntry` in `experiments/applications/pagoda.h`. The paper gives the fields (section 4.2) but not their
//! sizes; an entry is a line of memory here, with 96 bytes of arguments.

use counterpoint_ptx::Program;

use super::task_table::State;
use super::warp_table::Demand;
use crate::program::{LaunchStep, Task};

/// Bytes of an entry.
pub const BYTES: u64 = 128;
/// Bytes of the arguments of a task at most.
pub const ARGUMENTS: usize = 96;
/// What the module calls the table of task functions.
pub const FUNCTIONS: &str = "task_functions";
/// What it calls the MasterKernel.
pub const MASTER_KERNEL: &str = "master_kernel";

/// A task as the table holds it, but for its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// What it asks of a block of the MasterKernel.
    pub demand: Demand,
    /// Its function, as a position in the module's table.
    pub function: u32,
    /// Its arguments.
    pub arguments: Vec<u8>,
}

/// The bytes of an entry.
pub fn bytes(state: State, task: &Parameters) -> Vec<u8> {
    let Parameters { demand: Demand { blocks, warps, shared, barrier }, function, arguments } = task;
    let words = [
        state.ready as u32,
        state.sched as u32,
        u32::from(*barrier),
        *shared,
        warps * 32,
        *blocks,
        *function,
        0,
    ];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(arguments);
    bytes.resize(BYTES as usize, 0);
    bytes
}

/// The state of an entry in its bytes.
pub fn state(bytes: &[u8]) -> State {
    let word = |at: usize| bytes[at..at + 4].iter().rev().fold(0, |word, &byte| word << 8 | i32::from(byte));
    State { ready: word(0), sched: word(4) }
}

/// What a task asks for.
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
pub fn function(master: &Program, kernel: &str) -> Result<u32, String> {
    let wanted = format!("{kernel}_task");
    let functions = master.functions_in(FUNCTIONS);
    let functions = functions.ok_or_else(|| format!("{} has no table `{FUNCTIONS}`", master.origin()))?;
    let position = functions.iter().position(|function| *function == Some(&wanted));
    position.map(|position| position as u32).ok_or_else(|| {
        let known: Vec<String> = functions.iter().flatten().map(|name| format!("`{name}`")).collect();
        format!("`{FUNCTIONS}` in {} has no `{wanted}`: it holds {}", master.origin(), known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_what_the_kernel_reads() {
        let demand = Demand { blocks: 3, warps: 4, shared: 512, barrier: true };
        let task = Parameters { demand, function: 7, arguments: vec![1, 2, 3] };
        let bytes = bytes(State { ready: -1, sched: 0 }, &task);
        let word = |at: usize| u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap());
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(word), [u32::MAX, 0, 1, 512, 128, 3, 7]);
        assert_eq!((bytes.len() as u64, &bytes[32..36]), (BYTES, &[1, 2, 3, 0][..]));
        assert_eq!(state(&bytes), State { ready: -1, sched: 0 });
        assert_eq!(state(&[255, 5, 0, 0, 1, 0, 0, 0]), State { ready: 1535, sched: 1 });
    }
}
