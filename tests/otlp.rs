//! Export of the spans of real runs to a server: services, parents, counts; and unreachable servers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use counterpoint_cli::{FAILURE, NOT_VERIFIED, SUCCESS};
use opentelemetry_proto::tonic::common::v1::any_value::Value::BoolValue;
use opentelemetry_proto::tonic::trace::v1::Span;

use crate::cli::{Called, application, call, tiny};
use crate::support::root;
use receiver::{Answer, Receiver, number, take, text};

#[path = "../framework/tests/otlp/receiver.rs"]
#[allow(dead_code, reason = "the framework's tests have more trouble with servers than these")]
mod receiver;

/// The services that a reader looks for.
const SERVICES: [&str; 4] = ["host", "pcie", "gpu", "memory"];

/// The file of spans that were not sent.
const UNSENT: &str = "spans.otlp.jsonl";

/// Runs a small application and exports its spans; `folder` gets inputs and results.
fn run(folder: &Path, url: &str, more: &[&str]) -> Called {
    let app = application(folder, "vecadd");
    let out = folder.join("out").to_string_lossy().into_owned();
    let tiny = tiny();
    let mut arguments = vec!["run", &tiny, &app, "--set", "app.n=1000", "--out", &out, "--spans", "ctas"];
    arguments.extend(["--otlp", url]);
    arguments.extend(more);
    call(&arguments)
}

/// An address at which nobody listens.
fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// Spans that arrived, by name, each with its service. Names are unique on the wire.
fn arrived(receiver: &Receiver) -> BTreeMap<Vec<u8>, (String, Span)> {
    let mut all = BTreeMap::new();
    for (resource, spans) in receiver.services() {
        let service = text(&resource.attributes, "service.name");
        for span in spans {
            let id = span.span_id.clone();
            assert!(all.insert(id, (service.to_owned(), span)).is_none(), "a span came twice");
        }
    }
    all
}

/// Everything but the trace's number and epoch, which differ from export to export.
fn contents(receiver: &Receiver) -> Vec<(String, String, u64, Vec<u8>)> {
    let all = arrived(receiver);
    let facts = |(service, span): &(String, Span)| {
        (
            service.clone(),
            span.name.clone(),
            number(&span.attributes, "sim.start_ps"),
            span.parent_span_id.clone(),
        )
    };
    all.values().map(facts).collect()
}

#[test]
fn as_many_spans_arrive_as_the_page_on_tracing_says() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::new(take);
    let (app, out) = (application(folder.path(), "vecadd"), folder.path().join("out").display().to_string());
    let called =
        call(&["run", &tiny(), &app, "--set", "app.n=1000", "--otlp", &receiver.url(), "--out", &out]);
    let line = called.out.lines().find(|line| line.starts_with("  otlp ")).unwrap_or_default();
    let page = std::fs::read_to_string(root().join("tools/TRACING.md")).unwrap();
    assert!(page.lines().any(|shown| shown == line), "{line}");
}

#[test]
fn a_run_is_one_trace_of_several_services() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::new(take);
    let called = run(folder.path(), &receiver.url(), &["--otlp-required"]);
    assert_eq!(called.status, SUCCESS, "{}{}", called.out, called.err);
    let all = arrived(&receiver);
    let count = all.len();
    assert!(called.out.contains(&format!("  otlp         {count} spans sent, 0 failed\n")), "{}", called.out);
    assert!(!folder.path().join("out").join(UNSENT).exists());

    let services: BTreeSet<&str> = all.values().map(|(service, _)| service.as_str()).collect();
    for service in SERVICES {
        assert!(services.contains(service), "{service} is missing in {services:?}");
    }
    let traces: BTreeSet<_> = all.values().map(|(_, span)| span.trace_id.clone()).collect();
    assert_eq!(traces.len(), 1);
    let roots: Vec<_> = all.values().filter(|(_, span)| span.parent_span_id.is_empty()).collect();
    assert_eq!(roots.len(), 1, "{roots:?}");
    assert_eq!((roots[0].0.as_str(), roots[0].1.name.as_str()), ("host", "run vecadd"));

    // Spans that a reader looks for, and where they hang.
    let parent = |span: &Span| all.get(&span.parent_span_id).map(|(_, parent)| parent.name.as_str());
    let named = |name: &str| {
        let found = all.values().find(|(_, span)| span.name == name);
        found.unwrap_or_else(|| panic!("no span {name}"))
    };
    for phase in ["prelude", "postlude", "kernels"] {
        assert_eq!(parent(&named(phase).1), Some("run vecadd"), "{phase}");
    }
    let (service, kernel) = named("vecadd#1");
    assert_eq!((service.as_str(), parent(kernel)), ("gpu", Some("kernels")));
    assert_eq!(parent(&named("cta 0").1), Some("vecadd#1"));

    let mut across = 0;
    for (service, span) in all.values() {
        let Some((of, parent)) = all.get(&span.parent_span_id) else { continue };
        across += usize::from(of != service);
        let inside = parent.start_time_unix_nano <= span.start_time_unix_nano
            && span.end_time_unix_nano <= parent.end_time_unix_nano;
        assert!(inside, "{} leaves {}", span.name, parent.name);
        // A picosecond is shown as a nanosecond.
        let shown = span.end_time_unix_nano - span.start_time_unix_nano;
        assert_eq!(shown, number(&span.attributes, "sim.duration_ps"));
    }
    assert!(across > 0, "no parent is of another service");
}

