//! The tree keeps its promises: heads of modules, sizes of files, no leftovers, imports in one direction.

mod facade;
mod imports;
mod of_papers;
mod recorder;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::root;
use imports::{Origin, modules, names_of};

/// Every source file of the repository, with its text.
fn sources(extension: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry of it").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" && name != "out" {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push((path.clone(), fs::read_to_string(&path).expect("a text")));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_module_says_what_it_is() {
    let files = sources("rs");
    assert!(files.len() > 80, "the walk found {} files only", files.len());
    for (path, text) in files {
        assert!(text.starts_with("//!"), "{} has no head", path.display());
    }
}

#[test]
fn files_stay_small() {
    for (path, text) in sources("rs") {
        let lines = text.lines().count();
        assert!(lines <= 600, "{} has {lines} lines", path.display());
    }
}

#[test]
fn the_first_pages_are_short() {
    let page = |name: &str| fs::read_to_string(root().join(name)).expect("a page");
    // The map is read at once; the decisions behind it are looked up, and need the room of whole sentences.
    let architecture = page("ARCHITECTURE.md");
    let map = architecture.split("\n## ").find(|part| part.starts_with("Map\n")).expect("a map");
    for (name, text, most) in [("README.md", &*page("README.md"), 140), ("the map", map, 100)] {
        let lines = text.lines().count();
        assert!(lines <= most, "{name} has {lines} lines");
    }
    for (name, text) in [("README.md", page("README.md")), ("ARCHITECTURE.md", architecture.clone())] {
        // Blocks of code, which are pictures and output, lie between two fences.
        let outside = text.split("```").step_by(2).collect::<Vec<_>>().join("");
        let lines: Vec<&str> = outside.lines().collect();
        let is_text = |line: &&&str| !line.starts_with(['|', '-', '#', ' ']);
        for paragraph in lines.split(|line| line.is_empty()) {
            let long = paragraph.iter().filter(is_text).count();
            assert!(long <= 6, "{name}: a paragraph of {long} lines: {}", paragraph[0]);
        }
    }
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_of_pages_lead_somewhere() {
    let mut seen = 0;
    for (path, text) in sources("md") {
        // Code has brackets of its own.
        let outside = text.split("```").step_by(2).collect::<Vec<_>>().join("");
        for link in outside.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            if file.contains(':') || file.contains(' ') {
                continue;
            }
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{} links to {link}", path.display());
            if !place.is_empty() && target.extension().is_some_and(|end| end == "md") {
                let page = fs::read_to_string(&target).expect("a page");
                let mut headings = page.lines().filter(|line| line.starts_with('#'));
                assert!(
                    headings.any(|heading| anchor(heading) == place),
                    "{} links to {link}",
                    path.display()
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 100, "the walk found {seen} links only");
}

#[test]
fn the_readme_says_how_long_its_commands_take() {
    let read = |page: &str| fs::read_to_string(root().join(page)).expect("a page");
    let (readme, times) = (read("README.md"), read("experiments/benches/times.md"));
    // The last row of a command: | date | commit | command | s | CPU s |
    let minutes = |command: &str| {
        let row = times.lines().rfind(|row| row.contains(command)).expect("a row of the command");
        let seconds: f64 = row.split('|').nth(4).and_then(|cell| cell.trim().parse().ok()).expect("seconds");
        (seconds / 60.0).round()
    };
    let (build, test) = (minutes("`cargo build --release"), minutes("`cargo test --workspace"));
    let said = format!("the build takes {build} minutes and the tests take {test}");
    assert!(readme.contains(&said), "README does not say that {said}");
}

#[test]
fn nothing_is_left_over() {
    // Spelled so that this file does not contain them.
    let words = ["TO", "FIX"].iter().zip(["DO", "ME"]).map(|(a, b)| format!("{a}{b}"));
    let leftovers: Vec<String> =
        words.chain(["dbg", "todo", "unimplemented"].map(|name| format!("{name}!("))).collect();
    for (path, text) in sources("rs") {
        if path.ends_with("tidy.rs") {
            continue;
        }
        for word in &leftovers {
            assert!(!text.contains(word), "{} contains {word}", path.display());
        }
    }
}

#[test]
fn layers_do_not_reach_upwards() {
    let forbidden = [
        ("framework", "counterpoint_hardware"),
        ("framework", "counterpoint_ptx"),
        ("components/ptx", "counterpoint_framework"),
        ("components/hardware", "counterpoint_host_model"),
        ("host-model", "counterpoint_hardware"),
    ];
    for (path, text) in sources("rs") {
        let place = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        for (folder, name) in forbidden {
            assert!(!(place.starts_with(folder) && text.contains(name)), "{place} names {name}");
        }
    }
}

/// The crates, from the lowest row on. Those in a row are beside each other; papers are a row of their own
/// folder.
const CRATES: [&[&str]; 11] = [
    &["counterpoint-archive", "counterpoint-kernel", "counterpoint-macros", "counterpoint-ptx-frontend"],
    &["counterpoint-framework", "counterpoint-ptx"],
    &["counterpoint-cuda-capture", "counterpoint-protocols", "counterpoint-report"],
    &["counterpoint-cuda-runtime", "counterpoint-hardware", "counterpoint-host-model"],
    &["counterpoint-cuda-launch", "counterpoint-simulation"],
    &["counterpoint-experiments", "counterpoint-library"],
    &["counterpoint"],
    &[PAPERS],
    &["counterpoint-cli"],
    &["counterpoint-tests"],
    &["xtask"],
];

/// Any crate below `experiments/papers`.
const PAPERS: &str = "a paper";

#[test]
fn crates_depend_on_those_below() {
    let manifests: Vec<(PathBuf, String)> = sources("toml")
        .into_iter()
        .filter(|(path, text)| path.ends_with("Cargo.toml") && text.contains("version.workspace = true"))
        .collect();
    let name = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("name = ")).expect("a crate with a name");
        line.trim_start_matches("name = ").trim_matches('"').to_owned()
    };
    let is_paper = |path: &Path| path.to_string_lossy().replace('\\', "/").contains("/experiments/papers/");
    let papers: Vec<String> =
        manifests.iter().filter(|(path, _)| is_paper(path)).map(|(_, text)| name(text)).collect();
    let row = |of: &str| {
        let known = if papers.iter().any(|paper| paper == of) { PAPERS } else { of };
        CRATES.iter().position(|row| row.contains(&known)).unwrap_or_else(|| panic!("{of} is in no row"))
    };
    assert!(manifests.len() > 10 && !papers.is_empty(), "the walk found {} crates", manifests.len());
    for (_, text) in &manifests {
        let (own, sections) = (name(text), text.split("\n["));
        let uses = sections.filter_map(|section| section.strip_prefix("dependencies]")).flat_map(str::lines);
        let ours =
            uses.filter_map(|line| line.split(['.', ' ']).next()).filter(|it| it.starts_with("counterpoint"));
        for other in ours {
            assert!(row(other) < row(&own), "{own} uses {other}, which is not below it");
        }
    }
}

/// Whether lines of documentation have a block of code that rustdoc would run: one in no other language.
fn has_example(text: &str) -> bool {
    let fences = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?.trim_start().strip_prefix("```")
    });
    fences.step_by(2).any(|language| language != "text")
}

#[test]
fn tests_lie_where_they_are_run() {
    let sources = sources("rs");
    let mut seen = 0;
    for (path, manifest) in self::sources("toml").iter().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        let library = manifest.split("\n[").find(|section| section.starts_with("lib]")).unwrap_or_default();
        let folder = path.parent().unwrap();
        let own = sources.iter().filter(|(path, _)| {
            // The library of the system tests has no folder of its own.
            path.starts_with(folder.join("src"))
                || folder.ends_with("tests") && path == &folder.join("lib.rs")
        });
        for (path, text) in own {
            seen += 1;
            let examples = library.contains("doctest = false") && has_example(text);
            assert!(!examples, "{}: the manifest says that there is no example", path.display());
            let tests = library.contains("\ntest = false") && text.contains("#[test]");
            assert!(!tests, "{}: the manifest says that there is no test", path.display());
        }
    }
    assert!(seen > 300, "the walk found {seen} files only");
    assert!(has_example("/// ```\n/// code();\n/// ```") && !has_example("//! ```text\n//! words\n//! ```"));
}

