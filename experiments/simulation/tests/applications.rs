//! Every application, in every committed dialect of its kernels, computes the results of its reference: the host's steps
//! are executed without time, on a flat memory. The whole machine runs them in the system tests.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use counterpoint_archive::Archive;
use counterpoint_framework::model::Registry;
use counterpoint_framework::telemetry::Meter;
use counterpoint_host_model::Journal;
use counterpoint_host_model::functional::{FunctionalHost, Launched};
use counterpoint_host_model::program::Step;
use counterpoint_protocols::host::FileIndex;
use counterpoint_ptx::functional::Options;
use counterpoint_simulation::application::{Against, Files, LoadedApplication, load};
use counterpoint_simulation::references::{REFERENCES, ReferenceInput};
use counterpoint_simulation::verify::compare;

/// The dialects of every kernel; the tests take each in place of the one that an application names.
const DIALECTS: [&str; 4] = ["nvrtc-sm_35", "nvrtc-sm_70", "clang-sm_20", "clang-sm_35"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../applications")
}

/// The kernels of the applications in other dialects than their own.
static CORPUS: LazyLock<Archive> =
    LazyLock::new(|| Archive::open(&folder().join("../../tests/corpus/modules.archive")).unwrap());

/// The kernels of an application in a dialect, if there are any: beside it, or in the corpus.
fn kernels(name: &str, dialect: &str) -> Option<Vec<u8>> {
    let file = format!("{name}/kernel.{dialect}.ptx");
    let beside = std::fs::read(folder().join(&file));
    beside.or_else(|_| CORPUS.read(&file)).ok()
}

/// The applications by name.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The repository's files, perhaps with the kernels in another dialect, and without input files that a user may have put
/// there.
struct Committed(Option<&'static str>);

impl Files for Committed {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if path.contains("/data/") {
            return Err(io::ErrorKind::NotFound.into());
        }
        let name = Path::new(path).parent().and_then(|folder| folder.file_name()?.to_str());
        match self.0.zip(name.filter(|_| path.ends_with(".ptx"))) {
            Some((dialect, name)) => kernels(name, dialect).ok_or_else(|| io::ErrorKind::NotFound.into()),
            None => std::fs::read(path),
        }
    }
}

fn loaded(name: &str, size: &str, dialect: Option<&'static str>) -> LoadedApplication {
    let path = folder().join(name).join(format!("{name}.yaml")).display().to_string();
    let sets = if size == "default" { Vec::new() } else { vec![format!("app.size={size}")] };
    load(&path, &sets, &Committed(dialect), &Registry::default())
        .unwrap_or_else(|report| panic!("{}", report.render()))
}

fn small(name: &str, dialect: &'static str) -> LoadedApplication {
    loaded(name, "small", Some(dialect))
}

/// Dialects of an application: all dialects, or only the one that another simulator ran.
fn dialects(name: &str) -> &'static [&'static str] {
    let has = |dialect: &str| kernels(name, dialect).is_some();
    if has(DIALECTS[0]) && !DIALECTS[1..].iter().any(|dialect| has(dialect)) {
        &DIALECTS[..1]
    } else {
        &DIALECTS
    }
}

/// Contents of the host's memory in the end; memory that nobody wrote holds values that nobody should rely
/// on. Races are looked for if they should be.
fn run(loaded: &LoadedApplication, racecheck: bool) -> Journal {
    let (journal, _) = run_and_count(loaded, Options { racecheck, ..Options::default() });
    journal
}

