//! `mma` in every shape and type, and how exact its sums are.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{FlatMemory, Options, run};

use crate::matrices::numbers::{bits_of, bytes, list, numbers, product, read, run_warp, value_of, width};

/// `mma` of 8 or 16 rows, its factors by `ldmatrix`, its sums where the manual places them.
fn check_mma(m: usize, kinds: [&str; 4], k: usize, words: &str) {
    let [d_kind, a_kind, b_kind, c_kind] = kinds;
    let logic = if words.contains(".and") {
        "and"
    } else if words.contains(".xor") {
        "xor"
    } else {
        ""
    };
    let (a, b, c) = (numbers(a_kind, m, k, 1), numbers(b_kind, k, 8, 2), numbers(c_kind, m, 8, 3));
    let mut input = bytes(a_kind, &a, true);
    let row = input.len() / m;
    input.extend(bytes(b_kind, &b, false));
    let factors = input.len();
    input.extend(bytes(c_kind, &c, true));
    let mut body = String::new();
    for word in 0..factors / 4 / 32 {
        let at = 128 * word;
        body += &format!(
            "mul.wide.u32 %q0, %r0, 4; add.u64 %q0, %q0, %in; ld.global.u32 %r3, [%q0+{at}];\n\
            shl.b32 %r4, %r0, 2; mov.u32 %r5, tile; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4+{at}], %r3;\n"
        );
    }
    body += "bar.sync 0;\n";
    // Matrix i of A: rows 8·(i mod 2) on, bytes 16·(i / 2) on; of B: columns, bytes 16·i on.
    body += &format!(
        "and.b32 %r6, %r0, {}; mul.lo.u32 %r6, %r6, {row}; shr.u32 %r7, %r0, 4; mad.lo.u32 %r6, %r7, 16, %r6; mov.u32 %r5, tile;\n\
         add.u32 %r6, %r6, %r5; and.b32 %r8, %r0, 7; mul.lo.u32 %r8, %r8, {row}; shr.u32 %r7, %r0, 3; and.b32 %r7, %r7, 1;\n\
         mad.lo.u32 %r8, %r7, 16, %r8; add.u32 %r8, %r8, %r5; add.u32 %r8, %r8, {};\n",
        m - 1,
        m * row
    );
    let (many, few) = (row * m / 128, row / 16);
    body += &format!("ldmatrix.sync.aligned.m8n8.x{many}.shared.b16 {}, [%r6];\n", list("%a", many));
    body += &format!("ldmatrix.sync.aligned.m8n8.x{few}.shared::cta.b16 {}, [%r8];\n", list("%b", few));
    let half = |kind: &str| kind == "f16";
    let sum = |kind: &str, letter: &str| match kind {
        "f32" => list(&format!("%f{letter}"), 4),
        kind if half(kind) => list(&format!("%{letter}"), 2),
        _ => list(&format!("%{letter}"), m / 4),
    };
    // Value v lies in row g + 8·(v / 2), column 2·t + v mod 2.
    let address = |base: &str, kind: &str, v: usize, skip: usize| {
        let bytes = width(kind) / 8;
        format!(
            "add.u32 %r9, %r2, {}; mul.lo.u32 %r9, %r9, 8; mad.lo.u32 %r9, %r1, 2, %r9; add.u32 %r9, %r9, {}; \
             mad.wide.u32 %q1, %r9, {bytes}, {base}; add.u64 %q1, %q1, {skip};",
            8 * (v / 2),
            v % 2
        )
    };
    for v in 0..m / 4 {
        let skip = factors;
        body += &address("%in", c_kind, v, skip);
        body += &match c_kind {
            "f32" => format!("ld.global.f32 %fc{v}, [%q1];\n"),
            "f16" if v % 2 == 0 => format!("ld.global.b32 %c{}, [%q1];\n", v / 2),
            "f16" => "\n".to_owned(),
            _ => format!("ld.global.b32 %c{v}, [%q1];\n"),
        };
    }
    body += &format!(
        "mma.sync.aligned.m{m}n8k{k}.row.col{words}.{d_kind}.{a_kind}.{b_kind}.{c_kind} {}, {}, {}, {};\n",
        sum(d_kind, "d"),
        list("%a", many),
        list("%b", few),
        sum(c_kind, "c")
    );
    // Of bits, the operation is the last word.
    if !logic.is_empty() {
        body = body.replace(
            &format!("{words}.{d_kind}.{a_kind}.{b_kind}.{c_kind}"),
            &format!(".{d_kind}.{a_kind}.{b_kind}.{c_kind}{words}"),
        );
    }
    for v in 0..m / 4 {
        body += &address("%out", d_kind, v, 0);
        body += &match d_kind {
            "f32" => format!("st.global.f32 [%q1], %fd{v};\n"),
            "f16" if v % 2 == 0 => format!("st.global.b32 [%q1], %d{};\n", v / 2),
            "f16" => "\n".to_owned(),
            _ => format!("st.global.b32 [%q1], %d{v};\n"),
        };
    }
    let found = run_warp(&body, &input, m * 8 * width(d_kind) / 8);
    let want = product(&a, &b, &c, logic);
    assert_eq!(read(d_kind, &found, m, 8, true), want, "m{m}n8k{k} {kinds:?} {words}");
}

