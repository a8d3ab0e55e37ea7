//! Variables, constants and code of modules in device memory: with time and without, the same values and the same mistakes.

use std::path::Path;

use counterpoint_simulation::run::{RunRequest, RunSummary};
use tempfile::TempDir;

use crate::support::{assert_verified, refusal, request, root, run_request};

/// A module with a variable that two kernels share, a pointer to it, and a constant. `bump` adds the constant to the
/// variable through the pointer; `show` gives the variable and the constant; `spoil` writes to the constant.
const MODULE: &str = ".version 7.8
.target sm_35
.address_size 64
.const .u32 step = STEP;
.global .u32 counter = 100;
.global .align 8 .u64 pointer = generic(counter);
.visible .entry bump() {
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
mov.u64 %rd1, step;
cvta.const.u64 %rd2, %rd1;
ld.u32 %r1, [%rd2];
ld.global.u64 %rd3, [pointer];
ld.u32 %r2, [%rd3];
add.u32 %r3, %r1, %r2;
st.u32 [%rd3], %r3;
ret;
}
.visible .entry show(.param .u64 result) {
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [result];
ld.global.u32 %r1, [counter];
st.global.u32 [%rd1], %r1;
mov.u64 %rd2, step;
cvta.const.u64 %rd3, %rd2;
ld.u32 %r2, [%rd3];
st.global.u32 [%rd1+4], %r2;
ret;
}
.visible .entry spoil() {
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
mov.u64 %rd1, step;
cvta.const.u64 %rd2, %rd1;
st.u32 [%rd2], %r1;
ret;
}
";

const BUMP: [&str; 2] =
    ["  - { launch: a.bump, grid: 1, block: 1 }\n", "  - { launch: b.bump, grid: 1, block: 1 }\n"];

/// Runs kernels of two modules that differ in their constant, 7 and 9, with time or without; `before` are
/// launches before the run. Their results are compared with `expected`: variable and constant of either.
fn run(
    functional: bool,
    before: &str,
    kernels: &str,
    expected: [u32; 4],
    change: (&str, &str),
) -> RunSummary {
    let (_folder, request) = prepare(functional, before, kernels, expected, change);
    run_request(&request)
}

/// Writes such an application into a folder of its own.
fn prepare(
    functional: bool,
    before: &str,
    kernels: &str,
    expected: [u32; 4],
    change: (&str, &str),
) -> (TempDir, RunRequest) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
    write("a.ptx", MODULE.replace("STEP", "7").replace(change.0, change.1).as_bytes());
    write("b.ptx", MODULE.replace("STEP", "9").as_bytes());
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    write("x.u32", &words(&expected[..2]));
    write("y.u32", &words(&expected[2..]));
    let text = format!(
        "counterpoint: 1
application: modules
code: {{ a: a.ptx, b: b.ptx }}
buffers: {{ x: {{ type: u32, elements: 2 }}, y: {{ type: u32, elements: 2 }} }}
preload:
{before}
kernels:
{kernels}
  - {{ launch: a.show, grid: 1, block: 1, arguments: [x] }}
  - {{ launch: b.show, grid: 1, block: 1, arguments: [y] }}
copy_out: [x, y]
postlude:
  - write: {{ from: x, file: x_out.u32 }}
  - write: {{ from: y, file: y_out.u32 }}
expect: [{{ buffer: x, file: x.u32 }}, {{ buffer: y, file: y.u32 }}]
"
    );
    write("modules.yaml", text.as_bytes());
    let path: &Path = &folder.path().join("modules.yaml");
    let request = RunRequest { functional, ..request("tiny", &path.display().to_string(), &[]) };
    (folder, request)
}

#[test]
fn kernels_of_a_module_share_its_variables_and_modules_share_nothing() {
    let [a, b] = BUMP;
    for functional in [false, true] {
        let summary = run(functional, "", &format!("{a}{a}{b}"), [114, 7, 109, 9], ("", ""));
        assert_verified(&summary);
    }
}

#[test]
fn what_kernels_leave_in_variables_before_the_run_is_there_in_it() {
    let [a, b] = BUMP;
    for functional in [false, true] {
        // The pointer is that of the run, where variables lie elsewhere than before.
        let summary = run(functional, &format!("{a}{a}"), &format!("{a}{b}"), [121, 7, 109, 9], ("", ""));
        assert_verified(&summary);
        assert_eq!(summary.launched.map(|launched| launched.len()), functional.then_some(4));
    }
}

#[test]
fn a_store_to_constants_is_a_mistake_of_the_kernel() {
    let spoil = "  - { launch: b.spoil, grid: 1, block: 1 }";
    for functional in [false, true] {
        let ending = run(functional, "", spoil, [0; 4], ("", "")).ending();
        let parts = [
            "spoil#1, block (0, 0, 0), warp 0, lane 0: ",
            "b.ptx:36, `st.u32 [%rd2], %r1;`: writes 4 bytes at 0x",
            ", in `constants of b`, which kernels can only read",
        ];
        assert!(parts.iter().all(|part| ending.contains(part)), "{ending}");
    }
}

#[test]
fn an_access_beyond_a_variable_names_the_module() {
    let far = ("ld.global.u32 %r1, [counter];", "ld.global.u32 %r1, [counter+16];");
    for functional in [false, true] {
        let ending = run(functional, "", "", [0; 4], far).ending();
        assert!(ending.contains("right behind the end of `variables of a` (16 bytes)"), "{ending}");
    }
}

#[test]
fn variables_count_for_the_memory_of_the_device() {
    let large = (".global .u32 counter", ".global .b8 large[40000000];\n.global .u32 counter");
    for functional in [false, true] {
        let (_folder, request) = prepare(functional, "", "", [0; 4], large);
        let refusal = refusal(&request);
        let parts = [
            "the buffers and the kernels' code, variables and local memory need 40",
            " bytes on device 0, which has room for ",
        ];
        assert!(parts.iter().all(|part| refusal.contains(part)), "{refusal}");
    }
}

#[test]
fn local_memory_counts_where_a_kernel_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let own = root().join("experiments/applications/rank-filter");
    let kernel = std::fs::read_to_string(own.join("kernel.nvrtc-sm_35.ptx")).unwrap();
    assert!(kernel.contains("__local_depot0[36]"));
    std::fs::write(
        folder.path().join("kernel.nvrtc-sm_35.ptx"),
        kernel.replace("__local_depot0[36]", "__local_depot0[1000000]"),
    )
    .unwrap();
    let text = std::fs::read_to_string(own.join("rank-filter.yaml")).unwrap();
    let path = folder.path().join("rank-filter.yaml");
    std::fs::write(&path, text).unwrap();
    let refusal = refusal(&request("tiny", &path.display().to_string(), &["app.size=small"]));
    // The device reserves local memory for all threads that it holds, far more than the launch has.
    assert!(refusal.contains("variables and local memory need "), "{refusal}");
}