/// Runs an application with options, and returns the counts of each launch as well. Any error of a kernel fails the
/// test.
fn run_and_count(loaded: &LoadedApplication, options: Options) -> (Journal, Vec<Launched>) {
    let journal = Journal::default();
    let meter = Meter::default();
    let host = || FunctionalHost::new(&loaded.application, &journal, &meter, options.clone(), 0xa5).unwrap();
    let read = |FileIndex(index), at, place: &mut [u8]| {
        loaded.preloaded[index as usize].read_into(at, place).unwrap();
        Ok(())
    };
    let preloaded = host().preload((read, |_, _, _| {})).unwrap_or_else(|fault| panic!("{fault}"));
    let mut host = host();
    for (buffer, contents) in preloaded.continue_value().unwrap() {
        host.load(buffer, &contents).unwrap();
    }
    let read = |FileIndex(index), at, place: &mut [u8]| {
        loaded.inputs[index as usize].read_into(at, place).unwrap();
        Ok(())
    };
    let ended = host.run((read, |_, _, _| {}));
    assert!(ended.unwrap_or_else(|fault| panic!("{fault}")).is_continue());
    let (launched, found) = host.into_results();
    assert_eq!(found, [], "{} is clean", loaded.application.name);
    (journal, launched)
}

/// Runs the small size of an application and compares its expected results.
fn verify(name: &str, dialect: &'static str, racecheck: bool) {
    let loaded = small(name, dialect);
    let inputs = loaded.contents().unwrap();
    let journal = run(&loaded, racecheck);
    assert!(!loaded.expectations.is_empty(), "{name} expects nothing");
    for expectation in &loaded.expectations {
        let Against::Reference(reference) = &expectation.against else { panic!("{name}: a reference") };
        let index = expectation.part.buffer.0 as usize;
        let wanted = &loaded.application.buffers[index].name;
        let input = ReferenceInput { parameters: &loaded.parameters, buffers: &inputs, wanted };
        let expected = (reference.compute)(&input).unwrap();
        let found = journal.buffer(expectation.part.buffer).unwrap();
        let verdict = compare(&expected, &found, loaded.elements[index], expectation.tolerance, None);
        assert!(verdict.is_verified(), "{name} in {dialect}, {wanted}: {verdict}");
    }
}

/// Runs every application in every dialect, and looks for races in those that are chosen by the places of both.
fn verify_all(racecheck: impl Fn(usize, usize) -> bool) {
    let names = names();
    assert!(names.len() >= 20, "the walk found {names:?} only");
    // A recorded program has the module of one compiler, and what it computed itself in place of a reference.
    for (place, name) in names.iter().filter(|name| !name.starts_with("captured-")).enumerate() {
        let dialects = dialects(name);
        for (index, dialect) in dialects.iter().enumerate() {
            verify(name, dialect, racecheck(place % dialects.len(), index));
        }
    }
}

#[test]
fn every_dialect_computes_what_the_reference_says() {
    // Looking for races takes most of the time: in one dialect of each, in turn.
    verify_all(|application, dialect| application == dialect);
}

/// Counts of launches of one kernel, in their order.
#[derive(Default)]
struct Launches {
    ctas: Vec<u64>,
    warp_insn: Vec<u64>,
}

/// Runs an application without time; gives its launches by kernel.
fn launches(loaded: &LoadedApplication) -> BTreeMap<String, Launches> {
    let (_, launched) = run_and_count(loaded, Options::default());
    let mut found: BTreeMap<String, Launches> = BTreeMap::new();
    for launch in launched {
        let kernel = found.entry(launch.kernel).or_default();
        kernel.ctas.push(launch.ctas);
        kernel.warp_insn.push(launch.warp_instructions);
    }
    found
}

/// The rows of all tables of a page, heads among them, as cells without quotation marks.
fn rows(page: &str) -> Vec<Vec<String>> {
    let cell = |text: &str| text.trim().trim_matches('`').to_owned();
    let lines = page.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    lines.map(|line| line.split('|').map(cell).collect()).collect()
}

