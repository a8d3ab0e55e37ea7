//! Servers that are slow, busy, deaf or away: nothing is lost, and the rest can be sent another time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use counterpoint_framework::telemetry::sinks::otlp::{
    BadFile, Batch, Endpoint, Exported, Options, Outbox, RunTrace, Saved, save, send,
};
use hyper::StatusCode;
use opentelemetry_proto::tonic::resource::v1::Resource;

use crate::otlp::receiver::{Answer, REASON, Receiver, take};
use crate::otlp::{quick, send_to, trace, tree};

/// Writes the unsent rest to a file and looks at it.
fn saved(outbox: &dyn Outbox, skip: usize, path: &Path) -> Saved {
    let mut out = std::fs::File::create(path).unwrap();
    save(outbox, skip, &mut out).unwrap();
    Saved::open(path).unwrap()
}

/// An address at which nobody listens.
fn nowhere() -> Endpoint {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    Endpoint::new(&url).unwrap()
}

/// An outbox that counts the batches taken from it.
struct Counted<'a> {
    outbox: RunTrace<'a>,
    made: Arc<AtomicUsize>,
}

impl Outbox for Counted<'_> {
    fn services(&self) -> &[Resource] {
        self.outbox.services()
    }

    fn spans(&self) -> u64 {
        self.outbox.spans()
    }

    fn len(&self) -> usize {
        self.outbox.len()
    }

    fn batches(&self, skip: usize) -> Box<dyn Iterator<Item = Result<Batch, BadFile>> + '_> {
        Box::new(self.outbox.batches(skip).inspect(|_| {
            self.made.fetch_add(1, Ordering::SeqCst);
        }))
    }
}

#[test]
fn a_slow_server_is_waited_for_and_little_is_made_ahead() {
    let spans = tree(40_000);
    let made = Arc::new(AtomicUsize::new(0));
    let (seen, ahead) = (Arc::clone(&made), Arc::new(AtomicUsize::new(0)));
    let most = Arc::clone(&ahead);
    let receiver = Receiver::new(move |number| {
        // Time enough to fill a queue that had no end.
        std::thread::sleep(Duration::from_millis(20));
        most.fetch_max(seen.load(Ordering::SeqCst) - number, Ordering::SeqCst);
        Answer::Take(Duration::ZERO)
    });
    let outbox = Counted { outbox: trace(&spans), made: Arc::clone(&made) };
    let batches = outbox.len();
    assert!(batches >= 40, "{batches} batches show nothing");
    let exported = send_to(&receiver, &outbox);
    assert_eq!(exported, Exported { sent: 40_000, batches, ..Exported::default() });
    assert_eq!(made.load(Ordering::SeqCst), batches);
    // One is on its way, four wait, and one is in the hand of who waits for a place.
    let ahead = ahead.load(Ordering::SeqCst);
    assert!((2..=6).contains(&ahead), "{ahead} batches were made ahead");
}

#[test]
fn a_server_that_is_busy_for_a_while_gets_everything_once() {
    let busy = |number| match number {
        2 | 3 => Answer::Refuse(StatusCode::SERVICE_UNAVAILABLE),
        _ => Answer::Take(Duration::ZERO),
    };
    let spans = tree(10_000);
    let outbox = trace(&spans);
    let (calm, receiver) = (Receiver::new(take), Receiver::new(busy));
    send_to(&calm, &outbox);
    let expected = Exported { sent: 10_000, batches: outbox.len(), ..Exported::default() };
    assert_eq!(send_to(&receiver, &outbox), expected);
    assert_eq!(receiver.requests(), outbox.len() + 2);
    assert_eq!(receiver.services(), calm.services());
}

#[test]
fn what_a_failing_server_has_not_taken_is_sent_another_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rest");
    let spans = tree(10_000);
    let outbox = trace(&spans);
    let whole = Receiver::new(take);
    send_to(&whole, &outbox);

    let failing = Receiver::new(|number| match number {
        0..4 => Answer::Take(Duration::ZERO),
        _ => Answer::Refuse(StatusCode::BAD_REQUEST),
    });
    let exported = send_to(&failing, &outbox);
    let sent: u64 = failing.services().iter().map(|(_, spans)| spans.len() as u64).sum();
    assert_eq!((exported.batches, exported.sent, exported.failed), (4, sent, 10_000 - sent));
    assert_eq!(failing.requests(), 5, "the first that fails for good is the last");
    let error = exported.error.unwrap();
    assert_eq!(error, format!("status 400 Bad Request: {REASON}"));

    let rest = saved(&outbox, exported.batches, &path);
    assert_eq!((rest.spans(), rest.len()), (exported.failed, outbox.len() - 4));
    let second = Receiver::new(take);
    let exported = send_to(&second, &rest);
    assert!(exported.is_complete() && exported.sent == rest.spans(), "{exported:?}");

    // Both servers together have the content of one that takes everything.
    let mut together = failing.services();
    for (resource, spans) in second.services() {
        match together.iter_mut().find(|(known, _)| *known == resource) {
            Some((_, known)) => known.extend(spans),
            None => together.push((resource, spans)),
        }
    }
    assert_eq!(together, whole.services());
}

