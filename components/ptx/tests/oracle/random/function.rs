//! The frame of a program's nodes: declarations, the initial values of registers, and their way to memory.

use std::fmt::Write;

use super::operands::REGISTERS;
use super::writer::Writer;
use super::{Catalogue, ProgramNode};
use crate::oracle::scalar::{PREDICATE, Type};

/// Functions of a program; each calls those behind it only.
pub(crate) const COUNT: usize = 3;

/// Bytes of a thread's input: eight for every register.
pub(crate) const INPUT: usize = 8 * 64;

/// Bytes of a thread's output: its registers, and its local and shared bytes.
pub(crate) const OUTPUT: usize = 8 * 64 + 2 * SLOT;

/// Bytes that a thread has of its own in each memory.
pub(crate) const SLOT: usize = 64;

fn declarations() -> String {
    let mut text = String::from(
        ".reg .b64 %a<8>, %m<2>; .reg .b32 %t<8>; .reg .u32 %n<8>; .reg .pred %q<8>; .local .align 16 .b8 mine[64];\n",
    );
    for (ty, name, count) in REGISTERS {
        let _ = writeln!(text, ".reg .{ty} {name}<{count}>;");
    }
    text
}

/// All registers, one after another, with a number each.
fn registers() -> impl Iterator<Item = (usize, Type, String)> {
    let all = REGISTERS
        .iter()
        .flat_map(|(ty, name, count)| (0..*count).map(move |index| (*ty, format!("{name}{index}"))));
    all.enumerate().map(|(number, (ty, name))| (number, Type::parse(ty).expect("a type"), name))
}

/// The addresses of local memory, in the forms that accesses use; the bytes are zero first.
const LOCAL: &str = "mov.u64 %a4, mine; cvt.u32.u64 %t1, %a4; cvta.local.u64 %a3, %a4;\n\
    st.local.v2.b64 [mine], {0, 0}; st.local.v2.b64 [mine+16], {0, 0}; st.local.v2.b64 [mine+32], {0, 0};\n\
    st.local.v2.b64 [mine+48], {0, 0};\n";

/// Generic addresses that differ from thread to thread: of global, shared or local memory in `%m0`, and not of the last in `%m1`.
const MIXED: &str = "and.b32 %t6, %t4, 1; setp.ne.u32 %q7, %t6, 0; selp.b64 %m1, %a2, %a0, %q7;\n\
    and.b32 %t6, %t4, 6; setp.eq.u32 %q7, %t6, 2; selp.b64 %m0, %a3, %m1, %q7;\n";

pub(crate) fn kernel(nodes: &[ProgramNode], catalogue: &Catalogue) -> String {
    let mut text = format!(
        ".visible .entry k(.param .u64 in, .param .u64 slots, .param .u64 out, .param .u64 sums) {{\n{}",
        declarations()
    );
    text +=
        "mov.u32 %t2, %ctaid.x; mov.u32 %t3, %ntid.x; mov.u32 %t4, %tid.x; mad.lo.u32 %t5, %t2, %t3, %t4;\n";
    let _ = writeln!(text, "ld.param.u64 %a5, [in]; mad.wide.u32 %a5, %t5, {INPUT}, %a5;");
    let _ = writeln!(text, "ld.param.u64 %a0, [slots]; mad.wide.u32 %a0, %t5, {SLOT}, %a0;");
    let _ = writeln!(
        text,
        "ld.param.u64 %a7, [out]; mad.wide.u32 %a7, %t5, {OUTPUT}, %a7; ld.param.u64 %a6, [sums];"
    );
    let _ = writeln!(text, "mov.u32 %t0, tile; mad.lo.u32 %t0, %t4, {SLOT}, %t0; cvt.u64.u32 %a1, %t0;");
    let _ = writeln!(text, "cvta.shared.u64 %a2, %a1;");
    text += LOCAL;
    text += MIXED;
    for (number, ty, name) in registers() {
        let at = 8 * number;
        let _ = match ty {
            PREDICATE => writeln!(text, "ld.global.u32 %t6, [%a5+{at}]; setp.ne.u32 {name}, %t6, 0;"),
            _ => writeln!(text, "ld.global.b{} {name}, [%a5+{at}];", ty.bits),
        };
    }
    text += "ld.param.u64 %a5, [sums]; mad.wide.u32 %a5, %t5, 4, %a5; add.s64 %a5, %a5, 64;\n";
    let mut writer = Writer::new(catalogue, None);
    writer.body(nodes);
    text += &writer.text;
    text += "DONE:\n";
    for (number, ty, name) in registers() {
        let at = 8 * number;
        let _ = match ty {
            PREDICATE => writeln!(text, "selp.u32 %t6, 1, 0, {name}; st.global.u32 [%a7+{at}], %t6;"),
            _ => writeln!(text, "st.global.b{} [%a7+{at}], {name};", ty.bits),
        };
    }
    for at in (0..SLOT).step_by(8) {
        let to = OUTPUT - 2 * SLOT + at;
        let _ = writeln!(text, "ld.local.b64 %rd0, [mine+{at}]; st.global.b64 [%a7+{to}], %rd0;");
        let _ = writeln!(text, "ld.shared.b64 %rd0, [%a1+{at}]; st.global.b64 [%a7+{}], %rd0;", to + SLOT);
    }
    text + "ret;\n}\n"
}

