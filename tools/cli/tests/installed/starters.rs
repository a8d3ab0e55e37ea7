//! Starters of `counterpoint new` run as they are.

use crate::installed::WorkFolder;

/// The command lines that a starter names to go on with.
fn next(printed: &str) -> Vec<Vec<String>> {
    let (_, lines) = printed.split_once("\nnext:\n").unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    lines.lines().map(words).collect()
}

#[test]
fn a_machine_an_application_and_a_study_run_at_once() {
    let place = WorkFolder::empty();
    for (what, written, ends_with) in [
        ("machine", &["mine.yaml"][..], "verified"),
        ("application", &["sum/sum.yaml", "sum/kernel.cu", "sum/kernel.ptx"], ""),
        ("study", &["sweep.yaml"], "report.html"),
    ] {
        let name = written[0].split(['.', '/']).next().unwrap();
        let printed = place.works(&["new", what, name]);
        for file in written {
            assert!(printed.contains(&format!("wrote {file}\n")) && place.path(file).is_file(), "{printed}");
        }
        let lines = next(&printed);
        assert!(lines.len() >= 2, "{printed}");
        for line in &lines {
            assert_eq!(line[0], "counterpoint");
            let words: Vec<&str> = line[1..].iter().map(String::as_str).collect();
            let printed = place.works(&words);
            assert!(words[0] != "run" || printed.contains("verified"), "{line:?}: {printed}");
            assert!(line != lines.last().unwrap() || printed.contains(ends_with), "{line:?}: {printed}");
        }
    }
    // A study of both.
    let study = ["new", "study", "both", "--machine", "mine.yaml", "--application", "sum/sum.yaml"];
    place.works(&study);
    let printed = place.works(&["study", "both.yaml", "--scale", "small"]);
    assert!(printed.contains("6 points: 6 have run"), "{printed}");
    // Inputs of a user's application are beside it.
    assert!(place.path("sum/data/a_10000.f32").is_file());
}

#[test]
fn a_component_is_a_crate_with_a_machine() {
    let place = WorkFolder::empty();
    let printed = place.works(&["new", "component", "my-part"]);
    assert!(printed.contains("cargo run --release -- run my-part vecadd"), "{printed}");
    let read = |file: &str| std::fs::read_to_string(place.path("my-part").join(file)).unwrap();
    let manifest = read("Cargo.toml");
    // The checkout that the command was built from.
    assert!(manifest.contains("\ncounterpoint-cli = { path = \"/"), "{manifest}");
    assert!(manifest.contains("/tools/cli\", default-features = false }\n"), "{manifest}");
    assert!(read("src/main.rs").contains("my_part::register"));
    let texts =
        ["Cargo.toml", "build.rs", "src/lib.rs", "src/delay.rs", "src/main.rs", "machines/my-part.yaml"]
            .map(read);
    assert!(texts.iter().all(|text| !text.contains('@')), "{texts:?}");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    place.works(&["new", "component", "other", "--checkout", root]);
    let manifest = std::fs::read_to_string(place.path("other/Cargo.toml")).unwrap();
    assert!(manifest.contains("/tools/counterpoint\" }\n"), "{manifest}");
    place.works(&["new", "component", "third", "--git", "https://example.org/counterpoint"]);
    let manifest = std::fs::read_to_string(place.path("third/Cargo.toml")).unwrap();
    let line =
        "counterpoint-cli = { git = \"https://example.org/counterpoint\", default-features = false }\n";
    assert!(manifest.contains(line), "{manifest}");
}

#[test]
fn nothing_is_overwritten_and_names_are_checked() {
    let place = WorkFolder::empty();
    place.write("sum/kernel.cu", "mine");
    let called = place.call(&["new", "application", "sum"]);
    assert_eq!((called.status, called.out.as_str()), (Some(2), ""));
    assert!(called.err.starts_with("error: `sum/kernel.cu` exists; nothing is written\n"), "{}", called.err);
    assert!(!place.path("sum/sum.yaml").exists());
    for (what, name) in [("machine", "../mine"), ("study", "My"), ("component", "dyn")] {
        let called = place.call(&["new", what, name]);
        assert_eq!(called.status, Some(2), "{what} {name}");
        assert!(called.err.starts_with(&format!("error: `{name}` cannot be ")), "{}", called.err);
    }
    let called = place.call(&["new", "component", "part", "--checkout", "nowhere"]);
    assert!(called.err.starts_with("error: --checkout: "), "{}", called.err);
}