#[test]
fn products_of_eight_columns_are_right() {
    for k in [8, 16] {
        check_mma(16, ["f32", "f16", "f16", "f32"], k, "");
        check_mma(16, ["f16", "f16", "f16", "f16"], k, "");
        check_mma(16, ["f32", "bf16", "bf16", "f32"], k, "");
    }
    check_mma(16, ["f32", "tf32", "tf32", "f32"], 4, "");
    check_mma(16, ["f32", "tf32", "tf32", "f32"], 8, "");
    for (a, b) in [("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")] {
        check_mma(8, ["s32", a, b, "s32"], 16, "");
        check_mma(16, ["s32", a, b, "s32"], 16, "");
        check_mma(16, ["s32", a, b, "s32"], 32, ".satfinite");
    }
    for (a, b) in [("s4", "s4"), ("u4", "u4"), ("s4", "u4"), ("u4", "s4")] {
        check_mma(8, ["s32", a, b, "s32"], 32, ".satfinite");
        check_mma(16, ["s32", a, b, "s32"], 32, "");
        check_mma(16, ["s32", a, b, "s32"], 64, ".satfinite");
    }
    check_mma(8, ["s32", "b1", "b1", "s32"], 128, ".xor.popc");
    for k in [128, 256] {
        check_mma(16, ["s32", "b1", "b1", "s32"], k, ".xor.popc");
        check_mma(16, ["s32", "b1", "b1", "s32"], k, ".and.popc");
    }
    for (a, b) in [("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"), ("e5m2", "e4m3")] {
        check_mma(16, ["f32", a, b, "f32"], 32, "");
        check_mma(16, ["f32", a, b, "f32"], 16, "");
    }
}

/// The word of a matrix in double precision that a lane holds: row and column, each by its group and its place in it.
fn load_double(name: &str, row: &str, column: &str, columns: usize, skip: usize) -> String {
    format!(
        "mad.lo.u32 %r9, {row}, {columns}, {column}; mul.wide.u32 %q1, %r9, 8; add.u64 %q1, %q1, %in; ld.global.f64 {name}, [%q1+{skip}];\n"
    )
}

#[test]
fn products_in_double_precision_are_right() {
    for (m, k) in [(8, 4), (16, 4), (16, 8), (16, 16)] {
        let (a, b, c) = (numbers("f64", m, k, 1), numbers("f64", k, 8, 2), numbers("f64", m, 8, 3));
        let mut input = bytes("f64", &a, true);
        input.extend(bytes("f64", &b, true));
        input.extend(bytes("f64", &c, true));
        let (halves, quarters) = (m / 8, k / 4);
        let mut body = String::new();
        // The manual's tables: a_i has row g or g + 8 by turns and column t + 4·(i / 2); b_i row t + 4·i and column g.
        for i in 0..halves * quarters {
            body += &format!(
                "add.u32 %r10, %r2, {}; add.u32 %r11, %r1, {};\n",
                8 * (i % halves),
                4 * (i / halves)
            );
            body += &load_double(&format!("%ga{i}"), "%r10", "%r11", k, 0);
        }
        for i in 0..quarters {
            body += &format!("add.u32 %r10, %r1, {};\n", 4 * i);
            body += &load_double(&format!("%gb{i}"), "%r10", "%r2", 8, 8 * m * k);
        }
        for i in 0..2 * halves {
            body += &format!("add.u32 %r10, %r2, {}; mad.lo.u32 %r11, %r1, 2, {};\n", 8 * (i / 2), i % 2);
            body += &load_double(&format!("%gc{i}"), "%r10", "%r11", 8, 8 * (m * k + 8 * k));
        }
        let [d, a_list, b_list, c_list] =
            [("%gd", 2 * halves), ("%ga", halves * quarters), ("%gb", quarters), ("%gc", 2 * halves)]
                .map(|(name, count)| list(name, count));
        body += &format!(
            "mma.sync.aligned.m{m}n8k{k}.row.col.f64.f64.f64.f64 {d}, {a_list}, {b_list}, {c_list};\n"
        );
        for i in 0..2 * halves {
            body += &format!(
                "add.u32 %r10, %r2, {}; mad.lo.u32 %r11, %r1, 2, {}; mad.lo.u32 %r9, %r10, 8, %r11; mul.wide.u32 %q1, %r9, 8;\n\
                 add.u64 %q1, %q1, %out; st.global.f64 [%q1], %gd{i};\n",
                8 * (i / 2),
                i % 2
            );
        }
        let found = run_warp(&body, &input, m * 64);
        assert_eq!(read("f64", &found, m, 8, true), product(&a, &b, &c, ""), "m{m}n8k{k}");
    }
}

