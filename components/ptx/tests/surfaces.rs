//! Surfaces as instructions: by reference and by handle, every geometry, type and treatment of coordinates outside, and refusals.
//! The wanted bytes are picked from an array of known bytes by the manual's rules: x counts bytes, and all else rows.

use std::sync::Arc;

use counterpoint_ptx::Kernel;
use counterpoint_ptx::analysis::access::{Class, KernelAccesses};
use counterpoint_ptx::functional::{FlatMemory, Options, run};
use counterpoint_ptx::surface::{Surface, Surfaces};
use counterpoint_ptx::texture::Textures;

const HEAD: &str =
    ".version 7.8\n.target sm_50\n.address_size 64\n.global .surfref image;\n.global .texref picture;\n";

fn surface(size: [u32; 3], layers: Option<u32>, element_bytes: u32) -> Surface {
    Surface { size, layers, element_bytes, elements: 0 }
}

/// Bytes that are all different from their neighbours.
fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + at / 256 + 1) as u8).collect()
}

/// One warp: what its threads leave in %d0 to %d3, and the bytes of the surface afterwards.
fn executed(body: &str, bound: &Surface) -> Result<(Vec<[u64; 4]>, Vec<u8>), String> {
    let source = format!(
        "{HEAD}.visible .entry k(.param .u64 out, .param .u64 handle) {{
         .reg .b16 %h<6>; .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .b64 %d<12>; .reg .pred %p<3>;
         ld.param.u64 %d8, [out]; ld.param.u64 %d9, [handle]; mov.u32 %r0, %tid.x; mul.wide.u32 %d10, %r0, 32;
         add.s64 %d8, %d8, %d10; mov.b64 %d0, 0; mov.b64 %d1, 0; mov.b64 %d2, 0; mov.b64 %d3, 0;
         {body}
         st.global.v2.u64 [%d8], {{%d0, %d1}}; st.global.v2.u64 [%d8+16], {{%d2, %d3}}; ret; }}"
    );
    let kernel = Kernel::compile(&source, None).map_err(|errors| format!("{errors:?}"))?;
    let mut memory = FlatMemory::new(0);
    let out = memory.push(&[0; 32 * 32]);
    let size = bound.bytes();
    let elements = memory.push(&pattern(size as usize));
    let bound = Surface { elements, ..bound.clone() };
    let mut surfaces = Surfaces::default();
    surfaces.references.insert("image".into(), bound.clone());
    surfaces.objects.insert(77, bound);
    let textures = Arc::new(Textures { surfaces, ..Textures::default() });
    let params: Vec<u8> = [out, 77].into_iter().flat_map(u64::to_le_bytes).collect();
    let options = Options { textures, ..Options::default() };
    run(&kernel, [1; 3], [32, 1, 1], &params, &mut memory, &options).map_err(|fault| fault.to_string())?;
    let part =
        |start: u64, bytes: u64| memory.bytes[(start - memory.base) as usize..][..bytes as usize].to_vec();
    let words = part(out, 32 * 32);
    let words = words.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    let words: Vec<u64> = words.collect();
    Ok((words.chunks_exact(4).map(|four| four.try_into().expect("4 words")).collect(), part(elements, size)))
}

/// The first word of each thread.
fn first(body: &str, bound: &Surface) -> Vec<u64> {
    let (words, _) = executed(body, bound).expect(body);
    words.iter().map(|four| four[0]).collect()
}

/// A little-endian number of some bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

#[test]
fn loads_of_every_geometry_by_name_and_by_handle() {
    // The place of each thread's four bytes: x in bytes, then y, z or the layer.
    let block = "and.b32 %r1, %r0, 3; shl.b32 %r1, %r1, 2; shr.u32 %r2, %r0, 2; and.b32 %r2, %r2, 1; shr.u32 %r3, %r0, 3;";
    let at = |thread: u64| (4 * (thread & 3), thread >> 2 & 1, thread >> 3);
    for (geometry, coordinates, bound, offset) in [
        ("1d", "{%r1}", surface([4, 1, 1], None, 4), (|(x, _, _)| x) as fn((u64, u64, u64)) -> u64),
        ("1d", "%r1", surface([16, 1, 1], None, 1), |(x, _, _)| x),
        ("2d", "{%r1, %r2}", surface([4, 2, 1], None, 4), |(x, y, _)| x + 16 * y),
        ("2d", "{%r1, 1}", surface([2, 2, 1], None, 8), |(x, _, _)| x + 16),
        ("3d", "{%r1, %r2, %r3, %r3}", surface([4, 2, 4], None, 4), |(x, y, z)| x + 16 * (y + 2 * z)),
        ("a1d", "{%r3, %r1}", surface([4, 1, 1], Some(4), 4), |(x, _, layer)| x + 16 * layer),
        ("a2d", "{%r3, %r1, %r2, %r2}", surface([4, 2, 1], Some(4), 4), |(x, y, layer)| {
            x + 16 * (y + 2 * layer)
        }),
    ] {
        let bytes = pattern(bound.bytes() as usize);
        let want: Vec<u64> =
            (0..32).map(|thread| offset(at(thread)) as usize).map(|at| number(&bytes[at..at + 4])).collect();
        for name in ["image", "%d9"] {
            let load = format!(
                "{block} suld.b.{geometry}.b32.trap {{%r9}}, [{name}, {coordinates}]; cvt.u64.u32 %d0, %r9;"
            );
            assert_eq!(first(&load, &bound), want, "{load}");
        }
    }
}

