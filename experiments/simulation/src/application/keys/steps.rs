//! The keys of the steps in `kernels`.

use super::Shape::{Arguments, List, ListOr, Names, One, Single, SingleOr, Sizes, Steps, ValueOrList};
use super::{COMPUTE_STEP, Key, LOAD_STEP, READ_STEP, Section, WRITE_STEP, key};

/// Steps that `kernels`, and `do` in them, may hold.
pub(super) static STEPS: [&Section; 17] = [
    &LAUNCH,
    &COPY_IN,
    &COPY_OUT,
    &RECORD,
    &WAIT,
    &SYNCHRONIZE,
    &REPEAT,
    &LOOP,
    &PIPELINE,
    &TASKS,
    &SWAP,
    &FREE,
    &MEMSET,
    &COPY,
    &READ_STEP,
    &COMPUTE_STEP,
    &WRITE_STEP,
];

/// Steps that `preload` may hold.
pub(super) static PRELOAD: [&Section; 6] = [&LOAD_STEP, &LAUNCH, &REPEAT, &LOOP, &MEMSET, &COPY];

pub(in super::super) static LAUNCH: Section = Section {
    name: "a launch",
    keys: &[
        key("launch", Single, "The kernel, as `code.entry`; `code` alone if the file has one kernel."),
        key("grid", Sizes, "Blocks in x, y and z; those that are not given are 1."),
        key("block", Sizes, "Threads of a block in x, y and z; those that are not given are 1."),
        key("shared", Single, "Dynamic shared memory of a block in bytes; 0 if not given."),
        key(
            "arguments",
            Arguments,
            "One for each parameter of the kernel: a buffer (its address), a number, which takes the parameter's type, or a struct or an \
             array: a list, whose elements have the types with which the kernel loads them.",
        ),
        key("device", Single, "The device that runs it; 0 if not given."),
        STREAM,
        key(
            "cooperative",
            Single,
            "Whether its blocks wait for each other, so that all must be on the device at once: `on` or `off`, which is the default.",
        ),
        key(
            "registers",
            Single,
            "Registers of a thread, as `nvcc -Xptxas -v` prints them; `ptxas` asks the assembler, where it is installed; an estimate from the PTX if not given.",
        ),
    ],
};

/// An argument that is the address of an element.
pub(in super::super) static ELEMENT: Section = Section {
    name: "an element's address",
    keys: &[
        key("buffer", Single, "The buffer."),
        key("element", Single, "Index of the element; 0 if not given."),
    ],
};

pub(in super::super) static TYPED: Section = Section {
    name: "typed values",
    keys: &[
        key("f32", ValueOrList, "Elements of single precision; one that is not in a list stands for itself."),
        key("f64", ValueOrList, "Elements of double precision."),
        key("u8", ValueOrList, "Unsigned elements of 8 bits."),
        key("u16", ValueOrList, "Unsigned elements of 16 bits."),
        key("u32", ValueOrList, "Unsigned elements of 32 bits."),
        key("u64", ValueOrList, "Unsigned elements of 64 bits."),
        key("s8", ValueOrList, "Signed elements of 8 bits."),
        key("s16", ValueOrList, "Signed elements of 16 bits."),
        key("s32", ValueOrList, "Signed elements of 32 bits."),
        key("s64", ValueOrList, "Signed elements of 64 bits."),
        key("bytes", Single, "All bytes in the order of memory, as hexadecimal digits."),
    ],
};

/// A value by its bytes.
pub(in super::super) static BITS: Section = Section {
    name: "a value by its bytes",
    keys: &[key("bytes", Single, "Its bytes in the order of memory, as hexadecimal digits.")],
};

/// On which stream a command goes.
const STREAM: Key = key(
    "stream",
    Single,
    "The stream, by a name of one's own; the default stream, which waits for all others and they for it, if not given.",
);

const LET: Key = key(
    "let",
    Names,
    "Values of a round by names of one's own, for `${…}` behind it; each may use the `index` and those before it.",
);

