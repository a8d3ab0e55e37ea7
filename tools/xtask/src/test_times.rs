//! Runs every test with the seconds that it takes, and writes the table of the slowest: `cargo xtask tests`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const TABLE: &str = "experiments/benches/slowest-tests.md";

const ROWS: usize = 50;

/// Names the crate of a test binary before its output. Times are an unstable option of the binary: the build must not see the variable.
const RUNNER: &str = r#"target.'cfg(all())'.runner = ["sh", "-c", "echo crate $CARGO_PKG_NAME; RUSTC_BOOTSTRAP=1 exec \"$0\" \"$@\""]"#;

#[derive(Debug, PartialEq)]
pub(crate) struct Timed {
    pub(crate) package: String,
    pub(crate) name: String,
    pub(crate) seconds: f64,
}

/// Runs all tests but those of documentation, and writes the table.
pub(crate) fn run() -> Result<(), String> {
    let mut tests = timed(&[], false)?;
    tests.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.name.cmp(&b.name)));
    let root = crate::tree::root()?;
    std::fs::write(root.join(TABLE), table(&tests)).map_err(|error| format!("{TABLE}: {error}"))?;
    crate::report(&format!("{} tests: {TABLE}", tests.len()));
    Ok(())
}

/// The command that runs the workspace's test binaries, the ones that `cargo test --workspace` builds, with arguments for each.
pub(crate) fn binaries() -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command.args(["test", "--workspace", "--tests", "--no-fail-fast", "--config", RUNNER]);
    command
}

/// Runs tests. What the binaries say goes to the terminal, lines of tests that passed only where `all` is to be seen.
pub(crate) fn timed(arguments: &[&str], all: bool) -> Result<Vec<Timed>, String> {
    let mut command = binaries();
    command.arg("--").args(arguments).args(["-Z", "unstable-options", "--report-time"]);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cargo: {error}"))?;
    let output = BufReader::new(child.stdout.take().ok_or("cargo has no output")?);
    let mut read = Read::default();
    for line in output.lines() {
        let line = line.map_err(|error| format!("cargo: {error}"))?;
        let passed = read.line(&line);
        if all && passed || !passed && !line.is_empty() && !line.starts_with("running ") {
            crate::report(&line);
        }
    }
    let status = child.wait().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err("a test failed".to_owned());
    }
    if read.tests.len() != read.passed {
        return Err(format!("{} tests passed, of which {} have a time", read.passed, read.tests.len()));
    }
    Ok(read.tests)
}

/// State of reading the binaries' output.
#[derive(Default)]
struct Read {
    package: String,
    tests: Vec<Timed>,
    /// The sum of the binaries' own counts.
    passed: usize,
}

impl Read {
    /// Takes a line, and says whether it is one of a binary without failures.
    fn line(&mut self, line: &str) -> bool {
        if let Some(package) = line.strip_prefix("crate ") {
            package.clone_into(&mut self.package);
            return true;
        }
        if let Some((passed, _)) =
            line.strip_prefix("test result: ok. ").and_then(|rest| rest.split_once(" passed"))
        {
            self.passed += passed.parse::<usize>().unwrap_or(0);
            return true;
        }
        let Some((name, seconds)) = passed(line) else { return line.contains(" ... ignored") };
        self.tests.push(Timed { package: self.package.clone(), name: name.to_owned(), seconds });
        true
    }
}

/// Name and seconds of a test that passed: `test a::b ... ok <0.123s>`, where `- should panic` may be behind the name.
fn passed(line: &str) -> Option<(&str, f64)> {
    let (name, end) = line.strip_prefix("test ")?.split_once(" ... ok <")?;
    Some((name.split(' ').next()?, end.strip_suffix("s>")?.parse().ok()?))
}

/// The page, from the slowest on.
fn table(tests: &[Timed]) -> String {
    let sum: f64 = tests.iter().map(|test| test.seconds).sum();
    let mut page = format!(
        "`cargo xtask tests` writes this page: the {ROWS} slowest tests of `cargo test --workspace`.\n\n\
         Seconds are wall-clock time of the dev profile, with other tests beside. {} tests took {sum:.0} s together. Tests of\n\
         documentation have no times, and slow ones (`cargo xtask slow`) are not run.\n\n\
         | seconds | test | crate |\n| ---: | --- | --- |\n",
        tests.len()
    );
    for Timed { package, name, seconds } in tests.iter().take(ROWS) {
        page += &format!("| {seconds:.1} | `{name}` | {package} |\n");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_binaries_are_read() {
        let mut read = Read::default();
        let lines = [
            ("crate one", true),
            ("running 4 tests", false),
            ("test a::b ... ok <1.250s>", true),
            ("test a::c - should panic ... ok <0.001s>", true),
            ("test a::d ... ignored, slow: cargo xtask slow", true),
            ("test a::e ... FAILED <0.100s>", false),
            (
                "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.25s",
                true,
            ),
        ];
        for (line, ordinary) in lines {
            assert_eq!(read.line(line), ordinary, "{line}");
        }
        let test = |name: &str, seconds| Timed { package: "one".to_owned(), name: name.to_owned(), seconds };
        assert_eq!(read.tests, [test("a::b", 1.25), test("a::c", 0.001)]);
        assert_eq!(read.passed, 2);
        let page = table(&read.tests);
        assert!(
            page.starts_with("`cargo xtask tests` ") && page.contains("| 1.2 | `a::b` | one |\n"),
            "{page}"
        );
    }
}
