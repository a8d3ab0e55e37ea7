//! Value tables: `values/*.txt` give the result of each instruction at the edges that the manual names.
//!
//! Both the executor, with and without vector extensions, and the interpreter must give a row's result, and
//! every spelling of the instruction table must have a row.

use std::collections::{BTreeMap, BTreeSet};

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Float8E4M3FN, Float8E5M2, Half};

use crate::oracle::alone::{alone, compile, run_alone};
use crate::oracle::random::UNTESTED;
use crate::oracle::scalar::{Class, Opcode, Outcome, Type, evaluate};

const TABLES: [(&str, &str); 10] = [
    ("integer.txt", include_str!("values/integer.txt")),
    ("carry.txt", include_str!("values/carry.txt")),
    ("float.txt", include_str!("values/float.txt")),
    ("compare.txt", include_str!("values/compare.txt")),
    ("logic.txt", include_str!("values/logic.txt")),
    ("convert.txt", include_str!("values/convert.txt")),
    ("half.txt", include_str!("values/half.txt")),
    ("half_convert.txt", include_str!("values/half_convert.txt")),
    ("video.txt", include_str!("values/video.txt")),
    ("packed.txt", include_str!("values/packed.txt")),
];

/// Instructions that are no function of a thread's registers, and are tested elsewhere.
const OTHERS: [&str; 54] = [
    "activemask",
    "alloca",
    "applypriority",
    "atom",
    "bar",
    "barrier",
    "bra",
    "brkpt",
    "brx",
    "call",
    "cp",
    "createpolicy",
    "cvta",
    "discard",
    "elect",
    "exit",
    "fence",
    "griddepcontrol",
    "isspacep",
    "ld",
    "ldu",
    "match",
    "mbarrier",
    "ldmatrix",
    "membar",
    "mma",
    "movmatrix",
    "nanosleep",
    "pmevent",
    "prefetch",
    "prefetchu",
    "red",
    "redux",
    "ret",
    "shfl",
    "st",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "suld",
    "suq",
    "sured",
    "sust",
    "tex",
    "tld4",
    "trap",
    "lop3.and.b32",
    "lop3.or.b32",
    "vote",
    "wmma",
    "mov.pred",
    "mov.b128",
    "mov.v2",
    "mov.v4",
];

struct Row {
    place: String,
    sources: Vec<u64>,
    carry: bool,
    result: u64,
    /// The carry afterwards, or the second result of `p|q`.
    second: Option<u64>,
}

/// All texts that match a pattern with `{a|b}`.
fn expand(pattern: &str) -> Vec<String> {
    let Some((head, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let (choices, tail) = rest.split_once('}').expect("a brace is closed");
    let tails = expand(tail);
    choices
        .split('|')
        .flat_map(|choice| tails.iter().map(move |tail| format!("{head}{choice}{tail}")))
        .collect()
}

/// A value as it is written, as bits of its type. The low half of a pair stands before the high one.
fn value(text: &str, ty: Type) -> u64 {
    if let Some(part) = ty.part().filter(|_| !text.starts_with("0x")) {
        let (low, high) = text.split_once(',').unwrap_or((text, text));
        return value(low, part) | value(high, part) << part.bits;
    }
    let wide = ty.bits == 64;
    let (negative, name) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).expect(text);
    }
    if !ty.is_float() {
        return ty.cut(text.parse::<i128>().expect(text) as u64);
    }
    if ty.bits < 32 {
        return narrow(name, ty) | u64::from(negative) << (ty.bits - 1);
    }
    let named = match name {
        "nan" => Some((0x7fff_ffff, 0x7ff8_0000_0000_0000)),
        "inf" => Some((0x7f80_0000, 0x7ff0_0000_0000_0000)),
        "tiny" => Some((1, 1)),
        "least" => Some((0x0080_0000, 0x0010_0000_0000_0000)),
        "most" => Some((0x7f7f_ffff, 0x7fef_ffff_ffff_ffff)),
        _ => None,
    };
    match named {
        Some((_, bits)) if wide => bits | u64::from(negative) << 63,
        Some((bits, _)) => bits | u64::from(negative) << 31,
        None if wide => text.parse::<f64>().expect(text).to_bits(),
        None => u64::from(text.parse::<f32>().expect(text).to_bits()),
    }
}

