//! The recorder of CUDA programs writes keys that application files have. It depends on nothing that reads them.

use std::collections::BTreeSet;

use counterpoint_simulation::application;

use super::sources;

/// The keys in a text of the recorder: names with a colon behind them.
fn keys(text: &str) -> impl Iterator<Item = &str> {
    let ends = text
        .match_indices(':')
        .filter(|(at, _)| matches!(text.as_bytes().get(at + 1), None | Some(b' ' | b'\\')));
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let names = ends.filter_map(move |(at, _)| text[..at].rsplit(|c| !is_part(c)).next());
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
}

#[test]
fn every_key_that_the_recorder_writes_is_declared() {
    let page = application::explain();
    // Keys begin their lines. Those of generators are in braces, too.
    let declared: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .flat_map(|line| [line.split_whitespace().next()].into_iter().flatten().chain(keys(line)))
        .collect();
    let mut written = BTreeSet::new();
    for (path, text) in sources("rs") {
        if path.to_string_lossy().contains("tools/cuda/capture/src/") {
            let product =
                text.split("#[cfg(test)]").next().unwrap_or_default().replace("\\\"", "").replace("'\"'", "");
            let code: Vec<&str> =
                product.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let texts: Vec<String> =
                code.join("\n").split('"').skip(1).step_by(2).map(str::to_owned).collect();
            written.extend(texts.iter().flat_map(|text| keys(text)).map(str::to_owned));
        }
    }
    assert!(written.len() > 40, "{written:?}");
    let unknown: Vec<&String> = written.iter().filter(|key| !declared.contains(key.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
