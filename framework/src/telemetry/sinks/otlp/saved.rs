//! Spans in a file, to be sent another time.
//!
//! The format is that of OpenTelemetry's file exporter, so others read it, too: a line is a JSON document
//! `{"resourceSpans": […]}`, here with the spans of one batch. In front of it is a key of our own, which
//! others ignore as the specification requires: `"counterpoint": {"format": 1, "batch": 3, "of": 12}`. It
//! says that all spans were written by us, in which version of this format, and whether lines are missing.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use serde::{Deserialize, Serialize};

use super::mapping::{SCOPE, of_service};
use super::{Batch, Outbox};

/// The version of the format that is written, and the only one that is read.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    counterpoint: Mark,
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Serialize, Deserialize)]
struct Mark {
    format: u32,
    batch: usize,
    of: usize,
}

/// A file whose spans cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile {
    path: PathBuf,
    line: Option<usize>,
    problem: String,
}

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for BadFile {}

/// Writes all batches but the first `skip`.
///
/// # Errors
/// Those of `out`, or of the source of the batches.
pub fn save(outbox: &dyn Outbox, skip: usize, out: &mut dyn Write) -> io::Result<()> {
    let of = outbox.len().saturating_sub(skip);
    for (index, batch) in outbox.batches(skip).enumerate() {
        let Batch { service, spans } = batch.map_err(io::Error::other)?;
        let resource_spans = vec![of_service(&outbox.services()[service], spans)];
        let line = Line { counterpoint: Mark { format: FORMAT, batch: index + 1, of }, resource_spans };
        serde_json::to_writer(&mut *out, &line)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Spans in a file that has been checked from its first to its last line.
#[derive(Debug)]
pub struct Saved {
    path: PathBuf,
    services: Vec<Resource>,
    spans: u64,
    batches: usize,
}

impl Saved {
    /// Reads a file once, so that nothing of a bad one is sent.
    ///
    /// # Errors
    /// When it cannot be read, was not written by [`save`], or is not whole.
    pub fn open(path: &Path) -> Result<Self, BadFile> {
        let mut saved = Saved { path: path.to_owned(), services: Vec::new(), spans: 0, batches: 0 };
        let mut expected = None;
        for line in Lines::open(path)? {
            let (mark, resource, spans) = line?;
            let bad =
                |problem| Err(BadFile { path: path.to_owned(), line: Some(saved.batches + 1), problem });
            let of = *expected.get_or_insert(mark.of);
            if (mark.batch, mark.of) != (saved.batches + 1, of) {
                let (batch, next) = (mark.batch, saved.batches + 1);
                return bad(format!(
                    "this is batch {batch} of {}, where batch {next} of {of} should be",
                    mark.of
                ));
            }
            if !saved.services.contains(&resource) {
                saved.services.push(resource);
            }
            saved.spans += spans.len() as u64;
            saved.batches += 1;
        }
        let problem = match expected {
            None => "there are no spans in it".to_owned(),
            Some(of) if of != saved.batches => {
                format!("it ends after batch {} of {of}: the rest has been cut off", saved.batches)
            }
            Some(_) => return Ok(saved),
        };
        Err(BadFile { path: path.to_owned(), line: None, problem })
    }
}

impl Outbox for Saved {
    fn services(&self) -> &[Resource] {
        &self.services
    }

    fn spans(&self) -> u64 {
        self.spans
    }

    fn len(&self) -> usize {
        self.batches
    }

    fn batches(&self, skip: usize) -> Box<dyn Iterator<Item = Result<Batch, BadFile>> + '_> {
        let lines = match Lines::open(&self.path) {
            Ok(lines) => lines,
            Err(bad) => return Box::new(std::iter::once(Err(bad))),
        };
        Box::new(lines.skip(skip).map(|line| {
            let (_, resource, spans) = line?;
            let service = self.services.iter().position(|known| *known == resource);
            let changed = || BadFile {
                path: self.path.clone(),
                line: None,
                problem: "it has changed while it was read".to_owned(),
            };
            Ok(Batch { service: service.ok_or_else(changed)?, spans })
        }))
    }
}

/// The lines of a file, taken apart.
struct Lines {
    path: PathBuf,
    lines: io::Lines<BufReader<File>>,
    number: usize,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, BadFile> {
        let file = File::open(path).map_err(|error| BadFile {
            path: path.to_owned(),
            line: None,
            problem: error.to_string(),
        })?;
        Ok(Lines { path: path.to_owned(), lines: BufReader::new(file).lines(), number: 0 })
    }
}

impl Iterator for Lines {
    type Item = Result<(Mark, Resource, Vec<Span>), BadFile>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        self.number += 1;
        let read = line.map_err(|error| error.to_string()).and_then(|line| parse(&line));
        let bad = |problem| BadFile { path: self.path.clone(), line: Some(self.number), problem };
        Some(read.map_err(bad))
    }
}

fn parse(line: &str) -> Result<(Mark, Resource, Vec<Span>), String> {
    let foreign =
        |problem: String| format!("these are not spans that `counterpoint run` has saved: {problem}");
    /// The part of a line that shows that the line is ours, though the rest is not understood.
    #[derive(Deserialize)]
    struct Head {
        counterpoint: Mark,
    }
    let Head { counterpoint: mark } =
        serde_json::from_str(line).map_err(|error| foreign(error.to_string()))?;
    if mark.format != FORMAT {
        return Err(format!(
            "this is format {} of saved spans; format {FORMAT} is understood here",
            mark.format
        ));
    }
    let line: Line = serde_json::from_str(line).map_err(|error| foreign(error.to_string()))?;
    let Ok([of_service]) = <[ResourceSpans; 1]>::try_from(line.resource_spans) else {
        return Err(foreign("expected the spans of one service".to_owned()));
    };
    let resource = of_service.resource.unwrap_or_default();
    check_attributes(&resource.attributes).map_err(foreign)?;
    let mut spans = Vec::new();
    for of_scope in of_service.scope_spans {
        let name = of_scope.scope.map(|scope| scope.name).unwrap_or_default();
        if name != SCOPE {
            return Err(foreign(format!("`{name}` has written them")));
        }
        of_scope.spans.iter().try_for_each(check).map_err(foreign)?;
        spans.extend(of_scope.spans);
    }
    Ok((mark, resource, spans))
}

/// Looks at a span as closely as a server would.
fn check(span: &Span) -> Result<(), String> {
    let problem = |what: &str| Err(format!("span `{}` has {what}", span.name));
    let is_zero = |id: &[u8]| id.iter().all(|byte| *byte == 0);
    match span {
        _ if span.trace_id.len() != 16 => problem("no trace id of 16 bytes"),
        _ if span.span_id.len() != 8 => problem("no id of 8 bytes"),
        _ if ![0, 8].contains(&span.parent_span_id.len()) => problem("a parent that is not an id"),
        _ if is_zero(&span.trace_id) || is_zero(&span.span_id) => problem("no id, or no trace"),
        _ if span.end_time_unix_nano < span.start_time_unix_nano => problem("an end before its beginning"),
        _ => check_attributes(&span.attributes),
    }
}

fn check_attributes(attributes: &[KeyValue]) -> Result<(), String> {
    let is_known = |attribute: &&KeyValue| {
        let value = attribute.value.as_ref().and_then(|value| value.value.as_ref());
        matches!(value, Some(Value::StringValue(_) | Value::IntValue(_) | Value::BoolValue(_)))
    };
    match attributes.iter().find(|attribute| !is_known(attribute)) {
        None => Ok(()),
        Some(other) => Err(format!("attribute `{}` is neither a text nor a number nor a flag", other.key)),
    }
}
