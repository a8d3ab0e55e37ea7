//! YAML text to a [`Node`] tree.
//!
//! A configuration is one document of maps with textual keys, lists and scalars. Anything beyond that in YAML
//! (anchors, aliases, tags, several documents) is an error: modules and parameters say the same with checked
//! names.

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span as Range};

use super::diagnostics::{Diagnostic, Diagnostics};
use super::node::{FileId, Key, Node, SourceMap, Span, Value};

/// Deeper trees are refused, so that no walk over a tree can exhaust the stack.
const DEEPEST: usize = 64;

/// Reads a text of the source map; reports problems and returns the readable part, if any.
pub fn parse(file: FileId, sources: &SourceMap, diagnostics: &mut Diagnostics) -> Option<Node> {
    let text = sources.text(file);
    let mut builder =
        Builder { events: Parser::new_from_str(text), file, length: text.len(), diagnostics, last: 0 };
    match builder.document() {
        Ok(node) => node,
        Err(diagnostic) => {
            diagnostics.report(*diagnostic);
            None
        }
    }
}

type Fallible<T> = Result<T, Box<Diagnostic>>;

struct Builder<'a> {
    events: Parser<'a, granit_parser::StrInput<'a>>,
    file: FileId,
    length: usize,
    diagnostics: &'a mut Diagnostics,
    /// End of the last value: the end events of block collections carry positions after the blank lines.
    last: u32,
}

impl<'a> Builder<'a> {
    fn document(&mut self) -> Fallible<Option<Node>> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(root),
                (Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd, _) => {}
                (_, span) if root.is_some() => {
                    return Err(Box::new(
                        Diagnostic::new(span, "a second document").help("one file, one document"),
                    ));
                }
                (event, span) => root = Some(self.node(event, span, 0)?),
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Fallible<Node> {
        if depth > DEEPEST {
            return Err(Box::new(Diagnostic::new(span, format!("nested more than {DEEPEST} levels deep"))));
        }
        let value = match event {
            Event::Scalar(text, style, _, tag) => {
                self.no_tag(tag.is_some(), span);
                let quoted = style != ScalarStyle::Plain;
                self.last = span.end.max(self.last);
                match text.as_ref() {
                    "" | "~" | "null" if !quoted => Value::Null,
                    text => Value::Scalar { text: text.to_owned(), quoted },
                }
            }
            Event::SequenceStart(_, _, tag) => {
                self.no_tag(tag.is_some(), span);
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => break self.close(end, Value::List(items)),
                        (event, at) => items.push(self.node(event, at, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(_, _, tag) => {
                self.no_tag(tag.is_some(), span);
                let mut entries: Vec<(Key, Node)> = Vec::new();
                loop {
                    let (event, at) = self.next()?;
                    if matches!(event, Event::MappingEnd) {
                        break self.close(at, Value::Map(entries));
                    }
                    let key = self.key(event, at)?;
                    let (event, at) = self.next()?;
                    let node = self.node(event, at, depth + 1)?;
                    self.entry(&mut entries, key, node);
                }
            }
            Event::Alias(_) => {
                let message = "aliases are not supported";
                let diagnostic = Diagnostic::new(span, message).help("use a module with parameters");
                return Err(Box::new(diagnostic));
            }
            _ => return Err(Box::new(Diagnostic::new(span, "malformed YAML"))),
        };
        let collection = matches!(value, Value::List(_) | Value::Map(_));
        let end = if collection { self.last.max(span.end) } else { span.end };
        Ok(Node { span: Span { end, ..span }, value })
    }

    /// The end of a collection: in flow style the bracket, which has a width, belongs to it.
    fn close(&mut self, end: Span, value: Value) -> Value {
        if end.end > end.start {
            self.last = end.end;
        }
        value
    }

    fn key(&mut self, event: Event<'a>, span: Span) -> Fallible<Key> {
        match event {
            Event::Scalar(text, ..) => Ok(Key { name: text.into_owned(), span }),
            _ => Err(Box::new(Diagnostic::new(span, "a key must be a single word"))),
        }
    }

    fn entry(&mut self, entries: &mut Vec<(Key, Node)>, key: Key, node: Node) {
        match entries.iter().find(|(other, _)| other.name == key.name) {
            Some((first, _)) => {
                let diagnostic = Diagnostic::new(key.span, format!("duplicate key `{}`", key.name));
                self.diagnostics.report(diagnostic.note(first.span, "first given here"));
            }
            None => entries.push((key, node)),
        }
    }

    fn no_tag(&mut self, tagged: bool, span: Span) {
        if tagged {
            self.diagnostics.error(span, "tags are not supported");
        }
    }

    fn next(&mut self) -> Fallible<(Event<'a>, Span)> {
        loop {
            match self.events.next() {
                Some(Ok((Event::Comment(..), _))) => {}
                Some(Ok((event, range))) => return Ok((event, self.span(range))),
                Some(Err(error)) => return Err(Box::new(self.malformed(&error))),
                None => return Ok((Event::StreamEnd, self.at(self.length))),
            }
        }
    }

    fn span(&self, range: Range) -> Span {
        let offset = |marker: granit_parser::Marker| {
            marker.byte_offset().unwrap_or(self.length).min(self.length) as u32
        };
        let (start, end) = (offset(range.start), offset(range.end));
        Span { file: self.file, start, end: end.max(start) }
    }

    fn at(&self, offset: usize) -> Span {
        Span { file: self.file, start: offset as u32, end: offset as u32 }
    }

    fn malformed(&self, error: &ScanError) -> Diagnostic {
        let offset = error.marker().byte_offset().unwrap_or(self.length).min(self.length);
        Diagnostic::new(self.at(offset), format!("malformed YAML: {}", error.kind()))
    }
}