#[test]
fn every_export_is_a_trace_of_its_own_with_the_same_contents() {
    let folder = tempfile::tempdir().unwrap();
    let receivers = [Receiver::new(take), Receiver::new(take)];
    for receiver in &receivers {
        let called = run(folder.path(), &receiver.url(), &["--otlp-scale", "1"]);
        assert_eq!((called.status, called.err.contains("otlp")), (SUCCESS, false), "{}", called.err);
    }
    let [first, second] = &receivers;
    assert_eq!(contents(first), contents(second));
    let trace = |receiver| arrived(receiver).into_values().next().unwrap().1.trace_id;
    assert_ne!(trace(first), trace(second));
    let scale = number(&first.services()[0].0.attributes, "sim.time_scale");
    assert_eq!(scale, 1);
}

#[test]
fn without_a_server_spans_are_kept_and_sent_later() {
    let folder = tempfile::tempdir().unwrap();
    let url = nowhere();
    let called = run(folder.path(), &url, &[]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let file = folder.path().join("out").join(UNSENT).to_string_lossy().into_owned();
    assert!(called.err.contains("spans have not been sent to http://127.0.0.1:"), "{}", called.err);
    assert!(called.err.contains("warning: ") && called.err.contains("Connection refused"), "{}", called.err);
    assert!(called.err.contains(&format!("`counterpoint export {file} --otlp {url}` sends them")));
    assert!(called.out.contains("  otlp         0 spans sent, "), "{}", called.out);

    // A server that takes some and then no more gets the rest the next time.
    let whole = Receiver::new(take);
    let sent = call(&["export", &file, "--otlp", &whole.url()]);
    assert_eq!((sent.status, sent.err.as_str()), (SUCCESS, ""));
    assert_eq!(sent.out, format!("{} spans sent, 0 failed\n", arrived(&whole).len()));
    let direct = Receiver::new(take);
    assert_eq!(run(folder.path(), &direct.url(), &[]).status, SUCCESS);
    assert_eq!(contents(&whole), contents(&direct));
    assert!(!Path::new(&file).exists(), "the next run's results do not mix with this one's");
}

#[test]
fn a_file_that_is_sent_in_part_keeps_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), &nowhere(), &[]).status, SUCCESS);
    let file = folder.path().join("out").join(UNSENT).to_string_lossy().into_owned();
    let whole = Receiver::new(take);
    assert_eq!(call(&["export", &file, "--otlp", &whole.url()]).status, SUCCESS);

    let first = Receiver::new(|number| match number {
        0 => take(0),
        _ => Answer::Refuse(hyper::StatusCode::BAD_REQUEST),
    });
    let called = call(&["export", &file, "--otlp", &first.url()]);
    assert_eq!(called.status, FAILURE);
    let failed = arrived(&whole).len() - arrived(&first).len();
    assert!(failed > 0);
    assert_eq!(called.out, format!("{} spans sent, {failed} failed\n", arrived(&first).len()));
    assert!(called.err.contains("error: ") && called.err.contains(receiver::REASON), "{}", called.err);
    assert!(called.err.contains("holds what has not been sent now"), "{}", called.err);
    let second = Receiver::new(take);
    assert_eq!(call(&["export", &file, "--otlp", &second.url()]).status, SUCCESS);
    let mut together = arrived(&first);
    together.extend(arrived(&second));
    assert_eq!(together, arrived(&whole));
    assert_eq!(arrived(&second).len(), failed);
}

