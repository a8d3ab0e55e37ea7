//! Atomics on halves, pairs of halves and vectors: each element for itself, by sums of small integers.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{FlatMemory, Options, run};

/// Runs a body in one warp on eight words; gives these afterwards, and what each lane stored behind them.
fn run_on(words: [u32; 8], body: &str) -> ([u32; 8], Vec<u32>) {
    let source = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b64 %a, %b; .reg .b32 %r<9>;\n\
         .reg .b16 %h<9>; .reg .f32 %f<9>; ld.param.u64 %a, [p]; mov.u32 %r0, %laneid; mul.wide.u32 %b, %r0, 4; add.u64 %b, %b, %a;\n\
         {body}\nst.global.u32 [%b+32], %r8;\nret;\n}}\n"
    );
    let kernel = Kernel::compile(&source, None).unwrap_or_else(|errors| panic!("{errors:#?}\n{source}"));
    let mut memory = FlatMemory::new(0);
    let bytes: Vec<u8> = words.into_iter().chain([0; 32]).flat_map(u32::to_le_bytes).collect();
    let at = memory.push(&bytes);
    run(&kernel, [1; 3], [32, 1, 1], &at.to_le_bytes(), &mut memory, &Options::default()).expect("it runs");
    let bytes = &memory.bytes[(at - memory.base) as usize..];
    let word =
        |index: usize| u32::from_le_bytes(bytes[4 * index..4 * index + 4].try_into().expect("4 bytes"));
    (std::array::from_fn(word), (8..40).map(word).collect())
}

/// A small integer as `.f16`, and as `.bf16`.
fn f16(value: u32) -> u32 {
    if value == 0 { 0 } else { (value.ilog2() + 15) << 10 | (value << 10 >> value.ilog2()) & 0x3ff }
}

fn bf16(value: u32) -> u32 {
    (value as f32).to_bits() >> 16
}

#[test]
fn halves_are_added_each_for_itself() {
    for (kind, encode) in [("f16", f16 as fn(u32) -> u32), ("bf16", bf16)] {
        let one = encode(1) | encode(2) << 16;
        let start = encode(5) | encode(7) << 16;
        let body = format!(
            "mov.b32 %r1, {one}; atom.global.add.noftz.{kind}x2 %r8, [%a], %r1; red.gpu.global.noftz.add.{kind}x2 [%a+4], %r1;"
        );
        let (words, old) = run_on([start, 0, 0, 0, 0, 0, 0, 0], &body);
        assert_eq!(words[..2], [encode(37) | encode(71) << 16, encode(32) | encode(64) << 16]);
        let mut found: Vec<u32> = old.clone();
        found.sort_unstable();
        let mut want: Vec<u32> = (0..32).map(|n| encode(5 + n) | encode(7 + 2 * n) << 16).collect();
        want.sort_unstable();
        assert_eq!(found, want, "each lane found another sum");
        let body = format!(
            "mov.b16 %h1, {}; atom.global.add.noftz.{kind} %h2, [%a+2], %h1; cvt.u32.u16 %r8, %h2;",
            encode(3)
        );
        let (words, _) = run_on([start, 0, 0, 0, 0, 0, 0, 0], &body);
        assert_eq!(words[0], encode(5) | encode(103) << 16);
    }
}

#[test]
fn halves_are_compared_and_swapped() {
    // Each lane swaps its number for the next one until 32 have done so.
    let body = "cvt.u16.u32 %h1, %r0; add.u16 %h2, %h1, 1;\n\
        again: atom.global.cas.b16 %h3, [%a+2], %h1, %h2; setp.ne.u16 %p, %h3, %h1;\n@%p bra again; mov.u32 %r8, %r0;";
    let body = format!(".reg .pred %p;\n{body}");
    let (words, _) = run_on([0x0000_aaaa, 0, 0, 0, 0, 0, 0, 0], &body);
    assert_eq!(words[0], 0x0020_aaaa);
}

#[test]
fn vectors_are_changed_element_by_element() {
    let body = "cvt.rn.f32.u32 %f1, %r0; mov.f32 %f2, 0f3F800000; mov.f32 %f3, 0f40000000;\n\
        red.global.add.v2.f32 [%a+16], {%f1, %f2};\natom.global.v4.f32.add {%f4, %f5, _, %f6}, [%a], {%f2, %f3, %f1, %f2}; cvt.rzi.u32.f32 %r8, %f5;";
    let (words, old) = run_on([0f32.to_bits(); 8], body);
    assert_eq!(words.map(f32::from_bits), [32.0, 64.0, 496.0, 32.0, 496.0, 32.0, 0.0, 0.0]);
    let mut found = old;
    found.sort_unstable();
    assert_eq!(found, (0..32).map(|n| 2 * n).collect::<Vec<u32>>());
    let (low, high) = (f16(3) | f16(9) << 16, f16(4) | f16(8) << 16);
    let body = format!(
        "mov.b32 %r1, {low}; mov.b32 %r2, {high}; red.global.max.noftz.v2.f16x2 [%a], {{%r1, %r2}}; red.global.min.noftz.v2.f16x2 [%a+8], {{%r1, %r2}};"
    );
    let start = f16(6) | f16(7) << 16;
    let (words, _) = run_on([start; 8], &body);
    let pair = |low: u32, high: u32| f16(low) | f16(high) << 16;
    assert_eq!(words[..5], [pair(6, 9), pair(6, 8), pair(3, 7), pair(4, 7), start]);
}
