//! From an application's YAML to what the host executes, with its files and what is expected of it.
//!
//! Like the machine, an application is read whole: every problem is reported, in one go, each with its place.

mod addresses;
mod arguments;
mod assembler;
mod buffers;
mod co_run;
mod code;
mod counts;
mod expressions;
mod files;
mod frees;
mod host;
mod include;
mod input;
mod keys;
mod launches;
mod library;
mod loops;
mod moves;
mod packed;
mod pipelines;
mod preload;
mod reader;
mod rounds;
mod schema;
mod sizes;
mod streams;
mod structs;
mod surfaces;
mod tasks;
mod textures;

pub use co_run::SEPARATOR;
pub use counts::{Counts, PerLaunch};
pub use input::{Found, InputFile};
pub use keys::explain;
pub use schema::schema;

pub(crate) use reader::reason;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use counterpoint_framework::model::{Registry, Report, SourceMap, Span};
use counterpoint_framework::topology::{Missing, beside};
use counterpoint_host_model::program::{Application, LaunchStep, Range, Transfer};

use crate::element::Element;
use crate::find::Sort;
use crate::generate::Generator;
use crate::references::Reference;
use crate::verify::Tolerance;

/// Where files come from: the disk, or a table in a test.
pub trait Files {
    /// The contents of a file.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// A file of data, whose contents are read when they are needed.
    fn find(&self, path: &str) -> io::Result<Found> {
        self.read(path).map(|contents| Found::Held(contents.into()))
    }

    /// The path of a file of a sort that the file `from` names; by default the name is a path relative to that file.
    ///
    /// # Errors
    /// There is no such file.
    fn locate(&self, from: &str, sort: Sort, name: &str) -> Result<String, Missing> {
        let _ = sort;
        Ok(beside(from, name))
    }

    /// The path of an input file that is made where it does not exist, and the place on disk where it is then kept; `made_by` is all that its
    /// bytes depend on.
    ///
    /// # Errors
    /// Why there is no place to keep it.
    fn made(&self, from: &str, name: &str, made_by: &str) -> Result<(String, PathBuf), String> {
        let _ = made_by;
        let path = beside(from, name);
        Ok((path.clone(), path.into()))
    }
}

/// The files of the machine we run on.
pub struct RealFiles;

impl Files for RealFiles {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn find(&self, path: &str) -> io::Result<Found> {
        Ok(Found::Disk(std::fs::File::open(path)?.metadata()?.len()))
    }
}

impl Files for BTreeMap<String, Vec<u8>> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A comparison that the application asks for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Expectation {
    /// The buffer to look at when all is done, and which part of it.
    pub part: Range,
    /// Expected contents.
    pub against: Against,
    /// A byte for each element of the part: where it is 0, any value is right.
    pub only: Option<InputFile>,
    /// How far it may be off.
    pub tolerance: Tolerance,
}

/// Source of the expected result.
#[derive(Clone, Debug)]
pub enum Against {
    /// A reference implementation.
    Reference(Reference),
    /// A file, and where the contents begin in it.
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
    /// Its parameters as they apply.
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
    /// The texts that it was read from: its own file and its code.
    pub texts: Vec<String>,
    /// For each kernel the counts of its launches, if the file states them for this size and no other setting was
    /// given.
    pub counts: Option<BTreeMap<String, Counts>>,
    /// Places in the file of the launches of its steps and tasks.
    pub launched: Vec<Launched>,
    /// The files that say so.
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

/// A launch and its place.
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
    /// Whether another launch asks an SM for the same.
    pub(crate) fn is_like(&self, other: &LaunchStep) -> bool {
        let asks = |launch: &LaunchStep| (launch.block, launch.registers, launch.shared, launch.device);
        let together = !self.cooperative || self.launch.grid == other.grid;
        together && asks(&self.launch) == asks(other) && Arc::ptr_eq(&self.launch.kernel, &other.kernel)
    }
}

impl LoadedApplication {
    /// All files that are read.
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

/// The word with which settings of the command line address the application: `--set app.n=256`.
pub const SETTING_PREFIX: &str = "app.";

/// Loads an application file, with settings `app.name=value` for its parameters, the last one winning. Its references are those of
/// this crate and of the registry's extensions.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(
    path: &str,
    sets: &[String],
    files: &dyn Files,
    registry: &Registry,
) -> Result<LoadedApplication, Report> {
    let mut reader = reader::Reader::new(files, registry);
    let loaded = reader.application(path, sets);
    let (diagnostics, sources): (_, SourceMap) = (reader.diagnostics, reader.sources);
    match loaded {
        Some(loaded) if diagnostics.is_empty() => Ok(loaded),
        _ => Err(Report::new(&diagnostics, sources)),
    }
}

/// Loads applications to run together, each by its name among them and its file, with settings `app.name=value` for all that
/// have such a parameter, and `app.application.name=value` for one.
///
/// # Errors
/// Everything that is wrong with them.
pub fn load_co_run(
    applications: &[(String, String)],
    sets: &[String],
    files: &dyn Files,
    registry: &Registry,
) -> Result<LoadedApplication, Report> {
    let mut reader = reader::Reader::new(files, registry);
    let names: Vec<&str> = applications.iter().map(|(name, _)| name.as_str()).collect();
    let name = names.join(SEPARATOR);
    let span = reader.command_line(&name);
    let guest = |(name, path): &(String, String)| co_run::Guest {
        name: name.clone(),
        path: path.clone(),
        sets: Vec::new(),
        span,
    };
    let guests: Vec<_> = applications.iter().map(guest).collect();
    let loaded = reader.co_run(&name, &guests, sets);
    let (diagnostics, sources): (_, SourceMap) = (reader.diagnostics, reader.sources);
    match loaded {
        Some(loaded) if diagnostics.is_empty() => Ok(loaded),
        _ => Err(Report::new(&diagnostics, sources)),
    }
}

#[cfg(test)]
mod tests;
