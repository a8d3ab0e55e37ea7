//! Asynchronous copies to shared memory and barriers in it, without time: values, the waits that are needed, and races.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{Finding, FlatMemory, Grid, Options};

const WORDS: u32 = 256;

fn kernel(body: &str) -> Kernel {
    let source = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y)\n{{\n.reg .pred %p<4>; .reg .b32 %r<20>;\n\
         .reg .b64 %in, %out, %q<12>; .shared .align 16 .b8 tile[2048]; .shared .align 8 .b64 bar;\n\
         ld.param.u64 %in, [x]; ld.param.u64 %out, [y]; mov.u32 %r0, %tid.x; mul.wide.u32 %q0, %r0, 16; mov.u32 %r1, tile;\n\
         mad.lo.u32 %r2, %r0, 16, %r1; add.u64 %q1, %in, %q0; mul.wide.u32 %q2, %r0, 4; add.u64 %q2, %q2, %out;\n{body}\nret;\n}}\n"
    );
    Kernel::compile(&source, None).unwrap_or_else(|errors| panic!("{errors:#?}\n{source}"))
}

/// The words that a block stores, when the input's are 1000, 1001 and so on.
fn words(body: &str, threads: u32, count: usize) -> (Vec<u32>, Vec<Finding>) {
    let kernel = kernel(body);
    let mut memory = FlatMemory::new(0);
    let from = memory.push(&(1000..1000 + WORDS).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let to = memory.push(&vec![0; 4 * count]);
    let parameters: Vec<u8> = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
    let options = Options { racecheck: true, ..Options::default() };
    let variables = memory.load(kernel.name(), &kernel);
    let mut launch =
        Grid::new(&kernel, [1; 3], [threads, 1, 1], &parameters, variables, &options).expect("it can run");
    let ended = launch.run_cta([0; 3], &mut memory).unwrap_or_else(|error| panic!("{error}"));
    assert!(ended.is_continue());
    let findings = launch.findings().to_vec();
    let bytes = &memory.bytes[(to - memory.base) as usize..][..4 * count];
    let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")));
    (words.collect(), findings)
}

#[test]
fn copies_land_before_their_wait_ends() {
    // Each thread copies 16 bytes and adds up the four words of its neighbour.
    let read = "xor.b32 %r3, %r2, 16; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3]; add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6;\n\
        add.u32 %r4, %r4, %r7; st.global.u32 [%q2], %r4;";
    let want: Vec<u32> = (0..64u32).map(|t| (0..4).map(|word| 1000 + 4 * (t ^ 1) + word).sum()).collect();
    for copy in [
        "cp.async.ca.shared.global [%r2], [%q1], 16;",
        "cp.async.cg.shared::cta.global.L2::128B [%r2], [%q1], 16, 16;",
        "cp.async.ca.shared.global [%r2], [%q1], 8; cp.async.ca.shared.global [%r2+8], [%q1+8], 4; cp.async.ca.shared.global [%r2+12], [%q1+12], 4;",
    ] {
        for wait in [
            "cp.async.commit_group; cp.async.wait_group 0;",
            "cp.async.wait_all;",
            "cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1;",
        ] {
            let (found, findings) = words(&format!("{copy}\n{wait}\nbar.sync 0;\n{read}"), 64, 64);
            assert_eq!(found, want, "{copy} {wait}");
            assert!(findings.is_empty(), "{findings:?}");
        }
    }
    // Without a wait, or with one for older groups only, there is what was before.
    for wait in ["", "cp.async.commit_group; cp.async.wait_group 1;"] {
        let body = format!(
            "st.shared.v4.u32 [%r2], {{7, 7, 7, 7}};\ncp.async.ca.shared.global [%r2], [%q1], 16;\n{wait}\nbar.sync 0;\n{read}"
        );
        assert_eq!(words(&body, 64, 64).0, [28; 64]);
    }
}

#[test]
fn groups_land_in_their_order() {
    let body = "st.shared.v2.u32 [%r2], {1, 1}; cp.async.ca.shared.global [%r2], [%q1], 4; cp.async.commit_group;\n\
        cp.async.ca.shared.global [%r2+4], [%q1+4], 4; cp.async.commit_group; cp.async.wait_group 1;\n\
        ld.shared.u32 %r4, [%r2]; ld.shared.u32 %r5, [%r2+4]; cp.async.wait_group 0; ld.shared.u32 %r6, [%r2+4];\n\
        sub.u32 %r4, %r4, 1000; mad.lo.u32 %r4, %r5, 1000, %r4; mad.lo.u32 %r4, %r6, 10000, %r4; st.global.u32 [%q2], %r4;";
    let want: Vec<u32> = (0..32u32).map(|t| 4 * t + 1000 + (1001 + 4 * t) * 10000).collect();
    assert_eq!(words(body, 32, 32).0, want);
}

#[test]
fn a_source_may_be_ignored() {
    let read = "cp.async.wait_all; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2]; add.u32 %r4, %r4, %r7; st.global.u32 [%q2], %r4;";
    // Odd threads have an address that nothing may read.
    let odd = "st.shared.v4.u32 [%r2], {9, 9, 9, 9}; and.b32 %r3, %r0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 mov.u64 %q1, 16;";
    let want: Vec<u32> = (0..32u32).map(|t| if t % 2 == 1 { 0 } else { 2003 + 8 * t }).collect();
    for copy in [
        "selp.u32 %r8, 0, 16, %p1; cp.async.cg.shared.global [%r2], [%q1], 16, %r8;",
        "cp.async.cg.shared.global [%r2], [%q1], 16, %p1;",
    ] {
        assert_eq!(words(&format!("{odd}\n{copy}\n{read}"), 32, 32).0, want, "{copy}");
    }
}

/// The first bytes of 16 that are copied, and zeros.
fn cut(thread: u32, size: usize) -> [u32; 4] {
    let mut bytes: Vec<u8> = (0..4).flat_map(|word| (1000 + 4 * thread + word).to_le_bytes()).collect();
    bytes[size..].fill(0);
    std::array::from_fn(|word| u32::from_le_bytes(bytes[4 * word..][..4].try_into().expect("4 bytes")))
}

#[test]
fn a_part_of_the_bytes_may_be_read_and_the_rest_is_zero() {
    let read = "cp.async.wait_all; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2]; add.u64 %q1, %out, %q0; st.global.v4.u32 [%q1], {%r4, %r5, %r6, %r7};";
    let before = "st.shared.v4.u32 [%r2], {9, 9, 9, 9};";
    let every = |size: &dyn Fn(u32) -> usize| (0..32).flat_map(|t| cut(t, size(t))).collect::<Vec<u32>>();
    for size in [0, 1, 4, 7, 12, 15, 16] {
        let (found, findings) =
            words(&format!("{before} cp.async.ca.shared.global [%r2], [%q1], 16, {size};\n{read}"), 32, 128);
        assert_eq!(found, every(&|_| size), "{size}");
        assert!(findings.is_empty(), "{findings:?}");
    }
    // Every thread another number, and a copy of 8 bytes of which 3 are read behind it.
    let sizes = "and.b32 %r8, %r0, 15; add.u32 %r8, %r8, 1; cp.async.cg.shared.global [%r2], [%q1], 16, %r8;";
    let (found, _) = words(&format!("{before} {sizes}\n{read}"), 32, 128);
    assert_eq!(found, every(&|thread| thread as usize % 16 + 1));
    let small = format!("{before} cp.async.ca.shared.global [%r2+8], [%q1+8], 8, 3;\n{read}");
    let want: Vec<u32> = (0..32).flat_map(|t| [9, 9, (1002 + 4 * t) & 0xff_ffff, 0]).collect();
    assert_eq!(words(&small, 32, 128).0, want);
}

/// One thread, with an input of some bytes.
fn executed(body: &str, bytes: usize) -> Result<(), String> {
    let kernel = kernel(body);
    let mut memory = FlatMemory::new(0);
    let to = memory.push(&[0; 4]);
    let from = memory.push(&vec![1; bytes]);
    let parameters: Vec<u8> = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
    let (options, variables) = (Options::default(), memory.load(kernel.name(), &kernel));
    let mut launch =
        Grid::new(&kernel, [1; 3], [1; 3], &parameters, variables, &options).expect("it can run");
    launch.run_cta([0; 3], &mut memory).map(|_| ()).map_err(|failure| failure.to_string())
}

#[test]
fn a_copy_reads_no_byte_behind_its_part() {
    // The last copy begins 12 bytes before the end.
    let copy = |size: u32| {
        let copy = format!("cp.async.ca.shared.global [%r2], [%q1+1024], 16, {size};");
        executed(&format!("{copy} cp.async.wait_all; st.global.u32 [%out], 1;"), 1036)
    };
    assert_eq!(copy(12), Ok(()));
    let error = copy(13).unwrap_err();
    assert!(error.contains("reads 1 byte at ") && error.contains("cp.async.ca"), "{error}");
}

#[test]
fn a_copy_cannot_read_more_than_it_writes() {
    let error =
        executed("mov.u32 %r8, 17; cp.async.cg.shared.global [%r2], [%q1], 16, %r8;", 64).unwrap_err();
    assert!(error.contains("a copy of 16 bytes cannot read 17"), "{error}");
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x) { .reg .b64 %a; .shared .align 16 .b8 to[16];
        ld.param.u64 %a, [x]; cp.async.ca.shared.global [to], [%a], 8, 9; ret; }";
    let errors = Kernel::compile(text, None).unwrap_err();
    assert!(format!("{errors:?}").contains("at most the 8 bytes of the copy"), "{errors:?}");
}

