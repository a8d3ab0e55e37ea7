//! Texture fetches as instructions: by reference and by handle, floats and integers, and refusals.

use std::sync::Arc;

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{FlatMemory, Grid, Options, run};
use counterpoint_ptx::texture::{AddressMode, Channel, Texture, Textures};

const HEAD: &str = ".version 7.8\n.target sm_35\n.address_size 64\n.global .texref image;\n";

fn texture(channel: Channel, linear: bool) -> Texture {
    Texture {
        size: [8, 4, 1],
        layers: None,
        channels: 1,
        channel,
        fractions: false,
        linear,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        pitch: None,
        texels: 0,
    }
}

/// Texels that are their own numbers.
fn texels(channel: Channel) -> Vec<u8> {
    let values = 0..32u32;
    match channel {
        Channel::F32 => values.flat_map(|value| (value as f32).to_le_bytes()).collect(),
        _ => values.flat_map(u32::to_le_bytes).collect(),
    }
}

/// One warp; every thread writes the 32-bit word in %r9.
fn words(body: &str, mut textures: Textures) -> Result<Vec<u32>, String> {
    let source = format!(
        "{}.visible .entry k(.param .u64 out, .param .u64 handle) {{ .reg .b32 %r<10>; .reg .f32 %f<8>; .reg .b64 %rd<6>; .reg .pred %p<1>;
        ld.param.u64 %rd0, [out]; ld.param.u64 %rd5, [handle]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4;
        add.s64 %rd2, %rd0, %rd1; {body} st.global.u32 [%rd2], %r9; ret; }}",
        HEAD
    );
    let kernel = Kernel::compile(&source, None).map_err(|errors| format!("{errors:?}"))?;
    let mut memory = FlatMemory::new(0);
    let out = memory.push(&[0; 128]);
    for texture in textures.references.values_mut().chain(textures.objects.values_mut()) {
        texture.texels = memory.push(&texels(texture.channel));
    }
    let params: Vec<u8> = [out, 77].into_iter().flat_map(u64::to_le_bytes).collect();
    let options = Options { textures: Arc::new(textures), ..Options::default() };
    run(&kernel, [1; 3], [32, 1, 1], &params, &mut memory, &options).map_err(|fault| fault.to_string())?;
    let start = (out - memory.base) as usize;
    let bytes = memory.bytes[start..start + 128].chunks_exact(4);
    Ok(bytes.map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes"))).collect())
}

fn bound(texture: Texture) -> Textures {
    let mut textures = Textures::default();
    textures.references.insert("image".into(), texture.clone());
    textures.objects.insert(77, texture);
    textures
}

#[test]
fn by_reference_and_by_handle() {
    let place = "and.b32 %r1, %r0, 7; shr.u32 %r2, %r0, 3; cvt.rn.f32.u32 %f0, %r1; cvt.rn.f32.u32 %f1, %r2;
        add.f32 %f1, %f1, 0f3F000000;";
    // A quarter beyond a texel's centre in x: a quarter of the way to the next one, up to the edge.
    let linear = format!(
        "{place} add.f32 %f0, %f0, 0f3F400000; tex.2d.v4.f32.f32 {{%f4, %f5, %f6, %f7}}, [image, {{%f0, %f1}}]; mov.b32 %r9, %f4;"
    );
    let found = words(&linear, bound(texture(Channel::F32, true))).unwrap();
    let want: Vec<f32> = (0..32).map(|t| t as f32 + if t % 8 == 7 { 0.0 } else { 0.25 }).collect();
    assert_eq!(found.into_iter().map(f32::from_bits).collect::<Vec<f32>>(), want);
    let whole = format!("{place} tex.2d.v4.u32.s32 {{%r9, _, _, _}}, [%rd5, {{%r1, %r2}}];");
    assert_eq!(words(&whole, bound(texture(Channel::U32, false))).unwrap(), (0..32).collect::<Vec<u32>>());
    let line = "tex.1d.v4.s32.s32 {%r6, %r7, %r8, %r9}, [image, {%r0}]; mov.b32 %r9, %r6;";
    let found = words(line, bound(texture(Channel::S32, false))).unwrap();
    assert_eq!((found[7], found[8]), (7, 0), "outside of the texture");
    let space = "mov.u32 %r1, 0; tex.3d.v4.u32.s32 {%r6, %r7, %r8, %r9}, [image, {%r1, %r1, %r1, %r1}];";
    assert_eq!(words(space, bound(texture(Channel::U32, false))).unwrap()[0], 1, "the fourth channel");
}