#[test]
fn loads_and_stores_of_every_type() {
    // A row of 512 bytes: each thread has 16 of them.
    let bound = surface([128, 1, 1], None, 4);
    let bytes = pattern(512);
    for (form, registers, widen, size, count) in [
        ("b8", "{%h0}", "cvt.u64.u16 %d0, %h0;", 1, 1),
        ("b8", "%r2", "cvt.u64.u32 %d0, %r2;", 1, 1),
        ("b16", "{%r2}", "cvt.u64.u32 %d0, %r2;", 2, 1),
        ("b32", "{%d0}", "", 4, 1),
        ("b64", "{%d0}", "", 8, 1),
        ("v2.b8", "{%h0, %h1}", "cvt.u64.u16 %d0, %h0; cvt.u64.u16 %d1, %h1;", 1, 2),
        ("v2.b16", "{%h0, %h1}", "cvt.u64.u16 %d0, %h0; cvt.u64.u16 %d1, %h1;", 2, 2),
        ("v2.b32", "{%d0, %d1}", "", 4, 2),
        ("v2.b64", "{%d0, %d1}", "", 8, 2),
        ("v4.b8", "{%d0, %d1, %d2, %d3}", "", 1, 4),
        ("v4.b16", "{%d0, %d1, %d2, %d3}", "", 2, 4),
        (
            "v4.b32",
            "{%f0, %f1, %f2, %f3}",
            "mov.b64 %d0, {%f0, %r11}; mov.b64 %d1, {%f1, %r11}; mov.b64 %d2, {%f2, %r11}; mov.b64 %d3, {%f3, %r11};",
            4,
            4,
        ),
    ] {
        let place = "shl.b32 %r1, %r0, 4; mov.b32 %r11, 0;";
        let load = format!("{place} suld.b.1d.{form}.trap {registers}, [image, {{%r1}}]; {widen}");
        let (found, _) = executed(&load, &bound).expect(&load);
        for (thread, words) in found.iter().enumerate() {
            let part = |index| number(&bytes[16 * thread + size * index..][..size]);
            let want: [u64; 4] = std::array::from_fn(|index| if index < count { part(index) } else { 0 });
            assert_eq!(*words, want, "{load}, thread {thread}");
        }
        // The same bytes go to the place of the thread with the opposite number; nothing beside them changes.
        let store =
            format!("{load} sub.u32 %r1, 496, %r1; sust.b.1d.{form}.zero [%d9, {{%r1}}], {registers};");
        let (_, after) = executed(&store, &bound).expect(&store);
        for thread in 0..32 {
            let (own, partner) = (16 * thread, 16 * (31 - thread));
            // Threads of a warp load before any stores.
            assert_eq!(after[own..own + size * count], bytes[partner..partner + size * count], "{store}");
            assert_eq!(after[own + size * count..own + 16], bytes[own + size * count..own + 16], "{store}");
        }
    }
}