#[test]
fn barriers_in_memory_count_arrivals_by_phases() {
    // Two warps hand on a word three times: one writes and arrives, the other waits for the phase and reads.
    let body = "mov.u32 %r10, bar; setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared::cta.b64 [%r10], 32; bar.sync 0;\n\
        shr.u32 %r11, %r0, 5; and.b32 %r12, %r0, 31; mad.lo.u32 %r13, %r12, 4, %r1; mov.u32 %r14, 0; mov.u32 %r15, 0; setp.ne.u32 %p1, %r11, 0;\n\
        @%p1 bra reader;\n\
        writer: mad.lo.u32 %r16, %r14, 128, %r13; add.u32 %r17, %r12, %r14; st.shared.u32 [%r16], %r17;\n\
        mbarrier.arrive.release.cta.shared::cta.b64 %q3, [%r10]; mbarrier.pending_count.b64 %r18, %q3; add.u32 %r15, %r15, %r18;\n\
        add.u32 %r14, %r14, 1; setp.lt.u32 %p2, %r14, 3; bar.sync 1; @%p2 bra writer; bra end;\n\
        reader: and.b32 %r9, %r14, 1;\n\
        again: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p3, [%r10], %r9; @!%p3 bra again;\n\
        mad.lo.u32 %r16, %r14, 128, %r13; ld.shared.u32 %r17, [%r16]; add.u32 %r15, %r15, %r17;\n\
        add.u32 %r14, %r14, 1; setp.lt.u32 %p2, %r14, 3; bar.sync 1; @%p2 bra reader;\n\
        end: st.global.u32 [%q2], %r15;";
    let (found, findings) = words(body, 64, 64);
    // A writer finds 32 minus its lane arrivals missing in each phase; a reader reads its lane, and one and two more.
    let want: Vec<u32> = (0..64u32).map(|t| if t < 32 { 3 * (32 - t) } else { 3 * (t - 32) + 3 }).collect();
    assert_eq!(found, want);
    assert!(findings.is_empty(), "{findings:?}");
    let unordered = body.replace("@!%p3 bra again;", "");
    assert!(!words(&unordered, 64, 64).1.is_empty(), "a test that does not wait orders nothing");
}

