//! Forbidden actions of a kernel, and their reports: block, warp, lane, line, and the memory that it missed.

use counterpoint_ptx::functional::{Check, Finding, FlatMemory, Grid, Options, ctas};
use counterpoint_ptx::{Failure, Kernel};

/// A kernel around these lines, for an architecture. `%rd1` and `%rd2` are its two buffers, `%r1` the thread's number, `%rd3`
/// four times that, and `tile` has 512 bytes of shared memory.
fn source(target: u32, body: &str) -> String {
    format!(
        ".version 7.8
.target sm_{target}
.address_size 64
.const .align 4 .b32 table[2] = {{1, 2}};
.visible .entry k(.param .u64 a, .param .u64 b)
{{
.reg .pred %p<4>;
.reg .b32 %r<12>;
.reg .b64 %rd<12>;
.shared .align 16 .b8 tile[512];
.local .align 8 .b8 own[16];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 4;
cvt.u32.u64 %r2, %rd3;
mov.u32 %r9, tile;
add.u32 %r2, %r9, %r2;
{body}
ret;
}}
"
    )
}

/// The number of the line that holds this text and nothing else.
fn line(source: &str, text: &str) -> u32 {
    1 + source.lines().position(|line| line.trim() == text).unwrap_or_else(|| panic!("no line `{text}`"))
        as u32
}

struct Ran {
    end: Result<(), Failure>,
    findings: Vec<Finding>,
    source: String,
    /// Addresses of the buffers: `a` has 128 bytes that are written, `b` has 100 that are not.
    a: u64,
    b: u64,
}

impl Ran {
    /// The message of a block that failed.
    #[track_caller]
    fn failure(&self) -> String {
        format!("{}", self.end.as_ref().expect_err("it fails"))
    }

    /// The beginning of a message: the thread, and the line with its text.
    fn at(&self, warp: u32, lane: u32, text: &str) -> String {
        let line = line(&self.source, text);
        format!("block (1, 0, 0), warp {warp}, lane {lane}: k.ptx:{line}, `{text}`: ")
    }

    /// The findings as sort, lines and count.
    fn summary(&self) -> Vec<(Check, [u32; 2], u64)> {
        self.findings.iter().map(|finding| (finding.check, finding.lines, finding.count)).collect()
    }
}

fn run_with(target: u32, threads: u32, body: &str, change: impl Fn(&mut FlatMemory, u64)) -> Ran {
    let source = source(target, body);
    let kernel = Kernel::compile(&source, None).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let kernel = kernel.from_file("k.ptx");
    let mut memory = FlatMemory::new(0);
    let (a, b) = (memory.allocate("a", 128, 0), memory.allocate("b", 100, 0xa5));
    memory.written(a, 0..128);
    change(&mut memory, a);
    let params: Vec<u8> = [a, b].into_iter().flat_map(u64::to_le_bytes).collect();
    let options = Options { limit: 100_000, racecheck: true, ..Options::default() };
    let grid = [2, 1, 1];
    let variables = memory.load("k", &kernel);
    let mut launch = Grid::new(&kernel, grid, [threads, 1, 1], &params, variables, &options).unwrap();
    let all = ctas(grid).skip(1);
    let end = all.map(|ctaid| launch.run_cta(ctaid, &mut memory)).find_map(Result::err);
    let end = end.map_or(Ok(()), |failure| Err(*failure));
    Ran { end, findings: launch.findings().to_vec(), source, a, b }
}

fn run(threads: u32, body: &str) -> Ran {
    run_with(35, threads, body, |_, _| {})
}

#[test]
fn an_access_outside_names_the_nearest_buffer() {
    let store = "add.u64 %rd4, %rd1, %rd3;\nst.global.u32 [%rd4+4], %r1;";
    let ran = run(32, store);
    let expected = format!(
        "writes 4 bytes at {:#x}, outside of every buffer: right behind the end of `a` (128 bytes)",
        ran.a + 128
    );
    assert_eq!(ran.failure(), ran.at(0, 31, "st.global.u32 [%rd4+4], %r1;") + &expected);

    let ran = run(64, "setp.lt.u32 %p1, %r1, 40;\n@%p1 bra DONE;\nld.global.u8 %r3, [%rd2+-9];\nDONE:");
    let expected = format!(
        "reads 1 byte at {:#x}, outside of every buffer: 9 bytes before the start of `b` (100 bytes)",
        ran.b - 9
    );
    assert_eq!(ran.failure(), ran.at(1, 8, "ld.global.u8 %r3, [%rd2+-9];") + &expected);

    let ran = run(32, "mov.u64 %rd5, 64;\natom.global.add.u32 %r3, [%rd5], 1;");
    assert!(
        ran.failure().contains("changes 4 bytes at 0x40, outside of every buffer: "),
        "{}",
        ran.failure()
    );
    // In the gap, and at the end of an allocation that is no multiple of the access.
    let ran = run(32, "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd2+96];");
    assert!(ran.failure().ends_with("12 bytes of them past the end of `b` (100 bytes)"), "{}", ran.failure());
}

