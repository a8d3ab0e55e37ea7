//! `wmma`, `ldmatrix`, `stmatrix` and `movmatrix`.

use crate::matrices::numbers::{bytes, list, numbers, product, read, run_warp, width};

/// Loads, multiplies and stores with `wmma`, with matrices in either order and lines that are longer than needed.
fn check_wmma([m, n, k]: [usize; 3], kinds: [&str; 4], orders: [bool; 4], words: &str) {
    let [d_kind, a_kind, b_kind, c_kind] = kinds;
    let logic = if words.contains("xor") {
        "xor"
    } else if words.contains("and") {
        "and"
    } else {
        ""
    };
    let (a, b, c) = (numbers(a_kind, m, k, 1), numbers(b_kind, k, n, 2), numbers(c_kind, m, n, 3));
    let order = |by_rows: bool| if by_rows { "row" } else { "col" };
    let mut input = bytes(a_kind, &a, orders[0]);
    let b_at = input.len();
    input.extend(bytes(b_kind, &b, orders[1]));
    let c_at = input.len();
    input.extend(bytes(c_kind, &c, orders[2]));
    let stride = |rows: usize, columns: usize, by_rows: bool| if by_rows { columns } else { rows };
    let registers = |kind: &str, elements: usize| match kind {
        "f16" => 8,
        "f64" => elements / 32,
        kind => elements * width(kind) / 32 / 32,
    };
    let name = |kind: &str, letter: &str| match kind {
        "f64" => format!("%g{letter}"),
        "f32" => format!("%f{letter}"),
        _ => format!("%{letter}"),
    };
    let sums = |kind: &str| if kind == "f16" { m * n / 64 } else { m * n / 32 };
    let (a_list, b_list) = (
        list(&name(a_kind, "a"), registers(a_kind, m * k)),
        list(&name(b_kind, "b"), registers(b_kind, k * n)),
    );
    let (c_list, d_list) = (list(&name(c_kind, "c"), sums(c_kind)), list(&name(d_kind, "d"), sums(d_kind)));
    let types = match a_kind {
        "f16" => format!("{d_kind}.{c_kind}"),
        _ => format!("{d_kind}.{a_kind}.{b_kind}.{c_kind}"),
    };
    let (head, tail) = if logic.is_empty() { ("", words) } else { (words, "") };
    let shape = format!("m{m}n{n}k{k}");
    let body = format!(
        "wmma.load.a.sync.aligned.{}.{shape}.global.{a_kind} {a_list}, [%in], {};\n\
         wmma.load.b.sync.aligned.{}.{shape}.global.{b_kind} {b_list}, [%in+{b_at}], {};\n\
         mov.u32 %r20, {}; wmma.load.c.sync.aligned.{}.{shape}.{c_kind} {c_list}, [%in+{c_at}], %r20;\n\
         wmma.mma{head}.sync.aligned.{}.{}.{shape}.{types}{tail} {d_list}, {a_list}, {b_list}, {c_list};\n\
         wmma.store.d.sync.aligned.{}.{shape}.global.{d_kind} [%out], {d_list};",
        order(orders[0]),
        stride(m, k, orders[0]),
        order(orders[1]),
        stride(k, n, orders[1]),
        stride(m, n, orders[2]),
        order(orders[2]),
        order(orders[0]),
        order(orders[1]),
        order(orders[3]),
    );
    let found = run_warp(&body, &input, m * n * width(d_kind) / 8);
    assert_eq!(
        read(d_kind, &found, m, n, orders[3]),
        product(&a, &b, &c, logic),
        "{shape} {kinds:?} {orders:?}"
    );
}

