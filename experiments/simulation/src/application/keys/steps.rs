//! The keys of the steps on a device.

use counterpoint_framework::model::{Later, Named, Params};

use super::PartKeys;
use super::host::{ComputeStep, ReadStep, WriteStep};
use super::shapes::{OneOrMore, Or, Scalar, Single, either};

either! {
    /// Shape of a step.
    StepShape = "a step": LaunchStepKeys, CopyInStep, CopyOutStep, RecordStep, WaitStep, SynchronizeStep, RepeatStep, LoopStep,
        PipelineStep, TasksStep, SwapStep, FreeStep, MemsetStep, CopyWithinStep, ReadStep, ComputeStep, WriteStep;
}

/// What a launch and a task have in common. The first three must be there.
#[derive(Params)]
pub(in super::super) struct LaunchKeys {
    /// The kernel, as `code.entry`; `code` alone if the file has one kernel.
    pub launch: Option<Single>,
    /// Blocks in x, y and z, of a task in x alone; those that are not given are 1.
    pub grid: Option<Later<OneOrMore>>,
    /// Threads of a block in x, y and z, of a task in x alone; those that are not given are 1.
    pub block: Option<Later<OneOrMore>>,
    /// Dynamic shared memory of a block in bytes; 0 if not given.
    pub shared: Option<Single>,
    /// One for each parameter of the kernel: a buffer (its address), a number, which takes the parameter's type, or a struct or an array: a
    /// list, whose elements have the types with which the kernel loads them.
    pub arguments: Option<Later<Vec<ArgumentShape>>>,
    /// The device that runs it; 0 if not given.
    pub device: Option<Single>,
    /// Registers of a thread, as `nvcc -Xptxas -v` prints them; `ptxas` asks the assembler, where it is installed; an estimate from the PTX
    /// if not given.
    pub registers: Option<Single>,
}

#[derive(Params)]
#[params(called = "a launch")]
pub(in super::super) struct LaunchStepKeys {
    #[param(flatten)]
    pub launch: LaunchKeys,
    #[param(flatten)]
    pub on: OnStream,
    /// Whether its blocks wait for each other, so that all must be on the device at once: `on` or `off`, which is the default.
    pub cooperative: Option<Single>,
}

#[derive(Params)]
#[params(called = "a repetition")]
pub(in super::super) struct RepeatStep {
    /// How often.
    pub repeat: Single,
    #[param(flatten)]
    pub round: RoundKeys,
    /// The steps to repeat.
    pub r#do: Later<Vec<StepShape>>,
}

#[derive(Params)]
#[params(called = "a swap")]
pub(in super::super) struct SwapStep {
    /// Two buffers whose names exchange their meaning from here on.
    pub swap: Later<Vec<Scalar>>,
}

#[derive(Params)]
#[params(called = "a release")]
pub(in super::super) struct FreeStep {
    /// A buffer whose memory on the device is given back, as by cudaFree: nothing may copy it any more, and kernels that touch it fail.
    pub free: Single,
}

/// An argument that is the address of an element.
#[derive(Params)]
#[params(called = "an element's address")]
pub(in super::super) struct ElementKeys {
    /// The buffer.
    pub buffer: Single,
    /// Index of the element; 0 if not given.
    pub element: Option<Single>,
}

either! {
    /// Shape of a member of a struct.
    Member = "a value, typed values or an address": Scalar, ElementKeys, TypedKeys;
    /// Shape of an argument.
    ArgumentShape = "an argument": Member, Vec<Member>;
}

