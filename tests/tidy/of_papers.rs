//! Words of papers: parts that belong to no paper do not have them.

use super::{root, sources};

/// Names from papers' proposals. `interleaved`, `slice` and `fusion` are words of the trade, so they are not among them.
const WORDS: [&str; 11] = [
    "crcs",
    "ppcs",
    "dka",
    "pagoda",
    "gemtc",
    "hyperq",
    "pthreads",
    "masterkernel",
    "superkernel",
    "kernelet",
    "consolidation",
];

/// Parts that belong to no paper.
const GENERIC: [&str; 13] = [
    "components/",
    "experiments/applications/",
    "experiments/archive/",
    "experiments/benches/",
    "experiments/library/",
    "experiments/report/",
    "experiments/simulation/",
    "experiments/src/",
    "experiments/studies/",
    "framework/",
    "host-model/",
    "tools/",
    "topologies/",
];

/// Files and folders among them that must name papers, each with the reason.
const EXCEPTIONS: [(&str, &str); 13] = [
    ("experiments/benches/speeds.rs", "the machine whose speed is recorded since the beginning"),
    ("experiments/studies/runtimes-captured.yaml", "compares the runtimes of all papers"),
    ("experiments/studies/runtimes-pipeline.yaml", "compares the runtimes of all papers"),
    ("experiments/studies/runtimes-tasks.yaml", "compares the runtimes of all papers"),
    ("tools/cli/Cargo.toml", "the papers of the shipped command"),
    ("tools/cli/src/lib.rs", "the papers of the shipped command"),
    ("tools/cli/tests/", "tests of the shipped command, which has papers"),
    ("tools/e2e/", "runs of the shipped command, which has papers"),
    ("tools/extension/tests/papers.rs", "an outside crate beside papers"),
    ("tools/xtask/src/documented.rs", "the pages whose commands are tried"),
    ("tools/xtask/src/installed.rs", "runs of the shipped command, which has papers"),
    ("tools/xtask/src/pgo.rs", "the run that the speeds of two builds are compared by"),
    ("tools/xtask/src/tree.rs", "the list of crates"),
];

/// A line without what may cite a paper: heads of crates list which kinds and runtimes papers bring along, a comment in YAML names the source
/// of a value, and a size of an application may be that of a paper, by whose name it goes.
fn uncited<'a>(place: &str, line: &'a str) -> &'a str {
    let is_size = |line: &str| {
        let name = line.strip_prefix("  ").and_then(|rest| rest.split_once(':')).map_or("", |(name, _)| name);
        WORDS.contains(&name)
    };
    match place.rsplit('.').next() {
        // A sample of CUDA has the name of its technique.
        Some("rs") if line.starts_with("//! |") || line.contains("`simpleHyperQ`") => "",
        Some("yaml") if place.starts_with("experiments/applications/") && is_size(line) => "",
        Some("yaml") => line.split('#').next().unwrap_or_default(),
        _ => line,
    }
}

/// The word of a paper in a line.
fn word_of_a_paper(line: &str) -> Option<&'static str> {
    let lower = line.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.find_map(|word| WORDS.into_iter().find(|known| *known == word))
}

#[test]
fn generic_parts_do_not_know_papers() {
    let mut seen = 0;
    let mut needed: Vec<&str> = Vec::new();
    for (path, text) in ["rs", "yaml", "toml", "cu", "h", "py"].into_iter().flat_map(sources) {
        let place = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        if !GENERIC.iter().any(|folder| place.starts_with(folder)) {
            continue;
        }
        seen += 1;
        let mut lines = text.lines().map(|line| uncited(&place, line));
        let Some((line, word)) = lines.find_map(|line| Some((line, word_of_a_paper(line)?))) else {
            continue;
        };
        match EXCEPTIONS.iter().find(|(named, _)| place.starts_with(named)) {
            Some((named, _)) => needed.push(named),
            None => panic!("{place} has `{word}`: {line}"),
        }
    }
    assert!(seen > 900, "the walk found {seen} files only");
    for (named, reason) in EXCEPTIONS {
        assert!(needed.contains(&named), "{named} ({reason}) names no paper: it is no exception");
    }
}