#[test]
fn freed_memory_is_told_by_name_and_launch() {
    let ran = run_with(35, 32, "ld.global.u32 %r3, [%rd1+8];", |memory, a| memory.free(a, 2));
    let expected = format!("reads 4 bytes at {:#x}, in `a`, which was freed after launch 2", ran.a + 8);
    assert_eq!(ran.failure(), ran.at(0, 0, "ld.global.u32 %r3, [%rd1+8];") + &expected);
}

#[test]
fn other_memories_end_too() {
    let cases = [
        (
            "st.shared.u32 [%r2+500], %r1;",
            3,
            "writes 4 bytes at 0x200, outside of the block's shared memory (512 bytes)",
        ),
        (
            "ld.local.u32 %r3, [own+16];",
            0,
            "reads 4 bytes at 0x10, outside of the thread's local memory (16 bytes)",
        ),
        ("ld.const.u32 %r3, [table+8];", 0, "outside of constant memory (8 bytes)"),
        ("ld.global.v2.u32 {%r3, %r4}, [%rd1+4];", 0, "is not a multiple of the 8 bytes accessed"),
        ("st.shared.u16 [tile+1], %r1;", 0, "is not a multiple of the 2 bytes accessed"),
    ];
    for (body, lane, words) in cases {
        let body = if body.contains("u16") {
            format!("{{\n.reg .b16 %h;\n{}\n}}", body.replace("%r1", "%h"))
        } else {
            body.into()
        };
        let ran = run(32, &body);
        let text = body.lines().find(|line| line.contains("ld.") || line.contains("st.")).unwrap();
        assert!(ran.failure().starts_with(&ran.at(0, lane, text)), "{}", ran.failure());
        assert!(ran.failure().contains(words), "{}", ran.failure());
    }
}

#[test]
fn recursion_without_end_exhausts_the_stack() {
    let recursive = ".visible .func (.param .b32 result) down(.param .b32 n)
{
.reg .b32 %r<4>;
.local .align 4 .b8 frame[64];
ld.param.u32 %r1, [n];
st.local.u32 [frame], %r1;
call (result), down, (n);
ret;
}
.visible .entry";
    let body = "{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r1;\ncall (y), down, (x);\n}";
    let source = source(35, body).replace(".visible .entry", recursive);
    let kernel = Kernel::compile(&source, None).unwrap_or_else(|errors| panic!("{errors:?}"));
    let (mut memory, options) = (FlatMemory::new(0), Options::default());
    let variables = memory.load("k", &kernel);
    let mut launch = Grid::new(&kernel, [1; 3], [32, 1, 1], &[0; 16], variables, &options).unwrap();
    let failure = launch.run_cta([0; 3], &mut memory).expect_err("it fails").to_string();
    let place = format!(
        "block (0, 0, 0), warp 0, lane 0: PTX line {}, `call (result), down, (n);`: ",
        line(&source, "call (result), down, (n);")
    );
    assert!(failure.starts_with(&place), "{failure}");
    assert!(failure.contains("the stack of") && failure.contains("is exhausted"), "{failure}");
}

#[test]
fn a_loop_without_end_is_given_up_where_it_is() {
    // It ends, after more instructions than the block may execute.
    let ran = run(
        64,
        "setp.lt.u32 %p1, %r1, 37;\n@%p1 bra DONE;\nAGAIN:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 1000000;\n@%p2 bra AGAIN;\nDONE:",
    );
    let failure = ran.failure();
    let ends = ["add.u32 %r3, %r3, 1;", "setp.lt.u32 %p2, %r3, 1000000;", "@%p2 bra AGAIN;"]
        .map(|text| ran.at(1, 5, text));
    assert!(ends.iter().any(|start| failure.starts_with(start)), "{failure}");
    assert!(failure.contains("more than 100000 warp instructions and has not ended"), "{failure}");
}

