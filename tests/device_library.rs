//! Functions that kernels call and CUDA's device library has: what they print and allocate is the same with and without time.

use std::path::Path;

use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::command::call;
use crate::support::{refusal, request, run_request};

/// Each thread prints its block and its thread number in the block.
const PRINTS: &str = r"
.version 7.0
.target sm_50
.address_size 64
.extern .func (.param .b32 count) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[20] = {98,108,111,99,107,32,37,117,44,32,37,45,51,100,37,115,10,0};
.global .align 1 .b8 end[2] = {46,0};
.visible .entry k(.param .u64 counts)
{
	.local .align 8 .b8 depot[16];
	.reg .b32 %r<6>;
	.reg .b64 %rd<9>;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %tid.x;
	mov.u64 %rd1, depot;
	cvta.local.u64 %rd2, %rd1;
	mov.u64 %rd3, format;
	cvta.global.u64 %rd4, %rd3;
	mov.u64 %rd5, end;
	cvta.global.u64 %rd6, %rd5;
	st.local.u32 [%rd1], %r1;
	st.local.u32 [%rd1+4], %r2;
	st.local.u64 [%rd1+8], %rd6;
	{
		.param .b64 p; .param .b64 q; .param .b32 r;
		st.param.b64 [p], %rd4;
		st.param.b64 [q], %rd2;
		call.uni (r), vprintf, (p, q);
		ld.param.b32 %r3, [r];
	}
	ld.param.u64 %rd7, [counts];
	mov.u32 %r4, %ntid.x;
	mad.lo.u32 %r5, %r1, %r4, %r2;
	mul.wide.u32 %rd8, %r5, 4;
	add.u64 %rd7, %rd7, %rd8;
	st.global.u32 [%rd7], %r3;
	ret;
}
";

/// `take` allocates a heap block per thread and stores the thread's number in it; `give` reads the number from the heap block of a
/// thread in the other thread block, and frees the heap block.
const BLOCKS: &str = r"
.version 7.0
.target sm_50
.address_size 64
.extern .func (.param .b64 block) malloc(.param .b64 bytes);
.extern .func free(.param .b64 block);
.visible .entry take(.param .u64 pointers)
{
	.reg .pred %p;
	.reg .b32 %r<5>;
	.reg .b64 %rd<5>;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r4, %r1, %r2, %r3;
	{
		.param .b64 n; .param .b64 p;
		st.param.b64 [n], 1000;
		call.uni (p), malloc, (n);
		ld.param.b64 %rd1, [p];
	}
	setp.eq.u64 %p, %rd1, 0;
	@!%p st.u32 [%rd1+996], %r4;
	ld.param.u64 %rd2, [pointers];
	mul.wide.u32 %rd3, %r4, 8;
	add.u64 %rd4, %rd2, %rd3;
	st.global.u64 [%rd4], %rd1;
	ret;
}
.visible .entry give(.param .u64 pointers, .param .u64 numbers)
{
	.reg .b32 %r<9>;
	.reg .b64 %rd<8>;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r4, %r1, %r2, %r3;
	mov.u32 %r5, %nctaid.x;
	mul.lo.u32 %r6, %r5, %r2;
	sub.u32 %r6, %r6, %r4;
	sub.u32 %r6, %r6, 1;
	ld.param.u64 %rd1, [pointers];
	mul.wide.u32 %rd2, %r6, 8;
	add.u64 %rd1, %rd1, %rd2;
	ld.global.u64 %rd3, [%rd1];
	ld.u32 %r7, [%rd3+996];
	{
		.param .b64 p;
		st.param.b64 [p], %rd3;
		call.uni free, (p);
	}
	ld.param.u64 %rd4, [numbers];
	mul.wide.u32 %rd5, %r4, 4;
	add.u64 %rd6, %rd4, %rd5;
	st.global.u32 [%rd6], %r7;
	ret;
}
";

/// Each block writes its word, meets the others, and adds that of the next block to its sum; twice, so that the barrier is used again.
const MEETS: &str = r"
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.visible .entry k(.param .u64 words, .param .u64 sums)
{
	.reg .pred %p, %other;
	.reg .b32 %r<8>, %sum, %round, %none, %error;
	.reg .b64 %handle, %words, %sums, %own, %next;
	ld.param.u64 %words, [words];
	ld.param.u64 %sums, [sums];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %nctaid.x;
	mov.u32 %r3, %tid.x;
	setp.ne.u32 %other, %r3, 0;
	add.u32 %r4, %r1, 1;
	rem.u32 %r4, %r4, %r2;
	mul.wide.u32 %own, %r1, 4;
	mul.wide.u32 %next, %r4, 4;
	add.u64 %sums, %sums, %own;
	add.u64 %own, %words, %own;
	add.u64 %next, %words, %next;
	mov.u32 %none, 0;
	mov.u32 %sum, 0;
	mov.u32 %round, 1;
	call (%handle), cudaCGGetIntrinsicHandle, (%none);
ROUND:
	mad.lo.u32 %r5, %round, 100, %r1;
	@!%other st.global.u32 [%own], %r5;
	call (%error), cudaCGSynchronize, (%handle, %none);
	ld.volatile.global.u32 %r6, [%next];
	add.u32 %sum, %sum, %r6;
	call (%error), cudaCGSynchronize, (%handle, %none);
	add.u32 %round, %round, 1;
	setp.le.u32 %p, %round, 2;
	@%p bra ROUND;
	@!%other st.global.u32 [%sums], %sum;
	ret;
}
";

