//! `lop3` with a predicate (PTX ISA 9.7.8.6): whether any bit of its result is set, combined with another predicate.

use crate::oracle::alone::{compile, run_alone};

/// The instruction up to its destination, its last operand, and the register and predicate that follow from the exact
/// result and the predicate of the fourth source.
type Form = (&'static str, &'static str, fn(u64, bool) -> [u64; 2]);

/// The register and the predicate that an instruction leaves: the one is 77 before, the other that of the fourth source.
fn run(text: &str, inputs: &[[u64; 5]], baseline: bool) -> Vec<[u64; 2]> {
    let kernel = format!(
        ".version 8.2\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b32 %r<9>; .reg .b64 %a, %b; .reg .pred %p, %q, %g; mov.u32 %r5, %tid.x;\n\
         ld.param.u64 %a, [in]; mad.wide.u32 %a, %r5, 40, %a; ld.param.u64 %b, [out]; mad.wide.u32 %b, %r5, 16, %b;\n\
         ld.global.b32 %r0, [%a]; ld.global.b32 %r1, [%a+8]; ld.global.b32 %r2, [%a+16]; ld.global.b32 %r3, [%a+24];\n\
         setp.ne.u32 %q, %r3, 0; setp.ne.u32 %p, %r3, 0; setp.eq.u32 %g, %r3, 7; mov.b32 %r4, 77;\n{text}\n\
         selp.u32 %r5, 1, 0, %p; st.global.b32 [%b], %r4; st.global.b32 [%b+8], %r5;\nret; }}"
    );
    run_alone(&compile(&kernel), inputs, baseline)
}

#[test]
fn the_truth_of_a_result_is_combined_with_a_predicate() {
    let values = [0, 1, 0x8000_0000, 0xffff_ffff, 0x0f0f_1234];
    let pairs = values.into_iter().flat_map(|a| values.map(|b| [a, b, a ^ b ^ 1]));
    let inputs: Vec<[u64; 5]> = pairs.flat_map(|[a, b, c]| [0, 1].map(|q| [a, b, c, q, 0])).collect();
    for (table, function) in [
        (0x80, (|a, b, c| a & b & c) as fn(u64, u64, u64) -> u64),
        (0xfe, |a, b, c| a | b | c),
        (0x1a, |a, b, c| (a & b | c) ^ a),
        (0x00, |_, _, _| 0),
    ] {
        let forms: [Form; 6] = [
            ("lop3.and.b32 %r4|%p", "%q", |d, q| [d, (d != 0 && q).into()]),
            ("lop3.or.b32 %r4|%p", "%q", |d, q| [d, (d != 0 || q).into()]),
            ("lop3.b32.and %r4|%p", "!%q", |d, q| [d, (d != 0 && !q).into()]),
            ("lop3.or.b32 _|%p", "%p", |d, q| [77, (d != 0 || q).into()]),
            ("lop3.and.b32 %r4|%p", "1", |d, _| [d, (d != 0).into()]),
            ("@%g lop3.and.b32 %r4|%p", "1", |_, q| [77, q.into()]),
        ];
        for (head, last, want) in forms {
            let text = format!("{head}, %r0, %r1, %r2, {table}, {last};");
            for baseline in [false, true] {
                for (found, [a, b, c, q, _]) in run(&text, &inputs, baseline).into_iter().zip(&inputs) {
                    let d = function(*a, *b, *c) & 0xffff_ffff;
                    assert_eq!(found, want(d, *q != 0), "{text} {a:x} {b:x} {c:x} {q}");
                }
            }
        }
    }
}
