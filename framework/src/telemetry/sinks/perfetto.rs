//! Spans as the trace event JSON that Perfetto and Chrome's tracing page read.
//!
//! A top-level component is a process, a (component, lane) is a thread. `ts` and `dur` are microseconds by
//! the format's definition; the exact picoseconds are in `args`. Events of one thread must nest or follow
//! each other, so a span that overlaps another one half is shown on a further thread of the same component
//! and lane. A quantity that changes over time is a counter track.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::{number, quoted};
use crate::telemetry::natural;
use crate::telemetry::{Attribute, Curve, Lane, Span};
use crate::time::SimTime;

/// Writes spans and curves as one JSON document.
///
/// # Errors
/// Those of `out`.
pub fn write(spans: &[Span], curves: &[Curve], out: &mut dyn Write) -> io::Result<()> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    // Of those that begin together the longest comes first: it holds the others.
    order.sort_by_key(|&index| (spans[index].start, std::cmp::Reverse(spans[index].end), spans[index].id));
    let tracks = Tracks::new(spans, &order);

    writeln!(out, "{{\n\"displayTimeUnit\": \"ns\",\n\"traceEvents\": [")?;
    // The curves come first, as a process of their own, which exists even without curves.
    writeln!(
        out,
        "{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 0, \"args\": {{\"name\": \"machine\"}}}}"
    )?;
    for (name, pid) in &tracks.processes {
        let name = quoted(name);
        writeln!(
            out,
            ",{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {pid}, \"args\": {{\"name\": {name}}}}}"
        )?;
    }
    for curve in curves {
        let name = quoted(&format!("{} ({})", curve.name, curve.unit));
        for (time, value) in &curve.points {
            let (ts, value) = (micros(*time), number(*value));
            writeln!(
                out,
                ",{{\"ph\": \"C\", \"name\": {name}, \"pid\": 0, \"ts\": {ts}, \"args\": {{\"value\": {value}}}}}"
            )?;
        }
    }
    for track in &tracks.threads {
        let (name, pid, tid) = (quoted(&track.name), track.process, track.thread);
        writeln!(
            out,
            ",{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {pid}, \"tid\": {tid}, \"args\": {{\"name\": {name}}}}}"
        )?;
        writeln!(
            out,
            ",{{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": {pid}, \"tid\": {tid}, \"args\": {{\"sort_index\": {tid}}}}}"
        )?;
    }
    for &index in &order {
        let (span, track) = (&spans[index], &tracks.threads[tracks.of_span[index]]);
        event(span, track, out)?;
    }
    writeln!(out, "]\n}}")
}

fn event(span: &Span, track: &Track, out: &mut dyn Write) -> io::Result<()> {
    let (name, pid, tid) = (quoted(&span.name), track.process, track.thread);
    let (ts, dur) = (micros(span.start), micros(span.duration()));
    write!(
        out,
        ",{{\"ph\": \"X\", \"name\": {name}, \"pid\": {pid}, \"tid\": {tid}, \"ts\": {ts}, \"dur\": {dur}, \"args\": {{"
    )?;
    write!(out, "\"start_ps\": {}, \"end_ps\": {}", span.start.as_ps(), span.end.as_ps())?;
    if span.partial {
        write!(out, ", \"partial\": true")?;
    }
    if span.aggregated > 0 {
        write!(out, ", \"aggregated\": {}", span.aggregated)?;
    }
    for (key, value) in &span.attributes {
        let value = match value {
            Attribute::Number(number) | Attribute::Amount(number) => number.to_string(),
            Attribute::Text(text) => quoted(text),
        };
        write!(out, ", {}: {value}", quoted(key))?;
    }
    writeln!(out, "}}}}")
}

