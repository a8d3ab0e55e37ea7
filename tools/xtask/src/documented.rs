//! `cargo xtask documented [COUNTERPOINT]`: every command line of the README and its like works, prints something, and prints the lines
//! that the page shows behind it.
//!
//! A study of hours is run at its small scale. An application that a page shows is a file for its commands.
//! The tutorial's commands need its component, and a server's answers about spans need a server: tests of
//! their own have them.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use super::report;

const PAGES: &[&str] = &[
    "README.md",
    "tools/GUIDE.md",
    "experiments/applications/README.md",
    "experiments/papers/crcs/PROGRAMS.md",
    "experiments/papers/crcs/README.md",
    "experiments/papers/dka/README.md",
    "experiments/papers/interleave/README.md",
    "experiments/papers/kernelet/README.md",
    "experiments/papers/narrow-tasks/README.md",
    "topologies/README.md",
];

/// The beginnings of command lines, and their replacements here.
const STARTS: [(&str, &str); 2] =
    [("counterpoint ", "counterpoint "), ("cargo run --release -- ", "counterpoint ")];

/// Scales that take hours, or many minutes.
const LARGE: [&str; 3] = ["paper", "hundreds", "thousands"];

#[derive(Debug, PartialEq)]
enum PagePart {
    /// A command line, by its number in the page.
    Command(usize, String),
    /// Lines that the commands right before it print.
    Shown(usize, Vec<String>),
    /// A file that the page shows, by its name.
    File(String, String),
}

/// Runs all commands of all pages with the program that is given, or with the one for release.
pub(crate) fn run(counterpoint: Option<&str>) -> Result<(), String> {
    let root = crate::tree::root()?;
    let program = root.join(counterpoint.unwrap_or("target/release/counterpoint"));
    let folder = std::env::temp_dir().join(format!("counterpoint-documented-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("bin")).map_err(said)?;
    std::os::unix::fs::symlink(&program, folder.join("bin/counterpoint")).map_err(said)?;
    for entry in ["experiments", "topologies", "components", "tests"] {
        std::os::unix::fs::symlink(root.join(entry), folder.join(entry)).map_err(said)?;
    }
    let mut wrong = Vec::new();
    for page in PAGES {
        let text = std::fs::read_to_string(root.join(page)).map_err(|error| format!("{page}: {error}"))?;
        let mut printed = String::new();
        for part in parts(&text) {
            match part {
                PagePart::Command(line, command) => match execute(&folder, &command) {
                    Ok(output) => printed.push_str(&output),
                    Err(problem) => wrong.push(format!("{page}:{line}: `{command}` {problem}")),
                },
                PagePart::Shown(line, lines) => {
                    let missing = lines.iter().filter(|line| !printed.lines().any(|known| known == *line));
                    wrong.extend(missing.map(|missing| format!("{page}:{line}: not printed: {missing}")));
                    printed.clear();
                }
                PagePart::File(name, text) => std::fs::write(folder.join(name), text).map_err(said)?,
            }
        }
    }
    std::fs::remove_dir_all(&folder).map_err(said)?;
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Runs a command line and gives its output.
fn execute(folder: &Path, command: &str) -> Result<String, String> {
    let begun = Instant::now();
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh").args(["-c", command]).current_dir(folder).env("PATH", path).output();
    let Output { status, stdout, stderr } = output.map_err(said)?;
    report(&format!("{:7.1} s  {command}", begun.elapsed().as_secs_f64()));
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    // A comparison that finds a difference ends with 1.
    let compares =
        ["counterpoint bisect ", "counterpoint compare "].iter().any(|start| command.starts_with(start));
    let is_good = status.success() || (compares && status.code() == Some(1));
    if !is_good {
        return Err(format!("ends with {status}: {err}"));
    }
    if stdout.is_empty() && !command.contains('>') && !command.contains("--out ") && !command.contains("-o ")
    {
        return Err("prints nothing".to_owned());
    }
    Ok(format!("{out}{err}"))
}

/// The commands of a page, and the output shown there.
fn parts(text: &str) -> Vec<PagePart> {
    let mut parts = Vec::new();
    // The language of the block around a line, whether commands were in the one before, and its YAML.
    let (mut block, mut follows, mut yaml) = (None, false, String::new());
    for (line, number) in text.lines().zip(1..) {
        match (block, line.strip_prefix("```")) {
            (None, Some(language)) => {
                block = Some(language);
                if language == "text" && follows {
                    parts.push(PagePart::Shown(number, Vec::new()));
                }
            }
            (Some(language), Some(_)) => {
                follows = language == "sh";
                block = None;
                let yaml = std::mem::take(&mut yaml);
                parts.extend(name_of(&yaml).map(|name| PagePart::File(name, yaml)));
            }
            (Some("sh"), None) => {
                let command = STARTS.iter().find_map(|(start, here)| {
                    Some(format!("{here}{}", without_comment(line.strip_prefix(start)?)))
                });
                parts.extend(command.map(|command| PagePart::Command(number, smaller(&command))));
            }
            (Some("yaml"), None) => yaml.extend([line, "\n"]),
            (Some("text"), None) if follows => {
                if let (Some(PagePart::Shown(_, lines)), false) = (parts.last_mut(), line.trim() == "...") {
                    lines.push(line.to_owned());
                }
            }
            _ => {}
        }
    }
    parts
}

/// The name of a file that a page shows: it begins with a comment that says so, or is an application.
fn name_of(yaml: &str) -> Option<String> {
    let first =
        yaml.lines().next().and_then(|line| line.strip_prefix("# ")).filter(|name| name.ends_with(".yaml"));
    let application = || yaml.lines().find_map(|line| line.strip_prefix("application: "));
    first.map(str::to_owned).or_else(|| application().map(|name| format!("{name}.yaml")))
}

/// A command line without the comment at its end.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut end) = (None, line.len());
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '#') if line[..at].ends_with(' ') => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    line[..end].trim_end()
}

/// The command at the small scale of its study.
fn smaller(command: &str) -> String {
    LARGE.iter().fold(command.to_owned(), |command, scale| {
        let command = command.replace(&format!("--scale {scale}"), "--scale small");
        let words = command.split(' ').map(|word| match word.strip_suffix(&format!("-{scale}")) {
            Some(study) if study.starts_with("out/studies/") => format!("{study}-small"),
            _ => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    })
}

fn said(error: std::io::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_what_they_print_are_found() {
        let page = "Text.\n\n```sh\ncounterpoint list   # all\n# no command\n```\n\nprints\n\n```text\n  a  1\n  ...\n```\n\n\
                    ```sh\ncargo run --release -- study x --scale paper\ncounterpoint report out/studies/x-paper\n```\n";
        let shown = PagePart::Shown(10, vec!["  a  1".to_owned()]);
        let command = |line, text: &str| PagePart::Command(line, format!("counterpoint {text}"));
        let study = command(16, "study x --scale small");
        assert_eq!(
            parts(page),
            [command(4, "list"), shown, study, command(17, "report out/studies/x-small")]
        );
    }

    #[test]
    fn a_comment_ends_a_command_and_a_quoted_sign_does_not() {
        assert_eq!(without_comment("run \"a # b\" --x   # c"), "run \"a # b\" --x");
    }
}