/// Values of one type, by the type's name.
#[derive(Params)]
#[params(called = "typed values")]
#[expect(dead_code, reason = "one is there, and found by its name")]
pub(in super::super) struct TypedKeys {
    /// Elements of single precision; one that is not in a list stands for itself.
    pub f32: Option<Later<OneOrMore>>,
    /// Elements of double precision.
    pub f64: Option<Later<OneOrMore>>,
    /// Unsigned elements of 8 bits.
    pub u8: Option<Later<OneOrMore>>,
    /// Unsigned elements of 16 bits.
    pub u16: Option<Later<OneOrMore>>,
    /// Unsigned elements of 32 bits.
    pub u32: Option<Later<OneOrMore>>,
    /// Unsigned elements of 64 bits.
    pub u64: Option<Later<OneOrMore>>,
    /// Signed elements of 8 bits.
    pub s8: Option<Later<OneOrMore>>,
    /// Signed elements of 16 bits.
    pub s16: Option<Later<OneOrMore>>,
    /// Signed elements of 32 bits.
    pub s32: Option<Later<OneOrMore>>,
    /// Signed elements of 64 bits.
    pub s64: Option<Later<OneOrMore>>,
    /// All bytes in the order of memory, as hexadecimal digits.
    pub bytes: Option<Single>,
}

/// A value by its bytes.
#[derive(Params)]
#[params(called = "a value by its bytes")]
pub(in super::super) struct BitsKeys {
    /// Its bytes in the order of memory, as hexadecimal digits.
    pub bytes: Single,
}

/// Rows in a buffer.
#[derive(Params)]
pub(in super::super) struct RowKeys {
    #[param(flatten)]
    pub part: PartKeys,
    /// Number of rows; 1 if not given.
    pub rows: Option<Single>,
    /// Elements from the beginning of a row to that of the next, on the device; `elements` if not given.
    pub pitch: Option<Single>,
}

/// A copy to the device between launches.
#[derive(Params)]
#[params(called = "a copy in")]
pub(in super::super) struct CopyInStep {
    /// A buffer, or a part of one, that is copied to its device.
    pub copy_in: Later<Or<CopyKeys>>,
    #[param(flatten)]
    pub on: OnStream,
}

/// A copy to the host between launches.
#[derive(Params)]
#[params(called = "a copy out")]
pub(in super::super) struct CopyOutStep {
    /// A buffer, or a part of one, that is copied back.
    pub copy_out: Later<Or<CopyKeys>>,
    #[param(flatten)]
    pub on: OnStream,
}

/// Keys of `copy_in` and `copy_out` that name a part.
#[derive(Params)]
#[params(called = "a part in rows")]
pub(in super::super) struct CopyKeys {
    /// The buffer.
    pub buffer: Single,
    #[param(flatten)]
    pub rows: RowKeys,
    /// The same distance on the host; `pitch` if not given.
    pub host_pitch: Option<Single>,
    /// Index of the first element on the host; `element` if not given.
    pub host_element: Option<Single>,
}

#[derive(Params)]
#[params(called = "a fill")]
pub(in super::super) struct MemsetStep {
    /// A buffer, or a part of one, that is filled with one value on its device, as by cudaMemset; zeros if it is named alone.
    pub memset: Later<Or<MemsetKeys>>,
    #[param(flatten)]
    pub on: OnStream,
}

#[derive(Params)]
#[params(called = "memset")]
pub(in super::super) struct MemsetKeys {
    /// The buffer.
    pub buffer: Single,
    /// The value of its elements; 0 if not given.
    pub value: Option<Later<Or<BitsKeys>>>,
    #[param(flatten)]
    pub rows: RowKeys,
}

#[derive(Params)]
#[params(called = "a copy on a device")]
pub(in super::super) struct CopyWithinStep {
    /// Copies a part of a buffer to another buffer of its device, or to another part.
    pub copy: Later<CopyWithinKeys>,
    #[param(flatten)]
    pub on: OnStream,
}

#[derive(Params)]
#[params(called = "copy")]
pub(in super::super) struct CopyWithinKeys {
    /// The buffer that is read.
    pub from: Single,
    /// The buffer that is written.
    pub to: Single,
    #[param(flatten)]
    pub rows: RowKeys,
    /// Index of the first element that is written; the same place if not given.
    pub to_element: Option<Single>,
    /// Elements from the beginning of a row that is written to that of the next; `pitch` if not given.
    pub to_pitch: Option<Single>,
}

/// On which stream a command goes.
#[derive(Default, Params)]
pub(in super::super) struct OnStream {
    /// The stream, by a name of one's own; the default stream, which waits for all others and they for it, if not given.
    pub stream: Option<Single>,
}

