//! Files that are not, or no longer, the saved ones: every kind is recognised, and nothing of it is sent.

use std::path::PathBuf;

use counterpoint_framework::telemetry::sinks::otlp::{Outbox, Saved, save};

use crate::otlp::{trace, tree};

fn problem(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spans");
    std::fs::write(&path, text).unwrap();
    let problem = Saved::open(&path).unwrap_err().to_string();
    problem.replacen(&*path.to_string_lossy(), "FILE", 1)
}

fn good() -> Vec<String> {
    let spans = tree(3_000);
    let mut out = Vec::new();
    let outbox = trace(&spans);
    save(&outbox, 0, &mut out).unwrap();
    let lines: Vec<_> = String::from_utf8(out).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), outbox.len());
    assert!(lines.len() >= 4);
    lines
}

#[test]
fn a_line_is_what_others_read_too() {
    for line in good() {
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        let service = &value["resourceSpans"][0];
        let span = &service["scopeSpans"][0]["spans"][0];
        assert_eq!(span["traceId"], "0123456789abcdef0011223344556677");
        assert_eq!(span["spanId"].as_str().map(str::len), Some(16));
        assert!(span["startTimeUnixNano"].as_str().is_some_and(|nanos| nanos.starts_with("1700000000")));
        let keys: Vec<_> =
            service["resource"]["attributes"].as_array().unwrap().iter().map(|a| a["key"].as_str()).collect();
        assert!(keys.is_sorted() && keys.contains(&Some("service.name")), "{keys:?}");
    }
}

#[test]
fn lines_that_are_missing_or_elsewhere_are_noticed() {
    let lines = good();
    let all = lines.len();
    let text = |lines: &[String]| lines.join("\n");
    assert_eq!(problem(""), "FILE: there are no spans in it");
    assert_eq!(
        problem(&text(&lines[..2])),
        format!("FILE: it ends after batch 2 of {all}: the rest has been cut off")
    );
    assert_eq!(
        problem(&text(&lines[1..])),
        format!("FILE:1: this is batch 2 of {all}, where batch 1 of {all} should be")
    );
    let mut twice = lines.clone();
    twice.extend(lines.clone());
    assert_eq!(
        problem(&text(&twice)),
        format!("FILE:{}: this is batch 1 of {all}, where batch {} of {all} should be", all + 1, all + 1)
    );
    let half = text(&lines);
    let cut = problem(&half[..half.len() - 100]);
    assert!(
        cut.starts_with(&format!("FILE:{all}: these are not spans that `counterpoint run` has saved: EOF")),
        "{cut}"
    );
}

#[test]
fn what_others_wrote_is_not_sent() {
    let lines = good();
    let whole = |line: &str, from: &str, to: &str| {
        assert!(line.contains(from), "{from}");
        let mut lines = lines.clone();
        lines[0] = line.replacen(from, to, 1);
        problem(&lines.join("\n"))
    };
    let first = &lines[0];
    let foreign = "FILE:1: these are not spans that `counterpoint run` has saved: ";
    for text in ["hello", "{}", "[1, 2]", "{\"resourceSpans\": []}", "\u{0}\u{1}"] {
        assert!(problem(text).starts_with(foreign), "{}", problem(text));
    }
    assert_eq!(
        whole(first, "\"format\":1", "\"format\":2"),
        "FILE:1: this is format 2 of saved spans; format 1 is understood here"
    );
    assert_eq!(
        whole(first, "\"name\":\"counterpoint\"", "\"name\":\"somebody\""),
        format!("{foreign}`somebody` has written them")
    );
    assert_eq!(
        whole(first, "\"spanId\":\"00000001", "\"spanId\":\""),
        format!("{foreign}span `span 0` has no id of 8 bytes")
    );
    assert_eq!(
        whole(first, "\"spanId\":\"0000000100000000", "\"spanId\":\"0000000000000000"),
        format!("{foreign}span `span 0` has no id, or no trace")
    );
    assert_eq!(
        whole(first, "\"endTimeUnixNano\":\"1", "\"endTimeUnixNano\":\""),
        format!("{foreign}span `span 0` has an end before its beginning")
    );
    let number = whole(first, "\"endTimeUnixNano\":\"1", "\"endTimeUnixNano\":\"x");
    assert!(number.starts_with(foreign) && number.contains("invalid digit"), "{number}");
    assert_eq!(
        whole(first, "\"boolValue\":false", "\"doubleValue\":1.5"),
        format!("{foreign}attribute `partial` is neither a text nor a number nor a flag")
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let problem = Saved::open(&PathBuf::from("/nowhere/spans")).unwrap_err().to_string();
    assert!(problem.starts_with("/nowhere/spans: No such file"), "{problem}");
}
