//! `mix-*`: the results of a described kernel, from a run without time.
//!
//! A description gives the amount of a kernel's work and not its meaning, so there is nothing to be written
//! more plainly: the same PTX runs on a flat memory, which has no caches, no order of warps and no messages
//! to be wrong.

use counterpoint::application::{BUILT_IN, ProjectFiles, Reference, ReferenceInput, load};
use counterpoint::host::program::{LaunchStep, Step};
use counterpoint::ptx::functional::{FlatMemory, Options, run};
use counterpoint::run::registry_with;

/// The references of the described kernels, named as their applications.
pub(super) const REFERENCES: [Reference; 8] = [
    Reference { name: "mix-bp-1", compute: |input| reference("mix-bp-1", input) },
    Reference { name: "mix-bp-2", compute: |input| reference("mix-bp-2", input) },
    Reference { name: "mix-cfd", compute: |input| reference("mix-cfd", input) },
    Reference { name: "mix-hot", compute: |input| reference("mix-hot", input) },
    Reference { name: "mix-hw", compute: |input| reference("mix-hw", input) },
    Reference { name: "mix-lud", compute: |input| reference("mix-lud", input) },
    Reference { name: "mix-nw", compute: |input| reference("mix-nw", input) },
    Reference { name: "mix-path", compute: |input| reference("mix-path", input) },
];

/// The reference as applications name it: all parameters, and the inputs.
fn reference(application: &str, input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let path =
        format!("{BUILT_IN}experiments/papers/interleave/applications/{application}/{application}.yaml");
    let sets: Vec<String> =
        input.parameters.iter().map(|(name, value)| format!("app.{name}={value}")).collect();
    let registry = registry_with(&[crate::register]);
    let files = ProjectFiles::here(&registry);
    let loaded = load(&path, &sets, &files, &registry).map_err(|report| report.render())?;
    let program = &loaded.application;
    let [Step::Launch(launch)] = &program.steps[..] else {
        return Err(format!("`{application}` is not one launch"));
    };
    let mut memory = FlatMemory::new(0);
    let mut places = Vec::new();
    for buffer in &program.buffers {
        let bytes = input.buffers.get(&*buffer.name);
        places
            .push(memory.push(&bytes.map_or_else(|| vec![0; buffer.bytes as usize], |bytes| bytes.to_vec())));
    }
    let LaunchStep { kernel, grid, block, shared, .. } = launch;
    let params = launch.params(|buffer| places[buffer.0 as usize]);
    let options = Options { dynamic_shared_bytes: *shared, ..Options::default() };
    run(kernel, *grid, *block, &params, &mut memory, &options).map_err(|error| error.message)?;
    let wanted = program.buffers.iter().zip(&places).find(|(buffer, _)| *buffer.name == *input.wanted);
    let (buffer, place) = wanted.ok_or_else(|| format!("there is no buffer `{}`", input.wanted))?;
    let start = (place - memory.base) as usize;
    Ok(memory.bytes[start..start + buffer.bytes as usize].to_vec())
}