/// Microseconds with all six decimals, so that nothing is rounded.
fn micros(time: SimTime) -> String {
    let ps = time.as_ps();
    format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

struct Track {
    name: String,
    process: usize,
    thread: usize,
}

/// The place of every span.
struct Tracks {
    processes: Vec<(String, usize)>,
    threads: Vec<Track>,
    /// Per span, in the order of the input, its thread.
    of_span: Vec<usize>,
}

impl Tracks {
    fn new(spans: &[Span], order: &[usize]) -> Self {
        // Thread of a span among those of its component and lane: the first on which the span nests.
        let mut open: BTreeMap<(&str, Lane), Vec<Vec<SimTime>>> = BTreeMap::new();
        let mut rank = vec![0; spans.len()];
        for &index in order {
            let span = &spans[index];
            let stacks = open.entry((&span.path, span.lane)).or_default();
            for stack in stacks.iter_mut() {
                while stack.last().is_some_and(|end| *end <= span.start) {
                    stack.pop();
                }
            }
            let fits = |stack: &Vec<SimTime>| stack.last().is_none_or(|end| span.end <= *end);
            let place = stacks.iter().position(fits).unwrap_or_else(|| {
                stacks.push(Vec::new());
                stacks.len() - 1
            });
            stacks[place].push(span.end);
            rank[index] = place;
        }

        let mut keys: Vec<(&str, Lane, usize)> = open
            .iter()
            .flat_map(|((path, lane), stacks)| (0..stacks.len()).map(|n| (*path, *lane, n)))
            .collect();
        keys.sort_by(|a, b| natural(a.0, b.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
        let mut processes: Vec<(String, usize)> = Vec::new();
        let mut threads = Vec::new();
        let mut place = BTreeMap::new();
        for key @ (path, lane, n) in keys {
            let top = path.split('.').next().unwrap_or(path);
            if processes.last().is_none_or(|(name, _)| name != top) {
                processes.push((top.to_owned(), processes.len() + 1));
            }
            let mut name = path.to_owned();
            if lane != Lane::Only {
                name.push_str(&format!(" {lane}"));
            }
            if n > 0 {
                name.push_str(&format!(" ({})", n + 1));
            }
            place.insert(key, threads.len());
            threads.push(Track { name, process: processes.len(), thread: threads.len() + 1 });
        }
        let of_span =
            spans.iter().zip(&rank).map(|(span, &n)| place[&(span.path.as_str(), span.lane, n)]).collect();
        Tracks { processes, threads, of_span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Level;
    use crate::telemetry::span::tests::span;

    fn at(id: u64, name: &'static str, path: &str, lane: Lane, times: [u64; 2]) -> Span {
        Span { lane, ..span(id, Level::Kernels, name, path, times) }
    }

    fn written(spans: &[Span]) -> String {
        let mut out = Vec::new();
        write(spans, &[], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_trace_names_its_tracks_and_keeps_picoseconds() {
        let mut kernel = at(1, "step \"1\"", "gpu.scheduler", Lane::Only, [1_234_567, 2_000_000]);
        kernel.attributes = vec![("ctas", Attribute::Number(4)), ("kind", Attribute::Text("x".into()))];
        let expected = r#"{
"displayTimeUnit": "ns",
"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "machine"}}
,{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "gpu"}}
,{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "gpu.scheduler"}}
,{"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 1, "args": {"sort_index": 1}}
,{"ph": "X", "name": "step \"1\"", "pid": 1, "tid": 1, "ts": 1.234567, "dur": 0.765433, "args": {"start_ps": 1234567, "end_ps": 2000000, "ctas": 4, "kind": "x"}}
]
}
"#;
        assert_eq!(written(&[kernel]), expected);
    }

    #[test]
    fn spans_that_overlap_by_half_get_tracks_of_their_own() {
        let spans = [
            at(1, "run", "host", Lane::Only, [0, 100]),
            at(2, "a", "host", Lane::Only, [10, 50]),
            at(3, "b", "host", Lane::Only, [40, 60]),
            at(4, "c", "host", Lane::Only, [60, 70]),
            at(5, "x", "gpu.sm[10]", Lane::Numbered("slot", 3), [0, 1]),
            at(6, "x", "gpu.sm[2]", Lane::Only, [0, 1]),
        ];
        let trace: serde_json::Value = serde_json::from_str(&written(&spans)).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let names: Vec<_> = events
            .iter()
            .filter(|event| event["name"] == "thread_name")
            .map(|event| event["args"]["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["gpu.sm[2]", "gpu.sm[10] slot 3", "host", "host (2)"]);
        let tid =
            |name: &str| events.iter().find(|e| e["ph"] == "X" && e["name"] == name).unwrap()["tid"].clone();
        assert_eq!(tid("run"), tid("a"));
        assert_ne!(tid("a"), tid("b"));
        assert_eq!(tid("a"), tid("c"));
    }

    #[test]
    fn no_spans_are_an_empty_trace() {
        let trace: serde_json::Value = serde_json::from_str(&written(&[])).unwrap();
        assert_eq!(trace["traceEvents"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn curves_are_counter_tracks() {
        let points = vec![(SimTime::from_ps(1_500_000), 0.5), (SimTime::from_ps(3_000_000), 2.0)];
        let curve = Curve { name: "IPC", unit: "instructions/cycle", points };
        let mut out = Vec::new();
        write(&[], &[curve], &mut out).unwrap();
        let trace: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let last = &trace["traceEvents"][2];
        assert_eq!((&last["ph"], &last["ts"]), (&"C".into(), &3.0.into()));
        assert_eq!((&last["name"], &last["args"]["value"]), (&"IPC (instructions/cycle)".into(), &2.into()));
    }
}
