//! The spans of a run as one trace of several services.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::resource::v1::Resource;

use super::mapping::{Common, Scale, attribute, number, span_id, text, wire_span};
use super::{BadFile, Batch, Outbox};
use crate::telemetry::{Span, SpanId};
use crate::time::SimTime;

/// Number of spans that travel together: enough that the way costs little, few enough for the 4 MiB that
/// servers take at once.
const BATCH: usize = 1024;

/// The service of a component, as a reader of the trace sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Service {
    /// Name of the service: one for all components of a class, such as `gpu`.
    pub name: String,
    /// Its name among several, unique within the run, such as `gpu[1]`.
    pub instance: String,
}

/// The identity of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its number, not 0.
    pub trace: u128,
    /// The moment at which simulated time begins.
    pub epoch: SystemTime,
}

impl Identity {
    /// A trace that nobody has seen, of a run that began at this moment. A server adds spans of a known
    /// number to those that it has, so every export needs a number of its own.
    pub fn fresh(epoch: SystemTime) -> Self {
        // The standard library's hashers have keys that nobody has seen.
        let [high, low] = [(); 2].map(|()| u128::from(RandomState::new().build_hasher().finish()));
        Identity { trace: (high << 64 | low).max(1), epoch }
    }
}

/// The making of a trace from spans.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The identity of the trace.
    pub identity: Identity,
    /// The scale of spans.
    pub scale: Scale,
    /// Facts about the run on every service, such as the machine's name.
    pub facts: Vec<(&'static str, String)>,
}

/// A moment that has no place on a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unshowable {
    end: SimTime,
    scale: Scale,
}

impl fmt::Display for Unshowable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (end, scale) = (self.end, self.scale.get());
        write!(
            f,
            "{end} of simulated time, {scale} times as long, end after the year 2262; a smaller scale helps"
        )
    }
}

impl std::error::Error for Unshowable {}

/// The spans of a run on their way to a server.
pub struct RunTrace<'a> {
    spans: &'a [Span],
    common: Common,
    services: Vec<Resource>,
    /// All spans by name, with their services.
    known: Vec<(SpanId, usize)>,
    /// Service and spans of each batch.
    plan: Vec<(usize, Vec<usize>)>,
}

impl<'a> RunTrace<'a> {
    /// Divides spans among services; `service` gives the service of a path. The order of a service's spans
    /// stays.
    ///
    /// # Errors
    /// When the scale stretches a span beyond the range of a calendar.
    pub fn new(
        spans: &'a [Span],
        setting: &Setting,
        service: &dyn Fn(&str) -> Service,
    ) -> Result<Self, Unshowable> {
        let Setting { identity, scale, .. } = setting;
        if let Some(end) = spans.iter().map(|span| span.end.max(span.start)).max()
            && !fits(identity.epoch, *scale, end)
        {
            return Err(Unshowable { end, scale: *scale });
        }

        let mut of_path: BTreeMap<&str, usize> = BTreeMap::new();
        let mut services: Vec<Service> = Vec::new();
        let mut known = Vec::with_capacity(spans.len());
        let mut open: Vec<Vec<usize>> = Vec::new();
        let mut plan = Vec::new();
        for (index, span) in spans.iter().enumerate() {
            let number = *of_path.entry(&span.path).or_insert_with(|| {
                let service = service(&span.path);
                services.iter().position(|known| *known == service).unwrap_or_else(|| {
                    services.push(service);
                    open.push(Vec::new());
                    services.len() - 1
                })
            });
            known.push((span.id, number));
            open[number].push(index);
            if open[number].len() == BATCH {
                plan.push((number, std::mem::take(&mut open[number])));
            }
        }
        plan.extend(open.into_iter().enumerate().filter(|(_, rest)| !rest.is_empty()));
        known.sort_unstable();
        Ok(RunTrace {
            spans,
            common: Common { trace: identity.trace, epoch: identity.epoch, scale: *scale },
            services: services.iter().map(|service| resource(service, setting)).collect(),
            known,
            plan,
        })
    }

    fn service_of(&self, id: SpanId) -> Option<usize> {
        let place = self.known.binary_search_by_key(&id, |(known, _)| *known).ok()?;
        Some(self.known[place].1)
    }

    fn batch(&self, (service, spans): &(usize, Vec<usize>)) -> Batch {
        let convert = |&index: &usize| {
            let span = &self.spans[index];
            // A parent that was not kept would be a riddle to the reader.
            let parent = span.parent.and_then(|id| Some((span_id(id), self.service_of(id)? != *service)));
            wire_span(span, parent, &self.common)
        };
        Batch { service: *service, spans: spans.iter().map(convert).collect() }
    }
}

impl Outbox for RunTrace<'_> {
    fn services(&self) -> &[Resource] {
        &self.services
    }

    fn spans(&self) -> u64 {
        self.spans.len() as u64
    }

    fn len(&self) -> usize {
        self.plan.len()
    }

    fn batches(&self, skip: usize) -> Box<dyn Iterator<Item = Result<Batch, BadFile>> + '_> {
        Box::new(self.plan.iter().skip(skip).map(|planned| Ok(self.batch(planned))))
    }
}

/// Whether a moment fits signed nanoseconds, the unit of all readers of traces.
fn fits(epoch: SystemTime, scale: Scale, end: SimTime) -> bool {
    let shown = scale.shown(end).and_then(|shown| epoch.checked_add(shown));
    let since = shown.and_then(|moment| moment.duration_since(UNIX_EPOCH).ok());
    since.is_some_and(|since| i64::try_from(since.as_nanos()).is_ok())
}

/// A service as a server knows it. Its attributes have an order that does not change from run to run.
fn resource(service: &Service, setting: &Setting) -> Resource {
    let instance = format!("{:032x}/{}", setting.identity.trace, service.instance);
    let mut attributes = vec![
        attribute("service.name", text(&*service.name)),
        attribute("service.namespace", text("counterpoint")),
        attribute("service.version", text(env!("CARGO_PKG_VERSION"))),
        attribute("service.instance.id", text(instance)),
        // One host for all: otherwise Jaeger takes their clocks for different ones, and moves spans to correct them.
        attribute("host.id", text("simulation")),
        attribute("ip", text("127.0.0.1")),
        attribute("sim.time_scale", number(setting.scale.get())),
    ];
    attributes.extend(setting.facts.iter().map(|(key, value)| attribute(key, text(&**value))));
    attributes.sort_by(|a, b| a.key.cmp(&b.key));
    Resource { attributes, ..Resource::default() }
}