#[derive(Params)]
#[params(called = "a record")]
pub(in super::super) struct RecordStep {
    /// Records an event behind what has been sent on a stream, as by cudaEventRecord.
    pub record: Later<EventKeys>,
}

#[derive(Params)]
#[params(called = "a wait")]
pub(in super::super) struct WaitStep {
    /// Holds a stream until an event, as it was recorded last, as by cudaStreamWaitEvent.
    pub wait: Later<EventKeys>,
}

/// Keys of `record` and `wait`.
#[derive(Params)]
#[params(called = "an event")]
pub(in super::super) struct EventKeys {
    /// The event, by a name of one's own.
    pub event: Single,
    /// The stream; the default stream of device 0 if not given.
    pub stream: Option<Single>,
}

/// A wait of the host.
#[derive(Params)]
#[params(called = "a synchronization")]
pub(in super::super) struct SynchronizeStep {
    /// Holds the host until an event, all of a stream, or `all` is done, as by cudaDeviceSynchronize and its kin.
    pub synchronize: Single,
}

/// What rounds call their number, and values that follow from it.
#[derive(Params)]
pub(in super::super) struct RoundKeys {
    /// A name for the number of the round, batch or task, from 0, in `${…}` of these steps.
    pub index: Option<Single>,
    /// Values of a round by names of one's own, for `${…}` behind it; each may use the `index` and those before it.
    #[param(name = "let")]
    pub values: Option<Later<Named<Scalar>>>,
}

/// A loop that the device ends.
#[derive(Params)]
#[params(called = "a loop")]
pub(in super::super) struct LoopStep {
    /// What ends the loop; after every round the host copies the element from the device and looks at it.
    pub until: Later<ConditionKeys>,
    /// Rounds after which the run is given up.
    pub at_most: Single,
    /// The steps of a round.
    pub r#do: Later<Vec<StepShape>>,
}

/// Keys of `until`.
#[derive(Params)]
#[params(called = "a condition")]
pub(in super::super) struct ConditionKeys {
    /// The buffer.
    pub buffer: Single,
    /// Index of the element; 0 if not given.
    pub element: Option<Single>,
    /// The value that ends the loop.
    pub equals: Later<Or<BitsKeys>>,
}

#[derive(Params)]
#[params(called = "a pipeline")]
pub(in super::super) struct PipelineStep {
    /// How many batches of data go through the kernels; the runtime says which of them run together.
    pub pipeline: Single,
    #[param(flatten)]
    pub round: RoundKeys,
    /// The kernels: launches that every batch goes through in this order.
    pub r#do: Later<Vec<LaunchStepKeys>>,
}

/// Narrow tasks: their count, and the description of one task, or of those of a round.
#[derive(Params)]
#[params(called = "tasks")]
pub(in super::super) struct TasksStep {
    /// How many narrow tasks, or rounds of tasks, perhaps none; they are independent of each other.
    pub tasks: Single,
    #[param(flatten)]
    pub round: RoundKeys,
    /// The tasks of a round, where they are of several kinds.
    pub r#do: Option<Later<Vec<TaskKeys>>>,
    #[param(flatten)]
    pub task: TaskKeys,
}

#[derive(Params)]
#[params(called = "a task")]
pub(in super::super) struct TaskKeys {
    /// What is copied to the device for the task: parts of buffers, or whole ones.
    pub copy_in: Option<Later<Vec<Or<BufferPartKeys>>>>,
    #[param(flatten)]
    pub launch: LaunchKeys,
    /// Whether the threads of a block meet at barriers; `false` if not given.
    pub barrier: Option<Single>,
    /// What is copied back when the kernel has ended.
    pub copy_out: Option<Later<Vec<Or<BufferPartKeys>>>>,
}

/// Part of a buffer that is copied for a task.
#[derive(Params)]
#[params(called = "a part of a buffer")]
pub(in super::super) struct BufferPartKeys {
    /// The buffer.
    pub buffer: Single,
    #[param(flatten)]
    pub part: PartKeys,
}
