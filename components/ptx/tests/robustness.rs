//! No text makes the front end panic.

use counterpoint_ptx::{Kernel, decode, parser};
use proptest::prelude::*;

fn kernel() -> String {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/applications/hotspot/kernel.nvrtc-sm_35.ptx");
    std::fs::read_to_string(path).expect("the kernels are committed")
}

/// A kernel with calls, prototypes, initial values and local memory.
fn language() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/language/kernel.nvrtc-sm_70.ptx");
    std::fs::read_to_string(path).expect("the kernels are committed")
}

fn mutate(source: String, edits: Vec<(prop::sample::Index, u8, u8)>) -> String {
    let mut bytes = source.into_bytes();
    for (place, byte, what) in edits {
        let at = place.index(bytes.len());
        match what {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            _ => {
                bytes.remove(at);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn read(text: &str) {
    if let Ok(module) = parser::parse(text) {
        let _ = decode::decode(&module);
    }
}

#[test]
fn a_line_takes_as_long_as_it_is() {
    let line = |count: usize| {
        let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        let head = ".version 7.8\n.target sm_35\n.address_size 64\n";
        format!("{head}.global .u32 table[{count}] = {{{}}};\n.entry k() {{ ret; }}\n", numbers.join(","))
    };
    let seconds = |count: usize| {
        let text = line(count);
        let begun = std::time::Instant::now();
        assert_eq!(Kernel::compile(&text, None).unwrap().global_symbols()[0].initial.len(), 4 * count);
        begun.elapsed().as_secs_f64()
    };
    let short = (0..3).map(|_| seconds(20_000)).fold(0.0, f64::max);
    let long = seconds(200_000);
    assert!(long < 40.0 * short, "{long} s for ten times as many numbers as in {short} s");
}

#[test]
fn a_cause_is_told_once_with_the_number_of_its_places() {
    let module = |lines: &str| {
        format!(".version 7.8\n.target sm_35\n.address_size 64\n.entry k() {{\n{lines}ret;\n}}\n")
    };
    let many = module(&"foo.bar.u32 %r1, %r2;\n".repeat(10_000));
    let begun = std::time::Instant::now();
    let errors = Kernel::compile(&many, None).err().unwrap();
    assert!(begun.elapsed().as_secs() < 2, "{:?}", begun.elapsed());
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts[0].starts_with("5:1: unknown instruction `foo.bar.u32` (and 9999 more like it)"),
        "{texts:?}"
    );
    let two = module("mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r1, 1;\n");
    let texts: Vec<String> =
        Kernel::compile(&two, None).err().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["5:9: `%r1` is not declared (and 1 more like it)", "6:9: `%r2` is not declared"]);
}

#[test]
fn a_parameter_declared_twice_is_an_error_with_its_place() {
    let text = ".version 7.8\n.target sm_35\n.address_size 64\n.entry k(\n.param .u32 n,\n.param .u32 n\n)\n{ .reg .u32 %a; ld.param.u32 %a, [n]; ret; }";
    let module = parser::parse(text).expect("well-formed");
    let errors = decode::decode(&module).expect_err("one name for two parameters");
    assert_eq!(errors.len(), 1);
    assert_eq!((errors[0].line, errors[0].message.as_str()), (6, "`n` is declared twice"));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text(text in any::<String>()) {
        read(&text);
    }

    #[test]
    fn any_ascii(bytes in prop::collection::vec(9u8..127, 0..400)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn mutated_kernels(edits in prop::collection::vec((any::<prop::sample::Index>(), 9u8..127, 0u8..3), 1..12)) {
        read(&mutate(kernel(), edits));
    }

    #[test]
    fn mutated_calls(edits in prop::collection::vec((any::<prop::sample::Index>(), 9u8..127, 0u8..3), 1..4)) {
        read(&mutate(language(), edits));
    }

    #[test]
    fn calls_with_other_words(a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let source = language();
        let words: Vec<&str> = source.split_inclusive(char::is_whitespace).collect();
        let mut changed = words.clone();
        changed[a.index(words.len())] = words[b.index(words.len())];
        read(&changed.concat());
    }

    #[test]
    fn shuffled_tokens(picks in prop::collection::vec(any::<prop::sample::Index>(), 1..200)) {
        let source = kernel();
        let words: Vec<&str> = source.split_whitespace().collect();
        let picked: Vec<&str> = picks.iter().map(|pick| words[pick.index(words.len())]).collect();
        read(&format!(".version 7.8\n.target sm_35\n.entry k() {{ {} }}", picked.join(" ")));
    }

    #[test]
    fn swapped_lines(a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let source = kernel();
        let mut lines: Vec<&str> = source.lines().collect();
        let (a, b) = (a.index(lines.len()), b.index(lines.len()));
        lines.swap(a, b);
        read(&lines.join("\n"));
    }
}
