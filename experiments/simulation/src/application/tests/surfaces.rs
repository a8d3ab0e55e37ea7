//! Surfaces: how a file's are read, and the messages for wrong ones.

use counterpoint_host_model::program::BufferId;
use counterpoint_ptx::surface::Surfaces;

use super::*;

/// The good application with a texture and a surface of buffer `a`; the launch is given the surface.
fn with(surface: &str) -> String {
    let both = format!("textures:\n  t: {{ of: a, size: 2 }}\nsurfaces:\n  s: {{ {surface} }}\nprelude:");
    GOOD.replacen("prelude:", &both, 1).replacen("arguments: [a,", "arguments: [s,", 1)
}

#[test]
fn a_surface_is_a_buffer_with_a_handle_of_its_own() {
    let application = loaded(&with("of: a, size: [2, 2], channels: 2"), &[]).unwrap().application;
    let [bound] = application.surfaces.as_slice() else { panic!("one surface") };
    assert_eq!((bound.name.as_str(), bound.buffer), ("s", BufferId(0)));
    let surface = &bound.surface;
    assert_eq!((surface.size, surface.element_bytes, surface.bytes()), ([2, 2, 1], 8, 32));
    let [Step::Repeat(_, steps)] = application.steps.as_slice() else { panic!("a repetition") };
    let Step::Launch(launch) = &steps[0] else { panic!("a launch") };
    assert_eq!(launch.arguments[0], Argument::Value(Surfaces::FIRST_HANDLE.to_le_bytes().into()));
    let surfaces = &application.textures_on(0, |_| 4096).surfaces;
    assert_eq!(
        (surfaces.objects[&Surfaces::FIRST_HANDLE].elements, surfaces.references["s"].elements),
        (4096, 4096)
    );
    assert!(application.textures_on(1, |_| 4096).surfaces.objects.is_empty(), "on another device");
    let layers = loaded(&with("of: a, size: 2, layers: 3"), &[]).unwrap().application;
    assert_eq!(layers.surfaces[0].surface.layers, Some(3));
    let part = loaded(&with("of: a, element: 2, type: u16, channels: 4, size: 3"), &[]).unwrap().application;
    let surface = &part.surfaces[0].surface;
    assert_eq!((surface.element_bytes, surface.elements, surface.bytes()), (8, 8, 24));
}

#[test]
fn all_that_is_wrong_with_a_surface_is_said() {
    for (surface, message) in [
        ("of: a, size: [3, 3]", "error: the surface has 36 bytes, its buffer 32"),
        ("of: c, size: 2", "error: there is no buffer `c`"),
        ("of: a, size: 2, filter: linear", "error: unknown key `filter` in a surface"),
        (
            "of: a, size: 2, channels: 3",
            "error: an element of a surface has 1, 2, 4, 8 or 16 bytes, and this one 12",
        ),
        ("of: a, size: [2, 2], layers: 3", "error: the surface has 48 bytes, its buffer 32"),
        ("of: a, size: [2, 2, 2], layers: 1", "error: a layer has one or two dimensions"),
        ("of: a", "error: a surface needs the key `size`"),
    ] {
        let found = loaded(&with(surface), &[]).expect_err("a problem");
        assert!(found.contains(message), "{surface}: {found}");
    }
    for (name, message) in [("b", "`b` is a buffer already"), ("t", "`t` is a texture already")] {
        let twice = with("of: a, size: 2").replacen("  s:", &format!("  {name}:"), 1);
        let found = loaded(&twice, &[]).expect_err("a problem");
        assert!(found.contains(message), "{found}");
    }
}
