//! `expect:`: the host's final contents of everything that was copied back, except bytes that had never been
//! written.

use std::fmt::Write as _;
use std::io;
use std::ops::Range;

use crate::buffers::Buffer;
use crate::held::Held;
use crate::phases::Contents;
use crate::rules::rule;
use crate::store::{DATA, Store};

/// Relative tolerance of results of kernels that add in an order of their own.
const ANY_ORDER: &str = "1e-4";
/// Bytes between two parts that are expectations of their own, and parts of a buffer at most.
const APART: u64 = 4096;
const MOST_PARTS: usize = 64;

/// Contents by a rule, or in the file of data.
pub(crate) fn contents(store: &mut Store, bytes: &[u8], buffer: &Buffer) -> io::Result<Contents> {
    match rule(bytes, buffer.element) {
        Some(rule) => Ok(Contents::Rule(rule)),
        None => store.place(bytes).map(Contents::Data),
    }
}

/// The lines of a buffer. Where `in_any_order`, numbers with fractions have been added in an order that machines need not have.
pub(crate) fn lines(
    store: &mut Store,
    buffer: &Buffer,
    held: &Held,
    in_any_order: bool,
) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    let size = buffer.element.bytes;
    for group in held.received.groups(APART, MOST_PARTS) {
        let elements = group.start.div_ceil(size)..group.end / size;
        if elements.is_empty() {
            continue;
        }
        let part = elements.start * size..elements.end * size;
        let mut line = format!("  - {{ buffer: {}", buffer.name);
        if part != (0..buffer.bytes) {
            let _ =
                write!(line, ", element: {}, elements: {}", elements.start, elements.end - elements.start);
        }
        let bytes = &held.bytes[part.start as usize..part.end as usize];
        match contents(store, bytes, buffer)? {
            Contents::Rule(rule) => drop(write!(line, ", generate: {rule}")),
            Contents::Data(at) => drop(write!(line, ", file: {DATA}, offset: {at}")),
        }
        let only = compared(held, &elements, size);
        if only.contains(&0) {
            if !only.contains(&1) {
                continue;
            }
            let name = store.side_file(&only)?;
            let _ = write!(line, ", where: {name}");
        }
        if buffer.element.floats && in_any_order {
            let _ = write!(line, ", relative: {ANY_ORDER}, absolute: {ANY_ORDER}");
        }
        lines.push(line + " }\n");
    }
    Ok(lines)
}

/// A byte for each element: 1 where all its bytes were received.
fn compared(held: &Held, elements: &Range<u64>, size: u64) -> Vec<u8> {
    let mut only = vec![0; (elements.end - elements.start) as usize];
    for range in held.received.iter() {
        let start = range.start.div_ceil(size).max(elements.start);
        let end = (range.end / size).min(elements.end);
        if start < end {
            only[(start - elements.start) as usize..(end - elements.start) as usize].fill(1);
        }
    }
    only
}
