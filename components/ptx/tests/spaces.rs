//! Generic accesses whose lanes lie in several spaces: each lane has the value of its own space.

use crate::small::{execute_in, outputs_in};

/// Each thread's place of 16 bytes in local, shared and global memory, with generic addresses in `%x1` to `%x3`, and the first four
/// values in them: `%p1` to `%p3` say which of them `%x4` points to.
fn prepare(choose: &str) -> String {
    let fill = |space: usize| {
        let values = (0..4).map(|word| {
            format!("mad.lo.u32 %y{word}, %r0, {}, {};", 77_777 + word, (space << 29) + 0x8081 * word)
        });
        format!("{} st.v4.u32 [%x{space}], {{%y0, %y1, %y2, %y3}};\n", values.collect::<String>())
    };
    format!(
        ".local .align 16 .b8 own[16]; .shared .align 16 .b8 room[1024]; .reg .b64 %x<9>; .reg .b32 %y<9>;
        mul.wide.u32 %x0, %r0, 16; mov.u64 %x1, own; cvta.local.u64 %x1, %x1;
        mov.u64 %x2, room; add.s64 %x2, %x2, %x0; cvta.shared.u64 %x2, %x2; mov.u64 %x3, far; add.s64 %x3, %x3, %x0;
        {}{}{} mov.u64 %rd5, 1; mov.u64 %rd6, 2; mov.u32 %r5, 3; mov.u32 %r6, 4; mov.u32 %r7, 5; mov.u32 %r8, 6;
        mov.b16 %rs5, 7; mov.b16 %rs6, 8; add.u32 %r9, %r0, 9; cvt.u64.u32 %rd9, %r9; cvt.u16.u32 %rs9, %r0; mov.f32 %f9, 0f3F800000;
        {choose} setp.eq.u32 %p1, %y4, 0; setp.eq.u32 %p2, %y4, 1; setp.eq.u32 %p3, %y4, 2;
        selp.b64 %x4, %x1, %x2, %p1; selp.b64 %x4, %x3, %x4, %p3;\n",
        fill(1),
        fill(2),
        fill(3)
    )
}

/// The lanes take turns among two spaces, or three.
const TWO: &str = "and.b32 %y4, %r0, 1; add.u32 %y4, %y4, 1;";
const THREE: &str = "rem.u32 %y4, %r0, 3;";

/// Puts the registers that instructions may have written, and all places, into one number.
fn fold() -> String {
    let mut text = String::from("mov.u64 %x7, 0;\n");
    let mut add = |load: &str, register: &str| {
        text += &format!("{load} mad.lo.u64 %x7, %x7, 1099511628211, {register};\n")
    };
    for narrow in
        ["u32 %x6, %r5", "u32 %x6, %r6", "u32 %x6, %r7", "u32 %x6, %r8", "u16 %x6, %rs5", "u16 %x6, %rs6"]
    {
        add(&format!("cvt.u64.{narrow};"), "%x6");
    }
    ["%rd5", "%rd6"].into_iter().for_each(|wide| add("", wide));
    for place in ["%x1", "%x1+8", "%x2", "%x2+8", "%x3", "%x3+8"] {
        add(&format!("ld.u64 %x6, [{place}];"), "%x6");
    }
    text + "st.global.u64 [%rd3], %x7; ret;"
}

const FAR: &str = ".global .align 16 .b8 far[1024];\n";

const ACCESSES: [&str; 29] = [
    "ld.u8 %r5, [%x4+1];",
    "ld.s8 %r5, [%x4+1];",
    "ld.s8 %rd5, [%x4+5];",
    "ld.u16 %rs5, [%x4+2];",
    "ld.s16 %r5, [%x4+4];",
    "ld.u32 %r5, [%x4];",
    "ld.s32 %rd5, [%x4+12];",
    "ld.u64 %rd5, [%x4+8];",
    // The address is among the registers that are written.
    "ld.u64 %x4, [%x4]; mov.u64 %rd5, %x4;",
    "ld.v2.u8 {%rs5, %rs6}, [%x4];",
    "ld.v2.u32 {%r5, _}, [%x4+8];",
    "ld.v4.u32 {%r5, %r6, %r7, %r8}, [%x4];",
    "ld.v2.u64 {%rd5, %rd6}, [%x4];",
    "ld.volatile.u32 %r5, [%x4];",
    "ld.relaxed.gpu.u32 %r5, [%x4];",
    "ld.acquire.sys.u64 %rd5, [%x4];",
    "st.u8 [%x4+3], %r9;",
    "st.u16 [%x4+6], %rs9;",
    "st.u32 [%x4+4], %r9;",
    "st.v2.u64 [%x4], {%rd9, %rd6};",
    "st.v4.u32 [%x4], {%r5, %r9, %r0, %r8};",
    "st.volatile.u32 [%x4], %r9;",
    "st.release.gpu.u64 [%x4], %rd9;",
    "atom.add.u32 %r5, [%x4], %r9;",
    "atom.cas.b64 %rd5, [%x4], %rd5, %rd9;",
    "atom.acq_rel.gpu.exch.b32 %r5, [%x4+4], %r9;",
    "atom.max.u64 %rd5, [%x4+8], %rd9;",
    "red.add.f32 [%x4], %f9;",
    "red.relaxed.sys.xor.b32 [%x4], %r9;",
];

