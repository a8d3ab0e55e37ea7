//! Conversion of a record into an application: the whole text for a program that reads files, computes, and writes files.

use std::io::Read;
use std::path::Path;

use counterpoint_cuda_capture::{
    Entry, HostTime, Journal, Module, Region, Way, read, summary, write_application,
};
use flate2::read::GzDecoder;

const PTX: &str = ".version 7.0
.target sm_50
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
	.reg .f32 %f<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	ld.global.f32 %f1, [%rd1];
	ld.global.f32 %f2, [%rd2];
	add.f32 %f3, %f1, %f2;
	st.global.f32 [%rd3], %f3;
	ret;
}
";

const A: u64 = 0x1_0000;
const B: u64 = 0x1_0200;
const C: u64 = 0x1_0400;

fn floats(values: impl Iterator<Item = u32>) -> Vec<u8> {
    values.flat_map(|value| (value as f32).to_le_bytes()).collect()
}

/// The record of a program that reads `a.bin`, whose bytes behind a header go to the device, and `b.txt`, from which it computes
/// other bytes for the device. The program launches a kernel three times, and writes results unchanged and as text.
fn record(folder: &Path) {
    let path = |name: &str| folder.join(name).display().to_string();
    let (a, b, c) = (floats(0..32), floats((0..32).map(|index| index * index)), floats(100..132));
    std::fs::write(path("a.bin"), [b"head".as_slice(), &a].concat()).expect("a file");
    std::fs::write(path("b.txt"), "0 1 4 9").expect("a file");
    std::fs::write(path("c.bin"), &c).expect("a file");
    std::fs::write(path("c.txt"), "100 101 102").expect("a file");
    let mut journal = Journal::create(folder, u64::MAX).expect("a record");
    journal.file("module-1.ptx", PTX.as_bytes()).expect("a file");
    let copy = |journal: &mut Journal, way, address, bytes: &[u8]| {
        let blob = journal.keep(bytes).expect("room").expect("no limit");
        let device = Region::line(address, bytes.len() as u64);
        Entry::Copy { way, device, blob, stream: 0, waits: true, unwritten: None }
    };
    let launch = |round: u64| Entry::Launch {
        module: 0,
        kernel: "add".to_owned(),
        grid: [1; 3],
        block: [32, 1, 1],
        shared: 0,
        parameters: [A, B, C + 8 * round]
            .map(u64::to_le_bytes)
            .concat()
            .into_iter()
            .chain((32 - round as u32).to_le_bytes())
            .collect(),
        stream: 0,
        cooperative: false,
    };
    let mut entries = vec![
        Entry::Program { arguments: vec!["./add".to_owned()] },
        Entry::Read { path: path("a.bin"), from: 0, to: 132 },
        Entry::Work { nanoseconds: 50_000 },
        Entry::Read { path: path("b.txt"), from: 0, to: 7 },
    ];
    entries.extend([A, B, C].map(|address| Entry::Allocate { address, bytes: 128 }));
    entries.push(copy(&mut journal, Way::In, A, &a));
    entries.push(Entry::Work { nanoseconds: 20_000 });
    entries.push(copy(&mut journal, Way::In, B, &b));
    entries.push(Entry::Module(Module {
        number: 0,
        file: "module-1.ptx".to_owned(),
        globals: 0,
        constants: 0,
    }));
    for round in 0..3 {
        entries.extend([Entry::Work { nanoseconds: 100_000 * (round + 1) }, launch(round)]);
    }
    entries.push(copy(&mut journal, Way::Out, C, &c));
    entries.extend([
        // A file that is written anew later holds nothing of this.
        Entry::Wrote { path: path("c.txt"), from: 0, to: 7 },
        Entry::Wrote { path: path("c.bin"), from: 0, to: 128 },
        Entry::Work { nanoseconds: 30_000 },
        Entry::Wrote { path: path("c.txt"), from: 0, to: 11 },
        Entry::End,
    ]);
    for entry in &entries {
        journal.entry(entry).expect("room");
    }
}

#[test]
fn files_work_and_loops_of_a_program_are_in_its_application() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path());
    let recorded = read(folder.path()).expect("a record");
    let found = summary(&recorded);
    assert_eq!((found.launches, found.copied, found.ended), (3, [256, 128], true));
    let out = tempfile::tempdir().expect("a folder");
    let text = write_application(&recorded, "add", out.path(), HostTime::Measured).expect("an application");
    let expected = "counterpoint: 1
application: \"add\"
description: \"Recorded from `./add`.\"
code:
  m1: { file: module-1.ptx }
buffers:
  b1: { type: f32, elements: 32, address: 0x10000 }
  b2: { type: f32, elements: 32, address: 0x10200 }
  b3: { type: f32, elements: 32, address: 0x10400 }
  host: { type: u8, elements: 11 }
prelude:
  - { read: { file: \"input/a.bin\", into: host, elements: 4, offset: 0 } }
  - { read: { file: \"input/b.txt\", into: host, elements: 7, offset: 0 } }
  - { read: { file: \"input/a.bin\", into: b1, offset: 4 } }
  - { compute: { into: b2, file: data.gz, offset: 0, time: 70000 ns } }
copy_in: [b1, b2]
kernels:
  - repeat: 3
    index: i1
    do:
      - { compute: { time: 200000 ns } }
      - { launch: m1.add, grid: 1, block: 32, arguments: [b1, b2, { buffer: b3, element: \"${2 * i1}\" }, \"${32 - i1}\"] }
copy_out: [b3]
postlude:
  - { write: { from: b3, file: \"c.bin\", element: 0, elements: 32, offset: 0 } }
  - { compute: { into: host, elements: 11, file: data.gz, offset: 128, time: 30000 ns } }
  - { write: { from: host, file: \"c.txt\", element: 0, elements: 11, offset: 0 } }
expect:
  - { buffer: b3, generate: { ramp: { start: 100.0, step: 1.0 } } }
";
    assert_eq!(text, expected);
    let held = |name: &str| std::fs::read(out.path().join(name)).expect("a file");
    let mut data = Vec::new();
    GzDecoder::new(&held("data.gz")[..]).read_to_end(&mut data).expect("a packed file");
    assert_eq!(data[128..], *b"100 101 102");
    assert_eq!(held("input/b.txt"), b"0 1 4 9");
}
