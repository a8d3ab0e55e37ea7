//! Structs by value and arrays as arguments, and numbers that are none.

use counterpoint_framework::model::Registry;
use counterpoint_host_model::program::{Argument, BufferId, Step};

use super::super::load;
use std::collections::BTreeMap;

/// A kernel with a struct that its loads tell, one that they do not, a float3, and numbers.
const PTX: &str = ".version 7.8
.target sm_35
.address_size 64
.visible .entry k(
.param .align 8 .b8 told[24],
.param .align 8 .b8 open[16],
.param .align 4 .b8 three[12],
.param .f32 x,
.param .b64 y
)
{
.reg .b16 %rs<2>;
.reg .b32 %r<2>;
.reg .f32 %f<4>;
.reg .b64 %rd<4>;
.reg .f64 %fd<2>;
ld.param.s8 %rs1, [told];
ld.param.f64 %fd1, [told+8];
ld.param.u32 %r1, [told+16];
ld.param.f32 %f1, [three];
ld.param.f32 %f2, [three+8];
ld.param.u64 %rd1, [open+8];
ret;
}
";

const YAML: &str = "counterpoint: 1
application: structs
code: { k: k.ptx }
buffers:
  a: { type: f32, elements: 8 }
kernels:
  - { launch: k, grid: 1, block: 1, arguments: [ARGUMENTS] }
";

/// The arguments `told`, `open` and `three`, and then `x` and `y`.
fn arguments(told: &str, open: &str, three: &str, numbers: &str) -> Result<Vec<Argument>, String> {
    let yaml = YAML.replace("ARGUMENTS", &format!("{told}, {open}, {three}, {numbers}"));
    let files: BTreeMap<String, Vec<u8>> =
        [("x/app.yaml".to_owned(), yaml.into_bytes()), ("x/k.ptx".to_owned(), PTX.into())].into();
    let loaded = load("x/app.yaml", &[], &files, &Registry::default()).map_err(|report| report.render())?;
    match loaded.application.steps.first() {
        Some(Step::Launch(launch)) => Ok(launch.arguments.clone()),
        other => panic!("{other:?}"),
    }
}

/// The bytes of C's `struct { signed char a; double b; int c; }`.
fn told(a: i8, b: f64, c: i32) -> Argument {
    let mut bytes = vec![0; 24];
    bytes[0] = a as u8;
    bytes[8..16].copy_from_slice(&b.to_le_bytes());
    bytes[16..20].copy_from_slice(&c.to_le_bytes());
    Argument::Value(bytes.into())
}

fn floats(values: [f32; 3]) -> Argument {
    Argument::Value(values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

const OPEN: &str = "{ bytes: \"000102030405060708090a0b0c0d0e0f\" }";

#[test]
fn the_kernel_tells_the_types_of_a_list() {
    let found = arguments("[-3, 1.5, 7]", OPEN, "[1, 2, 3]", "nan, 5").unwrap();
    assert_eq!(found[0], told(-3, 1.5, 7));
    assert_eq!(found[1], Argument::Value((0..16).collect()));
    assert_eq!(found[2], floats([1.0, 2.0, 3.0]), "the one in the middle is not loaded");
    assert_eq!(found[3], Argument::Value(f32::NAN.to_le_bytes().into()));
    assert_eq!(arguments("[[-3, 1.5], 7]", OPEN, "[1, 2, 3]", "1, 5").unwrap()[0], told(-3, 1.5, 7));
}

#[test]
fn types_that_are_written_lie_as_in_c() {
    let typed = "[{ s8: -3 }, { f64: 1.5 }, { s32: 7 }]";
    let found =
        arguments(typed, "[{ u8: [1, 2] }, { u16: 3 }, a]", "{ f32: [1, -inf] }", "inf, -inf").unwrap();
    assert_eq!(found[0], told(-3, 1.5, 7));
    let bytes = [1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let addresses = [(8, BufferId(0), 0)];
    assert_eq!(found[1], Argument::Struct { bytes: bytes.into(), addresses: addresses.into() });
    assert_eq!(found[2], floats([1.0, f32::NEG_INFINITY, 0.0]), "what is left is zero");
    assert_eq!(
        found[3..],
        [
            Argument::Value(f32::INFINITY.to_le_bytes().into()),
            Argument::Value(f64::NEG_INFINITY.to_le_bytes().into())
        ]
    );
}

#[test]
fn addresses_stand_in_lists() {
    let found = arguments("[0, 0, 0]", "[a, { buffer: a, element: 3 }]", "[0, 0, 0]", "0, 0").unwrap();
    let addresses = [(0, BufferId(0), 0), (8, BufferId(0), 12)];
    assert_eq!(found[1], Argument::Struct { bytes: [0; 16].into(), addresses: addresses.into() });
}

#[test]
fn mistakes_are_told_by_the_kernel_and_the_file() {
    let three = "[1, 2, 3]";
    for (told, open, message) in [
        ("[1, 2]", OPEN, "`told` has 3 elements, found 2"),
        ("[1, 2]", OPEN, "they are: s8, f64, u32"),
        ("[1, 2, 0.5]", OPEN, "`0.5` is not a whole number"),
        ("[a, 2, 3]", OPEN, "an address has 8 bytes, but byte 0 of `told` begins an element of type s8"),
        ("[1, 2, { s32: 7 }]", OPEN, "`1` has no type, and others here have one"),
        ("{ f64: [1, 2, 3, 4] }", OPEN, "32 bytes do not fit `told`, which has 24"),
        ("{ bytes: \"00\" }", OPEN, "`told` has 24 bytes, found 1"),
        ("{ f16: 1 }", OPEN, "unknown key `f16` in typed values"),
        ("{ bytes: \"0g\" }", OPEN, "`0g` are not bytes in hexadecimal digits"),
        ("5", OPEN, "a parameter of several elements cannot be given one number; write a list"),
        ("[0, 0, 0]", "[b, 1]", "there is no buffer `b`"),
    ] {
        let text = arguments(told, open, three, "1, 1").expect_err(told);
        assert!(text.contains(message), "{told}: {text}");
    }
    // The structure has no load at a fixed offset, or a size beyond what its loads show.
    let source = PTX.replace("ld.param.f32 %f2, [three+8];", "ld.param.v2.f32 {%f2, %f3}, [three+6];");
    assert!(source.contains("[three+6]"));
    let yaml = YAML.replace("ARGUMENTS", &format!("[1, 2, 3], {OPEN}, {three}, 1, 1"));
    let files: BTreeMap<String, Vec<u8>> =
        [("x/app.yaml".to_owned(), yaml.into_bytes()), ("x/k.ptx".to_owned(), source.into())].into();
    let text = load("x/app.yaml", &[], &files, &Registry::default()).expect_err("no types").render();
    assert!(
        text.contains("the loads of `k` do not tell the elements of `three`, which has 12 bytes"),
        "{text}"
    );
    assert!(text.contains("write types"), "{text}");
}