/// Head, the moves of arguments to registers, and the moves of the result to its place.
const FORMS: [(&str, &str, &str); COUNT] = [
    (
        ".func (.param .b32 result) f0(.param .b32 a, .param .b64 b)",
        "ld.param.b32 %r0, [a]; ld.param.b64 %rd0, [b]; ld.param.s32 %rs0, [a];",
        "ld.param.b32 %t6, [a]; xor.b32 %t6, %t6, %r1; st.param.b32 [result], %t6;",
    ),
    (
        ".func (.reg .b64 result) f1(.reg .f32 a, .reg .b16 b)",
        "mov.f32 %f0, a; mov.b16 %h0, b;",
        "mov.b32 %t6, a; cvt.u64.u32 %a5, %t6; xor.b64 result, %a5, %rd1;",
    ),
    (
        ".func (.param .align 8 .b8 result[16]) f2(.param .align 8 .b8 a[16], .param .f64 x)",
        "ld.param.v2.b32 {%r0, %r1}, [a]; ld.param.s8 %h0, [a+9]; ld.param.f64 %fd0, [x];",
        "st.param.v4.b16 [result], {%h0, %h1, %h2, %h3}; ld.param.b16 %t6, [a+12]; st.param.b16 [result+2], %t6;
        st.param.f64 [result+8], %fd1;",
    ),
];

/// A function. Its result is set before anything else, for those who return early.
pub(crate) fn function(index: usize, nodes: &[ProgramNode], catalogue: &Catalogue) -> String {
    let (head, arguments, result) = FORMS[index];
    let mut text = format!("{head} {{\n{}{LOCAL}", declarations());
    for (number, ty, name) in registers() {
        let value =
            super::edge(if ty == PREDICATE { Type { bits: 16, ..ty } } else { ty }, 37 * number + index);
        let _ = match ty {
            // Half of the predicates differ from thread to thread, so that functions diverge.
            PREDICATE if number % 2 == 0 => writeln!(
                text,
                "mov.u32 %t6, %tid.x; shr.u32 %t6, %t6, {}; and.b32 %t6, %t6, 1; setp.ne.u32 {name}, %t6, 0;",
                number / 2
            ),
            PREDICATE => writeln!(text, "setp.ne.u32 {name}, {}, 1;", value & 1),
            _ => writeln!(text, "mov.b{} {name}, {value:#x};", ty.bits),
        };
    }
    let _ = writeln!(text, "{arguments}\n{result}");
    let mut writer = Writer::new(catalogue, Some((index, result)));
    writer.body(nodes);
    text + &writer.text + "DONE:\n" + result + "\nret;\n}\n"
}

/// A call of a function: the arguments are chosen, the result goes to registers.
pub(crate) fn call(index: usize, chooser: &mut super::operands::Chooser<'_>) -> String {
    let mut of = |ty: &str| chooser.source(Type::parse(ty).expect("a type"), 0);
    match index {
        0 => format!(
            "{{ .param .b32 x0; .param .b64 x1; .param .b32 y; st.param.b32 [x0], {}; st.param.b64 [x1], {};\n\
             call (y), f0, (x0, x1); ld.param.b32 {}, [y]; }}",
            of("b32"),
            of("b64"),
            chooser.register(Type::parse("b32").expect("a type"), 0)
        ),
        1 => format!(
            "call ({}), f1, ({}, {});",
            chooser.register(Type::parse("b64").expect("a type"), 0),
            chooser.register(Type::parse("f32").expect("a type"), 0),
            chooser.register(Type::parse("b16").expect("a type"), 0)
        ),
        _ => {
            let (value, a) = (of("f64"), of("b64"));
            // The elements of a vector have one type.
            let [b, c] = [0; 2].map(|_| format!("%r{}", chooser.below(6)));
            let d = chooser.register(Type::parse("f64").expect("a type"), 0);
            format!(
                "{{ .param .align 8 .b8 x0[16]; .param .f64 x1; .param .align 8 .b8 y[16]; st.param.b64 [x0], {a};\n\
                 st.param.v2.b32 [x0+8], {{{b}, {c}}}; st.param.f64 [x1], {value}; call.uni (y), f2, (x0, x1);\n\
                 ld.param.v2.b32 {{%r2, %r3}}, [y]; ld.param.f64 {d}, [y+8]; }}"
            )
        }
    }
}
