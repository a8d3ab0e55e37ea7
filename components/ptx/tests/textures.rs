//! Texture fetches as instructions: by reference and by handle, floats and integers, and refusals.

use std::sync::Arc;

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{FlatMemory, Options, run};
use counterpoint_ptx::texture::{AddressMode, Channel, Texture, Textures};

const HEAD: &str = ".version 7.8\n.target sm_35\n.address_size 64\n.global .texref image;\n";

fn texture(channel: Channel, linear: bool) -> Texture {
    Texture {
        size: [8, 4, 1],
        channels: 1,
        channel,
        fractions: false,
        linear,
        normalized: false,
        address: [AddressMode::Clamp; 3],
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
        "{}.visible .entry k(.param .u64 out, .param .u64 handle) {{ .reg .b32 %r<10>; .reg .f32 %f<8>; .reg .b64 %rd<6>;
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
            "tex.a2d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [image, {%r0, %r0, %r0, %r0}];",
            "is not supported: of textures",
        ),
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
