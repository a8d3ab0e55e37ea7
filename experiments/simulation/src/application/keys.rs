//! The keys of an application file: one table, from which the loader takes what is allowed, `explain` what it means,
//! and the JSON Schema (`schema`) both.

mod steps;

pub(super) use steps::{
    BITS, CONDITION, COPY, COPY_IN, COPY_OUT, ELEMENT, EVENT, FILL, FREE, LAUNCH, LOOP, MEMSET, PART,
    PIPELINE, RECORD, REPEAT, ROWS, SWAP, SYNCHRONIZE, TASK, TASKS, TYPED, WAIT, WITHIN,
};
use steps::{PRELOAD, STEPS};

pub(super) enum Shape {
    /// A single value, which may be or contain `${…}`.
    Single,
    /// A single value, or a map with the keys of a section.
    SingleOr(&'static Section),
    /// A single value or a list of them.
    ValueOrList,
    Arguments,
    List,
    /// A list of single values, or of maps with the keys of a section.
    ListOr(&'static Section),
    /// One to three numbers.
    Sizes,
    /// A map from names to single values.
    Names,
    /// A map from names to single values or maps with the keys of a section.
    NamesOr(&'static Section),
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
    Generator,
    /// The parameters of a synthetic kernel.
    Synthetic,
}

use Shape::{
    Counted, Generator, List, Named, Names, NamesOr, One, OneOrMoreOr, Single, Sizes, Steps, Synthetic,
    Tables, ValueOrList,
};

pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) doc: &'static str,
}

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
        key("description", Single, "What it does, in a sentence."),
        key(
            "include",
            Single,
            "An application that this one is, but for what it says itself: maps go together key by key, a map over a list changes \
             the elements whose positions are its keys (`kernels: { 0: { grid: 8 } }`), `~` takes out, all else is replaced. It is \
             a file or a name (`counterpoint explain files`); files are found from where they are named.",
        ),
        key(
            "co_run",
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
        key(
            "stack",
            Single,
            "Local memory of each thread for recursive calls and `alloca`, such as `64 KiB`, as by CUDA's cudaLimitStackSize: a multiple of 16 \
             bytes, at most 512 KiB; if not given 8 KiB, or 4, 2 or 1 KiB where a device has no room for more. A device has room for it in every thread that it can hold at once.",
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
        key("prelude", Steps(&HOST_STEPS), "What happens on the host before the first copy."),
        key("copy_in", List, "Buffers that are copied to their device."),
        key("kernels", Steps(&STEPS), "What runs on the device."),
        key("copy_out", List, "Buffers that are copied back."),
        key(
            "non_blocking",
            List,
            "Streams that the default stream does not wait for, and that do not wait for it, as CUDA's cudaStreamNonBlocking makes them.",
        ),
        key("postlude", Steps(&HOST_STEPS), "What happens on the host after the last copy."),
        key("expect", Steps(&[&EXPECTATION]), "What the host should hold in the end."),
        key(
            "counts",
            Counted(&COUNT),
            "What each launch should count: by size (`default` for none), by kernel.",
        ),
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

/// An entry of `code` that is a map.
pub(super) static CODE: Section = Section {
    name: "a described kernel",
    keys: &[
        key(
            "synthetic",
            Synthetic,
            "What the kernel is like: `counterpoint explain synthetic` tells its parameters.",
        ),
        key("file", Single, "A PTX file, relative to this one, whose variables are to have fixed addresses."),
        key(
            "globals",
            Single,
            "The address at which its `.global` variables begin on each device, a multiple of 256 from 64 KiB on.",
        ),
        key("constants", Single, "The same of its `.const` variables."),
    ],
};

/// An entry of `buffers`.
pub(super) static BUFFER: Section = Section {
    name: "a buffer",
    keys: &[
        key(
            "type",
            Single,
            "Type of the elements: f32, f64, u8 to u64, s8 to s64; of a variable that of its PTX if not given.",
        ),
        key("elements", Single, "How many; of a variable all of it if not given."),
        key("device", Single, "The device on which it lies; 0 if not given."),
        key(
            "address",
            Single,
            "Its address on its device, a multiple of 256 from 64 KiB on; buffers without one lie behind all that have one.",
        ),
        key(
            "variable",
            Single,
            "The variable of a module that it is on its device, as `code.variable`; the host has memory of its own for it.",
        ),
    ],
};

/// An entry of `textures`.
pub(super) static TEXTURE: Section = Section {
    name: "a texture",
    keys: &[
        key("of", Single, "The buffer that holds the texels, x fastest, channels of a texel together."),
        key("element", Single, "The element of the buffer with which it begins; 0 if not given."),
        key("type", Single, "Type of a channel; that of the buffer's elements if not given."),
        key("size", Sizes, "Texels in x, y and z."),
        key(
            "layers",
            Single,
            "Layers of an array of textures of one or two dimensions, one behind the other; no array if not given. The faces of a cube are six.",
        ),
        key(
            "pitch",
            Single,
            "Elements of the buffer from the beginning of a row to that of the next; those of a row's texels if not given.",
        ),
        key("channels", Single, "Channels of a texel: 1, 2 or 4; 1 if not given."),
        key("filter", Single, "`point` (the texel) or `linear` (interpolated); `point` if not given."),
        key("coordinates", Single, "`texels`, or `normalized` from 0 to 1; `texels` if not given."),
        key(
            "edge",
            ValueOrList,
            "Beyond the edge: `clamp`, `border` (zeros), or for normalised coordinates `wrap` or `mirror`; one of all axes, or one of each; `clamp` if not given.",
        ),
        key("read", Single, "`elements`, or 8 and 16 bits as `fractions` of 1; `elements` if not given."),
    ],
};

/// An entry of `surfaces`.
pub(super) static SURFACE: Section = Section {
    name: "a surface",
    keys: &[
        key("of", Single, "The buffer that holds the elements, x fastest."),
        key("element", Single, "The element of the buffer with which it begins; 0 if not given."),
        key("type", Single, "Type of a channel; that of the buffer's elements if not given."),
        key("size", Sizes, "Elements in x, y and z."),
        key(
            "layers",
            Single,
            "Layers of an array of surfaces of one or two dimensions, one behind the other; no array if not given.",
        ),
        key("channels", Single, "Channels of an element: 1, 2 or 4; 1 if not given."),
    ],
};

/// Steps of the host: in `prelude` and `postlude`, and among those of `kernels`.
static HOST_STEPS: [&Section; 3] = [&READ_STEP, &COMPUTE_STEP, &WRITE_STEP];

pub(super) static READ_STEP: Section =
    Section { name: "a read", keys: &[key("read", One(&READ), "Reads a file into a buffer of the host.")] };

pub(super) static COMPUTE_STEP: Section = Section {
    name: "a computation",
    keys: &[key(
        "compute",
        One(&COMPUTE),
        "Has the CPU compute what fills a buffer of the host, or be busy for a time.",
    )],
};

/// Keys of `compute`.
pub(super) static COMPUTE: Section = Section {
    name: "compute",
    keys: &[
        key("into", Single, "The buffer; without it the CPU is busy for `time` and fills nothing."),
        key("generate", Generator, "What it is filled with."),
        key(
            "file",
            Single,
            "A file that holds what it is filled with, in place of a rule; reading it takes no time.",
        ),
        key("offset", Single, "Where they begin in the file, in bytes; 0 if not given."),
        key("element", Single, "Index of the first element that is filled; 0 if not given."),
        key("elements", Single, "How many are filled; all from there on if not given."),
        key("rate", Single, "How fast, such as `2 GB/s`."),
        key("time", Single, "How long it takes, such as `3 ms`, in place of a rate."),
    ],
};

/// A file in `preload`.
pub(super) static LOAD_STEP: Section = Section {
    name: "a file of the preload",
    keys: &[key("load", One(&LOAD), "Puts a file into a buffer on its device.")],
};

/// Keys of `load`.
pub(super) static LOAD: Section = Section {
    name: "load",
    keys: &[
        key("file", Single, "The file, relative to this one; as long as the buffer."),
        key("into", Single, "The buffer."),
        key("generate", Generator, "How to make the file if it does not exist; an existing file stays."),
    ],
};

/// Keys of `read`.
pub(super) static READ: Section = Section {
    name: "read",
    keys: &[
        key(
            "file",
            Single,
            "The file, relative to this one; as long as the buffer, or longer where a part or an offset is given.",
        ),
        key("into", Single, "The buffer."),
        key("element", Single, "Index of the first element that is filled; 0 if not given."),
        key("elements", Single, "How many are filled; all from there on if not given."),
        key("offset", Single, "Where they begin in the file, in bytes; 0 if not given."),
        key("generate", Generator, "How to make the file if it does not exist; an existing file stays."),
    ],
};

pub(super) static WRITE_STEP: Section =
    Section { name: "a write", keys: &[key("write", One(&WRITE), "Writes a buffer of the host to a file.")] };

/// Keys of `write`.
pub(super) static WRITE: Section = Section {
    name: "write",
    keys: &[
        key("from", Single, "The buffer."),
        key("file", Single, "The file, in the folder of the run's results; several writes make one file."),
        key("element", Single, "Index of the first element that is written; 0 if not given."),
        key("elements", Single, "How many are written; all from there on if not given."),
        key("offset", Single, "Where they begin in the file, in bytes; 0 if not given."),
    ],
};

/// An entry of `expect`.
pub(super) static EXPECTATION: Section = Section {
    name: "an expectation",
    keys: &[
        key("buffer", Single, "The buffer."),
        key("element", Single, "Index of the first element that is compared; 0 if not given."),
        key("elements", Single, "How many are compared; all from there on if not given."),
        key("where", Single, "A file with a byte for each of them: where it is 0, any value is right."),
        key("reference", Single, "A reference implementation that computes what it should hold."),
        key("file", Single, "A file with what it should hold, relative to this one."),
        key("offset", Single, "Where that begins in the file, in bytes; 0 if not given."),
        key("generate", Generator, "A rule that makes what it should hold."),
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
pub(super) static SECTIONS: [&Section; 41] = [
    &APPLICATION,
    &MEMBER,
    &CODE,
    &BUFFER,
    &TEXTURE,
    &SURFACE,
    &READ_STEP,
    &LOAD_STEP,
    &LOAD,
    &READ,
    &COMPUTE_STEP,
    &COMPUTE,
    &LAUNCH,
    &ELEMENT,
    &TYPED,
    &BITS,
    &COPY_IN,
    &COPY_OUT,
    &ROWS,
    &MEMSET,
    &FILL,
    &COPY,
    &WITHIN,
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
    for info in crate::workloads::generate::GENERATORS {
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
