//! `cargo xtask lines`: lines of Rust by crate, without blank ones: product, comments, tests. No Rust is generated, so no file is
//! excluded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::report;
use crate::tree::{crates, git, owner, root};

/// Lines of one kind of text each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    product: usize,
    comments: usize,
    tests: usize,
}

impl std::ops::AddAssign for Lines {
    fn add_assign(&mut self, other: Self) {
        self.product += other.product;
        self.comments += other.comments;
        self.tests += other.tests;
    }
}

/// Folders whose sources are tests, benchmarks and examples.
const FOLDERS: [&str; 3] = ["tests", "benches", "examples"];

/// Prints the table, for the page as well.
pub(crate) fn run() -> Result<(), String> {
    let (root, crates) = (root()?, crates()?);
    let files: Vec<PathBuf> = git(&["ls-files", "*.rs"])?.into_iter().map(PathBuf::from).collect();
    let mut texts = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(root.join(&file));
        texts.insert(file.clone(), text.map_err(|error| format!("{}: {error}", file.display()))?);
    }
    let tests: BTreeSet<PathBuf> = texts.iter().flat_map(|(file, text)| test_modules(file, text)).collect();
    let mut by_crate: BTreeMap<String, Lines> = BTreeMap::new();
    let mut all = Lines::default();
    for (file, text) in &texts {
        let is_test = file.components().any(|part| FOLDERS.iter().any(|name| part.as_os_str() == *name))
            || tests.iter().any(|module| file.starts_with(module) || *file == module.with_extension("rs"));
        let lines = count(text, is_test);
        let name = owner(&crates, file).map_or("outside the workspace", |one| &one.name);
        *by_crate.entry(name.to_owned()).or_default() += lines;
        all += lines;
    }
    report("| crate | product | comments | tests |\n| --- | --: | --: | --: |");
    by_crate.insert("all".to_owned(), all);
    let mut rows: Vec<_> = by_crate.into_iter().collect();
    rows.sort_by_key(|(name, lines)| (name == "all", usize::MAX - lines.product));
    for (name, Lines { product, comments, tests }) in rows {
        report(&format!("| {name} | {product} | {comments} | {tests} |"));
    }
    let others = git(&["ls-files"])?.into_iter().filter(|file| !file.ends_with(".rs"));
    let mut other = 0;
    for file in others {
        let bytes = std::fs::read(root.join(&file)).map_err(|error| format!("{file}: {error}"))?;
        other += std::str::from_utf8(&bytes).map_or(0, |text| text.lines().count());
    }
    report(&format!("\nTracked lines of other texts: {other}."));
    Ok(())
}

/// Paths without an ending of the modules that a file declares for tests alone.
fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let stem = file.file_stem().unwrap_or_default();
    let above = file.parent().unwrap_or(Path::new(""));
    let folder = match stem.to_str() {
        Some("mod" | "lib" | "main") => above.to_owned(),
        _ => above.join(stem),
    };
    let lines: Vec<&str> = text.lines().collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    let names = declared.filter_map(|pair| pair[1].trim_start_matches("pub(crate) ").strip_prefix("mod "));
    names.filter_map(|name| Some(folder.join(name.strip_suffix(';')?))).collect()
}

/// Counts a file; from a module of tests on, all of it is tests.
fn count(text: &str, is_test: bool) -> Lines {
    let mut lines = Lines::default();
    let mut in_tests = is_test;
    for (line, next) in text.lines().zip(text.lines().skip(1).chain([""])) {
        in_tests |= line == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{');
        let line = line.trim();
        match line {
            "" => {}
            _ if in_tests => lines.tests += 1,
            _ if line.starts_with("//") => lines.comments += 1,
            _ => lines.product += 1,
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let text = "//! A page.\n\nfn f() {} // here\n\n#[cfg(test)]\nmod tests {\n    // why\n}\n";
        assert_eq!(count(text, false), Lines { product: 1, comments: 1, tests: 4 });
        assert_eq!(count(text, true), Lines { product: 0, comments: 0, tests: 6 });
    }

    #[test]
    fn modules_for_tests_lie_where_rust_looks_for_them() {
        let text = "#[cfg(test)]\nmod tests;\nmod product;\n";
        assert_eq!(test_modules(Path::new("a/src/mod.rs"), text), [Path::new("a/src/tests")]);
        assert_eq!(test_modules(Path::new("a/src/b.rs"), text), [Path::new("a/src/b/tests")]);
    }
}
