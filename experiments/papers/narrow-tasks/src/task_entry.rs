//! The TaskTable that a host and the MasterKernel on its device share (Pagoda, PPoPP 2017, section 4.2): the
//! states of an entry, its bytes, and the demand of a task.
//!
//! An entry's state is (ready, sched): (0, 0) free; (id, 0) just copied, where `id` names the task spawned before, whose parameters
//! are surely there; (-1, 0) the parameters are there; (1, 1) may be scheduled; (1, 0) is scheduled or runs. The CPU writes entries
//! whose ready field is 0 in its own copy, and the GPU those whose ready field is not 0 in its. The copies may disagree, and no
//! atomic operation crosses the bus: the CPU sees the GPU's changes when it copies entries back.
//!
//! The bytes are those of `TaskEntry` in `cuda/pagoda`. The paper gives the fields but not their
//! sizes; an entry is a line of memory here, with 96 bytes of arguments.

/// Id of an entry: 2 for the first, so that ids differ from the other values of a ready field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub i32);

/// Columns, one for each block of the MasterKernel, and rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of the MasterKernel.
    pub columns: u32,
    /// Entries of each.
    pub rows: u32,
}

impl Shape {
    /// Number of entries.
    pub fn entries(&self) -> usize {
        (self.columns * self.rows) as usize
    }

    /// The entry of a column and a row. Entries of a row are contiguous, so that tasks spawned one after another are contiguous as
    /// well.
    pub fn id(&self, column: u32, row: u32) -> TaskId {
        self.at((row * self.columns + column) as usize)
    }

    /// The entry at a position among all.
    pub fn at(&self, position: usize) -> TaskId {
        TaskId(position as i32 + 2)
    }

    /// Position of an entry among all entries.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn position(&self, id: TaskId) -> Result<usize, UnknownTask> {
        let position = usize::try_from(id.0 - 2).ok().filter(|&position| position < self.entries());
        position.ok_or(UnknownTask(id))
    }
}

/// A task that nobody has spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownTask(pub TaskId);

impl std::fmt::Display for UnknownTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no task has the id {}: it cannot be waited for", self.0.0)
    }
}

/// The two fields of an entry that tell its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// 0, 1, -1, or the id of the task spawned before.
    pub ready: i32,
    /// Whether it may be scheduled.
    pub sched: i32,
}

/// State of an entry without a task.
pub const FREE: State = State { ready: 0, sched: 0 };
/// State of an entry whose parameters have arrived.
pub const PRESENT: State = State { ready: -1, sched: 0 };
/// State of an entry whose task may be scheduled.
pub const ENABLED: State = State { ready: 1, sched: 1 };
/// State of an entry whose task is scheduled or runs.
pub const RUNNING: State = State { ready: 1, sched: 0 };

impl State {
    /// State of an entry whose task is spawned after the task `last`.
    pub fn behind(last: Option<TaskId>) -> State {
        last.map_or(PRESENT, |id| State { ready: id.0, sched: 0 })
    }
}

/// The demand of a task on a block of the MasterKernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Blocks of the task.
    pub blocks: u32,
    /// Warps of each.
    pub warps: u32,
    /// Bytes of memory of each.
    pub shared: u32,
    /// Whether threads of a block meet at barriers.
    pub barrier: bool,
}

impl Demand {
    /// Whether its blocks are placed one by one.
    pub fn by_block(&self) -> bool {
        self.shared > 0 || self.barrier
    }

    /// Refuses the task if a block with `slots` slots and `pool` bytes of memory cannot hold it.
    ///
    /// # Errors
    /// If it could never be placed.
    pub fn check(&self, slots: u32, pool: u32) -> Result<(), String> {
        let Demand { warps, shared, .. } = *self;
        if self.by_block() && warps > slots {
            return Err(format!(
                "a block of {warps} warps that has shared memory or a barrier never finds its warps: a block of the MasterKernel has \
                 {slots} for tasks"
            ));
        }
        if shared > pool {
            return Err(format!(
                "{shared} bytes of shared memory for a block: a block of the MasterKernel has {pool} for tasks"
            ));
        }
        Ok(())
    }
}