#[test]
fn what_is_not_bound_or_does_not_fit() {
    let fetch = "tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [image, {%r0}]; mov.b32 %r9, %f4;";
    assert!(words(fetch, Textures::default()).unwrap_err().contains("no texture is bound to `image`"));
    let handle = fetch.replace("image", "%rd0");
    assert!(
        words(&handle, bound(texture(Channel::F32, false)))
            .unwrap_err()
            .contains("no texture has the handle")
    );
    let integers = words(fetch, bound(texture(Channel::S32, false))).unwrap_err();
    assert!(integers.contains("gives integers, the instruction wants floats"), "{integers}");
    let refused = [
        ("tex.2d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [image, {%r0}];", "1 coordinates for 2 dimensions"),
        (
            "tex.2dms.v4.f32.s32 {%f4, %f5, %f6, %f7}, [image, {%r0, %r0, %r0, %r0}];",
            "is not supported: samples, halves",
        ),
        ("tex.a2d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [image, {%r0, %r0}];", "2 coordinates for 3 dimensions"),
        (
            "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f0}], {%r0};",
            "offsets and comparisons of depth",
        ),
        ("tex.level.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f0}], 3;", "this constant is an integer"),
        (
            "tex.grad.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f0}], %f0, %f0;",
            "the gradient of each coordinate",
        ),
        (
            "tex.grad.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f0, %f0}], {%f0}, {%f0};",
            "1 gradients for 2",
        ),
        ("tld4.r.2d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [image, {%r0, %r0}];", "is not supported"),
        ("tex.1d.v4.f32.s32 {%f4, %f5}, [image, {%r0}];", "2 values where 4 are moved"),
        ("tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [imgae, {%r0}];", "something like `image`"),
        ("tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [out, {%r0}];", "is a parameter"),
        ("tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, %r0;", "[texture, {coordinates}]"),
    ];
    for (text, expected) in refused {
        let error = words(text, Textures::default()).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// The bits of floats in %f4 to %f7 that a warp finds, for four fetches of its first eight threads each.
fn four(fetch: &str, texture: Texture) -> Result<Vec<[f32; 4]>, String> {
    let body = format!(
        "and.b32 %r1, %r0, 7; shr.u32 %r2, %r0, 3; cvt.rn.f32.u32 %f0, %r1; mov.f32 %f1, 0f40000000; {fetch}
         setp.eq.u32 %p0, %r2, 0; @%p0 mov.b32 %r9, %f4; setp.eq.u32 %p0, %r2, 1; @%p0 mov.b32 %r9, %f5;
         setp.eq.u32 %p0, %r2, 2; @%p0 mov.b32 %r9, %f6; setp.eq.u32 %p0, %r2, 3; @%p0 mov.b32 %r9, %f7;"
    );
    let found = words(&body, bound(texture))?;
    Ok((0..8).map(|lane| [0, 8, 16, 24].map(|part| f32::from_bits(found[lane + part]))).collect())
}

#[test]
fn a_gather_gives_four_texels_counter_clockwise_from_the_lower_left() {
    // (x, 2.0) lies on the border of rows 1 and 2: texels of columns x - 1 and x, with the left one at the edge twice.
    let gather = "tld4.r.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f0, %f1}];";
    let want = |lower: f32, upper: f32, x: f32| {
        let left = (x - 1.0).max(0.0);
        [upper + left, upper + x, lower + x, lower + left]
    };
    for linear in [true, false] {
        let found = four(gather, texture(Channel::F32, linear)).unwrap();
        assert_eq!(
            found,
            (0..8u8).map(|x| want(8.0, 16.0, x.into())).collect::<Vec<_>>(),
            "linear: {linear}"
        );
    }
    // Half a texel up and to the right: rows 2 and 3, columns x and x + 1.
    let moved = format!("add.f32 %f0, %f0, 0f3F400000; add.f32 %f1, %f1, 0f3F400000; {gather}");
    let found = four(&moved, texture(Channel::F32, true)).unwrap();
    assert_eq!(found[..2], [[24.0, 25.0, 17.0, 16.0], [25.0, 26.0, 18.0, 17.0]]);
    assert_eq!(found[7], [31.0, 31.0, 23.0, 23.0]);
    // Of two channels, the second; of absent ones, 0 and 1.
    let pairs = Texture { size: [4, 4, 1], channels: 2, ..texture(Channel::F32, true) };
    for (channel, want) in [("g", [17.0, 19.0, 11.0, 9.0]), ("b", [0.0; 4]), ("a", [1.0; 4])] {
        let found = four(&gather.replace("tld4.r", &format!("tld4.{channel}")), pairs.clone()).unwrap();
        assert_eq!(found[1], want, "{channel}");
    }
    // Wrapped coordinates: the texel left of the first one is the last one.
    let ring = Texture { normalized: true, address: [AddressMode::Wrap; 3], ..texture(Channel::F32, true) };
    let origin = format!("mul.f32 %f0, %f0, 0f3E000000; mov.f32 %f1, 0f00000000; {gather}");
    assert_eq!(four(&origin, ring).unwrap()[0], [7.0, 0.0, 24.0, 31.0]);
    let bytes =
        "tld4.r.2d.v4.u32.f32 {%r5, %r6, %r7, %r8}, [%rd5, {%f0, %f1}]; mov.b32 %f4, %r5; mov.b32 %f5, %r6;
        mov.b32 %f6, %r7; mov.b32 %f7, %r8;";
    let found = four(bytes, texture(Channel::U32, false)).unwrap();
    assert_eq!(found[3].map(f32::to_bits), [18, 19, 11, 10]);
}

#[test]
fn levels_and_gradients_end_at_the_one_level() {
    let plain = "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f0, %f1}];";
    let want = four(plain, texture(Channel::F32, true)).unwrap();
    // Between the rows 8 to 15 and 16 to 23, and between columns x - 1 and x.
    assert_eq!(want[4], [8.0 + 4.0 + 3.5, 0.0, 0.0, 1.0]);
    for (form, rest) in [
        ("base", ""),
        ("level", ", 0f00000000"),
        ("level", ", 0f40A00000"),
        ("level", ", %f0"),
        ("grad", ", {%f0, %f1}, {%f1, %f0}"),
    ] {
        let fetch = plain.replace("tex.", &format!("tex.{form}.")).replace("}];", &format!("}}]{rest};"));
        assert_eq!(four(&fetch, texture(Channel::F32, true)).unwrap(), want, "{fetch}");
    }
    let whole = "tex.level.2d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [image, {%r1, %r1}], 3;";
    assert_eq!(four(whole, texture(Channel::F32, false)).unwrap()[3][0], 27.0);
    let space = "tex.grad.3d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd5, {%f0, %f0, %f0, %f0}], {%f0, %f1, %f2, %f3}, {%f4, %f5, %f6, %f7};";
    let block = Texture { size: [2, 4, 4], ..texture(Channel::F32, false) };
    assert_eq!(four(space, block).unwrap()[1][0], 1.0 + 2.0 + 8.0);
}

#[test]
fn layers_lie_one_behind_the_other() {
    let planes = Texture { size: [4, 2, 1], layers: Some(4), ..texture(Channel::F32, true) };
    assert_eq!(planes.bytes(), 128);
    // Every thread has another layer; (1.0, 1.0) is between 0, 1, 4 and 5 of its eight texels.
    let fetch = "shr.u32 %r3, %r1, 1; mov.f32 %f3, 0f3F800000;
        tex.a2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%r3, %f3, %f3, %f3}];";
    let found = four(fetch, planes.clone()).unwrap();
    assert_eq!(
        found.iter().map(|texel| texel[0]).collect::<Vec<f32>>(),
        [2.5, 2.5, 10.5, 10.5, 18.5, 18.5, 26.5, 26.5]
    );
    // A filter does not reach into the next layer.
    let edge = fetch.replace("0f3F800000", "0f40A00000");
    assert_eq!(four(&edge, planes.clone()).unwrap()[0][0], 7.0);
    let gather = fetch.replace("tex.a2d", "tld4.r.a2d");
    assert_eq!(four(&gather, planes.clone()).unwrap()[2], [12.0, 13.0, 9.0, 8.0]);
    let level = fetch.replace("tex.a2d", "tex.level.a2d").replace("}];", "}], %f0;");
    assert_eq!(four(&level, planes.clone()).unwrap(), found);
    let lines = Texture { size: [8, 1, 1], ..planes.clone() };
    let whole = "tex.a1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%rd5, {%r2, %r1}]; mov.f32 %f5, %f4; mov.f32 %f6, %f4; mov.f32 %f7, %f4;";
    assert_eq!(four(whole, Texture { linear: false, ..lines.clone() }).unwrap()[6], [6.0, 14.0, 22.0, 30.0]);
    for (fetch, texture, message) in [
        (
            "tex.a1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [image, {%r0, %r1}];",
            lines,
            "has 4 layers, and the instruction names layer 4",
        ),
        (
            "tex.2d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [image, {%r0, %r1}];",
            planes,
            "has layers, and the instruction names none",
        ),
        (
            "tex.a1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [image, {%r0, %r1}];",
            texture(Channel::F32, false),
            "names a layer, and the texture has none",
        ),
    ] {
        let error = four(fetch, texture).unwrap_err();
        assert!(error.contains(message), "{fetch}: {error}");
    }
}

