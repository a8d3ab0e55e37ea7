//! The keys of an application file. Each map is a struct that declares its keys with their documentation, by the derive that all
//! parameters have. Readers take the fields, and `explain` and the JSON Schema (`schema`) follow the declarations from the whole file on.

mod data;
mod host;
mod shapes;
mod steps;

pub(super) use data::{
    BoundKeys, BufferKeys, CodeKeys, CountKeys, ExpectationKeys, LoadKeys, MemberKeys, SurfaceKeys,
    TextureKeys, TotalKeys,
};
pub(super) use host::{ComputeKeys, ComputeStep, LoadStep, ReadKeys, ReadStep, WriteKeys, WriteStep};
pub(super) use shapes::Single;
pub(super) use steps::{
    BitsKeys, BufferPartKeys, ConditionKeys, CopyInStep, CopyKeys, CopyOutStep, CopyWithinStep, ElementKeys,
    EventKeys, FreeStep, LaunchKeys, LaunchStepKeys, LoopStep, MemsetKeys, MemsetStep, OnStream,
    PipelineStep, RecordStep, RepeatStep, RoundKeys, RowKeys, SwapStep, SynchronizeStep, TaskKeys, TasksStep,
    TypedKeys, WaitStep,
};

use counterpoint_framework::model::{Later, Named, Parameter, Params, TypeInfo};

use crate::workloads::generate::GENERATORS;
use host::{HostStepShape, PreloadShape};
use shapes::{Or, Scalar};
use steps::StepShape;

/// The whole file.
#[derive(Params)]
#[params(called = "an application")]
pub(super) struct ApplicationKeys {
    /// Version of the format: 1.
    #[expect(dead_code, reason = "the header has been read before")]
    counterpoint: Option<Single>,
    /// Name of the application.
    #[expect(dead_code, reason = "the header has been read before")]
    application: Option<Single>,
    /// Description of the application, in a sentence.
    pub description: Option<Single>,
    /// Application on which this one is based; the keys of this file change it: maps go together key by key, a map over a list changes the elements
    /// whose positions are its keys (`kernels: { 0: { grid: 8 } }`), `~` takes out, all else is replaced. It is a file or a name
    /// (`counterpoint explain files`); files are found from where they are named.
    #[expect(dead_code, reason = "it has been included before")]
    include: Option<Single>,
    /// Applications that run at the same time, by a name of each, in the place of all that follows. Every one has a stream to itself and is
    /// repeated while another one has not completed its first round, which is the one that is verified (runtime `streams`; others do a
    /// round of each, one after another).
    #[expect(dead_code, reason = "such a file has no other keys")]
    co_run: Option<Later<Named<MemberKeys>>>,
    /// Numbers by name, for `${…}` below; each may use those above it. `--set app.name=value` changes one.
    pub parameters: Option<Later<Named<Scalar>>>,
    /// Values of parameters by name of a size; `--set app.size=name` takes them, and `--set app.name=value` wins.
    pub sizes: Option<Later<Named<Named<Scalar>>>>,
    /// PTX files by name, relative to this file, or kernels that are described.
    pub code: Option<Later<Named<Or<CodeKeys>>>>,
    /// Memory of each device from which `malloc` of kernels takes blocks, such as `64 MiB`: at most 64 GiB; 8 MiB if not given, as by CUDA's
    /// cudaLimitMallocHeapSize.
    pub heap: Option<Single>,
    /// Memory of each device for what its kernels print until the host waits for them, such as `4 MiB`: the newest text stays; 1 MiB if not
    /// given, as by CUDA's cudaLimitPrintfFifoSize.
    pub printf: Option<Single>,
    /// Local memory of each thread for recursive calls and `alloca`, such as `64 KiB`, as by CUDA's cudaLimitStackSize: a multiple of 16
    /// bytes, at most 512 KiB; if not given 8 KiB, or 4, 2 or 1 KiB where a device has no room for more. A device has room for it in every
    /// thread that it can hold at once.
    pub stack: Option<Single>,
    /// Memory by name, on the host and on a device.
    pub buffers: Option<Later<Named<BufferKeys>>>,
    /// Buffers as textures, by name: that of a `.texref`, or what a launch is given as an argument for its handle.
    pub textures: Option<Later<Named<TextureKeys>>>,
    /// Buffers as surfaces, by name: that of a `.surfref`, or what a launch is given as an argument for its handle.
    pub surfaces: Option<Later<Named<SurfaceKeys>>>,
    /// Contents of devices before the run, without time: files first, then results of kernels on them.
    pub preload: Option<Later<Vec<PreloadShape>>>,
    /// Steps of the host before the first copy.
    pub prelude: Option<Later<Vec<HostStepShape>>>,
    /// Buffers that are copied to their device.
    pub copy_in: Option<Later<Vec<Scalar>>>,
    /// Steps on the device.
    pub kernels: Option<Later<Vec<StepShape>>>,
    /// Buffers that are copied back.
    pub copy_out: Option<Later<Vec<Scalar>>>,
    /// Streams that the default stream does not wait for, and that do not wait for it, as CUDA's cudaStreamNonBlocking makes them.
    pub non_blocking: Option<Later<Vec<Scalar>>>,
    /// Steps of the host after the last copy.
    pub postlude: Option<Later<Vec<HostStepShape>>>,
    /// Expected contents of the host's buffers at the end.
    pub expect: Option<Later<Vec<ExpectationKeys>>>,
    /// Expected counts of each launch: by size (`default` for none), by kernel.
    pub counts: Option<Later<Named<Named<CountKeys>>>>,
}

/// A part of a buffer.
#[derive(Params)]
pub(super) struct PartKeys {
    /// Index of the first element; 0 if not given.
    pub element: Option<Single>,
    /// How many elements, or how many in a row; all from there on if not given.
    pub elements: Option<Single>,
}

impl PartKeys {
    /// Whether it is all of the buffer.
    pub(super) fn is_whole(&self) -> bool {
        self.element.is_none() && self.elements.is_none()
    }
}

/// The types of all maps with names, the file itself first.
pub(super) fn sections() -> Vec<TypeInfo> {
    let mut found = Vec::new();
    collect(&ApplicationKeys::describe(), &mut found);
    found
}

fn collect(info: &TypeInfo, found: &mut Vec<TypeInfo>) {
    if info.called.is_some() {
        if found.iter().any(|known| known.called == info.called) {
            return;
        }
        found.push(TypeInfo { list: false, ..info.clone() });
    }
    info.fields.iter().for_each(|field| collect(&field.kind, found));
    let (values, either) = (info.values.map(|values| values()), info.either.map(|either| either()));
    values.iter().chain(either.iter().flatten()).for_each(|one| collect(one, found));
}

/// The keys of an application file as text.
pub fn explain() -> String {
    let mut out = String::new();
    for TypeInfo { called, fields, .. } in sections() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("{}\n", called.unwrap_or_default()));
        for field in fields {
            out.push_str(&format!("  {:<13} {}\n", field.name, field.doc));
        }
    }
    out.push_str("\ngenerators\n");
    for info in GENERATORS {
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
        let (text, sections) = (explain(), sections());
        assert!(sections.len() > 30);
        for TypeInfo { called, fields, .. } in sections {
            for (index, field) in fields.iter().enumerate() {
                let name = field.name;
                assert!(field.doc.ends_with('.') && text.contains(field.doc), "{called:?}: {name}");
                assert!(fields[..index].iter().all(|other| other.name != name), "{called:?}: {name}");
            }
        }
    }
}
