//! Arrivals: every field of every span, all spans, in their order.

use std::collections::BTreeMap;

use counterpoint_framework::telemetry::sinks::otlp::{Endpoint, Exported, Options, Outbox, RunTrace, send};
use counterpoint_framework::telemetry::{Attribute, Lane, SpanId};
use counterpoint_framework::time::SimTime;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use crate::otlp::receiver::{Receiver, number, take, text};
use crate::otlp::{EPOCH, TRACE, send_to, service, setting, span, trace, tree};

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), key_strindex: 0 }
}

fn complete(spans: u64, batches: usize) -> Exported {
    Exported { sent: spans, batches, ..Exported::default() }
}

#[test]
fn every_field_arrives() {
    let mut block = span((7 << 32) | 5, Some(0), "gpu.sm[3]", 1_500, 4_001);
    block.lane = Lane::Numbered("slot", 2);
    block.aggregated = 17;
    block.partial = true;
    block.attributes = vec![
        ("kernel", Attribute::Text("step".into())),
        ("ctas", Attribute::Amount(4)),
        ("huge", Attribute::Number(u64::MAX)),
    ];
    let spans = [span(0, None, "host.cpu", 1_000, 5_000), block];
    let receiver = Receiver::new(take);
    assert_eq!(send_to(&receiver, &trace(&spans)), complete(2, 2));

    let services = receiver.services();
    let of = |name: &str| {
        let found = services.iter().find(|(resource, _)| text(&resource.attributes, "service.name") == name);
        found.unwrap_or_else(|| panic!("no service {name}"))
    };
    for name in ["host", "gpu"] {
        let (resource, spans) = of(name);
        let string = |text: &str| Value::StringValue(text.to_owned());
        let expected = [
            attribute("host.id", string("simulation")),
            attribute("ip", string("127.0.0.1")),
            attribute("service.instance.id", string(&format!("0123456789abcdef0011223344556677/{name}"))),
            attribute("service.name", string(name)),
            attribute("service.namespace", string("counterpoint")),
            attribute("service.version", string(env!("CARGO_PKG_VERSION"))),
            attribute("sim.machine", string("toy")),
            attribute("sim.time_scale", Value::IntValue(1000)),
        ];
        assert_eq!(resource.attributes, expected);
        assert_eq!(spans.len(), 1);
    }
    for request in receiver.taken() {
        let scope = request.resource_spans[0].scope_spans[0].scope.clone().unwrap();
        assert_eq!(
            (scope.name.as_str(), scope.version.as_str()),
            ("counterpoint", env!("CARGO_PKG_VERSION"))
        );
    }
    let expected = Span {
        trace_id: TRACE.to_be_bytes().to_vec(),
        span_id: ((8_u64 << 32) | 5).to_be_bytes().to_vec(),
        trace_state: String::new(),
        parent_span_id: (1_u64 << 32).to_be_bytes().to_vec(),
        // Sampled; it is known whether the parent is of another service, and it is.
        flags: 0x301,
        name: format!("span {}", (7_u64 << 32) | 5),
        // Internal.
        kind: 1,
        // A picosecond is shown as a nanosecond.
        start_time_unix_nano: EPOCH * 1_000_000_000 + 1_500,
        end_time_unix_nano: EPOCH * 1_000_000_000 + 4_001,
        attributes: vec![
            attribute("sim.start_ps", Value::IntValue(1_500)),
            attribute("sim.duration_ps", Value::IntValue(2_501)),
            attribute("sim.path", Value::StringValue("gpu.sm[3]".into())),
            attribute("sim.lane", Value::StringValue("slot 2".into())),
            attribute("sim.level", Value::StringValue("kernels".into())),
            attribute("partial", Value::BoolValue(true)),
            attribute("sim.aggregated", Value::IntValue(17)),
            attribute("kernel", Value::StringValue("step".into())),
            attribute("ctas", Value::IntValue(4)),
            // OpenTelemetry's numbers have a sign.
            attribute("huge", Value::StringValue(u64::MAX.to_string())),
        ],
        status: Some(Status::default()),
        ..Span::default()
    };
    assert_eq!(of("gpu").1[0], expected);
    let run = &of("host").1[0];
    assert_eq!((run.parent_span_id.as_slice(), run.flags), (&[][..], 0x101));
    assert_eq!(run.span_id, (1_u64 << 32).to_be_bytes());
}

