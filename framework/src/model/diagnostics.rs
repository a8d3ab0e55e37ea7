//! Problems of a configuration, with source locations: collected, ordered and rendered.
//!
//! A pass reports all problems that it finds and continues, so that a user mends a file once and not once per error.

use std::collections::BTreeMap;
use std::fmt::Write;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::node::{SourceMap, Span};

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The offending text.
    pub span: Span,
    /// The problem.
    pub message: String,
    /// The expectation, or the remedy.
    pub help: Option<String>,
    /// The nearest valid name.
    pub suggestion: Option<String>,
    /// Other places that matter.
    pub notes: Vec<(Span, String)>,
}

impl Diagnostic {
    /// A problem at a source location.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Diagnostic { span, message: message.into(), help: None, suggestion: None, notes: Vec::new() }
    }

    /// Adds the expectation.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Suggests the valid name that is nearest to the written one, if one is near; otherwise lists a few.
    pub fn suggest<'a>(mut self, written: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        let valid: Vec<&str> = valid.into_iter().collect();
        self.suggestion = nearest(written, valid.iter().copied()).map(str::to_owned);
        if self.suggestion.is_none() && self.help.is_none() && !valid.is_empty() {
            let shown: Vec<String> = valid.iter().take(12).map(|name| format!("`{name}`")).collect();
            let more = if valid.len() > 12 { ", …" } else { "" };
            self.help = Some(format!("expected one of: {}{more}", shown.join(", ")));
        }
        self
    }

    /// Extends the suggestion for a word of the path in `path=value` to the whole path.
    fn suggest_whole_path(&mut self, sources: &SourceMap) {
        let Some(suggestion) = self.suggestion.as_mut().filter(|_| sources.is_argument(self.span.file))
        else {
            return;
        };
        let (start, end) = (self.span.start as usize, self.span.end as usize);
        let path = sources.text(self.span.file).split_once('=').map_or("", |(path, _)| path.trim_end());
        if let (Some(before), Some(behind)) = (path.get(..start), path.get(end..)) {
            *suggestion = format!("{before}{suggestion}{behind}");
        }
    }

    /// Points at another place.
    pub fn note(mut self, span: Span, message: impl Into<String>) -> Self {
        self.notes.push((span, message.into()));
        self
    }

    /// The problem as plain text: place, message, the line with the text underlined, help and notes.
    pub fn render(&self, sources: &SourceMap) -> String {
        let mut out = String::new();
        let place = sources.place(self.span);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{place}: error: {}", self.message);
        let line = sources.line(self.span.file, place.line);
        if !line.is_empty() {
            let number = place.line.to_string();
            let width = (self.span.end.saturating_sub(self.span.start) as usize).max(1);
            let left = line.chars().count().saturating_sub(place.column - 1).max(1);
            let underlined = text_width(sources, self.span, width).min(left);
            let _ = writeln!(out, " {number} | {line}");
            let gap = " ".repeat(number.len());
            let _ = writeln!(out, " {gap} | {}{}", " ".repeat(place.column - 1), "^".repeat(underlined));
        }
        if let Some(suggestion) = &self.suggestion {
            let _ = writeln!(out, "   = help: did you mean `{suggestion}`?");
        }
        if let Some(help) = &self.help {
            let _ = writeln!(out, "   = help: {help}");
        }
        for (span, note) in &self.notes {
            let _ = writeln!(out, "   = note: {}: {note}", sources.place(*span));
        }
        out
    }
}

/// Characters that a span covers; its byte length where the span cuts a character.
fn text_width(sources: &SourceMap, span: Span, bytes: usize) -> usize {
    let text = sources.text(span.file).get(span.start as usize..span.end as usize);
    text.map_or(bytes, |text| text.chars().count().max(1))
}

/// Problems on their way to the user.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    /// By place and message, each once: a module that is used twice would otherwise repeat its own.
    found: BTreeMap<(Span, String), Diagnostic>,
    reports: usize,
}

impl Diagnostics {
    /// Adds a problem.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.reports += 1;
        let place = (diagnostic.span, diagnostic.message.clone());
        self.found.entry(place).or_insert(diagnostic);
    }

    /// Adds a problem that needs only a source location and a sentence.
    pub fn error(&mut self, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::new(span, message));
    }

    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Number of reports so far, repetitions included: a call that reports nothing leaves it unchanged.
    pub fn reports(&self) -> usize {
        self.reports
    }

    /// Whether something was reported that is a misspelt name, if it is one.
    pub(crate) fn suggests(&self, name: &str) -> bool {
        self.found.values().any(|one| one.suggestion.as_deref() == Some(name))
    }

    /// The problems by place.
    pub fn sorted(&self) -> Vec<Diagnostic> {
        self.found.values().cloned().collect()
    }
}

