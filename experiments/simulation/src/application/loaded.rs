//! A checked application: the host's steps, its files, and its expected results.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use counterpoint_framework::model::{SourceMap, Span};
use counterpoint_host_model::program::{Application, LaunchStep, Range, Transfer};

use super::input::InputFile;
use crate::workloads::element::Element;
use crate::workloads::generate::Generator;
use crate::workloads::references::Reference;
use crate::workloads::verify::Tolerance;

/// A comparison that the application requests.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Expectation {
    /// Part of a buffer that is compared at the end.
    pub part: Range,
    /// Expected contents.
    pub against: Against,
    /// A byte for each element of the part: where it is 0, any value is right.
    pub only: Option<InputFile>,
    /// Tolerance of the comparison.
    pub tolerance: Tolerance,
}

/// Source of the expected result.
#[derive(Clone, Debug)]
pub enum Against {
    /// A reference implementation.
    Reference(Reference),
    /// A file, and the offset of the contents in it.
    File(InputFile, u64),
    /// A rule.
    Rule(Generator),
    /// The FNV-1a hash of the right bytes.
    Fnv64(u64),
}

impl std::fmt::Display for Against {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Against::Reference(reference) => write!(f, "reference {}", reference.name),
            Against::File(file, 0) => write!(f, "file {}", file.path),
            Against::File(file, at) => write!(f, "file {} from byte {at}", file.path),
            Against::Rule(rule) => write!(f, "rule {rule:?}"),
            Against::Fnv64(hash) => write!(f, "FNV-64 {hash:016x}"),
        }
    }
}

/// An application that is sound.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LoadedApplication {
    /// The program of the host. Its files are the inputs and then the outputs, in their order.
    pub application: Application,
    /// Description of the application.
    pub description: Option<String>,
    /// Parameters of the application, with settings applied.
    pub parameters: BTreeMap<String, f64>,
    /// Per buffer the type of its elements.
    pub elements: Vec<Element>,
    /// Files that the prelude reads.
    pub inputs: Vec<InputFile>,
    /// Files whose contents are on the device before the run.
    pub preloaded: Vec<InputFile>,
    /// Names of the files that the postlude writes, within the run's folder.
    pub outputs: Vec<String>,
    /// Expected results.
    pub expectations: Vec<Expectation>,
    /// The PTX of its synthetic kernels, by name.
    pub synthetic: Vec<(String, String)>,
    /// The texts that the application was read from: its own file and its code.
    pub texts: Vec<String>,
    /// Counts of launches per kernel, if the file states them for this size and no other setting was given.
    pub counts: Option<BTreeMap<String, Counts>>,
    /// Places in the file of the launches of its steps and tasks.
    pub launched: Vec<Launched>,
    /// The files that the application was read from, for diagnostics.
    pub sources: SourceMap,
    /// The applications that run together, if it is several.
    pub parts: Vec<CoRunPart>,
    /// Assumptions about the application's files.
    pub remarks: Vec<String>,
}

/// An application among those that run together.
#[derive(Clone, Debug)]
pub struct CoRunPart {
    /// Name of the application: the prefix of the names of its buffers, with a dot between.
    pub name: String,
    /// Parameters of the application.
    pub parameters: BTreeMap<String, f64>,
    /// Buffers of the application.
    pub buffers: std::ops::Range<usize>,
}

/// A launch and its position in the file.
#[derive(Clone, Debug)]
pub struct Launched {
    /// Place in the file.
    pub span: Span,
    /// The launch.
    pub launch: LaunchStep,
    /// Whether the launch is a task, which some runtimes execute in other ways.
    pub task: bool,
    /// Whether all its blocks must be on the device at once.
    pub cooperative: bool,
}

impl Launched {
    /// Whether another launch has the same kernel and the same needs of an SM.
    pub(crate) fn is_like(&self, other: &LaunchStep) -> bool {
        let asks = |launch: &LaunchStep| (launch.block, launch.registers, launch.shared, launch.device);
        let together = !self.cooperative || self.launch.grid == other.grid;
        together && asks(&self.launch) == asks(other) && Arc::ptr_eq(&self.launch.kernel, &other.kernel)
    }
}

impl LoadedApplication {
    /// All files that the application reads.
    pub fn files(&self) -> impl Iterator<Item = &InputFile> {
        self.preloaded.iter().chain(&self.inputs)
    }

    /// Contents of these files, by the buffer that they fill.
    ///
    /// # Errors
    /// If one cannot be read any more.
    pub fn contents(&self) -> io::Result<BTreeMap<String, Bytes>> {
        let Application { buffers, preloaded, .. } = &self.application;
        let mut contents = BTreeMap::new();
        for (buffer, file) in preloaded.iter().zip(&self.preloaded) {
            contents.insert(buffers[buffer.0 as usize].name.clone(), file.contents()?);
        }
        for Transfer { file, part, at } in self.application.reads() {
            let (buffer, file) = (&buffers[part.buffer.0 as usize], &self.inputs[file.0 as usize]);
            let read = file.contents()?.slice(*at as usize..(at + part.bytes) as usize);
            if part.bytes == buffer.bytes {
                contents.insert(buffer.name.clone(), read);
                continue;
            }
            let mut whole = contents
                .get(&buffer.name)
                .map_or_else(|| vec![0; buffer.bytes as usize], |held| held.to_vec());
            whole[part.bytes_of()].copy_from_slice(&read);
            contents.insert(buffer.name.clone(), whole.into());
        }
        Ok(contents)
    }
}

/// Counts of the launches of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Thread blocks.
    pub ctas: PerLaunch,
    /// Instructions, counted once for a warp, with the code that the application names.
    pub warp_insn: PerLaunch,
}

/// Statements of the launches of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PerLaunch {
    /// One number that holds for every launch.
    Each(u64),
    /// One number per launch, in the order of the launches.
    Listed(Vec<u64>),
    /// The sum over all launches.
    Total(u64),
}

impl PerLaunch {
    /// Whether these numbers agree with the counts of launches, in their order.
    pub fn agrees(&self, found: &[u64]) -> bool {
        match self {
            PerLaunch::Each(number) => found.iter().all(|found| found == number),
            PerLaunch::Listed(numbers) => numbers == found,
            PerLaunch::Total(total) => *total == found.iter().sum::<u64>(),
        }
    }
}
