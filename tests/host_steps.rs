//! Applications that do what a CUDA program does between its kernels: parts and rows of buffers, fills, copies on a device, steps of the
//! host, and structs by value. With time and without, the same values.

use std::path::Path;
use std::sync::Arc;

use counterpoint_framework::telemetry::Meter;
use counterpoint_framework::time::SimTime;
use counterpoint_host_model::Journal;
use counterpoint_host_model::functional::FunctionalHost;
use counterpoint_protocols::host::FileIndex;
use counterpoint_ptx::functional::Options;
use counterpoint_simulation::registry;
use counterpoint_simulation::run::{RunRequest, RunSummary, load_application, start};
use tempfile::TempDir;

use crate::support::{assert_verified, refusal, request, run_request};

/// `cp` copies a number of float4 from its first to its second argument.
const COPIES: &str = include_str!("host_steps/copies.ptx");
/// Kernels with a struct of nine floats, a float3 and an int2, numbers of several sizes, and a struct with padding.
const STRUCTS: &str = include_str!("host_steps/structs.ptx");

const STREAMS: &str = "host.cpu.runtime=streams";

/// An application in a folder of its own.
struct Program(TempDir);

impl Program {
    /// The application of these lines, beside files.
    fn new(lines: &str, files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        write("program.yaml", format!("counterpoint: 1\napplication: program\n{lines}").as_bytes());
        write("copies.ptx", COPIES.as_bytes());
        write("structs.ptx", STRUCTS.as_bytes());
        files.iter().for_each(|(name, bytes)| write(name, bytes));
        Program(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn on(&self, machine: &str, sets: &[&str]) -> RunRequest {
        // The memory covers the fixed addresses.
        let memory = if machine == "tiny" { "gpu.memory=64 MiB" } else { "gpu.memory=1 GiB" };
        let sets = &[sets, &[memory]].concat();
        request(machine, &self.path().join("program.yaml").display().to_string(), sets)
    }

    /// Runs without time, with a search for races.
    fn functional(&self) -> RunSummary {
        run_request(&RunRequest { functional: true, racecheck: true, ..self.on("tiny", &[]) })
    }

    /// Runs the program without time and with time, under two runtimes and on two machines with different page sizes, and asserts that
    /// all results are right.
    fn assert_right(&self) {
        let functional = self.functional();
        assert!(functional.found.is_empty(), "{:?}", functional.found);
        for sets in [&[][..], &[STREAMS][..], &["host.cpu.page=64 KiB"][..]] {
            let summary = run_request(&self.on("tiny", sets));
            assert_verified(&summary);
            assert_eq!(summary.results, functional.results, "{sets:?}");
        }
        let other = run_request(&self.on("gtx480", &["gpu.sms=2"]));
        assert_verified(&other);
        assert_eq!(other.results, functional.results);
        assert_verified(&functional);
    }

    /// Asserts that the number of moved bytes is the expected one, with time and without.
    fn assert_counted(&self) {
        let request = self.on("tiny", &[]);
        let mut simulation = start(&request, &Arc::new(registry())).unwrap();
        simulation.advance_to(SimTime::MAX).unwrap();
        let now = simulation.progress().snapshot().expect("a run is watched");
        assert!(now.bytes > 0 && now.bytes == now.all_bytes, "{now:?}");

        let (_, loaded) = load_application(&request, &registry()).unwrap();
        let (journal, meter) = (Journal::default(), Meter::default());
        let host = FunctionalHost::new(&loaded.application, &journal, &meter, Options::default(), 0);
        let read = |FileIndex(index), at, place: &mut [u8]| {
            loaded.inputs[index as usize].read_into(at, place).unwrap();
            Ok(())
        };
        assert!(host.unwrap().run((read, |_, _, _| {})).unwrap().is_continue());
        assert_eq!(journal.bytes_moved(), now.all_bytes);
    }

    /// The races that a run without time finds.
    fn races(&self) -> Vec<String> {
        self.functional().found.iter().map(ToString::to_string).collect()
    }
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn a_program_fills_copies_a_part_and_computes_before_its_kernels() {
    let program = Program::new(
        r#"code: { k: copies.ptx }
buffers:
  a: { type: f32, elements: 4000 }
  c: { type: f32, elements: 4000 }
prelude: [ { compute: { into: a, generate: { ramp: { start: 0, step: 1 } }, rate: 8 GB/s } } ]
copy_in: [a]
kernels:
  - memset: c
  - copy_in: { buffer: a, element: 0, elements: 10 }
  - synchronize: all
  - compute: { into: a, generate: { constant: { value: 1 } }, rate: 1 GB/s }
  - repeat: 2
    do:
      - { launch: k.cp, grid: 8, block: 64, arguments: [a, c, 1000] }
      - { launch: k.cp, grid: 8, block: 64, arguments: [c, a, 1000] }
copy_out: [c]
postlude: [ { write: { from: c, file: c.f32 } } ]
expect:
  - { buffer: c, file: ramp.f32 }
  - { buffer: a, file: ones.f32 }
"#,
        &[("ramp.f32", &floats((0..4000_u16).map(f32::from))), ("ones.f32", &floats([1.0; 4000]))],
    );
    program.assert_right();
}

#[test]
fn structs_reach_kernels_by_value() {
    let lines = |three: &str, two: &str| {
        format!(
            r#"code: {{ k: structs.ptx }}
buffers:
  m: {{ type: f32, elements: 32 }}
  p: {{ type: f32, elements: 32 }}
  n: {{ type: f32, elements: 32 }}
  s: {{ type: f32, elements: 32 }}
kernels:
  - {{ launch: k.mat, grid: 1, block: 32, arguments: [[0, 1, 2, 3, 4, 5, 6, 7, 8.5], m] }}
  - {{ launch: k.p3, grid: 1, block: 32, arguments: [{three}, {two}, p] }}
  - {{ launch: k.byt, grid: 1, block: 32, arguments: [-3, 500, 1000, 0.25, 1, n] }}
  - memset: s
  - {{ launch: k.structarg, grid: 1, block: 32, arguments: [[-2, 1.5, 20], s] }}
copy_out: [m, p, n, s]
expect:
  - {{ buffer: m, file: m.f32 }}
  - {{ buffer: p, file: p.f32 }}
  - {{ buffer: n, file: n.f32 }}
  - {{ buffer: s, file: s.f32 }}
"#
        )
    };
    // The matrix again and again; 1 + 2 * 3 + 7 - 4; the sum of all five; -2 + 1.5 i below 20.
    let matrix = (0..32).map(|thread| if thread % 9 == 8 { 8.5 } else { f32::from((thread % 9) as u8) });
    let padded = (0..32_u8).map(|i| if i < 20 { -2.0 + 1.5 * f32::from(i) } else { 0.0 });
    let files: [(&str, &[u8]); 4] = [
        ("m.f32", &floats(matrix)),
        ("p.f32", &floats([10.0; 32])),
        ("n.f32", &floats([-3.0 + 500.0 + 1000.0 + 0.25 + 1.0; 32])),
        ("s.f32", &floats(padded)),
    ];
    for (three, two) in [
        ("[1, 2, 3]", "[7, 4]"),
        ("{ f32: [1, 2, 3] }", "{ s32: [7, 4] }"),
        ("[{ f32: 1 }, { f32: [2, 3] }]", "{ bytes: \"0700000004000000\" }"),
        ("{ bytes: \"0000803f0000004000004040\" }", "[{ u32: 7 }, { s32: 4 }]"),
    ] {
        let program = Program::new(&lines(three, two), &files);
        assert_verified(&run_request(&RunRequest { functional: true, ..program.on("tiny", &[]) }));
        assert_verified(&run_request(&program.on("tiny", &[])));
    }
    Program::new(&lines("[1, 2, 3]", "[7, 4]"), &files).assert_right();
}

#[test]
fn rows_move_between_host_and_devices_and_on_them() {
    // Four rows of eight words each way, which lie 16 apart on the device and 12 on the host.
    let program = Program::new(
        r#"buffers:
  a: { type: u32, elements: 64 }
  b: { type: u32, elements: 64 }
prelude: [ { read: { file: in.u32, into: a } } ]
kernels:
  - memset: { buffer: a, value: 7 }
  - { memset: { buffer: b, value: 0x0a0b0c0d }, stream: s }
  - copy_in: { buffer: a, element: 1, elements: 8, rows: 4, pitch: 16, host_pitch: 12, host_element: 3 }
  - { memset: { buffer: a, value: 9, element: 2, elements: 1, rows: 4, pitch: 16 } }
  - { copy: { from: a, to: b, element: 0, to_element: 5, elements: 10, rows: 3, pitch: 16, to_pitch: 20 }, stream: s }
  - synchronize: all
  - copy_out: { buffer: b, element: 4, elements: 12, rows: 3, pitch: 20, host_pitch: 13, host_element: 1 }
  - copy_out: { buffer: a }
postlude: [ { write: { from: b, file: b.u32 } } ]
expect: [ { buffer: b, file: b.u32 }, { buffer: a, file: a.u32 } ]
"#,
        &[("in.u32", &words(0..64)), ("a.u32", &words(device_a())), ("b.u32", &words(host_b()))],
    );
    program.assert_right();
    program.assert_counted();
}

/// The device's words of `a`: rows of the host's words, with a nine in each.
fn device_a() -> [u32; 64] {
    let mut a = [7; 64];
    for row in 0..4 {
        for word in 0..8 {
            a[1 + 16 * row + word] = (3 + 12 * row + word) as u32;
        }
        a[2 + 16 * row] = 9;
    }
    a
}

/// The host's words of `b`, which it never wrote: rows of the device's.
fn host_b() -> [u32; 64] {
    let mut device = [0x0a0b_0c0d; 64];
    for row in 0..3 {
        for word in 0..10 {
            device[5 + 20 * row + word] = device_a()[16 * row + word];
        }
    }
    let mut b = [0; 64];
    for row in 0..3 {
        for word in 0..12 {
            b[1 + 13 * row + word] = device[4 + 20 * row + word];
        }
    }
    b
}

#[test]
fn a_file_goes_through_a_small_buffer_part_by_part() {
    let input = words((0..256).map(|word| word * word));
    let program = Program::new(
        r#"code: { k: copies.ptx }
buffers:
  a: { type: u32, elements: 64 }
  c: { type: u32, elements: 64 }
kernels:
  - repeat: 4
    index: i
    do:
      - read: { file: in.u32, into: a, offset: "${256 * i}" }
      - copy_in: a
      - { launch: k.cp, grid: 1, block: 16, arguments: [a, c, 16] }
      - copy_out: c
      - synchronize: all
      - write: { from: c, file: out.u32, offset: "${768 - 256 * i}", elements: 64 }
copy_out: [c]
expect: [ { buffer: c, file: last.u32 } ]
"#,
        &[("in.u32", &input), ("last.u32", &input[768..])],
    );
    program.assert_right();
    program.assert_counted();
    let backwards: Vec<u8> = input.chunks(256).rev().flatten().copied().collect();
    let results = program.functional().results;
    assert_eq!((&*results[0].0, &results[0].1[..]), ("out.u32", &backwards[..]));
}

#[test]
fn time_of_the_host_passes() {
    let end = |time: &str| {
        let lines = format!(
            "buffers: {{ a: {{ type: u8, elements: 8192 }} }}
kernels:
  - memset: a
  - synchronize: all
  - compute: {{ {time} }}
copy_out: [a]
"
        );
        run_request(&Program::new(&lines, &[]).on("tiny", &[])).report.outcome.time()
    };
    let none = end("time: 0 ms");
    assert_eq!(end("time: 250 us") - none, SimTime::from_ns(250_000));
    // Each page of what is computed is written to memory when it is ready.
    let filled = |pace: &str| end(&format!("into: a, generate: {{ ramp: {{ step: 0 }} }}, {pace}"));
    assert_eq!(filled("time: 250 us"), filled("rate: 32768 KB/s"), "8 KiB at that rate");
    assert_eq!(filled("time: 250 us") - filled("time: 50 us"), SimTime::from_ns(200_000));
}

/// A copy out on a stream, and then a step of the host.
fn unsynchronized(step: &str) -> Vec<String> {
    let lines = format!(
        "buffers: {{ a: {{ type: u32, elements: 64 }}, b: {{ type: u32, elements: 64 }} }}
prelude: [ {{ compute: {{ into: b, generate: {{ ramp: {{}} }}, time: 1 us }} }} ]
kernels:
  - {{ memset: a, stream: s }}
  - {{ copy_out: a, stream: s }}
  - {{ copy_in: b, stream: s }}
  - {step}
"
    );
    Program::new(&lines, &[("in.u32", &words(0..64))]).races()
}

#[test]
fn the_host_races_with_copies_that_it_has_not_waited_for() {
    let race = "race between host and device: the copy out of `a` on stream `s` writes what the writing of `a` reads, in no \
                order: byte 0x0 of `a` on the host and 255 more (once)";
    assert_eq!(unsynchronized("write: { from: a, file: a.u32 }"), [race]);
    let read = unsynchronized("read: { file: in.u32, into: b, element: 8, elements: 8, offset: 4 }");
    assert_eq!(read.len(), 1, "{read:?}");
    assert!(
        read[0].contains("the copy in of `b` on stream `s` reads what the reading of `b` writes"),
        "{read:?}"
    );
    assert!(read[0].contains("byte 0x20 of `b` on the host and 31 more"), "{read:?}");
    let computed = unsynchronized("compute: { into: a, generate: { ramp: {} }, time: 1 us }");
    assert!(computed[0].contains("writes what the computation of `a` writes"), "{computed:?}");
    // Work that touches no buffer has no race; neither has a read of data that a copy reads, or whose copy has been waited for.
    assert_eq!(unsynchronized("compute: { time: 1 us }"), [""; 0]);
    assert_eq!(unsynchronized("write: { from: b, file: b.u32 }"), [""; 0]);
    assert_eq!(unsynchronized("synchronize: s\n  - write: { from: a, file: a.u32 }"), [""; 0]);
}

#[test]
fn fills_and_copies_race_with_other_streams() {
    let lines = "buffers: { a: { type: u32, elements: 64 }, b: { type: u32, elements: 64 } }
kernels:
  - { memset: { buffer: a, elements: 8 }, stream: s }
  - { copy: { from: a, to: b, element: 4, to_element: 0, elements: 8 }, stream: t }
copy_out: [b]
";
    let races = Program::new(lines, &[]).races();
    assert_eq!(races.len(), 1, "{races:?}");
    let told = "race between streams: the fill of `a` on stream `s` writes what the copy of `a` to `b` on stream `t` reads, in no \
                order: byte 0x10 (";
    assert!(races[0].starts_with(told) && races[0].contains("and 15 more"), "{races:?}");
}

/// Loads pointers, and stores the sums of the words that they point to.
const POINTERS: &str = ".version 7.8
.target sm_35
.address_size 64
.visible .entry list(.param .u64 pointers, .param .u64 sums)
{
.reg .b32 %r<4>;
.reg .b64 %rd<8>;
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd1, %r1, 8;
ld.param.u64 %rd2, [pointers];
add.u64 %rd2, %rd2, %rd1;
ld.u64 %rd3, [%rd2];
ld.u32 %r2, [%rd3];
ld.u32 %r3, [%rd3+4];
add.u32 %r2, %r2, %r3;
ld.param.u64 %rd4, [sums];
mul.wide.u32 %rd5, %r1, 4;
add.u64 %rd4, %rd4, %rd5;
st.u32 [%rd4], %r2;
ret;
}
.visible .entry fields(.param .align 8 .b8 pair[24], .param .u64 sums)
{
.reg .b32 %r<5>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [pair];
ld.param.u32 %r1, [pair+8];
ld.param.u64 %rd2, [pair+16];
ld.u32 %r2, [%rd1];
ld.u32 %r3, [%rd2];
add.u32 %r2, %r2, %r3;
add.u32 %r2, %r2, %r1;
ld.param.u64 %rd3, [sums];
st.u32 [%rd3+8], %r2;
ret;
}
";

#[test]
fn pointers_in_memory_and_in_structs_are_right_where_addresses_are_fixed() {
    // The second buffer lies where a run without time would have its window of shared memory.
    let list: Vec<u8> = [0x2_0000_u64, 0x100_0004].iter().flat_map(|address| address.to_le_bytes()).collect();
    let lines = |pair: &str| {
        format!(
            r#"code: {{ k: pointers.ptx }}
buffers:
  free: {{ type: u32, elements: 3 }}
  one: {{ type: u32, elements: 4, address: 0x20000 }}
  two: {{ type: u32, elements: 4, address: 0x1000000 }}
  list: {{ type: u64, elements: 2 }}
  sums: {{ type: u32, elements: 3 }}
prelude:
  - read: {{ file: one.u32, into: one }}
  - read: {{ file: two.u32, into: two }}
  - read: {{ file: list.u64, into: list }}
copy_in: [one, two, list]
kernels:
  - {{ launch: k.list, grid: 1, block: 2, arguments: [list, sums] }}
  - {{ launch: k.fields, grid: 1, block: 1, arguments: [{pair}, sums] }}
copy_out: [sums]
expect: [ {{ buffer: sums, file: sums.u32 }} ]
"#
        )
    };
    let files: [(&str, &[u8]); 5] = [
        ("pointers.ptx", POINTERS.as_bytes()),
        ("one.u32", &words([1, 2, 3, 4])),
        ("two.u32", &words([10, 20, 30, 40])),
        ("list.u64", &list),
        ("sums.u32", &words([1 + 2, 20 + 30, 2 + 40 + 100])),
    ];
    let bytes = "{ bytes: \"040002000000000064000000000000000c00000100000000\" }";
    let named = "[{ buffer: one, element: 1 }, 100, { buffer: two, element: 3 }]";
    for pair in [bytes, named] {
        Program::new(&lines(pair), &files).assert_right();
    }
    // Names in messages are right without fixed addresses as well.
    let anywhere = lines(named).replace(", address: 0x20000", "").replace(", address: 0x1000000", "");
    let anywhere = anywhere.replace("arguments: [list, sums]", "arguments: [list, sums], device: 0").replacen(
        "  - { launch: k.list, grid: 1, block: 2, arguments: [list, sums], device: 0 }\n",
        "  - { memset: { buffer: sums, value: 50, element: 1, elements: 1 } }\n  - { memset: { buffer: sums, value: 3, elements: 1 } }\n",
        1,
    );
    Program::new(&anywhere, &files).assert_right();
}

/// `show` stores a constant and a variable at a place of its own; `bump` adds one to the variable.
const VARIABLES: &str = ".version 7.8
.target sm_35
.address_size 64
.const .align 4 .u32 other = 1;
.const .align 4 .u32 factors[4] = { 5, 6, 7, 8 };
.global .align 4 .u32 counters[4] = { 10, 20, 30, 40 };
.visible .entry show(.param .u64 result, .param .u32 place)
{
.reg .b32 %r<4>;
.reg .b64 %rd<5>;
ld.const.u32 %r1, [factors+8];
ld.global.u32 %r2, [counters+4];
ld.param.u64 %rd1, [result];
ld.param.u32 %r3, [place];
mul.wide.u32 %rd2, %r3, 8;
add.u64 %rd1, %rd1, %rd2;
st.global.u32 [%rd1], %r1;
st.global.u32 [%rd1+4], %r2;
ret;
}
.visible .entry bump()
{
.reg .b32 %r<3>;
ld.global.u32 %r1, [counters+4];
add.u32 %r1, %r1, 1;
st.global.u32 [counters+4], %r1;
ret;
}
";

#[test]
fn variables_of_modules_are_buffers() {
    let lines = |code: &str| {
        format!(
            r#"code: {{ k: {code} }}
buffers:
  factors: {{ variable: k.factors }}
  counters: {{ variable: k.counters }}
  result: {{ type: u32, elements: 8 }}
prelude:
  - compute: {{ into: factors, generate: {{ constant: {{ value: 100 }} }}, time: 1 us }}
kernels:
  - {{ launch: k.show, grid: 2, block: 1, arguments: [result, 0] }}
  - copy_in: factors
  - {{ launch: k.bump, grid: 1, block: 1 }}
  - {{ launch: k.show, grid: 2, block: 1, arguments: [result, 1] }}
  - copy_out: counters
  - memset: {{ buffer: factors, value: 9, element: 2, elements: 1 }}
  - copy: {{ from: factors, to: counters, element: 0, to_element: 1, elements: 1 }}
  - {{ launch: k.show, grid: 2, block: 1, arguments: [result, 2] }}
  - copy: {{ from: counters, to: factors, element: 3, to_element: 2, elements: 1 }}
  - {{ launch: k.show, grid: 2, block: 1, arguments: [result, 3] }}
copy_out: [result]
expect:
  - {{ buffer: result, file: result.u32 }}
  - {{ buffer: counters, file: counters.u32 }}
"#
        )
    };
    let files: [(&str, &[u8]); 3] = [
        ("variables.ptx", VARIABLES.as_bytes()),
        ("result.u32", &words([7, 20, 100, 21, 9, 100, 40, 100])),
        ("counters.u32", &words([10, 21, 30, 40])),
    ];
    Program::new(&lines("variables.ptx"), &files).assert_right();
    let fixed = "{ file: variables.ptx, globals: 0x40000, constants: 0x20000 }";
    Program::new(&lines(fixed), &files).assert_right();
    Program::new(&lines("{ file: variables.ptx, constants: 0x20000 }"), &files).assert_right();
}

#[test]
fn variables_are_loaded_before_the_run() {
    let lines = r#"code: { k: variables.ptx }
buffers:
  factors: { variable: k.factors }
  counters: { variable: k.counters }
  result: { type: u32, elements: 2 }
preload:
  - load: { file: factors.u32, into: factors }
  - memset: { buffer: counters, value: 50 }
  - { launch: k.bump, grid: 1, block: 1 }
kernels:
  - { launch: k.show, grid: 1, block: 1, arguments: [result, 0] }
copy_out: [result]
expect: [ { buffer: result, file: result.u32 } ]
"#;
    let files: [(&str, &[u8]); 3] = [
        ("variables.ptx", VARIABLES.as_bytes()),
        ("factors.u32", &words([1, 2, 3, 4])),
        ("result.u32", &words([3, 51])),
    ];
    Program::new(lines, &files).assert_right();
}

#[test]
fn addresses_beyond_a_device_are_refused() {
    let lines = "buffers: { a: { type: u8, elements: 8, address: 0x200000000000 } }\ncopy_in: [a]\n";
    let program = Program::new(lines, &[]);
    let text = refusal(&program.on("tiny", &[]));
    assert!(text.contains("the buffers need") && text.contains("on device 0, which has room for"), "{text}");
    let overlapping = lines.replace("} }", "}, b: { type: u8, elements: 8, address: 0x200000000000 } }");
    let text = refusal(&Program::new(&overlapping, &[]).on("tiny", &[]));
    assert!(text.contains("`b` and `a` lie at the same addresses"), "{text}");
}

#[test]
fn applications_together_move_rows_and_have_hosts_of_their_own() {
    let part = |steps: &str| {
        format!(
            "counterpoint: 1\napplication: part\nbuffers: {{ a: {{ type: u32, elements: 8, address: 0x10000 }}, b: {{ type: u32, elements: 8 }} }}\nprelude: [ \
             {{ read: {{ file: in.u32, into: a }} }} ]\ncopy_in: [a]\nkernels:\n{steps}copy_out: [b]\nexpect: [ {{ buffer: b, file: out.u32 }} ]\n"
        )
    };
    let moves =
        "  - memset: { buffer: b, value: 3 }\n  - copy: { from: a, to: b, elements: 2, rows: 2, pitch: 4 }\n";
    let both = "co_run: { x: { application: part.yaml }, y: { application: part.yaml } }\n";
    let files = |text: &str, output: [u32; 8]| {
        let (input, output) = (words(0..8), words(output));
        let files = [
            ("part.yaml", text.as_bytes()),
            ("in.u32", &*input),
            ("out.u32", &*output),
            ("more.u32", &*input),
        ];
        Program::new(both, &files)
    };
    let program = files(&part(moves), [0, 1, 3, 3, 4, 5, 3, 3]);
    assert_verified(&run_request(&program.on("tiny", &[STREAMS])));
    program.assert_right();
    // Each application reads, computes, writes and frees its own data, and a second round would access freed memory.
    let host = "  - synchronize: all
  - read: { file: more.u32, into: a, element: 1, elements: 2 }
  - compute: { time: 5 us }
  - copy_in: { buffer: a, elements: 4 }
  - synchronize: all
  - copy_out: b
  - synchronize: all
  - write: { from: b, file: seen.u32 }
  - copy: { from: a, to: b, elements: 3 }
  - free: a
";
    let program = files(&part(&format!("{moves}{host}")), [0, 0, 1, 3, 4, 5, 3, 3]);
    let run = run_request(&program.on("tiny", &[STREAMS]));
    assert_verified(&run);
    for name in ["x/seen.u32", "y/seen.u32"] {
        let written = run.results.iter().find(|(found, _)| found == name).map(|(_, bytes)| bytes.to_vec());
        assert_eq!(written, Some(words([0, 1, 3, 3, 4, 5, 3, 3])), "{name}");
    }
    program.assert_right();
    assert_eq!(run.launches.len(), 0, "copies alone");
}