#[test]
fn tokens_and_copies_end_phases() {
    let body = "mov.u32 %r10, bar; mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.shared.b64 %q3, [%r10];\n\
        mbarrier.test_wait.shared.b64 %p0, [%r10], %q3; cp.async.ca.shared.global [%r2], [%q1], 4;\n\
        cp.async.mbarrier.arrive.noinc.shared.b64 [%r10]; mbarrier.test_wait.shared.b64 %p1, [%r10], %q3;\n\
        ld.shared.u32 %r4, [%r2]; selp.u32 %r5, 100, 0, %p0; selp.u32 %r6, 10, 0, %p1; sub.u32 %r4, %r4, 999;\n\
        add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; mbarrier.inval.shared.b64 [%r10]; st.global.u32 [%q2], %r4;";
    assert_eq!(words(body, 1, 1).0, [11]);
    // With a count of its own, the arrival behind the copies is one more.
    let own = body
        .replace(".noinc", "")
        .replace("[bar], 2", "[bar], 1")
        .replace("mbarrier.arrive.shared.b64 %q3, [%r10];", "ld.shared.b64 %q3, [bar];");
    assert_eq!(words(&own, 1, 1).0, [1], "the arrival makes up for what it adds");
    let bytes = "mov.u32 %r10, bar; mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 %q3, [%r10], 64;\n\
        mbarrier.test_wait.shared.b64 %p0, [%r10], %q3; mbarrier.complete_tx.shared.b64 [%r10], 64;\n\
        mbarrier.test_wait.shared.b64 %p1, [%r10], %q3; selp.u32 %r5, 100, 0, %p0; selp.u32 %r6, 10, 0, %p1; add.u32 %r4, %r5, %r6; st.global.u32 [%q2], %r4;";
    assert_eq!(words(bytes, 1, 1).0, [10]);
}