/// A copy to the device between launches.
pub(in super::super) static COPY_IN: Section = Section {
    name: "a copy in",
    keys: &[
        key("copy_in", SingleOr(&ROWS), "A buffer, or a part of one, that is copied to its device."),
        STREAM,
    ],
};

/// A copy to the host between launches.
pub(in super::super) static COPY_OUT: Section = Section {
    name: "a copy out",
    keys: &[key("copy_out", SingleOr(&ROWS), "A buffer, or a part of one, that is copied back."), STREAM],
};

/// Keys of `copy_in` and `copy_out` that name a part.
pub(in super::super) static ROWS: Section = Section {
    name: "a part in rows",
    keys: &[
        key("buffer", Single, "The buffer."),
        key("element", Single, "Index of its first element; 0 if not given."),
        key("elements", Single, "How many, or how many in a row; all from there on if not given."),
        key("rows", Single, "Number of rows; 1 if not given."),
        key(
            "pitch",
            Single,
            "Elements from the beginning of a row to that of the next, on the device; `elements` if not given.",
        ),
        key("host_pitch", Single, "The same on the host; `pitch` if not given."),
        key("host_element", Single, "Index of the first element on the host; `element` if not given."),
    ],
};

pub(in super::super) static MEMSET: Section = Section {
    name: "a fill",
    keys: &[
        key(
            "memset",
            SingleOr(&FILL),
            "A buffer, or a part of one, that is filled with one value on its device, as by cudaMemset; zeros if it is named alone.",
        ),
        STREAM,
    ],
};

/// Keys of `memset`.
pub(in super::super) static FILL: Section = Section {
    name: "memset",
    keys: &[
        key("buffer", Single, "The buffer."),
        key("value", SingleOr(&BITS), "The value of its elements; 0 if not given."),
        key("element", Single, "Index of its first element; 0 if not given."),
        key("elements", Single, "How many, or how many in a row; all from there on if not given."),
        key("rows", Single, "Number of rows; 1 if not given."),
        key(
            "pitch",
            Single,
            "Elements from the beginning of a row to that of the next; `elements` if not given.",
        ),
    ],
};

pub(in super::super) static COPY: Section = Section {
    name: "a copy on a device",
    keys: &[
        key(
            "copy",
            One(&WITHIN),
            "Copies a part of a buffer to another buffer of its device, or to another part.",
        ),
        STREAM,
    ],
};

/// Keys of `copy`.
pub(in super::super) static WITHIN: Section = Section {
    name: "copy",
    keys: &[
        key("from", Single, "The buffer that is read."),
        key("to", Single, "The buffer that is written."),
        key("element", Single, "Index of the first element that is read; 0 if not given."),
        key("to_element", Single, "Index of the first element that is written; the same place if not given."),
        key("elements", Single, "How many, or how many in a row; all from `element` on if not given."),
        key("rows", Single, "Number of rows; 1 if not given."),
        key(
            "pitch",
            Single,
            "Elements from the beginning of a row that is read to that of the next; `elements` if not given.",
        ),
        key("to_pitch", Single, "The same of rows that are written; `pitch` if not given."),
    ],
};

pub(in super::super) static RECORD: Section = Section {
    name: "a record",
    keys: &[key(
        "record",
        One(&EVENT),
        "Records an event behind what has been sent on a stream, as by cudaEventRecord.",
    )],
};

pub(in super::super) static WAIT: Section = Section {
    name: "a wait",
    keys: &[key(
        "wait",
        One(&EVENT),
        "Holds a stream until an event, as it was recorded last, as by cudaStreamWaitEvent.",
    )],
};

/// Keys of `record` and `wait`.
pub(in super::super) static EVENT: Section = Section {
    name: "an event",
    keys: &[
        key("event", Single, "The event, by a name of one's own."),
        key("stream", Single, "The stream; the default stream of device 0 if not given."),
    ],
};

