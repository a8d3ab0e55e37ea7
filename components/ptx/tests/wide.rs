//! Numbers of 128 bits, which are moved, loaded, stored, exchanged, and compared and swapped.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{FlatMemory, Options, run};

fn source(body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.const .align 16 .b64 fixed[2] = {{7, 9}};
         .visible .entry k(.param .u64 in, .param .u64 out, .param .align 16 .b8 big[16]) {{
         .reg .b64 %d<16>; .reg .b32 %r<16>; .reg .b16 %h<3>; .reg .f64 %g<3>; .reg .pred %p<4>; .reg .b128 %q<6>;
         .shared .align 16 .b8 tile[1024]; .local .align 16 .b8 own[16];
         ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 16; add.u64 %d3, %d1, %d2;
         {body} ret; }}"
    )
}

/// One warp: the 128 bits of each thread in `out`, and those of `in` afterwards, which has as many.
fn executed(body: &str, input: &[u128]) -> (Vec<u128>, Vec<u128>) {
    let source = source(body);
    let kernel = Kernel::compile(&source, Some("k")).unwrap_or_else(|errors| panic!("{errors:#?}\n{source}"));
    let mut memory = FlatMemory::new(0);
    let from = memory.push(&input.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    let to = memory.push(&[0; 32 * 16]);
    let mut parameters: Vec<u8> = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
    parameters.extend((3_u128 << 100 | 5).to_le_bytes());
    run(&kernel, [1; 3], [32, 1, 1], &parameters, &mut memory, &Options::default()).expect("it runs");
    let part = |start: u64, count: usize| {
        let bytes = &memory.bytes[(start - memory.base) as usize..][..16 * count];
        bytes.chunks_exact(16).map(|value| u128::from_le_bytes(value.try_into().expect("16 bytes"))).collect()
    };
    (part(to, 32), part(from, input.len()))
}

#[test]
fn moves_put_halves_and_quarters_together() {
    let thread = |value: fn(u128) -> u128| (0..32).map(value).collect::<Vec<u128>>();
    let whole = "cvt.u64.u32 %d4, %r0; add.u64 %d5, %d4, 100;";
    let store = "st.global.b128 [%d3], %q0;";
    for (body, want) in [
        ("mov.b128 %q0, {%d4, %d5};", (|t| t | (t + 100) << 64) as fn(u128) -> u128),
        ("mov.b128 %q1, {%d4, %d5}; mov.b128 %q0, %q1;", |t| t | (t + 100) << 64),
        ("mov.b128 %q0, {%r0, 1, 2, %r0};", |t| t | 1 << 32 | 2 << 64 | t << 96),
        ("mov.b128 %q0, {5, 6};", |_| 5 | 6 << 64),
        ("mov.b128 %q0, 5;", |_| 5),
        ("mov.b128 %q1, {%d4, %d5}; mov.b128 {%d6, %d7}, %q1; mov.b128 %q0, {%d7, %d6};", |t| {
            (t + 100) | (t << 64)
        }),
        (
            "mov.b128 %q1, {%d4, %d5}; mov.b64 %d6, 3; mov.b128 {_, %d6}, %q1; mov.b128 %q0, {%d6, %d6};",
            |t| (t + 100) | (t + 100) << 64,
        ),
        (
            "mov.b128 %q1, {%d4, %d5}; mov.b128 {%r4, %r5, %r6, %r7}, %q1; mov.b128 %q0, {%r6, %r7, %r4, %r5};",
            |t| (t + 100) | (t << 64),
        ),
        // A guard keeps the other threads' values.
        ("mov.b128 %q0, {%d4, %d4}; setp.gt.u32 %p0, %r0, 9; @%p0 mov.b128 %q0, {%d5, %d5};", |t| {
            let half = if t > 9 { t + 100 } else { t };
            half | half << 64
        }),
    ] {
        assert_eq!(executed(&format!("{whole} {body} {store}"), &[0]).0, thread(want), "{body}");
    }
}

#[test]
fn loads_and_stores_have_all_spaces() {
    let input: Vec<u128> = (0..32).map(|at| ((at + 1) << 120) | (at * 0x1_0000_0000_0000_0001)).collect();
    let load = "add.u64 %d4, %d0, %d2; ld.global.b128 %q0, [%d4];";
    for (body, want) in [
        ("st.global.b128 [%d3], %q0;", input.clone()),
        ("st.relaxed.gpu.global.b128 [%d3], %q0;", input.clone()),
        ("ld.volatile.b128 %q1, [%d4]; st.b128 [%d3], %q1;", input.clone()),
        ("ld.global.nc.b128 %q1, [%d4]; st.global.b128 [%d3], %q1;", input.clone()),
        (
            "mov.u32 %r1, tile; mad.lo.u32 %r1, %r0, 16, %r1; st.shared.b128 [%r1], %q0; ld.shared.b128 %q1, [%r1]; st.global.b128 [%d3], %q1;",
            input.clone(),
        ),
        ("st.local.b128 [own], %q0; ld.local.b128 %q2, [own]; st.global.b128 [%d3], %q2;", input.clone()),
        ("ld.param.b128 %q3, [big]; st.global.b128 [%d3], %q3;", vec![3 << 100 | 5; 32]),
        ("ld.const.b128 %q3, [fixed]; st.global.b128 [%d3], %q3;", vec![9 << 64 | 7; 32]),
    ] {
        assert_eq!(executed(&format!("{load} {body}"), &input).0, want, "{body}");
    }
}

#[test]
fn an_exchange_hands_on_every_value_once() {
    let value = |thread: u128| (thread << 100) | (7 * thread + 1);
    let exchange =
        "cvt.u64.u32 %d4, %r0; shl.b64 %d5, %d4, 36; mad.lo.u64 %d4, %d4, 7, 1; mov.b128 %q0, {%d4, %d5};";
    let before = 1 << 127 | 3;
    for (body, start) in [
        ("atom.global.exch.b128 %q1, [%d0], %q0; st.global.b128 [%d3], %q1;", before),
        ("atom.relaxed.sys.exch.b128 %q1, [%d0], %q0; st.global.b128 [%d3], %q1;", before),
        (
            "atom.shared.exch.b128 %q1, [tile], %q0; st.global.b128 [%d3], %q1; ld.shared.b128 %q2, [tile]; st.global.b128 [%d0], %q2;",
            0,
        ),
    ] {
        let (mut old, after) = executed(&format!("{exchange} {body}"), &[before]);
        old.extend(after);
        old.sort_unstable();
        let mut want: Vec<u128> = (0..32).map(value).chain([start]).collect();
        want.sort_unstable();
        assert_eq!(old, want, "{body}");
    }
    // A result that nobody wants.
    let (_, after) = executed("setp.eq.u32 %p0, %r0, 5; @%p0 atom.exch.b128 _, [%d0], 9;", &[before]);
    assert_eq!(after, [9]);
}

#[test]
fn a_swap_needs_all_128_bits() {
    // Each thread has a cell; it compares with what it has in both halves, in one, or in none.
    let cells: Vec<u128> = (0..32).map(|t| (t + 1) << 64 | t << 70 | (t + 50)).collect();
    let body = |compared: &str| {
        format!(
            "add.u64 %d4, %d0, %d2; ld.global.v2.b64 {{%d5, %d6}}, [%d4]; {compared} mov.b128 %q0, {{%d5, %d6}}; mov.b64 %d8, 77;
             cvt.u64.u32 %d7, %r0; mov.b128 %q1, {{%d7, %d8}}; atom.global.cas.b128 %q2, [%d4], %q0, %q1; st.global.b128 [%d3], %q2;"
        )
    };
    let swapped: Vec<u128> = (0..32).map(|t| 77 << 64 | t).collect();
    assert_eq!(executed(&body(""), &cells), (cells.clone(), swapped));
    for other in [
        "xor.b64 %d5, %d5, 1;",
        "xor.b64 %d6, %d6, 0x8000000000000000;",
        "not.b64 %d5, %d5; not.b64 %d6, %d6;",
    ] {
        assert_eq!(executed(&body(other), &cells), (cells.clone(), cells.clone()), "{other}");
    }
}

#[test]
fn threads_count_with_a_carry_between_the_halves() {
    let count = |space: &str, address: &str| {
        format!(
            "again: ld.{space}.b128 %q0, [{address}]; mov.b128 {{%d4, %d5}}, %q0; add.cc.u64 %d6, %d4, 1; addc.u64 %d7, %d5, 0;
             mov.b128 %q1, {{%d6, %d7}}; atom.{space}.cas.b128 %q2, [{address}], %q0, %q1; mov.b128 {{%d8, %d9}}, %q2;
             setp.ne.u64 %p0, %d8, %d4; setp.ne.or.u64 %p0, %d9, %d5, %p0; @%p0 bra again;"
        )
    };
    let start = (5 << 64) - 12;
    assert_eq!(executed(&count("global", "%d0"), &[start]).1, [start + 32]);
    let shared = format!(
        "{} bar.sync 0; ld.shared.b128 %q3, [tile]; st.global.b128 [%d0], %q3;",
        count("shared", "tile")
    );
    assert_eq!(executed(&shared, &[start]).1, [32]);
}

#[test]
fn other_instructions_refuse_them() {
    for (text, message) in [
        ("and.b128 %q0, %q1, %q2;", "unknown instruction `and.b128`"),
        ("mov.b64 %d4, %q0;", "`%q0` has 128 bits"),
        ("add.u64 %d4, %q0.x, 1;", "`%q0.x` is not declared"),
        ("ld.global.v2.b64 %q0, [%d0];", "where 2 are moved"),
        ("ld.global.b128 {%d4, %d5}, [%d0];", "a `.b128` register"),
        ("ld.global.b128 %d4, [%d0];", "a `.b128` register"),
        ("ld.global.v2.b128 {%q0, %q1}, [%d0];", "`.b128` is unknown or misplaced"),
        ("mov.b128 %q0, {%d4, %d5, %d6};", "3 parts do not make 128 bits"),
        ("mov.b128 {%d4, %d5}, {%d6, %d7};", "a `.b128` register here or behind"),
        ("mov.b128 %q0, {%r0, %r1};", "`%r0` has 32 bits"),
        ("atom.global.add.b128 %q0, [%d0], %q1;", "`.b128` is unknown or misplaced"),
        ("red.global.cas.b128 [%d0], %q0, %q1;", "`red` has no exchange"),
        ("atom.global.exch.b128 %d4, [%d0], %q1;", "a `.b128` register"),
        (".reg .v2 .b128 %w;", "registers of type `.b128` are not supported"),
    ] {
        let errors = Kernel::compile(&source(text), Some("k")).expect_err(text);
        let errors = format!("{errors:?}");
        assert!(errors.contains(message), "{text}: {errors}");
    }
    let unaligned = "add.u64 %d4, %d0, 8; ld.global.b128 %q0, [%d4];";
    let kernel = Kernel::compile(&source(unaligned), Some("k")).expect("it is a kernel");
    let mut memory = FlatMemory::new(0);
    let from = memory.push(&[0; 64]);
    let parameters: Vec<u8> = [from, from, 0, 0].into_iter().flat_map(u64::to_le_bytes).collect();
    let error = run(&kernel, [1; 3], [1; 3], &parameters, &mut memory, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("is not a multiple of the 16 bytes accessed"), "{error}");
}