/// Asserts that a cell states the counts of the launches: the count of each launch, or `… in all` where they differ.
fn assert_cell(cell: &str, found: &[u64], what: &str) {
    let number =
        |text: &str| text.replace(',', "").parse::<u64>().unwrap_or_else(|_| panic!("{what}: {text}"));
    match cell.strip_suffix(" in all") {
        Some(sum) => assert_eq!(number(sum), found.iter().sum::<u64>(), "{what}"),
        None => assert!(found.iter().all(|found| *found == number(cell)), "{what}: {cell}, found {found:?}"),
    }
}

/// The pages of papers on what their programs read, write and launch.
fn pages_of_papers() -> Vec<String> {
    let papers = std::fs::read_dir(folder().join("../papers")).unwrap();
    papers
        .filter_map(|paper| std::fs::read_to_string(paper.unwrap().path().join("PROGRAMS.md")).ok())
        .collect()
}

/// Asserts the counts of launches of chosen applications and sizes, and gives the number of rows of the page that were compared.
fn launches_come_to_what_is_stated(chosen: impl Fn(&str, &str) -> bool) -> usize {
    let page: Vec<_> = pages_of_papers().iter().flat_map(|page| rows(page)).collect();
    let mut told = 0;
    for name in names() {
        let of_paper: Vec<_> = page.iter().filter(|row| row[0] == name).collect();
        let sizes: BTreeSet<&str> =
            of_paper.iter().map(|row| row[2].as_str()).chain(["default", "small"]).collect();
        for size in sizes.into_iter().filter(|size| chosen(&name, size)) {
            let loaded = loaded(&name, size, None);
            let stated =
                loaded.counts.as_ref().unwrap_or_else(|| panic!("{name} states no counts of size {size}"));
            let found = launches(&loaded);
            assert!(stated.keys().eq(found.keys()), "{name}, size {size}: counts of {stated:?} only");
            for (kernel, Launches { ctas, warp_insn }) in &found {
                let counts = &stated[kernel];
                for (what, counts, found) in
                    [("ctas", &counts.ctas, ctas), ("warp_insn", &counts.warp_insn, warp_insn)]
                {
                    let sum: u64 = found.iter().sum();
                    assert!(
                        counts.agrees(found),
                        "{name}, size {size}, {what} of {kernel}: {found:?}, sum {sum}"
                    );
                }
            }
            for row in of_paper.iter().filter(|row| row[2] == size) {
                told += 1;
                let what = format!("PROGRAMS.md, {row:?}");
                if let Some(Launches { ctas, warp_insn }) = found.get(&row[1]) {
                    assert_cell(&row[3], &[ctas.len() as u64], &what);
                    assert_cell(&row[4], ctas, &what);
                    assert_cell(&row[5], warp_insn, &what);
                } else {
                    let application = &loaded.application;
                    let prelude = loaded.inputs.iter().map(|input| input.bytes).sum();
                    let postlude = application.writes().map(|file| file.part.bytes).sum();
                    assert_cell(&row[3], &[prelude], &what);
                    assert_cell(&row[4], &[postlude], &what);
                }
            }
        }
    }
    told
}

#[test]
fn every_launch_comes_to_what_its_application_states() {
    let short = ["bfs", "convolution", "laplace"];
    let told = launches_come_to_what_is_stated(|name, size| size == "small" || short.contains(&name));
    assert_eq!(told, 8, "rows of PROGRAMS.md: files and kernels of the three short programs");
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
    let potential = loaded.expectations[0].part.buffer;
    let whole = run(&loaded, true).buffer(potential);
    let Step::Repeat(times, _) = &mut loaded.application.steps[0] else { panic!("a repetition") };
    *times -= 1;
    assert_ne!(run(&loaded, true).buffer(potential), whole);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn no_dialect_has_a_race() {
        verify_all(|_, _| true);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn every_launch_comes_to_what_its_application_states_in_every_size() {
        let told = launches_come_to_what_is_stated(|_, _| true);
        assert!(
            told > 16,
            "PROGRAMS.md tells of eight programs and their kernels, {told} rows were compared"
        );
    }
}