#[test]
fn a_loop_that_provably_does_not_end_is_named_in_the_words_of_the_run_with_time() {
    let ran =
        run(64, "setp.lt.u32 %p1, %r1, 37;\n@%p1 bra DONE;\nAGAIN:\nadd.u32 %r3, %r3, 1;\nbra AGAIN;\nDONE:");
    let (failure, line) = (ran.failure(), line(&ran.source, "add.u32 %r3, %r3, 1;"));
    let expected = format!(
        "{}a loop that does not end: lanes 5 to 31 go round it (up to line {}), and all that decides repeats every 2 instructions; the loop reads nothing that could change",
        ran.at(1, 5, "add.u32 %r3, %r3, 1;"),
        line + 1
    );
    assert_eq!(failure, expected);
    let spin = "S: ld.volatile.shared.u32 %r3, [tile];\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra S;\nbar.sync 0;";
    let failure =
        run(64, &format!("setp.lt.u32 %p1, %r1, 32;\n@!%p1 bar.sync 0;\n@!%p1 bra DONE;\n{spin}\nDONE:"))
            .failure();
    assert!(
        failure.contains("waits for the word of shared memory at 0x0 (`tile`)")
            && failure.ends_with("nobody can change any more: warp 1 waits at barrier 0"),
        "{failure}"
    );
}

#[test]
fn a_barrier_that_not_all_reach_names_who_waits_where() {
    let body = "setp.lt.u32 %p1, %r1, 64;\n@%p1 bra FIRST;\nsetp.ge.u32 %p2, %r1, 96;\n@%p2 bra DONE;\nbar.sync 2;\nbra DONE;\nFIRST:\nbar.sync 1;\nDONE:";
    let ran = run(128, body);
    let (one, two) = (line(&ran.source, "bar.sync 1;"), line(&ran.source, "bar.sync 2;"));
    let expected = format!(
        "block (1, 0, 0): no warp can go on: warps 0 and 1 wait at barrier 1, which has 64 of 96 threads (k.ptx:{one}, `bar.sync 1;`); warp 2 waits at barrier 2, which has 32 of 96 threads (k.ptx:{two}, `bar.sync 2;`); warp 3 has ended"
    );
    assert_eq!(ran.failure(), expected);
}

#[test]
fn a_part_of_a_warp_at_a_barrier_is_a_fault_unless_the_others_have_ended() {
    let part = |barrier: &str| {
        format!("setp.lt.u32 %p1, %r1, 16;\n@!%p1 bra DONE;\n{barrier}\nDONE:\nadd.u32 %r3, %r3, 1;")
    };
    for (target, barrier, words) in [
        (35, "bar.sync 0;", "PTX leaves undefined"),
        (70, "bar.sync 0;", "PTX leaves undefined"),
        (35, "barrier.sync 0;", "PTX leaves undefined"),
        (70, "barrier.sync.aligned 0;", "PTX leaves undefined"),
    ] {
        let ran = run_with(target, 32, &part(barrier), |_, _| {});
        let expected = ran.at(0, 0, barrier)
            + "lanes 0x0000ffff arrive at a barrier without lanes 0xffff0000, which have not ended: ";
        assert!(ran.failure().starts_with(&expected) && ran.failure().contains(words), "{}", ran.failure());
    }
    // The others go on to their end, and are not waited for then.
    assert_eq!(run_with(70, 32, &part("barrier.sync 0;"), |_, _| {}).end, Ok(()));
    for leave in ["@!%p1 ret;", "@!%p1 bra DONE;"] {
        let ran = run(64, &format!("setp.lt.u32 %p1, %r1, 40;\n{leave}\nbar.sync 0;\nDONE:"));
        assert_eq!(ran.end, Ok(()), "{leave}");
    }
}

#[test]
fn mistakes_are_found_in_each_space_of_a_generic_access() {
    // Lanes below 8 point to local memory, those from 24 on to global memory, and the others to shared memory.
    let pointers = "mov.u64 %rd4, own;
cvta.local.u64 %rd4, %rd4;
and.b32 %r4, %r1, 31;
mul.wide.u32 %rd6, %r4, 4;
cvt.u64.u32 %rd5, %r9;
add.u64 %rd5, %rd5, %rd6;
cvta.shared.u64 %rd5, %rd5;
setp.lt.u32 %p1, %r4, 8;
selp.b64 %rd4, %rd4, %rd5, %p1;
add.u64 %rd5, %rd1, %rd6;
setp.ge.u32 %p1, %r4, 24;
selp.b64 %rd4, %rd5, %rd4, %p1;";
    let ran = run(32, &format!("{pointers}\nld.u32 %r3, [%rd4];"));
    let place = line(&ran.source, "ld.u32 %r3, [%rd4];");
    assert_eq!(ran.summary(), [(Check::Unwritten, [place; 2], 24)]);
    let ran = run(64, &format!("{pointers}\nst.u32 [%rd4], %r1;"));
    let place = line(&ran.source, "st.u32 [%rd4], %r1;");
    assert_eq!(ran.summary(), [(Check::Race, [place; 2], 24)]);
}