#[test]
fn a_cube_is_six_layers_of_which_a_direction_meets_one() {
    let cubes =
        Texture { size: [2, 2, 1], layers: Some(6), normalized: true, ..texture(Channel::F32, false) };
    // Eight directions: x, -x, y, -y, z, -z with 0.5 along the axes after it, and two of them again.
    let fetch =
        "setp.lt.u32 %p0, %r1, 6; selp.b32 %r3, %r1, 0, %p0; and.b32 %r4, %r3, 1; shr.u32 %r5, %r3, 1;
        mov.f32 %f0, 0f3F000000; mov.f32 %f1, 0f3F000000; mov.f32 %f2, 0f3F000000; mov.f32 %f3, 0f3F800000;
        setp.eq.u32 %p0, %r4, 1; @%p0 neg.f32 %f3, %f3; setp.eq.u32 %p0, %r5, 0; @%p0 mov.f32 %f0, %f3;
        setp.eq.u32 %p0, %r5, 1; @%p0 mov.f32 %f1, %f3; setp.eq.u32 %p0, %r5, 2; @%p0 mov.f32 %f2, %f3;
        tex.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f0, %f1, %f2, %f2}];";
    // The guide's table: s is -z, z, x, x, x, -x, and t is -y, -y, z, -z, -y, -y; below zero is the first texel, above it the second.
    let texel = |face: f32, s: f32, t: f32| 4.0 * face + s + 2.0 * t;
    let want = [
        texel(0.0, 0.0, 0.0),
        texel(1.0, 1.0, 0.0),
        texel(2.0, 1.0, 1.0),
        texel(3.0, 1.0, 0.0),
        texel(4.0, 1.0, 0.0),
        texel(5.0, 0.0, 0.0),
        texel(0.0, 0.0, 0.0),
        texel(0.0, 0.0, 0.0),
    ];
    let first = |found: Vec<[f32; 4]>| found.iter().map(|texel| texel[0]).collect::<Vec<f32>>();
    assert_eq!(first(four(fetch, cubes.clone()).unwrap()), want);
    let level = fetch.replace("tex.cube", "tex.level.cube").replace("}];", "}], %f3;");
    assert_eq!(first(four(&level, cubes.clone()).unwrap()), want);
    let second =
        fetch.replace("tex.cube", "tex.acube").replace("{%f0, %f1, %f2, %f2}", "{%r6, %f0, %f1, %f2}");
    let second = format!("mov.u32 %r6, CUBE; {second}");
    // Two cubes of one texel a face.
    let small = Texture { size: [1, 1, 1], layers: Some(12), ..cubes.clone() };
    let found = first(four(&second.replace("CUBE", "1"), small.clone()).unwrap());
    assert_eq!(found, [6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 6.0, 6.0]);
    for (fetch, texture, message) in [
        (fetch, small.clone(), "wants a cube, and the texture has 12 layers"),
        (fetch, Texture { layers: None, ..small.clone() }, "wants a cube, and the texture has 1 layers"),
        (fetch, Texture { normalized: false, ..cubes.clone() }, "coordinates of a cube are normalised"),
        (&second.replace("CUBE", "2"), small, "has 2 cubes, and the instruction names cube 2"),
    ] {
        let error = four(fetch, texture).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
    // A filter stays on its face, whatever the edges are.
    let wrapped = Texture { linear: true, address: [AddressMode::Wrap; 3], ..cubes };
    let corner =
        "mov.f32 %f2, 0f3F800000; tex.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f2, %f2, %f2, %f2}];";
    let found = four(corner, wrapped).unwrap();
    assert_eq!(found[0][0], 4.0 * 4.0 + 1.0, "the face of z, right and upper texel");
}