#[test]
fn of_200_000_spans_all_arrive_once_in_order_and_inside_their_parents() {
    const COUNT: u64 = 200_000;
    let spans = tree(COUNT);
    let receiver = Receiver::new(take);
    let outbox = trace(&spans);
    let exported = send_to(&receiver, &outbox);
    assert_eq!(exported, complete(COUNT, outbox.len()));
    assert_eq!(receiver.requests(), outbox.len());

    let services = receiver.services();
    let names: Vec<_> =
        services.iter().map(|(resource, _)| text(&resource.attributes, "service.name")).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["gpu", "host", "memory", "memory"]);

    let mut known: BTreeMap<&[u8], &Span> = BTreeMap::new();
    for (_, arrived) in &services {
        let mut last = 0;
        for span in arrived {
            let start = number(&span.attributes, "sim.start_ps");
            assert!(start >= last, "{} came too late", span.name);
            last = start;
            assert!(known.insert(&span.span_id, span).is_none(), "{} came twice", span.name);
        }
    }
    assert_eq!(known.len() as u64, COUNT);
    for original in &spans {
        let id = (original.id.0 + (1 << 32)).to_be_bytes();
        let arrived = known[&id[..]];
        assert_eq!(arrived.name, original.name);
        assert_eq!(text(&arrived.attributes, "sim.path"), original.path);
        assert_eq!(number(&arrived.attributes, "sim.start_ps"), original.start.as_ps());
        let Some(SpanId(parent)) = original.parent else { continue };
        assert_eq!(arrived.parent_span_id, (parent + (1 << 32)).to_be_bytes());
        let parent = known[arrived.parent_span_id.as_slice()];
        assert!(parent.start_time_unix_nano <= arrived.start_time_unix_nano, "{}", arrived.name);
        assert!(arrived.end_time_unix_nano <= parent.end_time_unix_nano, "{}", arrived.name);
    }
}

#[test]
fn parents_that_were_not_kept_are_not_named() {
    let spans = [span(1, Some(77), "host", 0, 10), span(2, Some(1), "host", 0, 10)];
    let receiver = Receiver::new(take);
    send_to(&receiver, &trace(&spans));
    let services = receiver.services();
    let parents: Vec<_> = services[0].1.iter().map(|span| span.parent_span_id.clone()).collect();
    assert_eq!(parents, [vec![], (1 + (1_u64 << 32)).to_be_bytes().to_vec()]);
}

#[test]
fn any_scale_keeps_spans_inside_each_other() {
    for scale in [1, 3, 7, 999, 1_000_000] {
        let spans = [
            span(1, None, "host", 1_001, 9_999),
            span(2, Some(1), "gpu", 1_001, 1_001),
            span(3, Some(1), "gpu", 1_998, 9_999),
        ];
        let receiver = Receiver::new(take);
        send_to(&receiver, &RunTrace::new(&spans, &setting(scale), &service).unwrap());
        let services = receiver.services();
        let times: Vec<_> = services
            .iter()
            .flat_map(|(resource, spans)| {
                assert_eq!(number(&resource.attributes, "sim.time_scale"), scale);
                spans.iter().map(|span| (span.start_time_unix_nano, span.end_time_unix_nano))
            })
            .collect();
        let shown = |ps: u64| EPOCH * 1_000_000_000 + ps * scale / 1000;
        let expected = [(1_001, 9_999), (1_001, 1_001), (1_998, 9_999)].map(|(a, b)| (shown(a), shown(b)));
        assert_eq!(times, expected, "{scale}");
    }
}

#[test]
fn what_no_calendar_holds_is_refused() {
    let spans = [span(1, None, "host", 0, SimTime::MAX.as_ps() / 2)];
    assert!(RunTrace::new(&spans, &setting(1), &service).is_ok());
    let problem = RunTrace::new(&spans, &setting(1000), &service).err().unwrap().to_string();
    assert!(
        problem.contains("1000 times as long, end after the year 2262; a smaller scale helps"),
        "{problem}"
    );
}

#[test]
fn no_spans_need_no_server() {
    let nowhere = Endpoint::new("http://127.0.0.1:9").unwrap();
    assert_eq!(send(&trace(&[]), &nowhere, &Options::default()), Exported::default());
}
