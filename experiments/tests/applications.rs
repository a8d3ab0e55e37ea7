//! Every application, in every committed dialect of its kernels, computes what its reference says: the steps that a
//! host would send are executed without time, on a flat memory. The whole machine runs them in the system tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use counterpoint_experiments::application::{Against, Files, LoadedApplication, load};
use counterpoint_experiments::references::{REFERENCES, ReferenceInput};
use counterpoint_experiments::verify::compare;
use counterpoint_framework::telemetry::Meter;
use counterpoint_host_model::Journal;
use counterpoint_host_model::functional::FunctionalHost;
use counterpoint_host_model::program::Step;
use counterpoint_ptx::functional::Options;

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

/// What the host holds in the end; memory that nobody wrote holds what nobody should rely on.
fn run(loaded: &LoadedApplication) -> Journal {
    let journal = Journal::default();
    let meter = Meter::default();
    let inputs: Vec<&[u8]> = loaded.inputs.iter().map(|input| &*input.contents).collect();
    let mut host = FunctionalHost::new(&loaded.application, &journal, &meter, Options::default(), 0xa5);
    let ended = host.run(&inputs, |_, _| {});
    assert!(ended.unwrap_or_else(|fault| panic!("{fault}")).is_continue());
    assert_eq!(host.into_results().1, [], "{} is clean", loaded.application.name);
    journal
}

/// Runs the small size of an application and compares what is expected of it.
fn verify(name: &str, dialect: &'static str) {
    let loaded = small(name, dialect);
    let inputs: BTreeMap<String, Vec<u8>> = (loaded.application.prelude.iter().zip(&loaded.inputs))
        .map(|(transfer, input)| {
            (loaded.application.buffers[transfer.buffer.0 as usize].name.clone(), input.contents.clone())
        })
        .collect();
    let journal = run(&loaded);
    assert!(!loaded.expectations.is_empty(), "{name} expects nothing");
    for expectation in &loaded.expectations {
        let Against::Reference(reference) = &expectation.against else { panic!("{name}: a reference") };
        let index = expectation.buffer.0 as usize;
        let wanted = &loaded.application.buffers[index].name;
        let input = ReferenceInput { parameters: &loaded.parameters, buffers: &inputs, wanted };
        let expected = (reference.compute)(&input).unwrap();
        let found = journal.buffer(expectation.buffer).unwrap();
        let verdict = compare(&expected, &found, loaded.elements[index], expectation.tolerance);
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
    let mut loaded = small("laplace", DIALECTS[0]);
    let potential = loaded.expectations[0].buffer;
    let whole = run(&loaded).buffer(potential);
    let Step::Repeat(times, _) = &mut loaded.application.steps[0] else { panic!("a repetition") };
    *times -= 1;
    assert_ne!(run(&loaded).buffer(potential), whole);
}
