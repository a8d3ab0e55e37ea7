//! Chromium without a window.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// Names under which it may be installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A screen, and the visible part of a page on it: width and height in pixels.
pub(crate) type Screen = (u32, u32);

/// Milliseconds of the page's own time after which it has drawn everything.
const PATIENCE: u32 = 20_000;

pub(crate) struct Browser(&'static str);

impl Browser {
    pub(crate) fn find() -> Result<Self, String> {
        let runs =
            |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success());
        let found = NAMES.iter().copied().find(|name| runs(name));
        found
            .map(Browser)
            .ok_or_else(|| format!("there is no browser; one of {} is needed", NAMES.join(", ")))
    }

    /// The readable text of a page when its scripts have made it.
    pub(crate) fn text(&self, url: &str, screen: Screen) -> Result<String, String> {
        let output = self.open(url, screen, ["--dump-dom"])?;
        Ok(readable(&String::from_utf8_lossy(&output.stdout)))
    }

    pub(crate) fn picture(&self, url: &str, screen: Screen, path: &Path) -> Result<(), String> {
        // A picture of an earlier run would hide that this run made none.
        let _ = std::fs::remove_file(path);
        let path = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut argument = OsStr::new("--screenshot=").to_owned();
        argument.push(&path);
        self.open(url, screen, [argument])?;
        let bytes = std::fs::read(&path).map_err(|error| format!("there is no picture: {error}"))?;
        match bytes.starts_with(b"\x89PNG") {
            true => Ok(()),
            false => Err(format!("{} is not a picture", path.display())),
        }
    }

    fn open<const N: usize>(
        &self,
        url: &str,
        (width, height): Screen,
        arguments: [impl AsRef<OsStr>; N],
    ) -> Result<Output, String> {
        let profile = tempfile::tempdir().map_err(|error| format!("no folder for the browser: {error}"))?;
        let mut command = Command::new(self.0);
        // The browser runs without its sandbox, which is not available to root in a container; it loads our own page only.
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
        command.arg(format!("--window-size={width},{height}"));
        command.arg(format!("--virtual-time-budget={PATIENCE}"));
        let mut folder = OsStr::new("--user-data-dir=").to_owned();
        folder.push(profile.path());
        let output = command.arg(folder).args(arguments).arg(url).output();
        let output = output.map_err(|error| format!("{} did not start: {error}", self.0))?;
        if output.status.success() {
            return Ok(output);
        }
        Err(format!("{} failed: {}", self.0, String::from_utf8_lossy(&output.stderr)))
    }
}

/// Parts that are neither text nor marks: the beginning, behind its `<`, and the end.
const HIDDEN: [(&str, &str); 3] = [("!--", "-->"), ("script", "</script>"), ("style", "</style>")];

/// The text of a document without its marks and scripts. Jaeger breaks names into pieces where a line may end, so marks leave
/// no space behind.
fn readable(document: &str) -> String {
    let mut text = String::new();
    let mut rest = document;
    while let Some((before, mark)) = rest.split_once('<') {
        text.push_str(before);
        let hidden = HIDDEN.into_iter().find(|(begin, _)| mark.starts_with(begin));
        let end = hidden.map_or(">", |(_, end)| end);
        rest = mark.split_once(end).map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn names_are_whole_and_scripts_are_no_text() {
        let page = "<!-- <br> --><p><b>host: </b>run <i>vecadd</i></p>\n<script>if (1 < 2) prelude()</script><style>p{}</style>\n <br>end";
        assert_eq!(readable(page), "host: run vecadd\nend");
    }
}
