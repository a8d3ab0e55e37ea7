//! Every application, in every committed dialect of its kernels, computes what its reference says: the steps that a
//! host would send are executed without time, on a flat memory. The whole machine runs them in the system tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use counterpoint_experiments::application::{Against, Files, LoadedApplication, load};
use counterpoint_experiments::references::{REFERENCES, ReferenceInput};
use counterpoint_experiments::verify::compare;
use counterpoint_host_model::program::{Application, Argument, BufferId, LaunchStep, Step};
use counterpoint_ptx::functional::{FlatMemory, Options, run};

/// The dialects of every kernel; the tests take each in place of the one that an application names.
const DIALECTS: [&str; 4] = ["nvrtc-sm_35", "nvrtc-sm_70", "clang-sm_20", "clang-sm_35"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("applications")
}

/// The applications by name.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The repository's files with the kernels in another dialect, and without input files that a user may have put there.
struct InDialect(&'static str);

impl Files for InDialect {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if path.contains("/data/") {
            return Err(io::ErrorKind::NotFound.into());
        }
        let path = match path.strip_suffix(".ptx").and_then(|stem| stem.rsplit_once("/kernel.")) {
            Some((folder, _)) => format!("{folder}/kernel.{}.ptx", self.0),
            None => path.to_owned(),
        };
        std::fs::read(path)
    }
}

fn small(name: &str, dialect: &'static str) -> LoadedApplication {
    let path = folder().join(name).join(format!("{name}.yaml")).display().to_string();
    let loaded = load(&path, &["app.size=small".to_owned()], &InDialect(dialect));
    loaded.unwrap_or_else(|report| panic!("{}", report.render()))
}

/// A device without time.
struct Device<'a> {
    application: &'a Application,
    memory: FlatMemory,
    addresses: Vec<u64>,
    /// What each buffer's name means now.
    meaning: Vec<usize>,
}

impl<'a> Device<'a> {
    /// A device that holds what the prelude reads; other buffers hold what nobody should rely on.
    fn new(loaded: &'a LoadedApplication) -> Self {
        let application = &loaded.application;
        let mut memory = FlatMemory::new(0);
        let buffers = application.buffers.iter();
        let addresses = buffers.map(|buffer| memory.push(&vec![0xa5; buffer.bytes as usize])).collect();
        let meaning = (0..application.buffers.len()).collect();
        let mut device = Device { application, memory, addresses, meaning };
        for (transfer, input) in application.prelude.iter().zip(&loaded.inputs) {
            assert!(application.copy_in.contains(&transfer.buffer), "what is read is copied");
            device.bytes(transfer.buffer).copy_from_slice(&input.contents);
        }
        device
    }

    fn bytes(&mut self, buffer: BufferId) -> &mut [u8] {
        let place = self.meaning[buffer.0 as usize];
        let start = (self.addresses[place] - self.memory.base) as usize;
        &mut self.memory.bytes[start..start + self.application.buffers[place].bytes as usize]
    }

    fn run(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Launch(launch) => self.launch(launch),
                Step::Swap(a, b) => self.meaning.swap(a.0 as usize, b.0 as usize),
                Step::Repeat(times, steps) => (0..*times).for_each(|_| self.run(steps)),
                Step::Loop { until, most, steps } => {
                    let range = until.offset as usize..until.offset as usize + until.value.len();
                    let ended = (0..*most).any(|_| {
                        self.run(steps);
                        self.bytes(until.buffer)[range.clone()] == *until.value
                    });
                    assert!(ended, "{}", until.words);
                }
            }
        }
    }

    fn launch(&mut self, launch: &LaunchStep) {
        let mut params = vec![0; launch.kernel.param_bytes() as usize];
        for (argument, param) in launch.arguments.iter().zip(launch.kernel.params()) {
            let bytes = match argument {
                Argument::Buffer(name) => {
                    self.addresses[self.meaning[name.0 as usize]].to_le_bytes().to_vec()
                }
                Argument::Value(bytes) => bytes.to_vec(),
            };
            params[param.offset as usize..][..param.size as usize].copy_from_slice(&bytes);
        }
        let options = Options { dynamic_shared_bytes: launch.shared, ..Options::default() };
        let ran = run(&launch.kernel, launch.grid, launch.block, &params, &mut self.memory, &options);
        ran.unwrap_or_else(|error| panic!("{}: {error:?}", launch.kernel.name()));
    }
}

/// Runs the small size of an application and compares what is expected of it.
fn verify(name: &str, dialect: &'static str) {
    let loaded = small(name, dialect);
    let inputs: BTreeMap<String, Vec<u8>> = (loaded.application.prelude.iter().zip(&loaded.inputs))
        .map(|(transfer, input)| {
            (loaded.application.buffers[transfer.buffer.0 as usize].name.clone(), input.contents.clone())
        })
        .collect();
    let mut device = Device::new(&loaded);
    device.run(&loaded.application.steps);
    assert!(!loaded.expectations.is_empty(), "{name} expects nothing");
    for expectation in &loaded.expectations {
        let Against::Reference(reference) = &expectation.against else { panic!("{name}: a reference") };
        let index = expectation.buffer.0 as usize;
        let wanted = &loaded.application.buffers[index].name;
        let input = ReferenceInput { parameters: &loaded.parameters, buffers: &inputs, wanted };
        let expected = (reference.compute)(&input).unwrap();
        let verdict = compare(
            &expected,
            device.bytes(expectation.buffer),
            loaded.elements[index],
            expectation.tolerance,
        );
        assert!(verdict.is_verified(), "{name} in {dialect}, {wanted}: {verdict}");
    }
}

#[test]
fn every_dialect_computes_what_the_reference_says() {
    let names = names();
    assert!(names.len() >= 20, "the walk found {names:?} only");
    for name in &names {
        for dialect in DIALECTS {
            verify(name, dialect);
        }
    }
}

#[test]
fn every_reference_has_an_application() {
    let texts: Vec<String> = names()
        .iter()
        .map(|name| std::fs::read_to_string(folder().join(name).join(format!("{name}.yaml"))).unwrap())
        .collect();
    for reference in REFERENCES {
        let wanted = format!("reference: {}", reference.name);
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-');
        let found = texts.iter().any(|text| text.split(&wanted).skip(1).any(ends));
        assert!(found, "{} is the reference of nothing", reference.name);
    }
}

#[test]
fn a_wrong_result_is_noticed() {
    let loaded = small("laplace", DIALECTS[0]);
    let mut device = Device::new(&loaded);
    let Step::Repeat(times, steps) = &loaded.application.steps[0] else { panic!("a repetition") };
    device.run(&[Step::Repeat(times - 1, steps.clone())]);
    let potential = loaded.expectations[0].buffer;
    let one_less = device.bytes(potential).to_vec();
    device.run(steps);
    assert_ne!(one_less, device.bytes(potential));
}
