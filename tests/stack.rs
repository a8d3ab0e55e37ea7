//! The stack of each thread (`stack:` of an application): recursion as deep as it allows, with and without time.

use std::path::Path;

use counterpoint_simulation::run::RunRequest;

use crate::command::call;
use crate::support::{refusal, request, run_request};

/// Each thread adds up the numbers below its own, which is above a depth, and keeps 64 bytes of local memory for every call.
const SUMS: &str = r"
.version 7.0
.target sm_50
.address_size 64
.func (.param .b32 sum) down(.param .b32 number)
{
	.local .align 8 .b8 kept[64];
	.reg .b32 %r<5>;
	.reg .pred %p;
	ld.param.u32 %r1, [number];
	mov.u32 %r2, 0;
	setp.eq.u32 %p, %r1, 0;
	@%p bra END;
	st.local.u32 [kept+60], %r1;
	sub.u32 %r3, %r1, 1;
	{
		.param .b32 n; .param .b32 s;
		st.param.b32 [n], %r3;
		call.uni (s), down, (n);
		ld.param.b32 %r2, [s];
	}
	ld.local.u32 %r4, [kept+60];
	add.u32 %r2, %r2, %r4;
END:
	st.param.b32 [sum], %r2;
	ret;
}
.visible .entry k(.param .u64 sums, .param .u32 depth)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [sums];
	ld.param.u32 %r1, [depth];
	mov.u32 %r2, %tid.x;
	add.u32 %r3, %r1, %r2;
	{
		.param .b32 n; .param .b32 s;
		st.param.b32 [n], %r3;
		call.uni (s), down, (n);
		ld.param.b32 %r4, [s];
	}
	mul.wide.u32 %rd2, %r2, 4;
	add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r4;
	ret;
}
";

/// A device that has room for 64 KiB a thread.
const MACHINE: [&str; 1] = ["gpu.memory=256 MiB"];
const THREADS: usize = 40;