#[test]
fn each_lane_has_the_value_of_its_own_space() {
    let load = format!(
        "{}ld.u32 %r5, [%x4+4]; cvt.u64.u32 %rd5, %r5; st.global.u64 [%rd3], %rd5; ret;",
        prepare(THREE)
    );
    let value = |thread: u64| thread * 77_778 + ((thread % 3 + 1) << 29) + 0x8081;
    assert_eq!(outputs_in(FAR, &load, 40, &[]), (0..40).map(value).collect::<Vec<u64>>());
    // All lanes of a space change one word; the sums of shared and of global memory differ.
    let sums = ".global .align 4 .u32 total; .global .align 4 .u32 old;\n";
    let body = ".shared .align 4 .u32 sum; .reg .b64 %x<3>; mov.u64 %x1, sum; cvta.shared.u64 %x1, %x1; mov.u64 %x2, total;
        mov.u32 %r1, 1000; st.shared.u32 [sum], %r1; setp.lt.u32 %p1, %r0, 10; selp.b64 %x0, %x1, %x2, %p1;
        add.u32 %r2, %r0, 1; red.add.u32 [%x0], %r2; atom.add.u32 %r3, [%x0], 0; cvt.u64.u32 %rd5, %r3; st.global.u64 [%rd3], %rd5; ret;";
    let sum = |thread: u64| if thread < 10 { 1000 + 55 } else { 528 - 55 };
    assert_eq!(outputs_in(sums, body, 32, &[]), (0..32).map(sum).collect::<Vec<u64>>());
}

#[test]
fn an_access_to_several_spaces_does_what_one_to_each_of_them_does() {
    for access in ACCESSES {
        let is_atomic = access.starts_with("atom") || access.starts_with("red");
        for (choose, threads, active) in
            [(TWO, 32, 32), (TWO, 32, 11), (THREE, 32, 32), (THREE, 20, 20), (THREE, 64, 50)]
        {
            if is_atomic && choose == THREE {
                continue;
            }
            let guards = format!(
                "setp.lt.u32 %p4, %r0, {active}; and.pred %p1, %p1, %p4; and.pred %p2, %p2, %p4; and.pred %p3, %p3, %p4;\n"
            );
            let (access, rest) = access.split_once("; ").unwrap_or((access.trim_end_matches(';'), ""));
            let at_once = format!("@%p4 {access}; {rest}");
            let apart = format!("@%p2 {access}; @%p1 {access}; @%p3 {access}; {rest}");
            let run = |accesses: &str| {
                let body = format!("{}{guards}{accesses}\n{}", prepare(choose), fold());
                outputs_in(FAR, &body, threads, &[])
            };
            assert_eq!(run(&at_once), run(&apart), "{access} {choose} {threads} {active}");
        }
    }
}

#[test]
fn an_access_counts_as_one_for_each_space() {
    let body = |access: &str| format!("{}{access} ret;", prepare(THREE));
    let count = |access: &str| execute_in(FAR, &body(access), 32, &[], false).expect("it runs").1;
    let (none, all) = (count(""), count("ld.u32 %r5, [%x4];"));
    assert_eq!(all.warp_instructions - none.warp_instructions, 3);
    assert_eq!(all.thread_instructions - none.thread_instructions, 32);
}

#[test]
fn mistakes_of_a_part_are_those_of_its_lanes() {
    let run = |access: &str| {
        let body = format!("{}{access} ret;", prepare(THREE));
        execute_in(FAR, &body, 32, &[], false).expect_err("it fails")
    };
    let outside = run("ld.u32 %r5, [%x4+16];");
    assert_eq!(outside.lane, 0, "{outside}");
    assert!(outside.message.contains("outside of the thread's local memory"), "{outside}");
    let outside = run("@%p3 add.s64 %x4, %x4, 1024; st.u32 [%x4], %r5;");
    assert_eq!(outside.lane, 2, "{outside}");
    assert!(outside.message.starts_with("writes 4 bytes at"), "{outside}");
    let misaligned = run("@%p3 add.s64 %x4, %x4, 2; st.u32 [%x4], %r5;");
    assert!(
        misaligned.lane == 2 && misaligned.message.ends_with("is not a multiple of the 4 bytes accessed")
    );
}

#[test]
fn an_atomic_on_local_memory_is_an_error() {
    for access in ["atom.add.u32 %r5, [%x4], 1;", "red.max.u32 [%x4], 1;"] {
        let body = format!("{}{access} ret;", prepare(THREE));
        let error = execute_in(FAR, &body, 32, &[], false).expect_err("it fails");
        assert_eq!(error.lane, 0, "{error}");
        assert!(error.message.starts_with("an atomic changes shared or global memory"), "{error}");
    }
}