#[test]
fn slow_tests_are_the_last_module_of_their_file() {
    let mark = "#[ignore = \"slow: cargo xtask slow\"]";
    let count = |text: &str, what: &str| text.matches(what).count();
    let mut seen = 0;
    for (path, text) in sources("rs").iter().filter(|(path, _)| !path.ends_with("tidy.rs")) {
        let (before, slow) = text.split_once("mod slow {").unwrap_or((text, ""));
        assert_eq!(count(before, mark), 0, "{}: a slow test outside of `slow`", path.display());
        assert_eq!(count(slow, mark), count(slow, "#[test]"), "{}: all of `slow` is", path.display());
        seen += count(slow, mark);
    }
    assert!(seen > 0, "where are they?");
}

/// The storeys of a crate or of one of its modules, from the lowest one on. Those in a row are beside each other.
struct House {
    /// Folder of the crate's sources.
    source: &'static str,
    name: &'static str,
    /// The module that has the storeys; nothing for the crate's root.
    inside: &'static [&'static str],
    storeys: &'static [&'static [&'static str]],
    /// A walk that finds as many files only has missed some.
    few: usize,
}

const HOUSES: [House; 9] = [
    House {
        source: "framework/kernel/src/",
        name: "counterpoint_kernel",
        inside: &[],
        storeys: &[
            &["time"],
            &["process"],
            &["channel"],
            &["machine"],
            &["observe"],
            &["windows"],
            &["control"],
        ],
        few: 45,
    },
    House {
        source: "framework/src/",
        name: "counterpoint_framework",
        inside: &[],
        storeys: &[
            &["time"],
            &["kernel"],
            &["telemetry"],
            &["model"],
            &["topology"],
            &["testing"],
            &["guide"],
        ],
        few: 50,
    },
    House {
        source: "framework/src/",
        name: "counterpoint_framework",
        inside: &["topology"],
        storeys: &[
            &["explain", "keys", "machine", "number", "overrides", "parameter_types", "source"],
            &["expression", "faults", "module", "picture", "resolve", "schema"],
            &["build", "language", "overlay"],
            &["patch"],
            &["flat", "settable"],
            &["check", "clocks", "layers", "medium"],
            &["remarks", "wire"],
            &["expand"],
        ],
        few: 25,
    },
    House {
        source: "components/ptx/frontend/src/",
        name: "counterpoint_ptx_frontend",
        inside: &[],
        storeys: &[&["syntax"], &["isa"], &["analysis"], &["instrument", "program", "slice"]],
        few: 50,
    },
    House {
        source: "components/ptx/src/",
        name: "counterpoint_ptx",
        inside: &[],
        storeys: &[&["isa"], &["analysis"], &["program"], &["execute"], &["functional"]],
        few: 40,
    },
    House {
        source: "components/hardware/src/",
        name: "counterpoint_hardware",
        inside: &["gpu", "sm"],
        storeys: &[
            &["answer", "issued", "scheduler"],
            &["params"],
            &["read_cache"],
            &["stats"],
            &["operands"],
            &["frontend"],
            &["load_store"],
            &["state"],
            &["retire"],
            &["issue"],
        ],
        few: 35,
    },
    House {
        source: "experiments/simulation/src/",
        name: "counterpoint_simulation",
        inside: &[],
        storeys: &[&["output", "registry", "workloads"], &["find"], &["application"], &["results"], &["run"]],
        few: 100,
    },
    House {
        source: "experiments/simulation/src/",
        name: "counterpoint_simulation",
        inside: &["application"],
        storeys: &[
            &["assembler", "input", "keys", "parameters", "stream_names"],
            &["loaded", "schema"],
            &["reader"],
            &[
                "code",
                "counts",
                "expressions",
                "files",
                "frees",
                "include",
                "library",
                "moves",
                "packed",
                "sizes",
                "streams",
            ],
            &["addresses", "arguments", "buffers", "host", "loops", "preload", "rounds", "tasks", "textures"],
            &["co_run", "launches", "structs", "surfaces"],
            &["load", "pipelines"],
        ],
        few: 30,
    },
    House {
        source: "tools/cuda/runtime/src/",
        name: "counterpoint_cuda_runtime",
        inside: &[],
        storeys: &[
            &["errors", "fatbin", "limits", "page", "recorder"],
            &["foreign", "pitched"],
            &["channel", "graphs", "libraries", "settings", "words"],
            &["device", "pages"],
            &["made"],
            &["modules", "shared"],
            &["state"],
            &["reset", "residency", "sharing", "waiting"],
            &["api"],
            &["session"],
            &["server"],
        ],
        few: 40,
    },
];

#[test]
fn storeys_import_only_those_below() {
    for House { source, name, inside, storeys, few } in HOUSES {
        let level = |module: &str| storeys.iter().position(|row| row.contains(&module));
        let mut seen = 0;
        for (path, text) in sources("rs") {
            let place = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
            let Some(place) = place.strip_prefix(source) else { continue };
            let modules = modules(place);
            // The module above the storeys may name all of them, and so may its tests.
            let within = modules.iter().zip(inside).all(|(module, outer)| module == outer);
            let Some(own) = modules.get(inside.len()).filter(|own| within && *own != "tests") else {
                continue;
            };
            let at = level(own).unwrap_or_else(|| panic!("{source}{place} is in no storey"));
            let origin = Origin { modules: modules.clone(), name };
            for import in names_of(inside, &text, &origin) {
                let below = level(&import).is_some_and(|storey| storey < at);
                assert!(import == *own || below, "{source}{place} names {import}, which is not below {own}");
            }
            seen += 1;
        }
        assert!(seen > few, "the walk found {seen} files only of {source}");
    }
}