#[test]
fn without_a_server_a_file_brings_the_same_spans() {
    let folder = tempfile::tempdir().unwrap();
    let spans = tree(5_000);
    let outbox = trace(&spans);
    let direct = Receiver::new(take);
    send_to(&direct, &outbox);
    let exported = send(&outbox, &nowhere(), &Options { retries: 1, ..quick() });
    assert_eq!((exported.sent, exported.failed, exported.batches), (0, 5_000, 0));
    let error = exported.error.unwrap();
    assert!(error.contains("Connection refused"), "{error}");

    let path = folder.path().join("spans");
    let file = saved(&outbox, 0, &path);
    let later = Receiver::new(take);
    let exported = send_to(&later, &file);
    assert_eq!(exported, Exported { sent: 5_000, batches: outbox.len(), ..Exported::default() });
    assert_eq!(later.services(), direct.services());

    // A file saved from a file is that file.
    let again = folder.path().join("again");
    saved(&file, 0, &again);
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&again).unwrap());
}

#[test]
fn a_server_that_never_answers_is_left() {
    let spans = tree(3_000);
    let receiver = Receiver::new(|_| Answer::Never);
    let begun = Instant::now();
    let options = Options { timeout: Duration::from_millis(200), ..quick() };
    let exported = send(&trace(&spans), &Endpoint::new(&receiver.url()).unwrap(), &options);
    assert_eq!((exported.sent, exported.failed), (0, 3_000));
    assert_eq!(exported.error.as_deref(), Some("no answer within 0.2 s"));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn a_socket_that_says_nothing_at_all_is_left() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let spans = tree(10);
    let begun = Instant::now();
    let options = Options { timeout: Duration::from_millis(200), ..quick() };
    let exported = send(&trace(&spans), &Endpoint::new(&url).unwrap(), &options);
    assert_eq!((exported.sent, exported.failed), (0, 10));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn spans_that_a_server_throws_away_are_counted() {
    let picky = |number| if number == 1 { Answer::Reject(3) } else { Answer::Take(Duration::ZERO) };
    let spans = tree(10_000);
    let outbox = trace(&spans);
    let exported = send_to(&Receiver::new(picky), &outbox);
    let expected = Exported {
        sent: 9_997,
        rejected: 3,
        failed: 0,
        batches: outbox.len(),
        error: Some(REASON.to_owned()),
    };
    assert_eq!(exported, expected);
    assert!(!exported.is_complete());
}

#[test]
fn whoever_asks_is_obeyed_before_the_next_batch() {
    let options = quick();
    let stop = Arc::clone(&options.stop);
    let receiver = Receiver::new(move |number| {
        if number == 1 {
            stop.store(true, Ordering::SeqCst);
            return Answer::Never;
        }
        Answer::Take(Duration::ZERO)
    });
    let spans = tree(5_000);
    let begun = Instant::now();
    let exported = send(&trace(&spans), &Endpoint::new(&receiver.url()).unwrap(), &options);
    assert_eq!((exported.batches, exported.error.as_deref()), (1, Some("the export was interrupted")));
    assert_eq!(exported.sent + exported.failed, 5_000);
    assert!(begun.elapsed() < options.timeout, "{:?}", begun.elapsed());
}

#[test]
fn a_server_that_speaks_something_else_is_left_with_its_words() {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        // Kept open: what a closed one has sent may be lost.
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.write_all(b"220 mail ready\r\n").unwrap();
            open.push(stream);
        }
    });
    let exported = send(&trace(&tree(10)), &Endpoint::new(&url).unwrap(), &quick());
    assert_eq!((exported.sent, exported.failed), (0, 10));
    let error = exported.error.unwrap();
    assert!(error.contains("HTTP"), "{error}");
}
