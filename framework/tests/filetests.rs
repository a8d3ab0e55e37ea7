//! Machines and the reports of loading them, side by side in one file each.
//!
//! A file of `filetests/` has parts that begin with `=== name`: YAML files (the first is the machine, those whose name
//! begins with `overlay` are applied), `set` with one setting a line, and `expect` with the resolved machine and
//! remarks, or the report. `BLESS=1 cargo test` writes the result into `expect`; read the difference before you commit it.

use std::collections::BTreeMap;
use std::path::Path;

use counterpoint_framework::topology::{TOPICS, explain, explain_language, first_sentence, resolve, schema};

use crate::machines::{catalogue, load_text};

struct Case {
    head: String,
    files: BTreeMap<String, String>,
    machine: String,
    overlays: Vec<String>,
    sets: Vec<String>,
    expected: String,
}

fn parse(text: &str) -> Case {
    let (inputs, expected) = text.split_once("=== expect\n").unwrap_or((text, ""));
    let mut case = Case {
        head: inputs.to_owned(),
        files: BTreeMap::new(),
        machine: String::new(),
        overlays: Vec::new(),
        sets: Vec::new(),
        expected: expected.to_owned(),
    };
    for part in inputs.split("=== ").skip(1) {
        let (name, body) = part.split_once('\n').unwrap_or((part, ""));
        match name.trim() {
            "set" => case.sets.extend(body.lines().filter(|line| !line.is_empty()).map(str::to_owned)),
            name => {
                if case.machine.is_empty() {
                    case.machine = name.to_owned();
                }
                if name.starts_with("overlay") && name != "overlays/base.yaml" {
                    case.overlays.push(name.to_owned());
                }
                case.files.insert(name.to_owned(), body.to_owned());
            }
        }
    }
    case
}

fn outcome(case: &Case) -> String {
    let loaded = match load_text(&case.machine, &case.overlays, &case.sets, &case.files) {
        Ok(loaded) => loaded,
        Err(report) => return report,
    };
    let remarks: String = loaded.remarks.iter().map(|remark| format!("# note: {remark}\n")).collect();
    let text = resolve(&loaded.machine, &loaded.sources) + &remarks;
    let files = BTreeMap::from([("resolved.yaml".to_owned(), text.clone())]);
    match load_text("resolved.yaml", &[], &[], &files) {
        Ok(again) if again.machine == loaded.machine => text,
        Ok(_) => format!("{text}\nBUT IT LOADS TO ANOTHER MACHINE\n"),
        Err(report) => format!("{text}\nBUT IT DOES NOT LOAD\n{report}"),
    }
}

#[test]
fn every_file_says_what_it_expects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    // An empty folder would pass everything.
    assert!(paths.len() >= 12, "only {} file tests", paths.len());
    let mut failed = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let case = parse(&text);
        let found = outcome(&case);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, format!("{}=== expect\n{found}", case.head)).unwrap();
        } else if found != case.expected {
            failed.push(format!("{}\nexpected:\n{}\nfound:\n{found}", path.display(), case.expected));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn a_kind_explains_itself() {
    let catalogue = catalogue();
    let text = explain(catalogue.get("test/scheduler").unwrap(), &catalogue.families);
    let expected = "\
test/scheduler
  Spreads launches over cores.

Parameters
  policy: the name of a policy, default fifo
      The order of service.
      - fifo
          First come, first served.
      - pace
          Places blocks where their pages are.
          guard: a switch (on or off), default on
              Whether the guard is active.
          slots: a count, at most 64, default 4
              How far to look ahead.

Ports
  launches: receives Launch
      What comes in.
  cores[]: sends Launch
      What goes out.
";
    assert_eq!(text, expected);
    let text = explain(catalogue.get("test/core").unwrap(), &catalogue.families);
    assert!(text.contains("capacity: a size, 1 KiB to 1 MiB, default 16 KiB"), "{text}");
    assert!(text.contains("- least-recent\n"), "{text}");
    assert_eq!(first_sentence(catalogue.get("test/host").unwrap().doc), "Launches.");
    assert_eq!(first_sentence("One\n    of two. Another.\n\nMore."), "One of two.");
    let text = explain_language("overlay").unwrap();
    for key in ["set", "modules", "instances", "components", "links", "replace", "unlink", "exports"] {
        assert!(text.contains(&format!("\n  {key}: a ")), "{key} is missing in {text}");
    }
    let text = explain_language("faults").unwrap();
    assert!(text.contains("- withhold-credit\n"), "{text}");
    assert!(text.contains("probability: a number, 0 to 1, optional"), "{text}");
}

#[test]
fn every_topic_of_the_language_has_a_page() {
    for topic in TOPICS {
        let page = explain_language(topic).unwrap();
        assert!(page.starts_with(&format!("{topic}\n  ")), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 120), "{page}");
    }
    assert_eq!(explain_language("machines"), None);
    let link = explain_language("link").unwrap();
    assert!(link.contains("  back: cycles or a time\n"), "{link}");
    assert!(explain_language("expressions").unwrap().contains("  ceil: (x)\n"));
}

#[test]
fn the_schema_knows_every_parameter() {
    let schema = schema(&catalogue());
    let kinds = &schema["properties"]["components"]["additionalProperties"]["anyOf"][1]["oneOf"];
    let core = kinds.as_array().unwrap().iter().find(|kind| kind["title"] == "test/core").unwrap();
    assert_eq!(core["properties"]["threads"]["default"], "1024");
    let cache = &core["properties"]["l1d"]["properties"];
    assert_eq!(cache["capacity"]["description"], "Data capacity.");
    assert!(cache["capacity"]["pattern"].as_str().unwrap().contains("KiB"));
    assert_eq!(cache["replacement"]["anyOf"][0]["const"], "least-recent");
    let fault = &schema["properties"]["faults"]["items"]["properties"];
    assert_eq!(fault["fault"]["anyOf"][0]["const"], "drop");
    for key in ["modules", "instances"] {
        let patch = &schema["properties"][key]["additionalProperties"]["properties"];
        for part in ["parameters", "clocks", "components", "links", "exports", "replace", "unlink"] {
            assert_eq!(patch[part]["$ref"], format!("#/properties/{part}"));
            assert!(schema["properties"][part].is_object(), "{part}");
        }
    }
    let scheduler = kinds.as_array().unwrap().iter().find(|kind| kind["title"] == "test/scheduler").unwrap();
    let choices = &scheduler["properties"]["policy"]["anyOf"];
    assert_eq!(choices[3]["properties"]["pace"]["properties"]["slots"]["default"], "4");
}