#[test]
fn who_requires_the_export_learns_of_its_failure() {
    let folder = tempfile::tempdir().unwrap();
    let url = nowhere();
    let called = run(folder.path(), &url, &["--otlp-required", "--quiet"]);
    assert_eq!((called.status, called.out.as_str()), (FAILURE, ""), "{}", called.err);
    assert!(
        called.err.contains("error: ") && called.err.contains("spans have not been sent"),
        "{}",
        called.err
    );
    assert!(folder.path().join("out").join(UNSENT).exists());

    // Wrong results are not made right by an export that arrives, nor hidden by one that does not.
    let app = folder.path().join("vecadd.yaml");
    let wrong =
        std::fs::read_to_string(&app).unwrap().replace("reference: vecadd", "fnv64: \"0123456789abcdef\"");
    std::fs::write(&app, wrong).unwrap();
    let (app, tiny) = (app.to_string_lossy().into_owned(), tiny());
    let out = folder.path().join("out").to_string_lossy().into_owned();
    let arguments = ["run", &tiny, &app, "--set", "app.n=1000", "--out", &out, "--otlp"];
    let receiver = Receiver::new(take);
    assert_eq!(call(&[&arguments[..], &[&receiver.url()]].concat()).status, NOT_VERIFIED);
    assert_eq!(call(&[&arguments[..], &[&url]].concat()).status, NOT_VERIFIED);
}

#[test]
fn what_cannot_work_is_said_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    for (url, problem) in [
        ("localhost:4318", "error: --otlp: `localhost:4318` is not an endpoint: "),
        (
            "https://localhost:4318",
            "error: --otlp: `https://localhost:4318` is not an endpoint: only http is spoken here",
        ),
        ("http://me:secret@localhost:4318", "is not an endpoint: a user and a password are not sent"),
    ] {
        let called = run(folder.path(), url, &[]);
        assert_eq!(called.status, FAILURE, "{url}");
        assert!(called.err.contains(problem), "{}", called.err);
        assert!(!folder.path().join("out").exists(), "{url}");
    }
    for (more, problem) in
        [(["--otlp-scale", "0"], "--otlp-scale"), (["--functional", "--quiet"], "--functional")]
    {
        let called = run(folder.path(), "http://localhost:4318", &more);
        assert_eq!(called.status, FAILURE);
        assert!(called.err.contains(problem), "{}", called.err);
    }
    let called = call(&["run", "tiny", "vecadd", "--otlp-required"]);
    assert!(called.err.contains("--otlp <URL>"), "{}", called.err);

    let file = folder.path().join("foreign");
    std::fs::write(&file, "{\"resourceSpans\": []}\n").unwrap();
    let file = file.to_string_lossy().into_owned();
    let called = call(&["export", &file, "--otlp", &nowhere()]);
    assert_eq!(called.status, FAILURE);
    let problem = format!("error: {file}:1: these are not spans that `counterpoint run` has saved: ");
    assert!(called.err.starts_with(&problem), "{}", called.err);
}

#[test]
fn a_run_that_is_cut_off_sends_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::new(take);
    let called = run(folder.path(), &receiver.url(), &["--otlp-required", "--stop-at", "20 us"]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let all = arrived(&receiver);
    let open = |span: &Span| {
        let partial = span.attributes.iter().find(|attribute| attribute.key == "partial").unwrap();
        partial.value.as_ref().unwrap().value == Some(BoolValue(true))
    };
    let of = |name: &str| all.values().find(|(_, span)| span.name == name).map(|(_, span)| open(span));
    assert_eq!((of("run vecadd"), of("prelude")), (Some(true), Some(false)));
    let end =
        |span: &Span| number(&span.attributes, "sim.start_ps") + number(&span.attributes, "sim.duration_ps");
    assert_eq!(all.values().map(|(_, span)| end(span)).max(), Some(20_000_000));
}

#[test]
fn the_summary_says_how_many_spans_are_in_sums() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::new(take);
    let called = run(folder.path(), &receiver.url(), &["--span-limit", "100", "--set", "app.n=100000"]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let all = arrived(&receiver);
    let sums: u64 = all
        .values()
        .filter(|(_, span)| text(&span.attributes, "sim.level") == "ctas")
        .map(|(_, span)| number(&span.attributes, "sim.aggregated"))
        .sum();
    assert!(sums > 100, "{sums} spans are in sums");
    // Thousands are separated.
    let out = called.out.replace(' ', "");
    let line = format!("otlp{}spanssent,0failed,{sums}beyond--span-limit\n", all.len());
    assert!(out.contains(&line), "{line}{}", called.out);
}