/// A positive number of at most 16 bits.
fn narrow(name: &str, ty: Type) -> u64 {
    let [nan, inf, least, most] = match ty.class {
        Class::Brain => [0x7fff, 0x7f80, 0x0080, 0x7f7f],
        Class::E4M3 => [0x7f, 0x7f, 0x08, 0x7e],
        Class::E5M2 => [0x7f, 0x7c, 0x04, 0x7b],
        _ => [0x7fff, 0x7c00, 0x0400, 0x7bff],
    };
    let bits = |text: &str| match ty.class {
        Class::Brain => text.parse::<BFloat>().expect(text).to_bits(),
        Class::E4M3 => text.parse::<Float8E4M3FN>().expect(text).to_bits(),
        Class::E5M2 => text.parse::<Float8E5M2>().expect(text).to_bits(),
        _ => text.parse::<Half>().expect(text).to_bits(),
    };
    match name {
        "nan" => nan,
        "inf" => inf,
        "tiny" => 1,
        "least" => least,
        "most" => most,
        _ => bits(name) as u64,
    }
}

/// The rows of all tables by their spelling.
fn rows() -> BTreeMap<String, Vec<Row>> {
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for (file, text) in TABLES {
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = format!("{file}:{}: {line}", number + 1);
            let (left, right) = line.split_once(" = ").unwrap_or_else(|| panic!("{place}"));
            let mut words = left.split_whitespace();
            let pattern = words.next().unwrap_or_else(|| panic!("{place}"));
            let words: Vec<&str> = words.collect();
            for spelling in expand(pattern) {
                let op = Opcode::new(&spelling);
                let (result, types) = op.signature().unwrap_or_else(|| panic!("{place}"));
                let written = words.iter().filter(|word| **word != "+c");
                let mut sources: Vec<u64> = written.zip(&types).map(|(text, ty)| value(text, *ty)).collect();
                if sources.len() + 1 == types.len() && op.combination().is_some() {
                    sources.push(u64::from(op.combination() == Some("and")));
                }
                assert_eq!(sources.len(), types.len(), "{place}");
                let (first, second) = right.split_once(" | ").map_or((right, None), |(a, b)| (a, Some(b)));
                rows.entry(spelling.clone()).or_default().push(Row {
                    place: place.clone(),
                    sources,
                    carry: words.contains(&"+c"),
                    result: result.cut(value(first.trim(), result)),
                    second: second.map(|text| text.trim().parse().expect("0 or 1")),
                });
            }
        }
    }
    rows
}

/// Runs all rows of a spelling; returns those that are not met.
fn check(spelling: &str, rows: &[Row]) -> Vec<String> {
    let op = Opcode::new(spelling);
    let mut wrong = Vec::new();
    // A truth table is a constant, so that its rows do not share a kernel.
    let groups: Vec<&[Row]> = if op.head == "lop3" { rows.chunks(1).collect() } else { vec![rows] };
    for group in groups {
        let inputs: Vec<[u64; 5]> = group
            .iter()
            .map(|row| {
                let mut words = [0; 5];
                words[..row.sources.len()].copy_from_slice(&row.sources);
                words[4] = row.carry.into();
                words
            })
            .collect();
        let kernel = compile(&alone(&op, group[0].sources.get(3).copied().unwrap_or(0)));
        for baseline in [false, true] {
            for (row, found) in group.iter().zip(run_alone(&kernel, &inputs, baseline)) {
                if found[0] != row.result || row.second.is_some_and(|second| found[1] != second) {
                    wrong.push(format!("{spelling}: {found:x?} (baseline: {baseline}), but {}", row.place));
                }
            }
        }
        let approximate = UNTESTED.iter().any(|(name, _)| *name == op.head || *name == spelling);
        for row in group.iter().filter(|_| !approximate) {
            let mut carry = row.carry;
            let (first, second) = match evaluate(&op, &row.sources, &mut carry) {
                Outcome::Value(value) => (op.signature().expect("known").0.cut(value), u64::from(carry)),
                Outcome::Truth(first, second) => (first.into(), second.into()),
            };
            if first != row.result || row.second.is_some_and(|want| want != second) {
                wrong.push(format!("{spelling}: {first:x} by the interpreter, but {}", row.place));
            }
        }
    }
    wrong
}

