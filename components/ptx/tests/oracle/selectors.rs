//! Video instructions whose operands select parts of registers (PTX ISA 9.7.18), by hand.

use crate::oracle::alone::{compile, run_alone};

/// Instructions on %r0, %r1 and %r2, and the %r7 that they write.
const ROWS: [(&str, u32); 15] = [
    // -1 and -2; 0x80 and 0x01.
    ("vadd.s32.s32.s32 %r7, %r0.b0, %r1.h0;", 0xffff_fffd),
    ("vadd.u32.u32.u32 %r7, %r0.b1, %r1.b3;", 0x81),
    // 0x817f and -2, clamped to 127; -127 and -1; -32513 and -2.
    ("vsub.s32.u32.s32.sat %r7.b2, %r0.h1, %r1.b0, %r2;", 0x117f_2222),
    ("vmax.s32.s32.s32 %r7.h1, %r0.b3, %r1.b1, %r2;", 0xffff_2222),
    ("vset.s32.s32.lt %r7.b0, %r0.h0, %r1.h0, %r2;", 0x1111_2201),
    ("vadd.s32.s32.s32.add %r7, 5, %r1.b0, -1;", 2),
    ("vshl.u32.u32.u32.clamp %r7.h0, %r0.b0, 4, %r2;", 0x1111_0ff0),
    ("vmad.s32.s32.s32.po %r7, %r0.b0, %r1.h0, %r2;", 0x1111_2225),
    // The low half is 0x0102 of %r1 and 0x80ff of %r0; the high one is that of %r2.
    ("vadd2.s32.s32.s32.sat %r7.h0, %r0.h13, %r1.h20, %r2;", 0x1111_8201),
    ("vadd2.u32.u32.u32.add %r7.h1, %r0.h00, %r1.h33, %r2;", 0x1111_a423),
    // 0x80, 0x7d, 0x7f and 1.
    ("vabsdiff4.u32.u32.u32.add %r7, %r0.b3210, %r1.b7654, %r2;", 0x1111_239f),
    ("vmin4.s32.s32.s32 %r7.b20, %r0.b0123, %r1.b4444, %r2;", 0x1180_2281),
    ("vset4.u32.u32.gt.add %r7.b3, %r0, %r1, %r2;", 0x1111_2223),
    // A negative sum is halved downwards, any other upwards.
    ("vavrg4.s32.s32.s32.sat %r7, %r0, %r1, %r2;", 0xc141_bffe),
    ("vavrg2.u32.u32.u32 %r7, %r0.h01, %r1.h33, %r2;", 0x4101_4141),
];

const SOURCES: [u64; 5] = [0x817f_80ff, 0x0102_fffe, 0x1111_2222, 0, 0];

#[test]
fn operands_select_parts_of_registers() {
    for (text, want) in ROWS {
        let kernel = format!(
            ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{\n\
             .reg .b32 %r<9>; .reg .b64 %a; .reg .b64 %b; ld.param.u64 %a, [in]; ld.param.u64 %b, [out];\n\
             ld.global.b32 %r0, [%a]; ld.global.b32 %r1, [%a+8]; ld.global.b32 %r2, [%a+16];\n{text}\n\
             st.global.b32 [%b], %r7;\nret; }}"
        );
        let kernel = compile(&kernel);
        for baseline in [false, true] {
            let found = run_alone(&kernel, &[SOURCES], baseline)[0][0];
            assert_eq!(found, want.into(), "{text}: {found:#x}, not {want:#x}");
        }
    }
}