/// Problems together with their texts: the error of a failed load.
#[derive(Clone, Debug)]
pub struct Report {
    /// The problems by place.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts.
    pub sources: SourceMap,
}

impl Report {
    /// Closes a collection.
    pub fn new(diagnostics: &Diagnostics, sources: SourceMap) -> Self {
        let mut diagnostics = diagnostics.sorted();
        diagnostics.iter_mut().for_each(|one| one.suggest_whole_path(&sources));
        Report { diagnostics, sources }
    }

    /// All problems as plain text.
    pub fn render(&self) -> String {
        let texts: Vec<String> = self.diagnostics.iter().map(|one| one.render(&self.sources)).collect();
        texts.join("\n")
    }

    /// All problems drawn for a terminal, with colours.
    pub fn render_fancy(&self) -> String {
        let renderer = Renderer::styled().decor_style(DecorStyle::Unicode);
        let mut out = String::new();
        for diagnostic in &self.diagnostics {
            out.push_str(&renderer.render(&[diagnostic.group(&self.sources)]));
            out.push_str("\n\n");
        }
        out
    }
}

impl Diagnostic {
    /// The problem, rendered as a frame around its source location.
    fn group<'a>(&'a self, sources: &'a SourceMap) -> Group<'a> {
        let Span { file, start, end } = self.span;
        let text = sources.text(file);
        let end = text.floor_char_boundary(end as usize);
        let place = text.floor_char_boundary(start as usize).min(end)..end;
        let snippet = Snippet::source(text).path(sources.name(file));
        let mut group = Level::ERROR
            .primary_title(&self.message)
            .element(snippet.annotation(AnnotationKind::Primary.span(place)));
        if let Some(suggestion) = &self.suggestion {
            group = group.element(Level::HELP.message(format!("did you mean `{suggestion}`?")));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        self.notes.iter().fold(group, |group, (span, note)| {
            group.element(Level::NOTE.message(format!("{}: {note}", sources.place(*span))))
        })
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render())
    }
}

impl std::error::Error for Report {}

/// The valid name that a writer may have meant, if one is near enough.
pub fn nearest<'a>(written: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = written.chars().count().div_ceil(3).max(1);
    let scored = valid.into_iter().map(|name| (strsim::osa_distance(written, name), name));
    let best = scored.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance);
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("capcity", ["ways", "capacity", "line"]), Some("capacity"));
        assert_eq!(nearest("smz", ["sms", "controllers"]), Some("sms"));
        assert_eq!(nearest("wyas", ["ways"]), Some("ways"));
        assert_eq!(nearest("entirely", ["different"]), None);
        assert_eq!(nearest("", ["ways"]), None);
    }

    #[test]
    fn a_problem_shows_the_line_and_underlines_the_text() {
        let mut sources = SourceMap::default();
        let file = sources.add("m.yaml", "a: 1\nsmz: 2\n");
        let span = Span { file, start: 5, end: 8 };
        let text = Diagnostic::new(span, "unknown key `smz`").suggest("smz", ["sms"]).render(&sources);
        let expected =
            "m.yaml:2:1: error: unknown key `smz`\n 2 | smz: 2\n   | ^^^\n   = help: did you mean `sms`?\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn problems_come_by_place_and_once() {
        let mut all = Diagnostics::default();
        let at = |start| Span { start, end: start + 1, ..Span::default() };
        all.error(at(7), "late");
        all.error(at(1), "early");
        all.error(at(7), "late");
        let messages: Vec<String> = all.sorted().into_iter().map(|one| one.message).collect();
        assert_eq!(messages, ["early", "late"]);
    }

    #[test]
    fn the_fancy_rendering_names_file_and_help() {
        let mut sources = SourceMap::default();
        let file = sources.add("m.yaml", "smz: 2\n");
        let mut all = Diagnostics::default();
        all.report(Diagnostic::new(Span { file, start: 0, end: 3 }, "unknown key").help("expected `sms`"));
        let fancy = Report::new(&all, sources).render_fancy();
        assert!(fancy.contains("m.yaml") && fancy.contains("expected `sms`"), "{fancy}");
    }
}