#[test]
fn instructions_give_what_the_tables_say() {
    let wrong: Vec<String> = rows().iter().flat_map(|(spelling, rows)| check(spelling, rows)).collect();
    assert!(wrong.is_empty(), "{} rows are not met:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_instruction_of_the_table_has_a_row() {
    let rows = rows();
    let known: BTreeSet<&str> = counterpoint_ptx::isa::instructions().map(|(text, _)| text).collect();
    let others =
        |text: &str| OTHERS.contains(&text) || OTHERS.contains(&text.split('.').next().unwrap_or(""));
    let missing: Vec<&&str> =
        known.iter().filter(|text| !rows.contains_key(**text) && !others(text)).collect();
    assert!(missing.is_empty(), "{} instructions have no row in values/: {missing:#?}", missing.len());
    let unknown: Vec<&String> = rows.keys().filter(|text| !known.contains(text.as_str())).collect();
    assert!(unknown.is_empty(), "rows of no instruction: {unknown:#?}");
    let idle: Vec<&&str> = OTHERS
        .iter()
        .filter(|name| !known.iter().any(|text| others(text) && text.starts_with(**name)))
        .collect();
    assert!(idle.is_empty(), "no instruction is named {idle:?}");
}

/// An instruction whose registers are wider than its types: text with a 64-bit %d0 as source, and the 64 bits of %d1.
#[test]
fn registers_wider_than_the_type_are_cut_and_filled() {
    let rows: [(&str, u64, u64); 14] = [
        ("cvt.s64.s8 %d1, %d0;", 0x1234_5680, 0xffff_ffff_ffff_ff80),
        ("cvt.u64.u8 %d1, %d0;", 0x1234_5680, 0x80),
        ("cvt.s32.s64 %d1, %d0;", 0x1_8000_0001, 0xffff_ffff_8000_0001),
        ("cvt.u32.u64 %d1, %d0;", 0x1_8000_0001, 0x8000_0001),
        ("cvt.s16.s32 %d1, %d0;", 0xffff_8001, 0xffff_ffff_ffff_8001),
        ("cvt.u16.s8 %d1, %d0;", 0x80, 0xff80),
        ("cvt.sat.u8.s32 %d1, %d0;", 0x1_0000_0101, 0xff),
        ("cvt.rn.f32.s16 %r0, %d0; cvt.u64.u32 %d1, %r0;", 0x1_ffff, 0xbf80_0000),
        ("cvt.u32.u64 %r0, %d0; cvt.s8.u32 %r1, %r0; cvt.u64.u32 %d1, %r1;", 0x80, 0xffff_ff80),
        ("cvt.u32.u64 %r0, %d0; cvt.u16.s8 %r1, %r0; cvt.u64.u32 %d1, %r1;", 0x80, 0xff80),
        ("st.global.u64 [%a], %d0; ld.global.s8 %d1, [%a];", 0x1280, 0xffff_ffff_ffff_ff80),
        ("st.global.u64 [%a], %d0; ld.global.b16 %d1, [%a];", 0xffff_8001, 0x8001),
        ("st.global.u64 [%a], 0; st.global.u16 [%a], %d0; ld.global.u64 %d1, [%a];", 0x1_2345, 0x2345),
        ("st.global.u64 [%a], %d0; ld.global.v2.s16 {%d2, %d1}, [%a];", 0x8001_0000, 0xffff_ffff_ffff_8001),
    ];
    for (text, source, want) in rows {
        let kernel = format!(
            ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{\n\
             .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .b64 %a; .reg .b64 %b;\n\
             ld.param.u64 %a, [in]; ld.param.u64 %b, [out]; ld.global.b64 %d0, [%a];\n{text}\n\
             st.global.b64 [%b], %d1;\nret; }}"
        );
        let kernel = compile(&kernel);
        for baseline in [false, true] {
            let found = run_alone(&kernel, &[[source, 0, 0, 0, 0]], baseline)[0][0];
            assert_eq!(found, want, "{text}: {found:#x}, not {want:#x}");
        }
    }
}
