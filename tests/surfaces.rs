//! Surfaces of an application: with time and without, by reference and by handle, and beside a texture of the same buffer.

use counterpoint_framework::model::StatValue;
use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::support::{assert_verified, request, run_request};

/// `paint` writes `10 y + x` to a plane of 16 x 8 words, which are a texture, too; `shift` reads the word to the right of its own,
/// by handle, and of that two bytes more by reference; `fetch` reads the plane as a texture.
const MODULE: &str = ".version 7.8
.target sm_50
.address_size 64
.global .surfref plane;
.global .texref image;
.visible .entry paint(.param .u64 out) {
HEAD
mad.lo.u32 %r4, %r2, 10, %r1;
sust.b.2d.b32.trap [plane, {%r3, %r2}], {%r4};
st.global.u32 [%rd2], %r4;
ret;
}
.visible .entry shift(.param .u64 out, .param .u64 surface) {
HEAD
ld.param.u64 %rd3, [surface];
add.u32 %r3, %r3, 4;
suld.b.2d.b32.zero {%r4}, [%rd3, {%r3, %r2}];
suld.b.2d.v2.b16.clamp {%h0, %h1}, [plane, {%r3, %r2}];
mov.b32 %r5, {%h0, %h1};
mad.lo.u32 %r4, %r5, 1000, %r4;
st.global.u32 [%rd2], %r4;
ret;
}
.visible .entry fetch(.param .u64 out) {
HEAD
tex.2d.v4.u32.s32 {%r4, _, _, _}, [image, {%r1, %r2}];
st.global.u32 [%rd2], %r4;
ret;
}
";

/// The thread's place in the plane, in words and in bytes, and where its word of `out` lies.
const HEAD: &str = ".reg .b32 %r<6>; .reg .b16 %h<2>; .reg .b64 %rd<4>;
mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 15; shr.u32 %r2, %r0, 4; shl.b32 %r3, %r1, 2;
ld.param.u64 %rd0, [out]; mul.wide.u32 %rd1, %r0, 4; add.s64 %rd2, %rd0, %rd1;";

/// Paints, shifts and fetches, with texts of module and application replaced.
fn run(changes: &[(&str, &str)], how: RunRequest) -> RunSummary {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let changed =
        |text: &str| changes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    write("m.ptx", changed(&MODULE.replace("HEAD", HEAD)).as_bytes());
    let file = |word: fn(u32, u32) -> u32| -> Vec<u8> {
        (0..128).map(|thread| word(thread % 16, thread / 16)).flat_map(u32::to_le_bytes).collect()
    };
    write("painted.u32", &file(|x, y| 10 * y + x));
    // The last column has no right neighbour: zero by the one rule, itself by the other.
    let shifted = file(|x, y| {
        let right = if x == 15 { 0 } else { 10 * y + x + 1 };
        1000 * (10 * y + (x + 1).min(15)) + right
    });
    write("shifted.u32", &shifted);
    let application = "counterpoint: 1
application: surfaces
code: { m: m.ptx }
buffers:
  words: { type: u32, elements: 128 }
  painted: { type: u32, elements: 128 }
  shifted: { type: u32, elements: 128 }
  fetched: { type: u32, elements: 128 }
textures:
  image: { of: words, size: [16, 8] }
surfaces:
  plane: { of: words, size: [16, 8] }
kernels:
  - { launch: m.paint, grid: 1, block: 128, arguments: [painted] }
  - { launch: m.shift, grid: 1, block: 128, arguments: [shifted, plane] }
  - { launch: m.fetch, grid: 1, block: 128, arguments: [fetched] }
copy_out: [words, painted, shifted, fetched]
expect:
  - { buffer: words, file: painted.u32 }
  - { buffer: painted, file: painted.u32 }
  - { buffer: shifted, file: shifted.u32 }
  - { buffer: fetched, file: painted.u32 }
";
    write("surfaces.yaml", changed(application).as_bytes());
    let application = folder.path().join("surfaces.yaml").display().to_string();
    run_request(&RunRequest { application, ..how })
}

fn how(functional: bool) -> RunRequest {
    RunRequest { functional, ..request("tiny", "", &["gpu.sms=1"]) }
}

#[test]
fn surfaces_are_written_and_read_as_global_memory() {
    assert_verified(&run(&[], how(true)));
    let timed = run(&[], how(false));
    assert_verified(&timed);
    let count = |name: &str| {
        let found: Vec<&StatValue> =
            timed.report.stats.iter().filter(|row| row.label.name == name).map(|row| &row.value).collect();
        assert_eq!(found.len(), 1, "{name}");
        *found[0]
    };
    // Four warps: the stores of `paint` to plane and `painted`, and one of each other kernel; two loads of `shift`.
    assert_eq!(count("global_stores"), StatValue::Count(4 * (2 + 1 + 1)));
    assert_eq!(count("global_loads"), StatValue::Count(4 * 2));
    assert_eq!(count("texture_fetches"), StatValue::Count(4));
}

#[test]
fn an_access_outside_of_a_surface_names_its_place() {
    for functional in [true, false] {
        let ending = run(&[("suld.b.2d.b32.zero", "suld.b.2d.b32.trap")], how(functional)).ending();
        for words in [
            "shift#2, block (0, 0, 0), warp 0, lane 15",
            "suld.b.2d.b32.trap {%r4}",
            "4 bytes at byte 64 of row 0 lie outside of the surface, which has 8 rows of 64 bytes",
        ] {
            assert!(ending.contains(words), "{words} in {ending}");
        }
    }
}

#[test]
fn a_surface_that_nobody_bound_is_a_mistake_of_the_kernel() {
    for functional in [true, false] {
        let renamed = [("  plane: {", "  plain: {"), ("[shifted, plane]", "[shifted, plain]")];
        let name = run(&renamed, how(functional)).ending();
        assert!(name.contains("paint#1, block (0, 0, 0), warp 0, lane 0"), "{name}");
        assert!(name.contains("no surface is bound to `plane`"), "{name}");
        let handle = run(&[("[shifted, plane]", "[shifted, image]")], how(functional)).ending();
        assert!(handle.contains("no surface has the handle 0x1"), "{handle}");
    }
}

#[test]
fn a_store_to_a_surface_races_with_a_fetch_of_another_stream() {
    let streams = [("[painted] }", "[painted], stream: s }"), ("[fetched] }", "[fetched], stream: t }")];
    let found = run(&streams, RunRequest { racecheck: true, ..how(true) }).found;
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let told = "paint#1 on stream `s` writes what fetch#3 on stream `t` reads, in no order";
    // The shift on the default stream waits for `paint`, and `fetch` waits for the shift.
    assert_eq!(found, [""; 0]);
    let shift = ("[shifted, plane] }", "[shifted, plane], stream: u }");
    let found = run(&[streams[0], streams[1], shift], RunRequest { racecheck: true, ..how(true) }).found;
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(found.iter().any(|race| race.contains(told) && race.contains("`words`")), "{found:?}");
    let told = "paint#1 on stream `s` writes what shift#2 on stream `u` reads, in no order";
    assert!(found.iter().any(|race| race.contains(told)), "{found:?}");
}
