//! A configuration text as a tree in which every value and every key has its source location.
//!
//! The tree has no types beyond its shape: the meaning of a scalar is decided by its reader, because only the
//! parameter's declaration knows whether `12` is a count or lacks a unit.

use std::collections::BTreeMap;
use std::fmt;

/// A text that a [`SourceMap`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// A stretch of a source text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The part of this span that begins at byte `from` of it and is `length` bytes long, kept inside it.
    pub fn part(self, from: usize, length: usize) -> Span {
        let start = (self.start as usize).saturating_add(from).min(self.end as usize);
        let end = start.saturating_add(length).min(self.end as usize);
        Span { file: self.file, start: start as u32, end: end as u32 }
    }
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The text of the key.
    pub name: String,
    /// Place of the key.
    pub span: Span,
}

/// A value with its source location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Place of the value.
    pub span: Span,
    /// Its value.
    pub value: Value,
}

/// The shapes a configuration value may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value was written.
    Null,
    /// A single text.
    Scalar {
        /// The text, without quotes.
        text: String,
        /// Whether it was in quotes.
        quoted: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map in the order it was written; keys are unique.
    Map(Vec<(Key, Node)>),
}

impl Node {
    /// A plain scalar.
    pub fn scalar(text: impl Into<String>, span: Span) -> Node {
        Node { span, value: Value::Scalar { text: text.into(), quoted: false } }
    }

    /// A map.
    pub fn map(entries: Vec<(Key, Node)>, span: Span) -> Node {
        Node { span, value: Value::Map(entries) }
    }

    /// The text of a scalar.
    pub fn as_scalar(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The entries of a map; nothing at all counts as an empty map.
    pub fn as_map(&self) -> Option<&[(Key, Node)]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            Value::Null => Some(&[]),
            _ => None,
        }
    }

    /// The elements of a list; nothing at all counts as an empty list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            Value::Null => Some(&[]),
            _ => None,
        }
    }

    /// The value of a map's key.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|(key, _)| key.name == name).map(|(_, node)| node)
    }

    /// Equality of the text written, regardless of the source location and of the order of a map's keys.
    pub fn same(&self, other: &Node) -> bool {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => true,
            (Value::Scalar { text: a, .. }, Value::Scalar { text: b, .. }) => a == b,
            (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(key, node)| other.get(&key.name).is_some_and(|twin| node.same(twin)))
            }
            _ => false,
        }
    }

    /// The shape in words, for "expected …, found …".
    pub fn shape(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Scalar { .. } => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

/// The texts that were read, for the lookup of source locations.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<Source>,
}

#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: String,
    line_starts: Vec<usize>,
    /// Whether it is an argument of the command line.
    argument: bool,
}

/// A source location for display: lines and columns from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation<'a> {
    /// Name of the text.
    pub name: &'a str,
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
    /// Whether the name is an argument of the command line, including its text, so that line and column add nothing.
    pub argument: bool,
}

impl fmt::Display for SourceLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.argument {
            true => f.write_str(self.name),
            false => write!(f, "{}:{}:{}", self.name, self.line, self.column),
        }
    }
}

impl SourceMap {
    /// Adds a text.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let text = text.into();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(ends).collect();
        self.files.push(Source { name: name.into(), text, line_starts, argument: false });
        FileId((self.files.len() - 1) as u32)
    }

    /// Takes an argument of the command line in, behind its option. Messages name it as it was given.
    pub fn add_argument(&mut self, option: &str, text: &str) -> FileId {
        let file = self.add(format!("{option} {}", text.replace(['\n', '\r'], " ")), text);
        self.files[file.0 as usize].argument = true;
        file
    }

    /// Whether a text is an argument of the command line.
    pub fn is_argument(&self, file: FileId) -> bool {
        self.files.get(file.0 as usize).is_some_and(|source| source.argument)
    }

    /// Renames arguments of the command line, by their texts, to the names that the user knows.
    pub fn rename(&mut self, names: &BTreeMap<String, String>) {
        for source in self.files.iter_mut().filter(|source| source.argument) {
            if let Some(name) = names.get(&source.text) {
                name.clone_into(&mut source.name);
            }
        }
    }

    /// The name under which a text was added.
    pub fn name(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).map_or("", |source| &source.name)
    }

    /// All texts, in the order in which they were read.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|source| source.text.as_str())
    }

    /// A whole text.
    pub fn text(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).map_or("", |source| &source.text)
    }

    /// A span over a whole text.
    pub fn whole(&self, file: FileId) -> Span {
        Span { file, start: 0, end: self.text(file).len() as u32 }
    }

    /// The beginning of a span.
    pub fn place(&self, span: Span) -> SourceLocation<'_> {
        let Some(source) = self.files.get(span.file.0 as usize) else {
            return SourceLocation { name: "", line: 1, column: 1, argument: false };
        };
        let start = (span.start as usize).min(source.text.len());
        let line = source.line_starts.partition_point(|&line_start| line_start <= start);
        let line_start = source.line_starts[line - 1];
        // A byte offset inside a character can only come from a cut span: count it as that character.
        let columns = source.text[line_start..].char_indices();
        let column = columns.take_while(|(at, _)| line_start + at < start).count();
        SourceLocation { name: &source.name, line, column: column + 1, argument: source.argument }
    }

    /// The text of a line, counted from 1, without its end.
    pub fn line(&self, file: FileId, line: usize) -> &str {
        let Some(source) = self.files.get(file.0 as usize) else {
            return "";
        };
        let Some(&start) = line.checked_sub(1).and_then(|index| source.line_starts.get(index)) else {
            return "";
        };
        let end = source.line_starts.get(line).copied().unwrap_or(source.text.len());
        source.text[start..end].trim_end_matches(['\n', '\r'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let mut sources = SourceMap::default();
        let file = sources.add("a.yaml", "one: 1\nzwölf: 12\n");
        let at = |start| sources.place(Span { file, start, end: start + 1 }).to_string();
        assert_eq!(at(0), "a.yaml:1:1");
        assert_eq!(at(7), "a.yaml:2:1");
        assert_eq!(at(15), "a.yaml:2:8");
        assert_eq!(at(1000), "a.yaml:3:1");
        assert_eq!(sources.line(file, 2), "zwölf: 12");
        assert_eq!(sources.line(file, 9), "");
    }

    #[test]
    fn maps_are_the_same_in_any_order() {
        let scalar = |text: &str| Node::scalar(text, Span::default());
        let key = |name: &str| Key { name: name.into(), span: Span::default() };
        let a = Node::map(vec![(key("x"), scalar("1")), (key("y"), scalar("2"))], Span::default());
        let b = Node::map(vec![(key("y"), scalar("2")), (key("x"), scalar("1"))], Span::default());
        assert!(a.same(&b));
        assert!(!a.same(&scalar("1")));
    }
}