/// Bytes of an entry.
pub const BYTES: u64 = 128;
/// Bytes of the arguments of a task at most.
pub const ARGUMENTS: usize = 96;
/// The name of the table of task functions in the module.
pub const FUNCTIONS: &str = "task_functions";
/// The name of the MasterKernel.
pub const MASTER_KERNEL: &str = "master_kernel";
/// The name of the MasterKernel whose scheduler warp looks at all rows of its column at once.
pub const MASTER_KERNEL_BY_LANES: &str = "master_kernel_by_lanes";
/// The name of GeMTC's SuperKernel, whose queue holds entries of the same bytes.
pub const SUPER_KERNEL: &str = "super_kernel";

/// A task as the table holds it, without its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Demand of the task on a block of the MasterKernel.
    pub demand: Demand,
    /// Function of the task, as a position in the module's table.
    pub function: u32,
    /// Arguments of the task.
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
    State { ready: word(bytes, 0) as i32, sched: word(bytes, 1) as i32 }
}

/// The contents of a task's entry, from its bytes.
pub fn parameters(bytes: &[u8]) -> Parameters {
    let [barrier, shared, threads, blocks, function] = [2, 3, 4, 5, 6].map(|at| word(bytes, at));
    let demand = Demand { blocks, warps: threads / 32, shared, barrier: barrier != 0 };
    Parameters { demand, function, arguments: bytes[WORDS * 4..].to_vec() }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[4 * at..4 * at + 4].iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// Words in front of the arguments.
const WORDS: usize = 8;

/// Bytes of the smallest piece of task memory.
pub const LEAF: u32 = 512;
/// Bytes of task memory of a block of the MasterKernel at most: the capacity of its tree's nodes.
pub const LARGEST_POOL: u32 = 32 << 10;

/// Refuses an unsuitable size of the task memory of a block of the MasterKernel, in bytes.
///
/// # Errors
/// If it is no power of two or smaller than a piece.
pub fn check_pool(pool: u32) -> Result<(), String> {
    if !pool.is_power_of_two() || pool < LEAF {
        return Err(format!("a pool of {pool} bytes is not a power of two of at least {LEAF}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Demand = Demand { blocks: 1, warps: 1, shared: 0, barrier: false };

    #[test]
    fn an_entry_is_what_the_kernel_reads() {
        let demand = Demand { blocks: 3, warps: 4, shared: 512, barrier: true };
        let task = Parameters { demand, function: 7, arguments: vec![1, 2, 3] };
        let bytes = bytes(State { ready: -1, sched: 0 }, &task);
        let word = |at: usize| u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap());
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(word), [u32::MAX, 0, 1, 512, 128, 3, 7]);
        assert_eq!((bytes.len() as u64, &bytes[32..36]), (BYTES, &[1, 2, 3, 0][..]));
        assert_eq!(state(&bytes), State { ready: -1, sched: 0 });
        assert_eq!(parameters(&bytes).demand, demand);
        assert_eq!((parameters(&bytes).function, &parameters(&bytes).arguments[..4]), (7, &[1, 2, 3, 0][..]));
        assert_eq!(state(&[255, 5, 0, 0, 1, 0, 0, 0]), State { ready: 1535, sched: 1 });
    }

    #[test]
    fn demands_that_can_never_be_met_are_refused() {
        assert!(Demand { warps: 32, ..PLAIN }.check(31, 32 << 10).is_ok(), "it runs in waves");
        let error = Demand { warps: 32, barrier: true, ..PLAIN }.check(31, 32 << 10).unwrap_err();
        assert!(error.contains("a block of 32 warps"), "{error}");
        let error = Demand { shared: 33 << 10, ..PLAIN }.check(31, 32 << 10).unwrap_err();
        assert!(error.contains("33792 bytes") && error.contains("32768"), "{error}");
    }
}