#[test]
fn coordinates_outside_fault_or_read_zeros_or_the_nearest_bytes() {
    // Rows of 12 bytes, two of them; thread t is at x = 4 (t mod 8) - 8, y = t / 8 - 1.
    let bound = surface([3, 2, 1], None, 4);
    let bytes = pattern(24);
    let place = "and.b32 %r1, %r0, 7; shl.b32 %r1, %r1, 2; sub.s32 %r1, %r1, 8; shr.u32 %r2, %r0, 3; sub.s32 %r2, %r2, 1;";
    let at = |thread: i64| (4 * (thread % 8) - 8, thread / 8 - 1);
    let inside = |(x, y): (i64, i64)| (0..=8).contains(&x) && (0..2).contains(&y);
    let word = |(x, y): (i64, i64)| number(&bytes[(x + 12 * y) as usize..][..4]);
    let load = |mode: &str| {
        format!(
            "{place} mov.b32 %r9, 99; suld.b.2d.b32.{mode} {{%r9}}, [image, {{%r1, %r2}}]; cvt.u64.u32 %d0, %r9;"
        )
    };
    let zeros: Vec<u64> = (0..32).map(at).map(|place| if inside(place) { word(place) } else { 0 }).collect();
    assert_eq!(first(&load("zero"), &bound), zeros);
    let nearest: Vec<u64> = (0..32).map(at).map(|(x, y)| word((x.clamp(0, 8), y.clamp(0, 1)))).collect();
    assert_eq!(first(&load("clamp"), &bound), nearest);
    let fault = executed(&load("trap"), &bound).unwrap_err();
    assert!(
        fault.contains(
            "lane 0: 4 bytes at byte -8 of row -1 lie outside of the surface, which has 2 rows of 12 bytes"
        ),
        "{fault}"
    );
    // The guard keeps lanes out, and %r9 as it was.
    let guarded = |mode: &str| {
        let guard =
            "setp.ge.s32 %p0, %r1, 0; setp.lt.and.s32 %p0, %r1, 12, %p0; setp.eq.and.s32 %p0, %r2, 1, %p0;";
        load(mode).replace("suld", &format!("{guard} @%p0 suld"))
    };
    let kept: Vec<u64> =
        (0..32).map(at).map(|(x, y)| if y == 1 && inside((x, y)) { word((x, y)) } else { 99 }).collect();
    for mode in ["trap", "clamp", "zero"] {
        assert_eq!(first(&guarded(mode), &bound), kept, "{mode}");
    }
    // A guard that holds in lanes outside, too.
    let some = load("zero").replace("suld", "setp.gt.s32 %p0, %r1, 0; @%p0 suld");
    let want: Vec<u64> = (0..32)
        .map(at)
        .map(|(x, y)| match inside((x, y)) {
            _ if x <= 0 => 99,
            true => word((x, y)),
            false => 0,
        })
        .collect();
    assert_eq!(first(&some, &bound), want);
}

#[test]
fn stores_outside_fault_or_vanish_or_go_to_the_nearest_place() {
    let bound = surface([3, 2, 1], None, 4);
    let bytes = pattern(24);
    // Thread t writes t to x = 4 t - 56 of row 1, so that threads 14 to 16 are inside.
    let store = |mode: &str| {
        format!(
            "shl.b32 %r1, %r0, 2; sub.s32 %r1, %r1, 56; sust.b.2d.b32.{mode} [image, {{%r1, 1}}], {{%r0}};"
        )
    };
    let after = |words: [u32; 3]| {
        let written = words.into_iter().flat_map(u32::to_le_bytes);
        bytes[..12].iter().copied().chain(written).collect::<Vec<u8>>()
    };
    assert_eq!(executed(&store("zero"), &bound).unwrap().1, after([14, 15, 16]));
    // Of several threads that write one place, the last one of the warp wins here.
    assert_eq!(executed(&store("clamp"), &bound).unwrap().1, after([14, 15, 31]));
    let fault = executed(&store("trap"), &bound).unwrap_err();
    assert!(fault.contains("lane 0: 4 bytes at byte -56 of row 1 lie outside"), "{fault}");
    // No lane is inside.
    let none = store("zero").replace("{%r1, 1}", "{%r1, 2}");
    assert_eq!(executed(&none, &bound).unwrap().1, bytes);
}

#[test]
fn layers_are_coordinates_too() {
    let bound = surface([8, 1, 1], Some(3), 4);
    let bytes = pattern(96);
    let load = |mode: &str| {
        format!(
            "shr.u32 %r3, %r0, 3; and.b32 %r1, %r0, 7; shl.b32 %r1, %r1, 2; suld.b.a1d.b32.{mode} {{%r9}}, [%d9, {{%r3, %r1}}]; cvt.u64.u32 %d0, %r9;"
        )
    };
    let word = |layer: usize, thread: usize| number(&bytes[32 * layer + 4 * (thread % 8)..][..4]);
    let zeros: Vec<u64> = (0..32).map(|t| if t < 24 { word(t / 8, t) } else { 0 }).collect();
    assert_eq!(first(&load("zero"), &bound), zeros);
    let nearest: Vec<u64> = (0..32).map(|t| word((t / 8).min(2), t)).collect();
    assert_eq!(first(&load("clamp"), &bound), nearest);
    let fault = executed(&load("trap"), &bound).unwrap_err();
    assert!(fault.contains("lane 24: 4 bytes at byte 0 of row 0, layer 3 lie outside of the surface, which has 1 rows of 32 bytes, 3 layers"), "{fault}");
}