#[test]
fn fragments_of_wmma_are_right() {
    for order in 0..16 {
        let orders = [0, 1, 2, 3].map(|bit| order >> bit & 1 == 0);
        for shape in [[16, 16, 16], [32, 8, 16], [8, 32, 16]] {
            check_wmma(shape, ["f32", "f16", "f16", "f32"], orders, "");
            check_wmma(shape, ["f16", "f16", "f16", "f16"], orders, "");
            check_wmma(shape, ["f16", "f16", "f16", "f32"], orders, "");
            check_wmma(shape, ["f32", "bf16", "bf16", "f32"], orders, "");
            check_wmma(shape, ["s32", "s8", "s8", "s32"], orders, ".satfinite");
            check_wmma(shape, ["s32", "u8", "u8", "s32"], orders, "");
        }
        check_wmma([16, 16, 8], ["f32", "tf32", "tf32", "f32"], orders, "");
        check_wmma([8, 8, 4], ["f64"; 4], orders, "");
        if orders[0] && !orders[1] {
            check_wmma([8, 8, 32], ["s32", "s4", "s4", "s32"], orders, "");
            check_wmma([8, 8, 32], ["s32", "u4", "u4", "s32"], orders, "");
            check_wmma([8, 8, 128], ["s32", "b1", "b1", "s32"], orders, ".xor.popc");
            check_wmma([8, 8, 128], ["s32", "b1", "b1", "s32"], orders, ".and.popc");
        }
    }
}

#[test]
fn rows_of_matrices_are_moved_and_transposed() {
    // Four matrices of 8 x 8 halves whose element is its number.
    let input: Vec<u8> = (0..256u16).flat_map(u16::to_le_bytes).collect();
    let head = "mul.wide.u32 %q0, %r0, 16; add.u64 %q0, %q0, %in; ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%q0]; mov.u32 %r7, tile;\n\
        mad.lo.u32 %r8, %r0, 16, %r7; st.shared.v4.u32 [%r8], {%r3, %r4, %r5, %r6}; bar.warp.sync 0xffffffff;\n";
    let store =
        "mul.wide.u32 %q0, %r0, 16; add.u64 %q0, %q0, %out; st.global.v4.u32 [%q0], {%a0, %a1, %a2, %a3};";
    let load = |words: &str| {
        run_warp(
            &format!(
                "{head}ldmatrix.sync.aligned.m8n8.x4{words}.shared.b16 {{%a0, %a1, %a2, %a3}}, [%r8];\n{store}"
            ),
            &input,
            512,
        )
    };
    let word = |bytes: &[u8], lane: usize, matrix: usize| {
        let at = 16 * lane + 4 * matrix;
        [0, 2].map(|half| u16::from_le_bytes([bytes[at + half], bytes[at + half + 1]]) as usize)
    };
    let (plain, transposed) = (load(""), load(".trans"));
    for lane in 0..32 {
        for matrix in 0..4 {
            let (row, column, first) = (lane / 4, 2 * (lane % 4), 64 * matrix);
            assert_eq!(word(&plain, lane, matrix), [0, 1].map(|plus| first + 8 * row + column + plus));
            assert_eq!(word(&transposed, lane, matrix), [0, 1].map(|plus| first + 8 * (column + plus) + row));
        }
    }
    let moved =
        "movmatrix.sync.aligned.m8n8.trans.b16 %a0, %a0; movmatrix.sync.aligned.m8n8.trans.b16 %a3, %a3;\n";
    let mixed = run_warp(
        &format!(
            "{head}ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%a0, %a1, %a2, %a3}}, [%r8];\n{moved}{store}"
        ),
        &input,
        512,
    );
    for lane in 0..32 {
        assert_eq!([0, 3].map(|m| word(&mixed, lane, m)), [0, 3].map(|m| word(&transposed, lane, m)));
        assert_eq!([1, 2].map(|m| word(&mixed, lane, m)), [1, 2].map(|m| word(&plain, lane, m)));
    }
    // Stored transposed what was loaded transposed, the tile is as before.
    let back = "add.u32 %r9, %r8, 1024; stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r9], {%a0, %a1, %a2, %a3}; bar.warp.sync 0xffffffff;\n\
        ld.shared.v4.u32 {%a0, %a1, %a2, %a3}, [%r9];\n";
    let round = run_warp(
        &format!(
            "{head}ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%a0, %a1, %a2, %a3}}, [%r8];\n{back}{store}"
        ),
        &input,
        512,
    );
    assert_eq!(round, input);
}
