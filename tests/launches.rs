//! Launches of an application on a flat memory, one after another, for tests that inspect each launch.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;

use counterpoint_framework::model::Registry;
use counterpoint_host_model::program::{Argument, LaunchStep, Step};
use counterpoint_ptx::functional::FlatMemory;
use counterpoint_simulation::application::{Files, LoadedApplication, load};

use crate::support::{kernels, root};

/// The dialects in which applications are committed; those beside GPGPU-Sim's figures only in the measured
/// one.
pub const DIALECTS: [&str; 4] = ["nvrtc-sm_35", "nvrtc-sm_70", "clang-sm_20", "clang-sm_35"];

/// The repository's files, with the kernels in another dialect and without inputs that someone put there.
struct InDialect<'a>(&'a str);

impl Files for InDialect<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if path.contains("/data/") {
            return Err(io::ErrorKind::NotFound.into());
        }
        let application = || Path::new(path).parent()?.file_name()?.to_str();
        match application().filter(|_| path.ends_with(".ptx")) {
            Some(application) => kernels(application, self.0).ok_or_else(|| io::ErrorKind::NotFound.into()),
            None => std::fs::read(path),
        }
    }
}

/// The applications that have kernels in every dialect, in the order of their names.
pub fn applications() -> Vec<String> {
    let folder = root().join("experiments/applications");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| DIALECTS.iter().all(|dialect| kernels(name, dialect).is_some()))
        .collect();
    names.sort();
    assert!(names.len() >= 22);
    names
}

/// An application in a dialect.
pub fn load_in_dialect(name: &str, dialect: &str, sets: &[&str]) -> LoadedApplication {
    let folder = root().join("experiments/applications").join(name);
    let path = folder.join(format!("{name}.yaml")).display().to_string();
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let loaded = load(&path, &sets, &InDialect(dialect), &Registry::default());
    loaded.unwrap_or_else(|report| panic!("{}", report.render()))
}

/// An application in a dialect, and the text of its kernels.
pub fn load_application(name: &str, dialect: &str, sets: &[&str]) -> (LoadedApplication, String) {
    let loaded = load_in_dialect(name, dialect, sets);
    let text = kernels(name, dialect).expect("a dialect");
    (loaded, String::from_utf8(text).expect("PTX is text"))
}

/// The memory of a device, and which buffer each name means.
pub struct Device {
    /// The memory.
    pub memory: FlatMemory,
    buffers: Vec<Range<u64>>,
    meaning: Vec<usize>,
}

/// Arguments of a launch to its kernel.
pub struct Arguments {
    /// Argument bytes in the layout that the kernel reads.
    pub bytes: Vec<u8>,
    /// Their values by index.
    pub params: BTreeMap<u32, i128>,
    /// Places of the buffers among them.
    pub allocations: BTreeMap<u32, Range<u64>>,
}

impl Device {
    /// A device with an application's buffers, which hold its inputs.
    pub fn new(loaded: &LoadedApplication) -> Self {
        let mut memory = FlatMemory::new(0);
        let sizes = loaded.application.buffers.iter().map(|buffer| buffer.bytes);
        let buffers: Vec<Range<u64>> = sizes
            .map(|bytes| {
                let start = memory.push(&vec![0; bytes as usize]);
                start..start + bytes
            })
            .collect();
        let application = &loaded.application;
        let read = application.reads().map(|transfer| transfer.part.buffer);
        for (buffer, file) in application.preloaded.iter().copied().chain(read).zip(loaded.files()) {
            let start = (buffers[buffer.0 as usize].start - memory.base) as usize;
            let contents = file.contents().expect("the file is there");
            memory.bytes[start..start + contents.len()].copy_from_slice(&contents);
        }
        let meaning = (0..buffers.len()).collect();
        Device { memory, buffers, meaning }
    }

    /// Does the steps; `launch` runs a kernel.
    pub fn run(&mut self, steps: &[Step], launch: &mut dyn FnMut(&mut Device, &LaunchStep)) {
        for step in steps {
            match step {
                Step::Launch(step) => launch(self, step),
                Step::Free(_) | Step::Copy { .. } | Step::Move { .. } | Step::Host(_) => {
                    panic!("no application frees, copies or computes between launches")
                }
                Step::Tasks(tasks) => tasks.iter().for_each(|task| launch(self, &task.launch)),
                Step::Record(..) | Step::Wait(..) | Step::Synchronize(_) => {}
                Step::Swap(a, b) => self.meaning.swap(a.0 as usize, b.0 as usize),
                Step::Repeat(times, steps) => (0..*times).for_each(|_| self.run(steps, launch)),
                Step::Pipeline { launches, .. } | Step::CoRun { rounds: launches, .. } => {
                    self.run(launches, launch);
                }
                Step::Loop { until, most, steps } => {
                    for _ in 0..*most {
                        self.run(steps, launch);
                        let at = (self.buffers[self.meaning[until.buffer.0 as usize]].start
                            - self.memory.base) as usize
                            + until.offset as usize;
                        if self.memory.bytes[at..at + until.value.len()] == *until.value {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Current arguments of a launch to its kernel.
    pub fn arguments(&self, launch: &LaunchStep) -> Arguments {
        let mut bytes = vec![0; launch.kernel.param_bytes() as usize];
        let (mut params, mut allocations) = (BTreeMap::new(), BTreeMap::new());
        for (index, (argument, param)) in launch.arguments.iter().zip(launch.kernel.params()).enumerate() {
            let value = match argument {
                Argument::Buffer(name, offset) => {
                    let range = self.buffers[self.meaning[name.0 as usize]].clone();
                    let address = range.start + offset;
                    allocations.insert(index as u32, range);
                    params.insert(index as u32, i128::from(address));
                    address.to_le_bytes().to_vec()
                }
                Argument::Struct { .. } => panic!("no application passes addresses in a struct"),
                Argument::Value(bytes) => {
                    let value = match bytes.len() {
                        4 => i128::from(i32::from_le_bytes(bytes[..4].try_into().unwrap())),
                        8 => i128::from(i64::from_le_bytes(bytes[..8].try_into().unwrap())),
                        other => panic!("{other} bytes"),
                    };
                    params.insert(index as u32, value);
                    bytes.to_vec()
                }
            };
            bytes[param.offset as usize..][..value.len()].copy_from_slice(&value);
        }
        Arguments { bytes, params, allocations }
    }
}