/// A wait of the host.
pub(in super::super) static SYNCHRONIZE: Section = Section {
    name: "a synchronization",
    keys: &[key(
        "synchronize",
        Single,
        "Holds the host until an event, all of a stream, or `all` is done, as by cudaDeviceSynchronize and its kin.",
    )],
};

pub(in super::super) static REPEAT: Section = Section {
    name: "a repetition",
    keys: &[
        key("repeat", Single, "How often."),
        key("index", Single, "A name for the number of the round, from 0, in `${…}` of these steps."),
        LET,
        key("do", Steps(&STEPS), "The steps to repeat."),
    ],
};

/// A loop that the device ends.
pub(in super::super) static LOOP: Section = Section {
    name: "a loop",
    keys: &[
        key(
            "until",
            One(&CONDITION),
            "What ends the loop; after every round the host copies the element from the device and looks at it.",
        ),
        key("at_most", Single, "Rounds after which the run is given up."),
        key("do", Steps(&STEPS), "The steps of a round."),
    ],
};

pub(in super::super) static PIPELINE: Section = Section {
    name: "a pipeline",
    keys: &[
        key(
            "pipeline",
            Single,
            "How many batches of data go through the kernels; the runtime says which of them run together.",
        ),
        key("index", Single, "A name for the number of the batch, from 0, in `${…}` of these launches."),
        LET,
        key("do", Steps(&[&LAUNCH]), "The kernels: launches that every batch goes through in this order."),
    ],
};

/// Keys of tasks: their count first, then the description of one task.
static TASKS_KEYS: [Key; 14] = [
    key(
        "tasks",
        Single,
        "How many narrow tasks, or rounds of tasks, perhaps none; they are independent of each other.",
    ),
    key("index", Single, "A name for the number of the task or round, from 0, in `${…}` of these tasks."),
    LET,
    key("do", Steps(&[&TASK]), "The tasks of a round, where they are of several kinds."),
    key(
        "copy_in",
        ListOr(&PART),
        "What is copied to the device for the task: parts of buffers, or whole ones.",
    ),
    key("launch", Single, "The kernel, as `code.entry`; `code` alone if the file has one kernel."),
    key("grid", Single, "Blocks of the task, in one dimension."),
    key("block", Single, "Threads of a block, in one dimension."),
    key("shared", Single, "Dynamic shared memory of a block in bytes; 0 if not given."),
    key("barrier", Single, "Whether the threads of a block meet at barriers; `false` if not given."),
    key("arguments", Arguments, "As those of a launch."),
    key("device", Single, "The device that runs it; 0 if not given."),
    key("registers", Single, "Registers of a thread, as for a launch."),
    key("copy_out", ListOr(&PART), "What is copied back when the kernel has ended."),
];

/// Number of keys that count tasks.
const COUNTING: usize = 4;

/// Tasks, narrow ones.
pub(in super::super) static TASKS: Section = Section { name: "tasks", keys: &TASKS_KEYS };

pub(in super::super) static TASK: Section = Section { name: "a task", keys: TASKS_KEYS.split_at(COUNTING).1 };

/// Part of a buffer that is copied for a task.
pub(in super::super) static PART: Section = Section {
    name: "a part of a buffer",
    keys: &[
        key("buffer", Single, "The buffer."),
        key("element", Single, "Index of its first element; 0 if not given."),
        key("elements", Single, "How many; all from there on if not given."),
    ],
};

/// Keys of `until`.
pub(in super::super) static CONDITION: Section = Section {
    name: "a condition",
    keys: &[
        key("buffer", Single, "The buffer."),
        key("element", Single, "Index of the element; 0 if not given."),
        key("equals", SingleOr(&BITS), "The value that ends the loop."),
    ],
};

pub(in super::super) static SWAP: Section = Section {
    name: "a swap",
    keys: &[key("swap", List, "Two buffers whose names exchange their meaning from here on.")],
};

pub(in super::super) static FREE: Section = Section {
    name: "a release",
    keys: &[key(
        "free",
        Single,
        "A buffer whose memory on the device is given back, as by cudaFree: nothing may copy it any more, and kernels that touch it fail.",
    )],
};
