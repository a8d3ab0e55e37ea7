//! Textures of an application: with time and without, by reference and by handle, and after writes of earlier
//! launches.

use counterpoint_framework::model::StatValue;
use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::support::{assert_verified, request, run_request};

/// `paint` makes an image of 16 x 8 texels, `10 y + x + plus`; `between` reads it a quarter of a texel to the right of each
/// centre, by reference; `exact` reads the texels by their numbers, by handle.
const MODULE: &str = ".version 7.8
.target sm_35
.address_size 64
.global .texref image;
.visible .entry paint(.param .u64 out, .param .f32 plus) {
HEAD
fma.rn.f32 %f2, %f1, 0f41200000, %f0;
ld.param.f32 %f3, [plus];
add.f32 %f2, %f2, %f3;
st.global.f32 [%rd2], %f2;
ret;
}
.visible .entry between(.param .u64 out) {
HEAD
add.f32 %f0, %f0, 0f3F400000;
add.f32 %f1, %f1, 0f3F000000;
mul.f32 %f0, %f0, 0f3D800000;
mul.f32 %f1, %f1, 0f3E000000;
tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [image, {%f0, %f1}];
st.global.f32 [%rd2], %f2;
ret;
}
.visible .entry exact(.param .u64 out, .param .u64 texture) {
HEAD
ld.param.u64 %rd3, [texture];
tex.2d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [%rd3, {%r1, %r2}];
st.global.f32 [%rd2], %f2;
ret;
}
";

/// The thread's place in the image, as numbers and as floats, and where its word of `out` lies.
const HEAD: &str = ".reg .b32 %r<4>; .reg .f32 %f<6>; .reg .b64 %rd<4>;
mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 15; shr.u32 %r2, %r0, 4;
cvt.rn.f32.u32 %f0, %r1; cvt.rn.f32.u32 %f1, %r2;
ld.param.u64 %rd0, [out]; mul.wide.u32 %rd1, %r0, 4; add.s64 %rd2, %rd0, %rd1;";

/// Paints, reads, and does both again; `texture` is the name of the texture.
fn run(texture: &str, functional: bool, sets: &[&str]) -> RunSummary {
    run_changed(texture, ("", ""), RunRequest { functional, ..request("tiny", "", sets) })
}

/// Runs the application with a part of its text replaced.
fn run_changed(texture: &str, change: (&str, &str), how: RunRequest) -> RunSummary {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("m.ptx", MODULE.replace("HEAD", HEAD).as_bytes());
    // The last column has no right neighbour.
    let file = |shift: f32, plus: f32| -> Vec<u8> {
        let texels = (0..128_u16).map(|thread| {
            let (x, y) = (f32::from(thread % 16), f32::from(thread / 16));
            10.0 * y + (x + shift).min(15.0) + plus
        });
        texels.flat_map(f32::to_le_bytes).collect()
    };
    write("first.f32", &file(0.25, 0.0));
    write("second.f32", &file(0.25, 100.0));
    write("third.f32", &file(0.0, 100.0));
    let application = format!(
        "counterpoint: 1
application: textures
code: {{ m: m.ptx }}
buffers:
  texels: {{ type: f32, elements: 128 }}
  first: {{ type: f32, elements: 128 }}
  second: {{ type: f32, elements: 128 }}
  third: {{ type: f32, elements: 128 }}
textures:
  {texture}: {{ of: texels, size: [16, 8], filter: linear, coordinates: normalized }}
  numbers: {{ of: texels, size: [16, 8] }}
kernels:
  - {{ launch: m.paint, grid: 1, block: 128, arguments: [texels, 0.0] }}
  - {{ launch: m.between, grid: 1, block: 128, arguments: [first] }}
  - {{ launch: m.paint, grid: 1, block: 128, arguments: [texels, 100.0] }}
  - {{ launch: m.between, grid: 1, block: 128, arguments: [second] }}
  - {{ launch: m.exact, grid: 1, block: 128, arguments: [third, numbers] }}
copy_out: [first, second, third]
expect:
  - {{ buffer: first, file: first.f32 }}
  - {{ buffer: second, file: second.f32 }}
  - {{ buffer: third, file: third.f32 }}
"
    );
    write("textures.yaml", application.replace(change.0, change.1).as_bytes());
    let application = folder.path().join("textures.yaml").display().to_string();
    run_request(&RunRequest { application, ..how })
}

#[test]
fn fetches_give_what_launches_before_wrote() {
    assert_verified(&run("image", true, &[]));
    // The machine has one SM, so that its cache holds the texels that the second painting makes stale.
    let timed = run("image", false, &["gpu.sms=1"]);
    assert_verified(&timed);
    let count = |name: &str| {
        let stats = timed.report.stats.iter();
        stats
            .filter(|row| row.path.ends_with("L1T") && row.label.name == name)
            .map(|row| row.value)
            .next()
            .unwrap()
    };
    // Each of four warps reads two rows, which are one cache line; a filter also reads the next row, except after the last
    // one.
    let (between, exact) = (4 + 3, 4);
    assert_eq!(count("total_cache_accesses"), StatValue::Count(2 * between + exact));
    // A launch begins with an empty cache.
    assert_eq!(count("total_cache_misses"), StatValue::Count(3 * 4));
}

#[test]
fn a_texture_that_nobody_bound_is_a_mistake_of_the_kernel() {
    for functional in [true, false] {
        let ending = run("imago", functional, &[]).ending();
        assert!(ending.contains("no texture is bound to `image`"), "{ending}");
        assert!(ending.contains("between#2, block (0, 0, 0)"), "{ending}");
    }
}

#[test]
fn a_fetch_races_with_a_store_of_another_stream() {
    let between = " }\n  - { launch: m.between, grid: 1, block: 128, arguments: [second]";
    let found = |streams: [&str; 2]| {
        let changed = format!("100.0]{}{between}{}", streams[0], streams[1]);
        let how = RunRequest { functional: true, racecheck: true, ..request("tiny", "", &[]) };
        let found = run_changed("image", (&format!("100.0]{between}"), &changed), how).found;
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(found([", stream: s", ", stream: s"]), [""; 0]);
    let races = found([", stream: s", ", stream: t"]);
    let told = "paint#3 on stream `s` writes what between#4 on stream `t` reads, in no order";
    assert!(races.len() == 1 && races[0].contains(told) && races[0].contains("`texels`"), "{races:?}");
}
