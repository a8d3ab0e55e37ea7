//! Streams and events: records and waits among the steps, and the check of the names in them.
//!
//! Streams and events are not declared: the first launch or copy on a stream creates the stream, and a record creates an
//! event. Unknown names are therefore found when all steps have been read. Streams are numbered from 1, in the order in
//! which the file mentions them. `non_blocking:` names those that the default stream does not wait for.

use std::collections::BTreeSet;

use counterpoint_framework::model::{Diagnostic, Later, Node, Span};
use counterpoint_host_model::program::{Awaited, DEFAULT_STREAM, EventId, Step, Stream};

use super::keys::{EventKeys, OnStream, RecordStep, SynchronizeStep, WaitStep};
use super::reader::Reader;
use super::stream_names::{EventUse, StreamNames, StreamUse, Wait};

/// Value of `synchronize` for all streams.
const ALL: &str = "all";

impl Reader<'_> {
    /// The number of the stream on which a step runs something on a device.
    pub(super) fn stream_of(&mut self, on: &OnStream, device: u32) -> Option<u32> {
        let Some(node) = &on.stream else { return Some(DEFAULT_STREAM) };
        let number = self.stream(node)?;
        let stream = self.names.named(number)?;
        let first = *stream.device.get_or_insert(device);
        if first != device {
            let message = format!("the stream `{}` is on device {first}, this is on {device}", stream.name);
            let help = "a stream belongs to one device";
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
        }
        Some(number)
    }

    /// The number of a stream that is mentioned.
    fn stream(&mut self, node: &Node) -> Option<u32> {
        let name = self.text(node)?;
        if name == ALL {
            self.diagnostics.error(node.span, format!("`{ALL}` is everything, and no stream's name"));
            return None;
        }
        let streams = &mut self.names.streams;
        let known = streams.iter().position(|stream| stream.name == name);
        let index = known.unwrap_or_else(|| {
            streams.push(StreamUse { name, device: None, mentioned: node.span });
            streams.len() - 1
        });
        Some(index as u32 + 1)
    }

    /// Value of `record` and `wait`: the event, its place, and the stream.
    fn event_on_stream(&mut self, node: &Later<EventKeys>) -> Option<(EventId, Span, u32)> {
        let EventKeys { event, stream } = self.open(node)?;
        let name = self.text(&event)?;
        if name == ALL {
            self.diagnostics.error(event.span, format!("`{ALL}` is everything, and no event's name"));
            return None;
        }
        let stream = stream.map_or(Some(DEFAULT_STREAM), |node| self.stream(&node))?;
        Some((self.names.event(name), event.span, stream))
    }

    pub(super) fn record(&mut self, RecordStep { record }: &RecordStep) -> Option<Step> {
        let (event, span, stream) = self.event_on_stream(record)?;
        self.names.events[event.0 as usize].recorded.push((span, stream));
        Some(Step::Record(event, stream))
    }

    pub(super) fn wait(&mut self, WaitStep { wait }: &WaitStep) -> Option<Step> {
        let (event, span, stream) = self.event_on_stream(wait)?;
        self.names.waits.push(Wait { span, event, stream: Some(stream), again: self.rounds > 0 });
        Some(Step::Wait(event, stream))
    }

    /// A wait of the host.
    pub(super) fn synchronize(
        &mut self,
        SynchronizeStep { synchronize: node }: &SynchronizeStep,
    ) -> Option<Step> {
        let name = self.text(node)?;
        if name == ALL {
            return Some(Step::Synchronize(Awaited::All));
        }
        if self.names.streams.iter().any(|stream| stream.name == name) {
            return self.stream(node).map(|stream| Step::Synchronize(Awaited::Stream(stream)));
        }
        // Only an event may stem from the previous round of a loop.
        let event = self.names.event(name);
        self.names.waits.push(Wait { span: node.span, event, stream: None, again: self.rounds > 0 });
        Some(Step::Synchronize(Awaited::Event(event)))
    }

    /// Numbers the streams, and reports names that lead nowhere. Steps with problems of their own are left for later.
    pub(super) fn check_streams(&mut self, non_blocking: Option<&Node>) {
        let names = std::mem::take(&mut self.names);
        let non_blocking = self.non_blocking(non_blocking, &names);
        if self.diagnostics.reports() == 0 {
            self.check_names(&names);
        }
        let named = names.streams.into_iter().map(|stream| Stream {
            non_blocking: non_blocking.contains(&stream.name),
            device: stream.device.unwrap_or(0),
            name: stream.name,
        });
        self.application.streams = std::iter::once(Stream::default_of_all()).chain(named).collect();
    }

    /// The names of the streams that the default stream does not wait for.
    fn non_blocking(&mut self, node: Option<&Node>, names: &StreamNames) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for node in self.list(node, "streams") {
            let Some(name) = self.text(node) else { continue };
            if names.streams.iter().any(|stream| stream.name == name) {
                found.insert(name);
            } else {
                let diagnostic = Diagnostic::new(node.span, format!("no step is on a stream `{name}`"));
                let known = names.streams.iter().map(|stream| stream.name.as_str());
                self.diagnostics.report(diagnostic.suggest(&name, known));
            }
        }
        found
    }

    fn check_names(&mut self, names: &StreamNames) {
        let (used, idle): (Vec<&StreamUse>, Vec<&StreamUse>) =
            names.streams.iter().partition(|stream| stream.device.is_some());
        let streams: BTreeSet<&str> = used.iter().map(|stream| stream.name.as_str()).collect();
        let recorded = names.events.iter().filter(|event| !event.recorded.is_empty());
        let events: BTreeSet<&str> = recorded.map(|event| event.name.as_str()).collect();
        // A repetition with an index is read once a round, and may have other names in each.
        let mut seen = BTreeSet::new();
        for stream in idle.into_iter().filter(|stream| seen.insert(stream.mentioned)) {
            let message = format!("nothing runs on a stream `{}`", stream.name);
            let diagnostic = Diagnostic::new(stream.mentioned, message);
            self.diagnostics.report(diagnostic.suggest(&stream.name, streams.iter().copied()));
        }
        for event in names.events.iter().filter(|event| streams.contains(event.name.as_str())) {
            if let Some((span, _)) = event.recorded.first() {
                let message = format!("`{}` is the name of a stream, too", event.name);
                let help = "`synchronize` could mean either";
                self.diagnostics.report(Diagnostic::new(*span, message).help(help));
            }
        }
        for wait in names.waits.iter().filter(|wait| seen.insert(wait.span)) {
            self.check_wait(wait, names, &streams, &events);
        }
    }

    fn check_wait(
        &mut self,
        wait: &Wait,
        names: &StreamNames,
        streams: &BTreeSet<&str>,
        events: &BTreeSet<&str>,
    ) {
        let EventUse { name, recorded } = &names.events[wait.event.0 as usize];
        let diagnostic = |message: String| Diagnostic::new(wait.span, message);
        let Some((first, _)) = recorded.first() else {
            let problem = match wait.stream {
                None if streams.contains(name.as_str()) => {
                    let help = "the host would wait for nothing";
                    diagnostic(format!("nothing has been sent on the stream `{name}` before")).help(help)
                }
                None => diagnostic(format!("there is no stream and no event `{name}`"))
                    .suggest(name, events.iter().chain(streams).copied()),
                Some(_) => diagnostic(format!("no step records an event `{name}`"))
                    .suggest(name, events.iter().copied()),
            };
            self.diagnostics.report(problem);
            return;
        };
        if !wait.again && first.start > wait.span.start {
            let help = "who waits for an event that has not been recorded goes on at once, as in CUDA";
            self.diagnostics.report(diagnostic(format!("`{name}` is recorded only after this")).help(help));
        }
        let Some(stream) = wait.stream else { return };
        let here = names.device_of(stream);
        if let Some((_, other)) = recorded.iter().find(|(_, other)| names.device_of(*other) != here) {
            let there = names.device_of(*other);
            let message =
                format!("`{name}` is recorded on device {there}, the stream that waits is on {here}");
            let help = "let the host wait for it, by `synchronize`";
            self.diagnostics.report(diagnostic(message).help(help));
        }
    }
}