#[test]
fn a_fetch_of_what_its_own_launch_has_written_is_found() {
    let source = |written: u32| {
        format!(
            "{HEAD}.visible .entry k(.param .u64 texels) {{ .reg .b32 %r<10>; .reg .b64 %rd<2>; ld.param.u64 %rd0, [texels]; mov.u32 %r0, %tid.x;
            st.global.u32 [%rd0+{written}], %r0;
            tex.1d.v4.u32.s32 {{%r6, %r7, %r8, %r9}}, [image, {{%r0}}];
            ret; }}"
        )
    };
    // One thread, which fetches the first texel.
    for (written, count) in [(0, 1), (4, 0)] {
        let kernel = Kernel::compile(&source(written), None).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut memory = FlatMemory::new(0);
        let texels = memory.push(&[1; 128]);
        let textures = bound(Texture { texels, ..texture(Channel::U32, false) });
        let options = Options { textures: Arc::new(textures), racecheck: true, ..Options::default() };
        let variables = memory.load("k", &kernel);
        let mut launch =
            Grid::new(&kernel, [1; 3], [1; 3], &texels.to_le_bytes(), variables, &options).unwrap();
        let _ = launch.run_cta([0; 3], &mut memory).unwrap();
        let found: Vec<String> = launch.findings().iter().map(|finding| finding.first.to_string()).collect();
        assert_eq!(found.len(), count, "{found:?}");
        assert!(
            found
                .iter()
                .all(|told| told.contains("the read-only path need not see what its own launch writes"))
        );
    }
}
