//! Textures: their representation, and the errors of wrong ones.

use counterpoint_host_model::program::BufferId;
use counterpoint_ptx::texture::{AddressMode, Channel};

use super::*;

/// The good application with a texture of buffer `a`, which the launch is given.
fn with(texture: &str) -> String {
    let textures = format!("textures:\n  t: {{ {texture} }}\nprelude:");
    GOOD.replacen("prelude:", &textures, 1).replacen("arguments: [a,", "arguments: [t,", 1)
}

#[test]
fn a_texture_is_a_buffer_with_a_handle() {
    let text = with("of: a, size: [2, 2], channels: 2, filter: linear, coordinates: normalized, edge: wrap");
    let application = loaded(&text, &[]).unwrap().application;
    let [bound] = application.textures.as_slice() else { panic!("one texture") };
    assert_eq!((bound.name.as_str(), bound.buffer), ("t", BufferId(0)));
    let texture = &bound.texture;
    assert_eq!((texture.size, texture.channels, texture.channel), ([2, 2, 1], 2, Channel::F32));
    assert!(texture.linear && texture.normalized && !texture.fractions);
    assert_eq!((texture.address[0], texture.bytes()), (AddressMode::Wrap, 32));
    let [Step::Repeat(_, steps)] = application.steps.as_slice() else { panic!("a repetition") };
    let Step::Launch(launch) = &steps[0] else { panic!("a launch") };
    assert_eq!(launch.arguments[0], Argument::Value(1_u64.to_le_bytes().into()));
    // The handle finds the texels where the buffer lies.
    let textures = application.textures_on(0, |_| 4096);
    assert_eq!((textures.objects[&1].texels, textures.references["t"].texels), (4096, 4096));
    assert!(application.textures_on(1, |_| 4096).objects.is_empty(), "on another device");
}

#[test]
fn layers_of_a_texture_share_its_buffer() {
    let application = loaded(&with("of: a, size: [2, 2], layers: 2"), &[]).unwrap().application;
    let texture = &application.textures[0].texture;
    assert_eq!((texture.size, texture.layers, texture.bytes()), ([2, 2, 1], Some(2), 32));
    let application = loaded(&with("of: a, size: 2"), &[]).unwrap().application;
    assert_eq!(application.textures[0].texture.layers, None);
}

#[test]
fn a_texture_is_a_part_of_a_buffer_in_its_own_type() {
    let text = with("of: a, element: 1, type: u8, size: [3, 2], pitch: 2, edge: [border, mirror]");
    let application = loaded(&text, &[]).unwrap().application;
    let texture = &application.textures[0].texture;
    assert_eq!((texture.channel, texture.pitch, texture.bytes()), (Channel::U8, Some(8), 8 + 3));
    assert_eq!(texture.address, [AddressMode::Border, AddressMode::Mirror, AddressMode::Mirror]);
    assert_eq!(application.textures_on(0, |_| 4096).objects[&1].texels, 4096 + 4);
}

#[test]
fn all_that_is_wrong_with_a_texture_is_said() {
    let report = |texture: &str| loaded(&with(texture), &[]).expect_err("a problem");
    for (texture, message) in [
        ("of: a, size: [3, 3]", "error: the texture has 36 bytes, its buffer 32"),
        ("of: c, size: 2", "error: there is no buffer `c`"),
        ("of: a, size: 2, filter: linaer", "did you mean `linear`?"),
        ("of: a, size: 2, chanels: 2", "error: unknown key `chanels` in a texture"),
        ("of: a, size: 2, channels: 3", "error: a texel has 1, 2 or 4 channels"),
        ("of: a, size: [2, 2], layers: 3", "error: the texture has 48 bytes, its buffer 32"),
        ("of: a, size: [2, 2, 2], layers: 1", "error: a layer has one or two dimensions"),
        ("of: a, size: 2, layers: 0", "error: layers is 0"),
        ("of: a, size: 8, element: 1", "error: the texture has 32 bytes, its buffer 32"),
        ("of: a, size: [2, 2], pitch: 1", "error: a row has 8 bytes, and 4 from its beginning to the next"),
        ("of: a, size: 2, edge: bordr", "did you mean `border`?"),
        ("of: a, size: 2, edge: [clamp, wrap, wrap, wrap]", "expected one to three edges, found 4"),
        ("of: a, size: 2, type: f64", "error: a texture cannot be of f64"),
        ("of: a", "error: a texture needs the key `size`"),
    ] {
        let found = report(texture);
        assert!(found.contains(message), "{texture}: {found}");
    }
    let bytes = |kind: &str, texture: &str| {
        let text = with(texture).replacen("type: f32", &format!("type: {kind}"), 1);
        loaded(&text, &[]).expect_err("a problem")
    };
    let doubles = bytes("f64", "of: a, size: 2");
    assert!(doubles.contains("error: a texture cannot be of f64"), "{doubles}");
    let linear = bytes("u8", "of: a, size: 2, filter: linear");
    assert!(linear.contains("only what is read as floats can be interpolated"), "{linear}");
    let twice = with("of: a, size: 2").replacen("  t:", "  b:", 1);
    let twice = loaded(&twice, &[]).expect_err("a problem");
    assert!(twice.contains("`b` is a buffer already"), "{twice}");
}