#[test]
fn reads_of_what_nobody_wrote_are_found_once_an_instruction() {
    let body = "add.u64 %rd4, %rd2, %rd3;
setp.lt.u32 %p1, %r1, 16;
@%p1 st.global.u32 [%rd4], %r1;
setp.lt.u32 %p2, %r1, 20;
@%p2 ld.global.u32 %r3, [%rd4];
@%p2 ld.global.u32 %r3, [%rd4];
ld.shared.u32 %r4, [%r2];
st.shared.u32 [%r2], %r1;
ld.shared.u32 %r4, [%r2];
ld.local.u32 %r5, [own+8];
st.local.u32 [own+8], %r5;
ld.local.u32 %r5, [own+8];
ld.global.u32 %r6, [%rd1];";
    let ran = run(32, body);
    assert_eq!(ran.end, Ok(()));
    let first = line(&ran.source, "@%p2 ld.global.u32 %r3, [%rd4];");
    let shared = line(&ran.source, "ld.shared.u32 %r4, [%r2];");
    let local = line(&ran.source, "ld.local.u32 %r5, [own+8];");
    let sort = Check::Unwritten;
    let expected = [(first, 4), (first + 1, 4), (shared, 32), (local, 32)];
    assert_eq!(ran.summary(), expected.map(|(line, count)| (sort, [line; 2], count)));
    let told = format!(
        "reads 4 bytes at {:#x} in `b` (100 bytes), not all of which have ever been written",
        ran.b + 64
    );
    assert_eq!(ran.findings[0].first.to_string(), ran.at(0, 16, "@%p2 ld.global.u32 %r3, [%rd4];") + &told);
    assert!(
        ran.findings[2]
            .first
            .to_string()
            .ends_with("reads 4 bytes at 0x0 in shared memory, not all of which have ever been written")
    );
}

#[test]
fn an_atomic_on_what_nobody_wrote_is_found() {
    let ran = run(32, "red.global.add.u32 [%rd2], 1;\nld.global.u32 %r3, [%rd2];");
    let expected = (Check::Unwritten, [line(&ran.source, "red.global.add.u32 [%rd2], 1;"); 2], 1);
    assert_eq!(ran.summary(), [expected], "the first lane alone found nothing");
}

/// A sum in shared memory over 64 threads, with these lines between the halves.
fn reduction(between: &str) -> String {
    format!(
        "st.shared.u32 [%r2], %r1;
{between}
setp.ge.u32 %p1, %r1, 32;
@%p1 bra DONE;
ld.shared.u32 %r3, [%r2+128];
add.u32 %r3, %r3, %r1;
st.shared.u32 [%r2], %r3;
DONE:"
    )
}

#[test]
fn a_reduction_without_its_barrier_races() {
    let ran = run(64, &reduction(""));
    let (store, load) =
        (line(&ran.source, "st.shared.u32 [%r2], %r1;"), line(&ran.source, "ld.shared.u32 %r3, [%r2+128];"));
    let races: Vec<_> = ran.summary().into_iter().filter(|(check, ..)| *check == Check::Race).collect();
    assert_eq!(races, [(Check::Race, [store, load], 32)]);
    let told = ran.findings.iter().find(|finding| finding.check == Check::Race).unwrap().first.to_string();
    for part in [format!("k.ptx:{store}, `st.shared"), format!("k.ptx:{load}, `ld.shared")] {
        assert!(told.contains(&part), "{part} is not in: {told}");
    }
    for barrier in ["bar.sync 0;", "bar.sync 3, 64;", "bar.red.popc.u32 %r5, 1, %p2;"] {
        assert_eq!(run(64, &reduction(barrier)).summary(), [], "{barrier}");
    }
    // A barrier at which only the other half waits.
    let arrive = "setp.ge.u32 %p3, %r1, 32;\n@%p3 bar.arrive 1, 64;\n@!%p3 bar.sync 1, 64;";
    assert_eq!(run(64, &reduction(arrive)).summary(), []);
}

#[test]
fn a_warp_of_sm_70_needs_a_barrier_of_its_own() {
    let neighbours = |between: &str| {
        format!("st.shared.u32 [%r2], %r1;\n{between}\nxor.b32 %r4, %r2, 4;\nld.shared.u32 %r3, [%r4];")
    };
    for (target, between, count) in
        [(35, "", 0), (70, "", 1), (70, "bar.warp.sync -1;", 0), (70, "bar.sync 0;", 0)]
    {
        let ran = run_with(target, 32, &neighbours(between), |_, _| {});
        assert_eq!(ran.findings.len(), count, "sm_{target} {between}: {:?}", ran.findings);
    }
}

#[test]
fn two_values_for_one_place_in_one_instruction_race() {
    let ran = run(32, "st.shared.u32 [tile], %r1;");
    assert_eq!(ran.summary(), [(Check::Race, [line(&ran.source, "st.shared.u32 [tile], %r1;"); 2], 31)]);
    assert_eq!(run(32, "st.shared.u32 [tile], 5;").summary(), []);
}
