//! One nested program in every interpreter of steps: without time, under `serial` and under `streams`, and beside another program.
//! Its kernels append a digit to a buffer's number, so that the value shows the order of the steps.

use counterpoint_simulation::run::RunRequest;

use crate::support::{assert_verified, request, run_request};

const KERNELS: &str = "
.version 8.0
.target sm_70
.address_size 64
.visible .entry note(.param .u64 place, .param .u64 digit)
{
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [place];
    ld.param.u64 %rd2, [digit];
    ld.global.u64 %rd3, [%rd1];
    shl.b64 %rd3, %rd3, 4;
    or.b64 %rd4, %rd3, %rd2;
    st.global.u64 [%rd1], %rd4;
    ret;
}
";

/// Every kind of step that holds others, and swaps among them.
const NESTED: &str = r#"counterpoint: 1
application: nested
code: { k: note.ptx }
buffers:
  a: { type: u64, elements: 1 }
  b: { type: u64, elements: 1 }
  n: { type: u64, elements: 1 }
kernels:
  - memset: a
  - memset: b
  - repeat: 2
    do:
      - { launch: k.note, grid: 1, block: 1, arguments: [a, 1] }
      - swap: [a, b]
      - repeat: 2
        do:
          - { launch: k.note, grid: 1, block: 1, arguments: [a, 2] }
          - swap: [a, b]
      - memset: n
      - until: { buffer: n, equals: 0x11 }
        at_most: 2
        do:
          - { launch: k.note, grid: 1, block: 1, arguments: [n, 1] }
          - { launch: k.note, grid: 1, block: 1, arguments: [b, 3] }
  - repeat: 0
    do: [ { launch: k.note, grid: 1, block: 1, arguments: [a, 15] } ]
  - copy_out: a
  - pipeline: 2
    index: batch
    do:
      - { launch: k.note, grid: 1, block: 1, arguments: [a, "${4 + batch}"] }
      - { launch: k.note, grid: 1, block: 1, arguments: [a, 6] }
  - { tasks: 0, index: task, launch: k.note, grid: 1, block: 1, arguments: [a, 14] }
  - { tasks: 3, index: task, launch: k.note, grid: 1, block: 1, arguments: [b, "${7 + task}"], copy_out: [b] }
copy_out: [a]
expect:
  - { buffer: a, file: a.u64 }
  - { buffer: b, file: b.u64 }
"#;

const BESIDE: &str = "counterpoint: 1
application: beside
co_run:
  one: { application: nested.yaml }
  two: { application: nested.yaml }
";

#[test]
fn every_end_does_the_same_steps_in_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("note.ptx", KERNELS.as_bytes());
    write("nested.yaml", NESTED.as_bytes());
    write("beside.yaml", BESIDE.as_bytes());
    // The names exchange their meaning three times in a round, so that `b` has the second half of what the first round begins.
    write("a.u64", &0x1_2332_4656_u64.to_le_bytes());
    write("b.u64", &0x2123_3789_u64.to_le_bytes());
    for name in ["nested", "beside"] {
        let file = folder.path().join(name).with_extension("yaml").display().to_string();
        for runtime in ["serial", "streams"] {
            let request = request("tiny", &file, &[&format!("host.cpu.runtime={runtime}")]);
            assert_verified(&run_request(&request));
            assert_verified(&run_request(&RunRequest { functional: true, ..request }));
        }
    }
}