/// A block that goes so deep, with these keys in its application.
fn sums(folder: &Path, name: &str, keys: &str, depth: u32) -> String {
    std::fs::write(folder.join("k.ptx"), SUMS).unwrap();
    let path = folder.join(format!("{name}.yaml"));
    let text = format!(
        "counterpoint: 1\napplication: {name}\n{keys}code: {{ k: k.ptx }}\nbuffers: {{ sums: {{ type: u32, elements: {THREADS} }} }}\n\
         kernels: [ {{ launch: k.k, grid: 1, block: {THREADS}, arguments: [sums, {depth}] }} ]\ncopy_out: [sums]\n\
         postlude: [ {{ write: {{ from: sums, file: sums.u32 }} }} ]\n"
    );
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn request_of(application: &str, functional: bool) -> RunRequest {
    RunRequest { functional, ..request("tiny", application, &MACHINE) }
}

fn expected(depth: u32) -> Vec<u8> {
    (depth..depth + THREADS as u32).flat_map(|n| (n * (n + 1) / 2).to_le_bytes()).collect()
}

#[test]
fn recursion_is_as_deep_as_the_stack_allows() {
    let folder = tempfile::tempdir().unwrap();
    let large = sums(folder.path(), "large", "stack: 64 KiB\n", 200);
    let usual = sums(folder.path(), "usual", "", 200);
    let small = sums(folder.path(), "small", "stack: 1 KiB\n", 200);
    for functional in [true, false] {
        let summary = run_request(&request_of(&large, functional));
        assert!(summary.is_good(), "{}", summary.ending());
        assert_eq!(summary.results[0].1, expected(200), "functional: {functional}");
        for (application, bytes, calls) in [(&usual, 8192, 129), (&small, 1024, 17)] {
            let ending = run_request(&request_of(application, functional)).ending();
            let words = format!("the stack of {bytes} bytes is exhausted, {calls} calls deep");
            assert!(ending.contains(&words), "functional: {functional}: {ending}");
        }
    }
}

#[test]
fn the_command_names_the_key_where_a_stack_is_exhausted() {
    let folder = tempfile::tempdir().unwrap();
    let path = sums(folder.path(), "usual", "", 200);
    let out = folder.path().join("out").display().to_string();
    let machine = request("tiny", "", &[]).machine;
    for mode in [&[][..], &["--functional"]] {
        let set = format!("--set={}", MACHINE[0]);
        let ran = call(&[&["run", &machine, &path, "--out", &out, &set][..], mode].concat());
        assert_eq!(ran.status, 2, "{}", ran.err);
        let help = "\n  help: give the application a larger `stack:`, such as `stack: 64 KiB`\n";
        assert!(
            ran.err.contains("the stack of 8192 bytes is exhausted") && ran.err.contains(help),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_small_stack_takes_less_of_a_device() {
    let folder = tempfile::tempdir().unwrap();
    // 3072 threads have room for 64 bytes a call, and not for 8 KiB, in 16 MiB.
    let small = sums(folder.path(), "small", "stack: 4 KiB\n", 20);
    let summary = run_request(&request("tiny", &small, &[]));
    assert!(summary.is_good(), "{}", summary.ending());
    assert_eq!(summary.results[0].1, expected(20));
    let usual = sums(folder.path(), "large", "stack: 8 KiB\n", 20);
    let refused = refusal(&request("tiny", &usual, &[]));
    let words = "8192 of them for a stack (`stack:`), for the 3072 threads that the device can hold";
    assert!(refused.contains("local memory need") && refused.contains(words), "{refused}");
    // Without time, the stack need not fit on a device.
    let functional = RunRequest { functional: true, ..request("tiny", &usual, &[]) };
    assert_eq!(run_request(&functional).results[0].1, expected(20));
}

#[test]
fn a_stack_that_nobody_asks_for_is_as_large_as_the_device_has_room_for() {
    let folder = tempfile::tempdir().unwrap();
    let usual = sums(folder.path(), "usual", "", 20);
    let summary = run_request(&request("tiny", &usual, &[]));
    assert_eq!(summary.results[0].1, expected(20), "{}", summary.ending());
    let deep = sums(folder.path(), "deep", "", 70);
    let ending = run_request(&request("tiny", &deep, &[])).ending();
    assert!(ending.contains("the stack of 4096 bytes is exhausted"), "{ending}");
    assert_eq!(run_request(&request_of(&deep, false)).results[0].1, expected(70), "8 KiB fit");
}

#[test]
fn the_largest_stack_of_applications_together_is_that_of_all() {
    let folder = tempfile::tempdir().unwrap();
    sums(folder.path(), "deep", "stack: 32 KiB\n", 300);
    sums(folder.path(), "flat", "stack: 1 KiB\n", 5);
    let path = folder.path().join("both.yaml");
    let parts = "deep: { application: deep.yaml }\n  flat: { application: flat.yaml }";
    std::fs::write(&path, format!("counterpoint: 1\napplication: both\nco_run:\n  {parts}\n")).unwrap();
    let summary = run_request(&request_of(&path.display().to_string(), false));
    assert!(summary.is_good(), "{}", summary.ending());
    let results: Vec<&[u8]> = summary.results.iter().map(|(_, bytes)| &bytes[..]).collect();
    assert_eq!(results, [&expected(300)[..], &expected(5)]);
}

#[test]
fn sizes_that_no_stack_has_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    for (size, words) in [
        ("1 MiB", "expected 16 B to 512 KiB"),
        ("8 B", "expected 16 B to 512 KiB"),
        ("1000 B", "expected a multiple of 16 bytes"),
        ("deep", "`deep`"),
    ] {
        let path = sums(folder.path(), "wrong", &format!("stack: {size}\n"), 1);
        let refused = refusal(&request_of(&path, true));
        assert!(refused.contains("wrong.yaml:3:8: error: ") && refused.contains(words), "{refused}");
    }
}
