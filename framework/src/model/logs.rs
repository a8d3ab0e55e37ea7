//! Log levels by component path.

use std::fmt;
use std::str::FromStr;

use super::diagnostics::nearest;

/// Log level of a component: each level includes the lines of the levels before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// Errors that end a run.
    #[default]
    Error,
    /// Possible problems.
    Warn,
    /// Progress, for users.
    Info,
    /// Rare events: launches, copies, thread blocks.
    Debug,
    /// Every message, miss and command.
    Trace,
}

const LEVELS: [(&str, LogLevel); 6] = [
    ("off", LogLevel::Off),
    ("error", LogLevel::Error),
    ("warn", LogLevel::Warn),
    ("info", LogLevel::Info),
    ("debug", LogLevel::Debug),
    ("trace", LogLevel::Trace),
];

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = LEVELS.iter().find(|(_, level)| level == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        found.map(|(_, level)| *level).ok_or_else(|| {
            let names = LEVELS.map(|(name, _)| name);
            let help = match nearest(text, names) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("expected one of: {}", names.join(", ")),
            };
            format!("`{text}` is not a level of the log; {help}")
        })
    }
}

/// The levels of a run's components: the last rule that names a component wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logs {
    /// The level of components that no rule names.
    pub base: LogLevel,
    /// Patterns of paths with their levels. `[*]` matches any index, `*` for any text; a pattern also names everything
    /// below it, and an array names all its elements.
    pub rules: Vec<(String, LogLevel)>,
}

impl Logs {
    /// The level of a component.
    pub fn level(&self, path: &str) -> LogLevel {
        let rule = self.rules.iter().rev().find(|(pattern, _)| covers(pattern, path));
        rule.map_or(self.base, |(_, level)| *level)
    }

    /// The finest of all levels.
    pub fn finest(&self) -> LogLevel {
        self.rules.iter().map(|(_, level)| *level).fold(self.base, LogLevel::max)
    }

    /// The first pattern that names none of the components.
    ///
    /// # Errors
    /// A sentence with the pattern and the nearest path.
    pub fn check<'a>(&self, paths: impl Iterator<Item = &'a str> + Clone) -> Result<(), String> {
        let unknown = |(pattern, _): &&(String, LogLevel)| !paths.clone().any(|path| covers(pattern, path));
        let Some((pattern, _)) = self.rules.iter().find(unknown) else { return Ok(()) };
        let help = match nearest(pattern, paths) {
            Some(path) => format!("; did you mean `{path}`?"),
            None => String::new(),
        };
        Err(format!("no component `{pattern}`{help}"))
    }
}

/// Whether a pattern names a path or something above it.
fn covers(pattern: &str, path: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix("[*]") {
        let index = path.strip_prefix('[').and_then(|path| path.split_once(']'));
        return index.is_some_and(|(digits, behind)| {
            digits.bytes().all(|byte| byte.is_ascii_digit()) && covers(rest, behind)
        });
    }
    let mut letters = pattern.chars();
    match letters.next() {
        None => path.is_empty() || path.starts_with(['.', '[']),
        Some('*') => {
            let ends = path.char_indices().map(|(at, _)| at).chain([path.len()]);
            ends.into_iter().any(|at| covers(letters.as_str(), &path[at..]))
        }
        Some(letter) => path.strip_prefix(letter).is_some_and(|path| covers(letters.as_str(), path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_components_and_what_lies_below() {
        for pattern in ["gpu.l2[0]", "gpu.l2[*]", "gpu.l2", "gpu", "*", "gpu.l*", "g*[0]", "*l2*"] {
            assert!(covers(pattern, "gpu.l2[0]"), "{pattern}");
        }
        for pattern in ["gpu.l2[1]", "gpu.l", "gp", "gpu.l2[0].x", "gpu[*]", "", "*l3*"] {
            assert!(!covers(pattern, "gpu.l2[0]"), "{pattern}");
        }
        assert!(!covers("a[*].b", "a[0].c[1].b"));
    }

    #[test]
    fn the_last_rule_wins() {
        let rules = [("gpu", LogLevel::Debug), ("gpu.sm[*]", LogLevel::Off), ("gpu.sm[1]", LogLevel::Trace)];
        let rules = rules.map(|(pattern, level)| (pattern.to_owned(), level)).into();
        let logs = Logs { base: LogLevel::Info, rules };
        let levels = ["gpu.l2[0]", "gpu.sm[0]", "gpu.sm[1]", "host.cpu"].map(|path| logs.level(path));
        assert_eq!(levels, [LogLevel::Debug, LogLevel::Off, LogLevel::Trace, LogLevel::Info]);
        assert_eq!(logs.finest(), LogLevel::Trace);
    }

    #[test]
    fn what_is_not_there_is_named_with_the_nearest() {
        let logs = Logs { rules: vec![("gpu.l3[0]".to_owned(), LogLevel::Trace)], ..Logs::default() };
        let wrong = logs.check(["gpu.l2[0]", "host.cpu"].into_iter()).unwrap_err();
        assert_eq!(wrong, "no component `gpu.l3[0]`; did you mean `gpu.l2[0]`?");
        assert_eq!(
            "trase".parse::<LogLevel>().unwrap_err(),
            "`trase` is not a level of the log; did you mean `trace`?"
        );
        assert_eq!("DEBUG".parse(), Ok(LogLevel::Debug));
    }
}