fn request_for(folder: &Path, code: &str, text: &str, functional: bool) -> RunRequest {
    std::fs::write(folder.join("k.ptx"), code).unwrap();
    let path = folder.join("library.yaml");
    std::fs::write(&path, format!("counterpoint: 1\napplication: library\ncode: {{ k: k.ptx }}\n{text}"))
        .unwrap();
    RunRequest { functional, ..request("tiny", &path.display().to_string(), &["gpu.sms=2"]) }
}

/// Two launches of three blocks, of which the host waits for the first.
fn printing(folder: &Path, keys: &str, functional: bool) -> RunRequest {
    let launch = "{ launch: k.k, grid: 3, block: 40, arguments: [counts] }";
    let text = format!(
        "{keys}buffers: {{ counts: {{ type: u32, elements: 120 }} }}\nkernels: [ {launch}, {{ synchronize: all }}, {launch} ]\n\
         copy_out: [counts]\npostlude: [ {{ write: {{ from: counts, file: counts.u32 }} }} ]\n"
    );
    request_for(folder, PRINTS, &text, functional)
}

fn finished(request: &RunRequest) -> RunSummary {
    let summary = run_request(request);
    assert!(summary.is_good(), "{}", summary.ending());
    summary
}

fn words<const BYTES: usize>(summary: &RunSummary, file: &str) -> Vec<[u8; BYTES]> {
    let (_, bytes) = summary.results.iter().find(|(name, _)| name == file).unwrap();
    bytes.as_chunks().0.to_vec()
}

/// The lines of a launch, in the order of blocks and threads.
fn lines() -> Vec<String> {
    let of_block = |block: u32| (0..40).map(move |thread| format!("block {block}, {thread:<3}."));
    (0..3).flat_map(of_block).collect()
}

#[test]
fn kernels_print_the_same_text_with_and_without_time() {
    let folder = tempfile::tempdir().unwrap();
    let untimed = finished(&printing(folder.path(), "", true));
    let once = lines().join("\n") + "\n";
    assert_eq!(untimed.printed.text, format!("{once}{once}"));

    let out = Some(folder.path().join("out"));
    let timed = finished(&RunRequest { hash: true, out, ..printing(folder.path(), "", false) });
    let printed: Vec<&str> = timed.printed.text.lines().collect();
    for launch in printed.chunks(120) {
        let mut sorted = launch.to_vec();
        sorted.sort_unstable();
        let mut want = lines();
        want.sort_unstable();
        assert_eq!(sorted, want, "each line once a launch");
        // The lanes of a warp reserve their places in one instruction.
        for block in 0..3 {
            let of_warp: Vec<&&str> = launch
                .iter()
                .filter(|line| lines()[40 * block..40 * block + 32].iter().any(|one| one == *line))
                .collect();
            assert_eq!(of_warp, lines()[40 * block..40 * block + 32].iter().collect::<Vec<_>>());
        }
    }
    assert_eq!((printed.len(), timed.printed.lost), (240, 0));
    assert_eq!(words::<4>(&timed, "counts.u32"), [3u32.to_le_bytes(); 120]);
    let file = std::fs::read_to_string(folder.path().join("out/printf.txt")).unwrap();
    assert_eq!(file, timed.printed.text);
    // The host copies the counter and the records, once for each time that it waits.
    let copies =
        timed.report.trace.spans.iter().filter(|span| span.name.contains("D2H printf buffer")).count();
    assert_eq!(copies, 4);

    for threads in [1, 2] {
        let again = finished(&RunRequest { hash: true, threads, ..printing(folder.path(), "", false) });
        assert_eq!(again.report.hash, timed.report.hash, "{threads} threads");
        assert_eq!(again.printed, timed.printed);
    }
}