/// The four products of Volta's `m8n8k4`: lanes 4i to 4i + 3 and 16 more have one, whose places the manual gives.
#[test]
fn quads_multiply_matrices_of_their_own() {
    for (a_rows, b_columns) in [(true, true), (true, false), (false, true), (false, false)] {
        for kind in ["f32", "f16"] {
            let matrices: Vec<[Vec<Vec<i64>>; 3]> = (0..4)
                .map(|of| {
                    [numbers("f16", 8, 4, of), numbers("f16", 4, 8, of + 9), numbers(kind, 8, 8, of + 20)]
                })
                .collect();
            let mut words = vec![[0u32; 16]; 32];
            for (lane, held) in words.iter_mut().enumerate() {
                let [a, b, c] = &matrices[lane / 4 % 4];
                let (rest, half) = (lane % 4, if lane >= 16 { 4 } else { 0 });
                let halves = |of: &dyn Fn(usize) -> i64, i: usize| {
                    (bits_of("f16", of(2 * i)) | bits_of("f16", of(2 * i + 1)) << 16) as u32
                };
                for i in 0..2 {
                    held[i] = halves(&|i| if a_rows { a[rest + half][i] } else { a[i + half][rest] }, i);
                    held[2 + i] =
                        halves(&|i| if b_columns { b[i][rest + half] } else { b[rest][i + half] }, i);
                }
                for i in 0..if kind == "f16" { 4 } else { 8 } {
                    let (row, column) = ((lane & 1) + (i & 2) + half, (i & 4) + (lane & 2) + (i & 1));
                    held[4 + i] = if kind == "f16" {
                        halves(&|i| c[rest + half][i], i)
                    } else {
                        bits_of("f32", c[row][column]) as u32
                    };
                }
            }
            let input: Vec<u8> = words.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            let sums = if kind == "f16" { 4 } else { 8 };
            let mut body = "mul.wide.u32 %q1, %r0, 64; add.u64 %in, %in, %q1; mul.wide.u32 %q1, %r0, 32; add.u64 %out, %out, %q1;\n".to_owned();
            body += "ld.global.v2.b32 {%a0, %a1}, [%in]; ld.global.v2.b32 {%b0, %b1}, [%in+8];\n";
            let (c_name, d_name) = if kind == "f16" { ("%c", "%d") } else { ("%fc", "%fd") };
            for i in 0..sums {
                body += &format!("ld.global.b32 {c_name}{i}, [%in+{}];\n", 16 + 4 * i);
            }
            let side = |rows: bool| if rows { "row" } else { "col" };
            body += &format!(
                "mma.sync.aligned.m8n8k4.{}.{}.{kind}.f16.f16.{kind} {}, {{%a0, %a1}}, {{%b0, %b1}}, {};\n",
                side(a_rows),
                side(!b_columns),
                list(d_name, sums),
                list(c_name, sums)
            );
            for i in 0..sums {
                body += &format!("st.global.b32 [%out+{}], {d_name}{i};\n", 4 * i);
            }
            let found = run_warp(&body, &input, 1024);
            for lane in 0..32 {
                let [a, b, c] = &matrices[lane / 4 % 4];
                let (want, half) = (product(a, b, c, ""), if lane >= 16 { 4 } else { 0 });
                for i in 0..8 {
                    let (at, size, row, column) = if kind == "f16" {
                        (32 * lane + 2 * i, 2, lane % 4 + half, i)
                    } else {
                        (32 * lane + 4 * i, 4, (lane & 1) + (i & 2) + half, (i & 4) + (lane & 2) + (i & 1))
                    };
                    let bits =
                        found[at..at + size].iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
                    assert_eq!(
                        value_of(kind, bits),
                        want[row][column],
                        "lane {lane}, {i}, {kind} {a_rows} {b_columns}"
                    );
                }
            }
        }
    }
}