#[test]
fn reductions_change_elements() {
    // 32 threads at four words, or at two of 64 bits.
    let bound = surface([4, 1, 1], None, 4);
    let bytes = pattern(16);
    let words: Vec<u32> = bytes.chunks_exact(4).map(|word| number(word) as u32).collect();
    let doubles: Vec<u64> = bytes.chunks_exact(8).map(number).collect();
    let narrow = |form: &str| {
        let place = "and.b32 %r1, %r0, 3; shl.b32 %r1, %r1, 2; mul.lo.u32 %r2, %r0, 0x9E3779B1;";
        let (_, after) =
            executed(&format!("{place} sured.b.{form}.trap [image, {{%r1}}], %r2;"), &bound).unwrap();
        after.chunks_exact(4).map(|word| number(word) as u32).collect::<Vec<u32>>()
    };
    let fold = |combine: fn(u32, u32) -> u32| {
        let of = |at: u32| (0..8).map(move |round| (4 * round + at).wrapping_mul(0x9E37_79B1));
        (0..4).map(|at| of(at).fold(words[at as usize], combine)).collect::<Vec<u32>>()
    };
    assert_eq!(narrow("add.1d.u32"), fold(u32::wrapping_add));
    assert_eq!(narrow("add.1d.s32"), fold(u32::wrapping_add));
    assert_eq!(narrow("min.1d.u32"), fold(u32::min));
    assert_eq!(narrow("max.1d.s32"), fold(|a, b| (a as i32).max(b as i32) as u32));
    assert_eq!(narrow("and.1d.b32"), fold(|a, b| a & b));
    assert_eq!(narrow("or.1d.b32"), fold(|a, b| a | b));
    let wide = |form: &str| {
        let place = "and.b32 %r1, %r0, 1; shl.b32 %r1, %r1, 3; cvt.u64.u32 %d4, %r0; mul.lo.u64 %d4, %d4, 0x9E3779B97F4A7C15;";
        let (_, after) =
            executed(&format!("{place} sured.b.{form}.clamp [%d9, {{%r1}}], %d4;"), &bound).unwrap();
        after.chunks_exact(8).map(number).collect::<Vec<u64>>()
    };
    let fold = |combine: fn(u64, u64) -> u64| {
        let of = |at: u64| (0..16).map(move |round| (2 * round + at).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        (0..2).map(|at| of(at).fold(doubles[at as usize], combine)).collect::<Vec<u64>>()
    };
    assert_eq!(wide("add.1d.u64"), fold(u64::wrapping_add));
    assert_eq!(wide("max.1d.u64"), fold(u64::max));
    assert_eq!(wide("min.1d.s64"), fold(|a, b| (a as i64).min(b as i64) as u64));
    // Outside nothing changes.
    let outside = "mov.u32 %r1, 16; sured.b.add.1d.u32.zero [image, {%r1}], %r0;";
    assert_eq!(executed(outside, &bound).unwrap().1, bytes);
}

#[test]
fn questions_about_a_surface() {
    let bound = surface([4, 2, 3], None, 4);
    let ask = |what: &str, bound: &Surface| {
        let ask = |name: &str| first(&format!("suq.{what}.b32 %r9, [{name}]; cvt.u64.u32 %d0, %r9;"), bound);
        assert_eq!(ask("image"), ask("%d9"));
        ask("image")[31]
    };
    assert_eq!(["width", "height", "depth", "memory_layout"].map(|what| ask(what, &bound)), [4, 2, 3, 1]);
    assert_eq!(ask("array_size", &surface([4, 2, 1], Some(5), 4)), 5);
}

#[test]
fn what_is_not_bound_or_does_not_fit() {
    let plane = surface([8, 4, 1], None, 4);
    for (text, message) in [
        ("suld.b.1d.b32.trap {%r9}, [%d8, {%r0}];", "no surface has the handle 0x"),
        ("suld.b.a1d.b32.trap {%r9}, [image, {%r0, %r0}];", "names a layer, and the surface has none"),
        ("suld.b.2d.b32.trap {%r9}, [image, {2, 1}];", "is not a multiple of the 4 bytes accessed"),
        ("suld.b.2d.b32.trap {%r9}, [image, {%r0}];", "1 coordinates for 2 dimensions"),
        ("suld.b.2d.b32 {%r9}, [image, {%r0, %r0}];", "`suld.b.2d.b32` lacks a part"),
        ("suld.b.2d.trap {%r9}, [image, {%r0, %r0}];", "lacks a part"),
        ("suld.b.2d.b32.b32.trap {%r9}, [image, {%r0, %r0}];", "`.b32` is unknown or misplaced"),
        (
            "suld.b.2d.u32.trap {%r9}, [image, {%r0, %r0}];",
            "`.u32` is unknown or misplaced in `suld.b.2d.u32.trap`",
        ),
        ("suld.b.2d.v4.b64.trap {%d0, %d1, %d2, %d3}, [image, {%r0, %r0}];", "a vector has 16 bytes at most"),
        ("suld.b.2d.v2.b32.trap {%r9}, [image, {%r0, %r0}];", "1 values where 2 are moved"),
        ("suld.b.2d.b32.trap {%h0}, [image, {%r0, %r0}];", "`%h0` has 16 bits"),
        ("suld.b.2d.b32.trap {%r9}, [image, {%f0, %r0}];", "`%f0` is a floating-point register"),
        ("suld.b.2d.b32.trap {%r9}, [imgae, {%r0, %r0}];", "something like `image`"),
        ("suld.b.2d.b32.trap {%r9}, [picture, {%r0, %r0}];", "`picture` is not a surface"),
        ("tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [image, {%r0}];", "`image` is not a texture"),
        ("suld.b.2d.b32.trap {%r9}, [out, {%r0, %r0}];", "is a parameter"),
        ("sust.b.2d.b32.trap {%r9}, [image, {%r0, %r0}];", "`[surface, {coordinates}]`"),
        ("sust.p.2d.b32.trap [image, {%r0, %r0}], {%r9};", "formatted accesses to surfaces"),
        ("sured.p.add.1d.b32.trap [image, {%r0}], %r9;", "formatted accesses to surfaces"),
        ("sured.b.add.a1d.u32.trap [image, {%r0, %r0}], %r9;", "`.a1d` is unknown or misplaced"),
        ("sured.b.or.1d.u32.trap [image, {%r0}], %r9;", "`.u32` is unknown or misplaced"),
        ("sured.b.add.1d.s64.trap [image, {%r0}], %d0;", "`.s64` is unknown or misplaced"),
        ("suq.channel_order.b32 %r9, [image];", "questions about their channels"),
        ("suq.width.b32 %r9, [%r0];", "`%r0` has 32 bits"),
    ] {
        let error = executed(text, &plane).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
    let layered = surface([8, 4, 1], Some(2), 4);
    let error = executed("suld.b.1d.b32.trap {%r9}, [image, {%r0}];", &layered).unwrap_err();
    assert!(error.contains("has layers, and the instruction names none"), "{error}");
    let free = format!(
        "{HEAD}.global .surfref other; .visible .entry k() {{ .reg .b32 %r<2>; mov.u32 %r0, 0; suld.b.1d.b32.zero {{%r1}}, [other, {{%r0}}]; ret; }}"
    );
    let kernel = Kernel::compile(&free, None).unwrap();
    let error = run(&kernel, [1; 3], [1; 3], &[], &mut FlatMemory::new(0), &Options::default()).unwrap_err();
    assert!(error.to_string().contains("no surface is bound to `other`"), "{error}");
}

#[test]
fn analyses_know_that_a_launch_says_which_array_it_is() {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 s) {{ .reg .b32 %r<4>; .reg .b64 %d<2>; ld.param.u64 %d0, [s]; mov.u32 %r0, 0;
         suld.b.1d.v2.b32.zero {{%r1, %r2}}, [%d0, {{%r0}}]; sust.b.1d.b8.zero [%d0, {{%r0}}], {{%r1}};
         sured.b.add.1d.u32.zero [%d0, {{%r0}}], %r1; ret; }}"
    );
    let module = counterpoint_ptx::parser::parse(&text).unwrap();
    let found = KernelAccesses::new(&module, &module.functions[0]);
    let seen: Vec<(bool, bool, u32)> = found.global().map(|it| (it.reads, it.writes, it.bytes)).collect();
    assert_eq!(seen, [(true, false, 8), (false, true, 1), (true, true, 4)]);
    assert_eq!(found.class, Class::Irregular);
}
