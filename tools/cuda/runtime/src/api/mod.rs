//! The functions that programs call, by subject.

mod arrays;
mod attributes;
mod conditional_nodes;
mod copies;
mod cublas;
mod curand;
mod device_launches;
mod device_limits;
mod devices;
mod driver;
mod events;
mod fills;
mod functions;
mod graph_edges;
mod graph_nodes;
mod graphs;
mod host_memory;
mod launches;
mod libraries;
mod managed;
mod memory;
mod nvml;
mod pools;
mod properties;
mod refusals;
mod registration;
mod results;
mod stream_capture;
mod streams;
mod surfaces;
mod symbols;
mod textures;
mod volumes;

use std::collections::BTreeMap;

use crate::errors::Result;
use crate::state::State;
use crate::words::Words;

/// Ends of the names of functions whose default stream is the thread's own: without a stream among their arguments, and with one.
pub(crate) const PER_THREAD: [&str; 2] = ["_ptds", "_ptsz"];

/// The handler of a function, which takes the words of a call.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    /// A function whose result is an error number.
    Call(fn(&mut State, &mut Words) -> Result),
    /// A function whose result is an error number, and which works after a kernel has failed.
    Always(fn(&mut State, &mut Words) -> Result),
    Answer(fn(&mut State, &mut Words) -> Result<u64>),
    /// A function that returns a word, called before the program's `main` or after it.
    Register(fn(&mut State, &mut Words) -> Result<u64>),
    /// A function of the driver that needs no context: only the driver must have been initialized.
    Device(fn(&mut State, &mut Words) -> Result),
}

/// A function by CUDA's name.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) body: Body,
}

/// Every function that the server has, by its names.
pub(crate) fn bodies() -> BTreeMap<&'static str, Body> {
    let own: BTreeMap<&str, Body> = functions().map(|function| (function.name, function.body)).collect();
    let others = aliases().filter_map(|(name, other)| Some((name, *own.get(other)?)));
    own.iter().map(|(name, body)| (*name, *body)).chain(others).collect()
}

/// Names of functions that do what another one does, and its name.
fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../../library/aliases.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' '))
}

fn functions() -> impl Iterator<Item = &'static Function> {
    let all = [
        arrays::FUNCTIONS,
        conditional_nodes::FUNCTIONS,
        copies::FUNCTIONS,
        cublas::extended::FUNCTIONS,
        cublas::gemm::FUNCTIONS,
        cublas::handles::FUNCTIONS,
        cublas::light::FUNCTIONS,
        cublas::transfers::FUNCTIONS,
        cublas::vectors::FUNCTIONS,
        cublas::planes::FUNCTIONS,
        curand::distributions::FUNCTIONS,
        curand::generators::FUNCTIONS,
        device_limits::FUNCTIONS,
        devices::FUNCTIONS,
        driver::arrays::FUNCTIONS,
        driver::contexts::FUNCTIONS,
        driver::copies::FUNCTIONS,
        driver::devices::FUNCTIONS,
        driver::entry_points::FUNCTIONS,
        driver::graphs::FUNCTIONS,
        driver::jit_link::FUNCTIONS,
        driver::kernels::FUNCTIONS,
        driver::links::FUNCTIONS,
        driver::memory::FUNCTIONS,
        driver::modules::FUNCTIONS,
        driver::private::FUNCTIONS,
        driver::streams::FUNCTIONS,
        driver::virtual_memory::FUNCTIONS,
        events::FUNCTIONS,
        fills::FUNCTIONS,
        functions::FUNCTIONS,
        graph_edges::FUNCTIONS,
        graph_nodes::FUNCTIONS,
        graphs::FUNCTIONS,
        host_memory::FUNCTIONS,
        launches::FUNCTIONS,
        managed::FUNCTIONS,
        memory::FUNCTIONS,
        nvml::FUNCTIONS,
        pools::FUNCTIONS,
        properties::FUNCTIONS,
        refusals::FUNCTIONS,
        registration::FUNCTIONS,
        results::FUNCTIONS,
        stream_capture::FUNCTIONS,
        streams::FUNCTIONS,
        surfaces::FUNCTIONS,
        symbols::FUNCTIONS,
        textures::FUNCTIONS,
        volumes::FUNCTIONS,
    ];
    all.into_iter().flatten()
}

/// The functions of a module, in the names and types of CUDA's `cuda_runtime_api.h`. Pointers are addresses in the program. Without another kind behind
/// its arguments a function is a `Body::Call`. The build script of `tools/cuda/launch` finds the names where lines begin with `fn` and one of them.
macro_rules! entries {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(=> $kind:ident)? |$state:ident| $body:block)*) => {
        pub(in crate::api) static FUNCTIONS: &[$crate::api::Function] = &[$(
            $crate::api::Function {
                name: stringify!($name),
                body: $crate::api::entries!(@ $($kind)?)(|$state, words| {
                    let _ = &words;
                    $(let $argument: $type = $crate::words::Argument::take(words)?;)*
                    $body
                }),
            }
        ),*];
    };
    (@) => { $crate::api::Body::Call };
    (@ $kind:ident) => { $crate::api::Body::$kind };
}
pub(crate) use entries;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{PER_THREAD, aliases, functions};

    #[test]
    fn the_library_has_every_function_once() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/api");
        let mut lines = String::new();
        let folders = ["", "/driver", "/cublas", "/curand"].map(|inner| format!("{folder}{inner}"));
        for entry in folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("sources")) {
            let path = entry.expect("a source").path();
            if path.is_file() {
                lines += &std::fs::read_to_string(path).expect("a text");
            }
        }
        // The build script of the library finds function names in this way.
        let begin = |line: &str| Some(line.trim_start().strip_prefix("fn ")?.split('(').next()?.to_owned());
        let found: BTreeSet<String> = lines.lines().filter_map(begin).collect();
        let refused = concat!(
            include_str!("../../library/refused.txt"),
            include_str!("../../library/refused_driver.txt"),
            include_str!("../../library/refused_math.txt"),
            include_str!("../../library/refused_libraries.txt")
        );
        let per_thread = include_str!("../../library/per_thread.txt");
        let mut seen = BTreeSet::new();
        for name in functions().map(|function| function.name) {
            assert!(seen.insert(name) && found.contains(name), "{name}");
            assert!(!refused.split_whitespace().any(|other| other == name), "{name} is refused");
        }
        assert!(seen.len() > 300, "{}", seen.len());
        for (name, other) in aliases() {
            assert!(seen.contains(other), "{other}");
            assert!(!refused.split_whitespace().any(|other| other == name), "{name} is refused");
        }
        seen.extend(aliases().map(|(name, _)| name));
        let lines = per_thread.lines().filter(|line| !line.starts_with('#'));
        for name in lines.flat_map(str::split_whitespace) {
            let first_form = PER_THREAD.iter().find_map(|end| name.strip_suffix(end));
            assert!(first_form.is_some_and(|name| seen.contains(name)), "{name}");
        }
    }
}