#[test]
fn blocks_of_a_grid_meet_with_and_without_time() {
    let folder = tempfile::tempdir().unwrap();
    let text = "buffers: { words: { type: u32, elements: 4 }, sums: { type: u32, elements: 4 } }\n\
                kernels: [ { launch: k.k, grid: 4, block: 64, arguments: [words, sums], cooperative: on } ]\n\
                copy_out: [sums]\npostlude: [ { write: { from: sums, file: sums.u32 } } ]\n";
    for functional in [true, false] {
        let summary = finished(&request_for(folder.path(), MEETS, text, functional));
        let sums: Vec<u32> = words(&summary, "sums.u32").into_iter().map(u32::from_le_bytes).collect();
        assert_eq!(sums, [302, 304, 306, 300], "functional: {functional}");
    }
}

#[test]
fn a_ring_that_is_too_small_loses_the_oldest_text_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // A record has 16 bytes, a format of 18 up to 40, arguments of 16, and a text of 2: 64 in all.
    for functional in [true, false] {
        let summary = finished(&printing(folder.path(), "printf: 4 KiB\n", functional));
        assert_eq!(summary.printed.lost, 2 * (120 * 64 - 4096), "functional: {functional}");
    }
    let small = refusal(&printing(folder.path(), "printf: 12 B\n", true));
    assert!(small.contains("library.yaml:4:9: error: expected 1 KiB to 1 GiB"), "{small}");
    let large = refusal(&printing(folder.path(), "heap: 1 TiB\n", true));
    assert!(large.contains("library.yaml:4:7: error: expected 4 KiB to 64 GiB"), "{large}");
}

#[test]
fn the_command_checks_such_kernels_and_writes_their_text_to_the_console() {
    let folder = tempfile::tempdir().unwrap();
    let _ = printing(folder.path(), "", false);
    let path = folder.path().join("library.yaml").display().to_string();
    let out = folder.path().join("out").display().to_string();
    let machine = request("tiny", "", &[]).machine;
    let checked = call(&["check", &machine, &path]);
    assert_eq!(checked.status, 0, "{}", checked.err);
    // An authority over pages knows those of buffers alone.
    #[cfg(feature = "papers")]
    {
        let refused = call(&["check", &machine, &path, "--with", "crcs-fifo"]);
        assert_eq!(refused.status, 2, "{}", refused.out);
        assert!(refused.err.contains("cannot run `k`, whose module prints or allocates"), "{}", refused.err);
    }
    for mode in [&["--quiet"][..], &["--quiet", "--functional"]] {
        let ran = call(&[&["run", &machine, &path, "--out", &out][..], mode].concat());
        assert_eq!((ran.status, ran.out.lines().count()), (0, 240), "{}", ran.err);
        assert_eq!(ran.out, std::fs::read_to_string(folder.path().join("out/printf.txt")).unwrap());
    }
}

#[test]
fn blocks_of_the_heap_pass_between_launches_with_and_without_time() {
    let folder = tempfile::tempdir().unwrap();
    // When all threads have a heap block, the heap has no room for a second block for each.
    let text = "heap: 160 KiB\nbuffers:\n  first: { type: u64, elements: 96 }\n  second: { type: u64, elements: 96 }\n  \
                third: { type: u64, elements: 96 }\n  numbers: { type: u32, elements: 96 }\nkernels:\n  \
                - { launch: k.take, grid: 2, block: 48, arguments: [first] }\n  \
                - { launch: k.take, grid: 2, block: 48, arguments: [second] }\n  \
                - { launch: k.give, grid: 2, block: 48, arguments: [first, numbers] }\n  \
                - { launch: k.take, grid: 2, block: 48, arguments: [third] }\ncopy_out: [first, second, third, numbers]\npostlude:\n  \
                - { write: { from: first, file: first.u64 } }\n  - { write: { from: second, file: second.u64 } }\n  \
                - { write: { from: third, file: third.u64 } }\n  - { write: { from: numbers, file: numbers.u32 } }\n";
    for functional in [true, false] {
        let summary = finished(&request_for(folder.path(), BLOCKS, text, functional));
        let blocks = |file: &str| {
            let mut blocks: Vec<u64> = words(&summary, file).into_iter().map(u64::from_le_bytes).collect();
            blocks.sort_unstable();
            blocks
        };
        let (first, second, third) = (blocks("first.u64"), blocks("second.u64"), blocks("third.u64"));
        assert!(first[0] != 0 && first.windows(2).all(|pair| pair[0] + 1000 <= pair[1]), "{first:x?}");
        assert!(second[0] == 0, "the heap was large enough");
        assert_eq!(first, third, "functional: {functional}");
        let numbers: Vec<u32> = words(&summary, "numbers.u32").into_iter().map(u32::from_le_bytes).collect();
        assert_eq!(numbers, (0..96).rev().collect::<Vec<u32>>(), "functional: {functional}");
    }
}
