//! The keys of an application file: one table, from which the loader takes what is allowed, `explain` what it means,
//! and the JSON Schema (`schema`) both.

/// Shape of a key's value.
pub(super) enum Shape {
    /// A single value, which may be or contain `${…}`.
    Single,
    /// A list of single values.
    List,
    /// A list of single values, or of maps with the keys of a section.
    ListOr(&'static Section),
    /// One to three numbers.
    Sizes,
    /// A map from names to single values.
    Names,
    /// A map from names to single values or maps with the keys of a section.
    NamesOr(&'static Section),
    /// A map with the keys of a section.
    One(&'static Section),
    /// A map from names to maps from names to single values.
    Tables,
    /// A map from names to maps with the keys of a section.
    Named(&'static Section),
    /// A map from names to such maps.
    Counted(&'static Section),
    /// A single value, a list of them, or a map with the keys of a section.
    OneOrMoreOr(&'static Section),
    /// A list of maps, each with the keys of one of these sections.
    Steps(&'static [&'static Section]),
    /// One of the generators with its parameters.
    Generator,
    /// The parameters of a synthetic kernel.
    Synthetic,
}

use Shape::{
    Counted, Generator, List, ListOr, Named, Names, NamesOr, One, OneOrMoreOr, Single, Sizes, Steps,
    Synthetic, Tables,
};

/// A key.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) doc: &'static str,
}

/// Keys of one map.
pub(super) struct Section {
    /// With its article, as messages name it.
    pub(super) name: &'static str,
    pub(super) keys: &'static [Key],
}

const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc }
}

/// The whole file.
pub(super) static APPLICATION: Section = Section {
    name: "an application",
    keys: &[
        key("counterpoint", Single, "Version of the format: 1."),
        key("application", Single, "Name of the application."),
        key("description", Single, "What it does, for people."),
        key(
            "include",
            Single,
            "An application that this one is, but for what it says itself: maps go together key by key, a map over a list changes \
             the elements whose positions are its keys (`kernels: { 0: { grid: 8 } }`), `~` takes out, all else is replaced. It is \
             a file or a name (`counterpoint explain files`); files are found from where they are named.",
        ),
        key(
            "together",
            Named(&MEMBER),
            "Applications that run at the same time, by a name of each, in the place of all that follows. Every one has a stream to \
             itself and is repeated while another one has not completed its first round, which is the one that is verified \
             (runtime `streams`; others do a round of each, one after another).",
        ),
        key(
            "parameters",
            Names,
            "Numbers by name, for `${…}` below; each may use those above it. `--set app.name=value` changes one.",
        ),
        key(
            "sizes",
            Tables,
            "Values of parameters by name of a size; `--set app.size=name` takes them, and `--set app.name=value` wins.",
        ),
        key(
            "code",
            NamesOr(&CODE),
            "PTX files by name, relative to this file, or kernels that are described.",
        ),
        key(
            "heap",
            Single,
            "Memory of each device from which `malloc` of kernels takes blocks, such as `64 MiB`: at most 64 GiB; 8 MiB if not given, as \
             by CUDA's cudaLimitMallocHeapSize.",
        ),
        key(
            "printf",
            Single,
            "Memory of each device for what its kernels print until the host waits for them, such as `4 MiB`: the newest text stays; 1 MiB \
             if not given, as by CUDA's cudaLimitPrintfFifoSize.",
        ),
        key("buffers", Named(&BUFFER), "Memory by name, on the host and on a device."),
        key(
            "textures",
            Named(&TEXTURE),
            "Buffers as textures, by name: that of a `.texref`, or what a launch is given as an argument for its handle.",
        ),
        key(
            "surfaces",
            Named(&SURFACE),
            "Buffers as surfaces, by name: that of a `.surfref`, or what a launch is given as an argument for its handle.",
        ),
        key(
            "preload",
            Steps(&PRELOAD),
            "What devices hold before the run, without time: files first, then what kernels make of them.",
        ),
        key("prelude", Steps(&[&READ_STEP]), "What happens on the host before the first copy."),
        key("copy_in", List, "Buffers that are copied to their device."),
        key("kernels", Steps(&STEPS), "What runs on the device."),
        key("copy_out", List, "Buffers that are copied back."),
        key("postlude", Steps(&[&WRITE_STEP]), "What happens on the host after the last copy."),
        key("expect", Steps(&[&EXPECTATION]), "What the host should hold in the end."),
        key("counts", Counted(&COUNT), "What each launch comes to: by size (`default` for none), by kernel."),
    ],
};

/// An application that runs together with others.
pub(super) static MEMBER: Section = Section {
    name: "an application among others",
    keys: &[
        key("application", Single, "Its file, relative to this one."),
        key("set", Names, "Values of its parameters, or its `size`."),
    ],
};

/// Steps that `kernels`, and `do` in them, may hold.
static STEPS: [&Section; 12] = [
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
];

/// Steps that `preload` may hold.
static PRELOAD: [&Section; 4] = [&LOAD_STEP, &LAUNCH, &REPEAT, &LOOP];

/// An entry of `code` that is no file.
pub(super) static CODE: Section = Section {
    name: "a described kernel",
    keys: &[key(
        "synthetic",
        Synthetic,
        "What the kernel is like: `counterpoint explain synthetic` tells its parameters.",
    )],
};

/// An entry of `buffers`.
pub(super) static BUFFER: Section = Section {
    name: "a buffer",
    keys: &[
        key("type", Single, "Type of the elements: f32, f64, u8 to u64, s8 to s64."),
        key("elements", Single, "How many."),
        key("device", Single, "The device on which it lies; 0 if not given."),
    ],
};

/// An entry of `textures`.
pub(super) static TEXTURE: Section = Section {
    name: "a texture",
    keys: &[
        key("of", Single, "The buffer that holds the texels, x fastest, channels of a texel together."),
        key("size", Sizes, "Texels in x, y and z."),
        key(
            "layers",
            Single,
            "Layers of an array of textures of one or two dimensions, one behind the other; no array if not given.",
        ),
        key("channels", Single, "Channels of a texel: 1, 2 or 4; 1 if not given."),
        key("filter", Single, "`point` (the texel) or `linear` (interpolated); `point` if not given."),
        key("coordinates", Single, "`texels`, or `normalized` from 0 to 1; `texels` if not given."),
        key(
            "edge",
            Single,
            "Beyond the edge: `clamp`, or `wrap` for normalised coordinates; `clamp` if not given.",
        ),
        key("read", Single, "`elements`, or 8 and 16 bits as `fractions` of 1; `elements` if not given."),
    ],
};

/// An entry of `surfaces`.
pub(super) static SURFACE: Section = Section {
    name: "a surface",
    keys: &[
        key("of", Single, "The buffer that holds the elements, x fastest."),
        key("size", Sizes, "Elements in x, y and z."),
        key(
            "layers",
            Single,
            "Layers of an array of surfaces of one or two dimensions, one behind the other; no array if not given.",
        ),
        key(
            "channels",
            Single,
            "Elements of the buffer that are one of the surface: 1, 2 or 4; 1 if not given.",
        ),
    ],
};

/// A step of `prelude`.
pub(super) static READ_STEP: Section = Section {
    name: "a step of the prelude",
    keys: &[
        key("read", One(&READ), "Reads a file into a buffer."),
        key("compute", One(&COMPUTE), "Has the CPU compute what fills a buffer."),
    ],
};

/// Keys of `compute`.
pub(super) static COMPUTE: Section = Section {
    name: "compute",
    keys: &[
        key("into", Single, "The buffer."),
        key("generate", Generator, "What it is filled with."),
        key("rate", Single, "How fast, such as `2 GB/s`."),
    ],
};

/// A file in `preload`.
pub(super) static LOAD_STEP: Section = Section {
    name: "a file of the preload",
    keys: &[key("load", One(&READ), "Puts a file into a buffer on its device.")],
};

/// Keys of `read` and `load`.
pub(super) static READ: Section = Section {
    name: "read",
    keys: &[
        key("file", Single, "The file, relative to this one; as long as the buffer."),
        key("into", Single, "The buffer."),
        key("generate", Generator, "How to make the file if it does not exist; an existing file stays."),
    ],
};

/// A launch.
pub(super) static LAUNCH: Section = Section {
    name: "a launch",
    keys: &[
        key("launch", Single, "The kernel, as `code.entry`; `code` alone if the file has one kernel."),
        key("grid", Sizes, "Blocks in x, y and z; those that are not given are 1."),
        key("block", Sizes, "Threads of a block in x, y and z; those that are not given are 1."),
        key("shared", Single, "Dynamic shared memory of a block in bytes; 0 if not given."),
        key(
            "arguments",
            ListOr(&ELEMENT),
            "One for each parameter of the kernel: a buffer (its address) or a number, which takes the parameter's type.",
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
pub(super) static ELEMENT: Section = Section {
    name: "an element's address",
    keys: &[
        key("buffer", Single, "The buffer."),
        key("element", Single, "Index of the element; 0 if not given."),
    ],
};

/// On which stream a command goes.
const STREAM: Key = key(
    "stream",
    Single,
    "The stream, by a name of one's own; the default stream, which waits for all others and they for it, if not given.",
);

/// Values of a round.
const LET: Key = key(
    "let",
    Names,
    "Values of a round by names of one's own, for `${…}` behind it; each may use the `index` and those before it.",
);

/// A copy to the device between launches.
pub(super) static COPY_IN: Section = Section {
    name: "a copy in",
    keys: &[key("copy_in", Single, "A buffer that is copied to its device."), STREAM],
};

/// A copy to the host between launches.
pub(super) static COPY_OUT: Section =
    Section { name: "a copy out", keys: &[key("copy_out", Single, "A buffer that is copied back."), STREAM] };

/// A record.
pub(super) static RECORD: Section = Section {
    name: "a record",
    keys: &[key(
        "record",
        One(&EVENT),
        "Records an event behind what has been sent on a stream, as by cudaEventRecord.",
    )],
};

/// A wait on a device.
pub(super) static WAIT: Section = Section {
    name: "a wait",
    keys: &[key(
        "wait",
        One(&EVENT),
        "Holds a stream until an event, as it was recorded last, as by cudaStreamWaitEvent.",
    )],
};

/// Keys of `record` and `wait`.
pub(super) static EVENT: Section = Section {
    name: "an event",
    keys: &[
        key("event", Single, "The event, by a name of one's own."),
        key("stream", Single, "The stream; the default stream of device 0 if not given."),
    ],
};

/// A wait of the host.
pub(super) static SYNCHRONIZE: Section = Section {
    name: "a synchronization",
    keys: &[key(
        "synchronize",
        Single,
        "Holds the host until an event, all of a stream, or `all` is done, as by cudaDeviceSynchronize and its kin.",
    )],
};

/// A repetition.
pub(super) static REPEAT: Section = Section {
    name: "a repetition",
    keys: &[
        key("repeat", Single, "How often."),
        key("index", Single, "A name for the number of the round, from 0, in `${…}` of these steps."),
        LET,
        key("do", Steps(&STEPS), "The steps to repeat."),
    ],
};

/// A loop that the device ends.
pub(super) static LOOP: Section = Section {
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

/// A task pipeline.
pub(super) static PIPELINE: Section = Section {
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

/// Keys of tasks: what counts them, and then what is said of one task.
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
    key("arguments", ListOr(&ELEMENT), "As those of a launch."),
    key("device", Single, "The device that runs it; 0 if not given."),
    key("registers", Single, "Registers of a thread, as for a launch."),
    key("copy_out", ListOr(&PART), "What is copied back when the kernel has ended."),
];

/// Number of keys that count tasks.
const COUNTING: usize = 4;

/// Tasks, narrow ones.
pub(super) static TASKS: Section = Section { name: "tasks", keys: &TASKS_KEYS };

/// A task.
pub(super) static TASK: Section = Section { name: "a task", keys: TASKS_KEYS.split_at(COUNTING).1 };

/// Part of a buffer that is copied for a task.
pub(super) static PART: Section = Section {
    name: "a part of a buffer",
    keys: &[
        key("buffer", Single, "The buffer."),
        key("element", Single, "Index of its first element; 0 if not given."),
        key("elements", Single, "How many; all from there on if not given."),
    ],
};

/// Keys of `until`.
pub(super) static CONDITION: Section = Section {
    name: "a condition",
    keys: &[
        key("buffer", Single, "The buffer."),
        key("element", Single, "Index of the element; 0 if not given."),
        key("equals", Single, "The value that ends the loop."),
    ],
};

/// A swap.
pub(super) static SWAP: Section = Section {
    name: "a swap",
    keys: &[key("swap", List, "Two buffers whose names exchange their meaning from here on.")],
};

/// A release.
pub(super) static FREE: Section = Section {
    name: "a release",
    keys: &[key(
        "free",
        Single,
        "A buffer whose memory on the device is given back, as by cudaFree: nothing may copy it any more, and kernels that touch it fail.",
    )],
};

/// A step of `postlude`.
pub(super) static WRITE_STEP: Section = Section {
    name: "a step of the postlude",
    keys: &[key("write", One(&WRITE), "Writes a buffer to a file.")],
};

/// Keys of `write`.
pub(super) static WRITE: Section = Section {
    name: "write",
    keys: &[
        key("from", Single, "The buffer."),
        key("file", Single, "The file, in the folder of the run's results."),
    ],
};

/// An entry of `expect`.
pub(super) static EXPECTATION: Section = Section {
    name: "an expectation",
    keys: &[
        key("buffer", Single, "The buffer."),
        key("reference", Single, "A reference implementation that computes what it should hold."),
        key("file", Single, "A file with what it should hold, relative to this one."),
        key("fnv64", Single, "FNV-1a hash of what it should hold, in hexadecimal digits."),
        key("relative", Single, "How far a value may be off, as a share of it; equal bits if not given."),
        key("absolute", Single, "How far a value may be off in its own unit, for values around zero."),
    ],
};

/// Keys of a kernel in `counts`.
pub(super) static COUNT: Section = Section {
    name: "a count",
    keys: &[
        key("ctas", OneOrMoreOr(&TOTAL), "Thread blocks of every launch, or a list of those of each."),
        key(
            "warp_insn",
            OneOrMoreOr(&TOTAL),
            "Instructions, counted once for a warp: of every launch, or of each.",
        ),
    ],
};

/// Keys of `counts` where launches are too many and too different to be listed.
pub(super) static TOTAL: Section =
    Section { name: "a total", keys: &[key("total", Single, "The sum over all launches of the kernel.")] };

/// Every section, the file itself first.
pub(super) static SECTIONS: [&Section; 32] = [
    &APPLICATION,
    &MEMBER,
    &CODE,
    &BUFFER,
    &TEXTURE,
    &SURFACE,
    &READ_STEP,
    &LOAD_STEP,
    &READ,
    &COMPUTE,
    &LAUNCH,
    &ELEMENT,
    &COPY_IN,
    &COPY_OUT,
    &RECORD,
    &WAIT,
    &EVENT,
    &SYNCHRONIZE,
    &REPEAT,
    &LOOP,
    &CONDITION,
    &PIPELINE,
    &TASKS,
    &TASK,
    &PART,
    &FREE,
    &SWAP,
    &WRITE_STEP,
    &WRITE,
    &EXPECTATION,
    &COUNT,
    &TOTAL,
];

/// The keys of an application file as text.
pub fn explain() -> String {
    let mut out = String::new();
    for section in SECTIONS {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("{}\n", section.name));
        for key in section.keys {
            out.push_str(&format!("  {:<13} {}\n", key.name, key.doc));
        }
    }
    out.push_str("\ngenerators\n");
    for info in crate::generate::GENERATORS {
        let parameters: Vec<String> = info
            .parameters
            .iter()
            .map(|(name, default)| match default {
                Some(default) => format!("{name}: {default}"),
                None => (*name).to_owned(),
            })
            .collect();
        out.push_str(&format!(
            "  {:<13} {}\n{:16}{{ {} }}\n",
            info.name,
            info.doc,
            "",
            parameters.join(", ")
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_documented_once() {
        let text = explain();
        for section in SECTIONS {
            for (index, key) in section.keys.iter().enumerate() {
                assert!(key.doc.ends_with('.'), "{}", key.name);
                assert!(section.keys[..index].iter().all(|other| other.name != key.name), "{}", key.name);
                assert!(text.contains(key.doc), "{}", key.name);
            }
        }
    }
}
