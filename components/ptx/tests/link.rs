//! Linking: modules that need each other compute as one, and what two define is an error.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::link::link;

const FIRST: &str = ".version 7.0\n.target sm_50\n.address_size 64
.extern .func (.param .b32 r) twice (.param .b32 x);
.extern .global .align 4 .b32 offset;
.global .align 4 .b32 own = 5;
.weak .func nothing() { ret; }
.visible .entry first(.param .u64 out) {
.reg .b32 %r<4>; .reg .b64 %rd<2>;
ld.param.u64 %rd1, [out];
ld.global.u32 %r1, [offset];
{ .param .b32 p; st.param.b32 [p], %r1; .param .b32 q; call (q), twice, (p); ld.param.b32 %r2, [q]; }
ld.global.u32 %r3, [own];
add.u32 %r2, %r2, %r3;
st.global.u32 [%rd1], %r2;
ret; }
";
const SECOND: &str = ".version 7.5\n.target sm_60\n.address_size 64
.visible .global .align 4 .b32 offset = 20;
.global .align 4 .b32 own = 7;
.weak .func nothing() { ret; }
.visible .func (.param .b32 r) twice (.param .b32 x) {
.reg .b32 %r<4>;
ld.param.b32 %r1, [x];
ld.global.u32 %r2, [own];
mad.lo.u32 %r3, %r1, 2, %r2;
st.param.b32 [r], %r3;
ret; }
";

#[test]
fn modules_that_need_each_other_are_one() {
    for texts in [[FIRST, SECOND], [SECOND, FIRST]] {
        let text = link(&texts).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert!(text.starts_with(".version 7.5\n.target sm_60\n"), "{text}");
        let moved =
            |line: &&str| !matches!(line.split_once(' '), Some((".version" | ".target" | ".extern", _)));
        let kept = texts[0].lines().zip(text.lines()).filter(|(line, _)| moved(line));
        kept.for_each(|(line, same)| assert_eq!(line, same, "lines of the first module keep their numbers"));
        let kernel = Kernel::compile(&text, None).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let mut memory = counterpoint_ptx::functional::FlatMemory::new(0);
        let out = memory.push(&[0; 4]);
        let options = counterpoint_ptx::functional::Options::default();
        let ran = counterpoint_ptx::functional::run(
            &kernel,
            [1; 3],
            [1; 3],
            &out.to_le_bytes(),
            &mut memory,
            &options,
        );
        ran.unwrap_or_else(|error| panic!("{error:?}"));
        let at = (out - memory.base) as usize;
        assert_eq!(memory.bytes[at..at + 4], (2 * 20 + 7 + 5_u32).to_le_bytes());
    }
}

#[test]
fn a_name_that_is_defined_twice_is_an_error() {
    let (number, errors) = link(&[SECOND, SECOND]).expect_err("two definitions");
    assert_eq!((number, errors.len()), (1, 1));
    assert_eq!(errors[0].message, "`offset` is defined by another module, too");
    assert_eq!(errors[0].line, 4);
}