/// Sums of halves against exact integers: within half a unit in the last place of the largest partial sum.
#[test]
fn sums_are_as_exact_as_single_precision() {
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    for _ in 0..20 {
        // Halves between 2^-8 and 2^8 with all bits of their fraction.
        let halves: Vec<u16> =
            (0..384).map(|_| (random() & 0x83ff | (7 + random() % 16) << 10) as u16).collect();
        let exact = |bits: u16| {
            let magnitude = i128::from(bits & 0x3ff | 0x400) << (i32::from(bits >> 10 & 31) - 1);
            if bits >> 15 == 1 { -magnitude } else { magnitude }
        };
        let input: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
        let mut body = String::new();
        for (i, (row, column)) in [(0, 0), (8, 0), (0, 8), (8, 8)].into_iter().enumerate() {
            body += &format!(
                "add.u32 %r9, %r2, {row}; mul.lo.u32 %r9, %r9, 8; add.u32 %r9, %r9, %r1; mul.wide.u32 %q1, %r9, 4; \
                add.u64 %q1, %q1, %in; ld.global.b32 %a{i}, [%q1+{}];\n",
                2 * column
            );
        }
        for i in 0..2 {
            body += &format!(
                "mad.lo.u32 %r9, %r2, 8, %r1; mul.wide.u32 %q1, %r9, 4; add.u64 %q1, %q1, %in; ld.global.b32 %b{i}, [%q1+{}];\n",
                512 + 16 * i
            );
        }
        body += "mov.f32 %fc0, 0f00000000; mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%fd0, %fd1, %fd2, %fd3}, {%a0, %a1, %a2, %a3}, \
            {%b0, %b1}, {%fc0, %fc0, 0f00000000, %fc0};\nmul.wide.u32 %q1, %r0, 16; add.u64 %q1, %q1, %out; \
            st.global.v4.f32 [%q1], {%fd0, %fd1, %fd2, %fd3};";
        let found = run_warp(&body, &input, 512);
        for lane in 0..32 {
            for v in 0..4 {
                let (row, column) = (lane / 4 + 8 * (v / 2), 2 * (lane % 4) + v % 2);
                let terms: Vec<i128> = (0..16)
                    .map(|k| exact(halves[16 * row + k]) * exact(halves[256 + 16 * column + k]))
                    .collect();
                let (sum, size) =
                    (terms.iter().sum::<i128>(), terms.iter().map(|term| term.abs()).sum::<i128>());
                let at = 16 * lane + 4 * v;
                let found =
                    f32::from_bits(u32::from_le_bytes(found[at..at + 4].try_into().expect("4 bytes")));
                // A unit of the integers is 2^-48.
                let difference = (f64::from(found) * 2f64.powi(48)) as i128 - sum;
                assert!(difference.abs() <= size >> 23, "{found} {sum} {size}");
                assert!(difference.abs() <= (sum.abs() >> 23) + 1, "{found} {sum}");
            }
        }
    }
}

#[test]
fn a_part_of_a_warp_cannot_multiply() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .pred %p;\n\
        mov.u32 %r0, %laneid; setp.lt.u32 %p, %r0, 7;\n@%p mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, {%r3}, {%f4, %f5, %f6, %f7};\nret; }";
    let kernel = Kernel::compile(text, None).unwrap();
    let error =
        run(&kernel, [1; 3], [32, 1, 1], &[], &mut FlatMemory::new(0), &Options::default()).unwrap_err();
    assert!(error.to_string().contains("a product of matrices needs all lanes of the warp"), "{error}");
    for (words, why) in [
        ("m16n8k12.row.col.f32.f16.f16.f32", "this form of matrices is not simulated"),
        ("m16n8k16.col.col.f32.f16.f16.f32", "this form of matrices is not simulated"),
        ("sp.m16n8k16.row.col.f32.f16.f16.f32", "sparse matrices are not simulated"),
    ] {
        let text = text.replace("m16n8k8.row.col.f32.f16.f16.f32", words);
        let text = if words.starts_with("sp") {
            text.replace("mma.sync.aligned.sp", "mma.sp.sync.aligned")
        } else {
            text
        };
        let errors = Kernel::compile(&text, None).unwrap_err();
        assert!(errors[0].message.contains(why), "{errors:?}");
    }
}
