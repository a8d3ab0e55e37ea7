//! The caches of an SM besides the L1's rules for global memory: instructions, constants and kernel parameters, and local
//! memory in the L1.

use std::sync::Arc;

use counterpoint_protocols::launch::{Launch, LaunchId};
use counterpoint_protocols::local::{Capacity, LocalMemory};
use counterpoint_protocols::memory::MemAccess;
use counterpoint_ptx::texture::{AddressMode, Channel, Texture, Textures};

use super::programs::{BUFFER, Memory, kernel, launch, stored};
use super::sm::{
    ENDED, FETCHED, LOOKUP, MEMORY, Run, SAME_BANK, TO_REGISTER, TO_UNIT, block, faults, run_blocks,
};
use super::*;

/// Additional time of a miss: the way to the memory, and its answer.
const MISS: u64 = 1 + MEMORY;
/// Where code, parameters, constants and local memory lie.
const CODE: u64 = 0x4_0000;
const PARAMETERS: u64 = 0x5_0000;
const CONSTANTS: u64 = BUFFER + 0x8000;
const LOCAL: u64 = 0x6_0000;
/// From a word of a thread's local memory to its next one: that of every warp of the one SM lies between.
const STRIDE: u64 = 48 * 128;
const END: &str = "st.global.u32 [%rd1+4096], %r1;\n";

/// One block of a kernel with these instructions, with `END` or another store at its end.
fn launch_of(source: &str, threads: u32) -> Launch {
    let mut launch = Arc::unwrap_or_clone(launch(1, source, 2, threads));
    (launch.code, launch.parameters, launch.variables.constants) = (CODE, PARAMETERS, CONSTANTS);
    let capacity = Capacity { sms: 1, warps: 48 };
    launch.local =
        LocalMemory { base: LOCAL, bytes_per_thread: launch.kernel.local_bytes(launch.stack), capacity };
    launch
}

fn run_kernel(params: &str, source: &str, threads: u32) -> Run {
    let launch = Arc::new(launch_of(source, threads));
    let run = run_blocks(params, Memory::default(), vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    run
}

/// The lines that were asked for, and when.
fn asked(run: &Run) -> Vec<u64> {
    let reads = run.requests.iter().filter(|(_, request)| matches!(request.access, MemAccess::Read(_)));
    reads.map(|(_, request)| request.line).collect()
}

/// Independent instructions.
fn moves(count: usize) -> String {
    (0..count).map(|n| format!("mov.u32 %r{}, 5;\n", 3 + n % 13)).collect()
}

#[test]
fn instructions_come_by_lines_of_sixteen() {
    // Seven instructions of the kernel, the moves, the store and `ret`.
    for (count, lines) in [(1, 1), (20, 2), (40, 4)] {
        let source = kernel(&format!("{}{END}", moves(count)));
        let warm = run_kernel(FETCHED, &source, 32);
        let cold = run_kernel("{ fetch_width: 8, l1c: { perfect: on } }", &source, 32);
        assert_eq!(asked(&cold), (0..lines).map(|line| CODE + 128 * line).collect::<Vec<_>>());
        let stored_in = (7 + count as u64) / 16 + 1;
        assert_eq!(cold.store(ENDED).0 - warm.store(ENDED).0, stored_in * MISS, "{count} moves");
        assert_eq!(cold.report.count("L1I.total_cache_misses"), lines);
    }
}

#[test]
fn warps_share_a_miss_and_loops_find_their_instructions() {
    let looping = "mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 9;\n@%p1 bra L;\n";
    let source = kernel(&format!("{looping}{END}"));
    let run = run_kernel("{ l1c: { perfect: on } }", &source, 128);
    assert_eq!(asked(&run), [CODE]);
    assert_eq!(run.report.count("L1I.total_cache_pending_hits"), 3);
}

#[test]
fn a_loop_that_does_not_fit_misses_every_time() {
    // The loop's three lines take turns in a cache of two.
    let body = format!(
        "mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1;\n{}setp.lt.u32 %p1, %r3, 4;\n@%p1 bra L;\n{END}",
        moves(0)
    );
    let padded = body.replace("setp", &format!("{}setp", "mov.u32 %r4, 5;\n".repeat(32)));
    let params = "{ l1i: { capacity: 256 B, ways: 2 }, l1c: { perfect: on } }";
    let run = run_kernel(params, &kernel(&padded), 32);
    assert_eq!(run.report.count("L1I.total_cache_misses"), 4 * 3);
}

#[test]
fn misses_beyond_the_entries_wait() {
    // Four blocks of one warp, each a launch with its own code; two misses at a time.
    let source = kernel(END);
    let blocks = (0..4).map(|n| {
        let mut launch = launch_of(&source, 32);
        launch.code = CODE + 0x1000 * n;
        (5 + n, block(&Arc::new(launch), 0))
    });
    let run = run_blocks("{ l1c: { perfect: on } }", Memory::default(), blocks.collect());
    assert_finished(&run.report);
    assert_eq!(run.report.count("L1I.total_cache_misses"), 4);
    let reads = run.requests.iter().filter(|(_, request)| request.line >= CODE);
    let cycles: Vec<u64> = reads.map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles[1], cycles[0] + 1);
    // With the first answer a place is free; the buffers that the two answers fill go first.
    assert_eq!(cycles[2], cycles[0] + MEMORY + 2 + 1);
    assert_eq!(run.report.count("L1I.total_cache_reservation_fails"), 2);
}

#[test]
fn a_load_whose_set_is_full_waits_for_a_line_of_that_set() {
    // Two sets of one way. The first line belongs to the other set, so that its arrival makes no room.
    let source = kernel(
        "ld.global.u32 %r3, [%rd1+128];
        ld.global.u32 %r4, [%rd1];
        ld.global.u32 %r5, [%rd1+256];",
    );
    let params = "{ l1d: { capacity: 256 B, ways: 1, set_index: linear }, l1i: { perfect: on }, l1c: { perfect: on } }";
    let run = run_kernel(params, &source, 32);
    assert_eq!(asked(&run), [BUFFER + 128, BUFFER, BUFFER + 256]);
    let [first, second, third] = [0, 1, 2].map(|number| run.requests[number].0);
    assert!(first < second);
    assert_eq!(third, second + MISS);
}

#[test]
fn the_first_parameter_of_a_launch_misses() {
    let source = kernel(END);
    let run = run_kernel("{ fetch_width: 8, l1i: { perfect: on } }", &source, 64);
    assert_eq!(asked(&run), [PARAMETERS]);
    // The addition waits for the value; the store issues behind it, reads %rd1 and %r1 from one bank, and takes a cycle to
    // the memory.
    let issued = run.requests[0].0 + MEMORY + TO_REGISTER + 1;
    assert_eq!(run.store(ENDED).0, issued + SAME_BANK + LOOKUP + 1);
    let count = |name: &str| run.report.count(&format!("L1C.total_cache_{name}"));
    assert_eq!((count("accesses"), count("misses"), count("pending_hits")), (2, 1, 1));
}

/// A kernel in which every thread reads the word of a table of constants at an offset, and stores it.
fn constants(offset: &str) -> String {
    let words: Vec<String> = (0..64).map(|n| (1000 + n).to_string()).collect();
    let table = format!(".const .align 4 .u32 table[64] = {{ {} }};\n.visible .entry", words.join(", "));
    let body = format!(
        "{offset}
        mov.u64 %rd3, table;
        cvt.u64.u32 %rd4, %r3;
        add.u64 %rd3, %rd3, %rd4;
        ld.const.u32 %r4, [%rd3];
        and.b32 %r5, %r4, 0;
        cvt.u64.u32 %rd4, %r5;
        add.u64 %rd3, %rd3, %rd4;
        add.u64 %rd4, %rd2, %rd4;
        st.global.u32 [%rd4], %r4;
        ld.const.u32 %r6, [%rd3];
        st.global.u32 [%rd4+4096], %r6;"
    );
    kernel(&body).replace(".visible .entry", &table)
}

#[test]
fn constants_are_read_an_address_a_cycle() {
    let words =
        |memory: &mut Memory| (0..64).for_each(|n| memory.set_word(CONSTANTS + 4 * n, 1000 + n as u32));
    let run = |offset: &str| {
        let mut memory = Memory::default();
        words(&mut memory);
        let params = "{ fetch_width: 8, l1i: { perfect: on } }";
        let launch = Arc::new(launch_of(&constants(offset), 32));
        let run = run_blocks(params, memory, vec![(5, block(&launch, 0))]);
        assert_finished(&run.report);
        run
    };
    let one = run("mov.u32 %r3, 20;");
    let (each, few) = (run("shl.b32 %r3, %r1, 3;"), run("and.b32 %r3, %r1, 3;\nshl.b32 %r3, %r3, 2;"));
    assert_eq!(asked(&one), [PARAMETERS, CONSTANTS]);
    assert_eq!(asked(&each), [PARAMETERS, CONSTANTS, CONSTANTS + 128]);
    for lane in 0..32 {
        assert_eq!(one.store(ENDED + 4 * lane).1, 1005);
        assert_eq!(each.store(ENDED + 4 * lane).1, 1000 + 2 * lane as u32);
        assert_eq!(few.store(ENDED + 4 * lane).1, 1000 + (lane % 4) as u32);
    }
    // The second load hits.
    let between = |run: &Run| run.store(ENDED).0 - run.store(BUFFER).0;
    assert_eq!([between(&few), between(&each)].map(|cycles| cycles - between(&one)), [3, 31]);
    // From issue to result: the miss asks a cycle after it has reached the unit, the hit is over there, and follows the store, which
    // reads %rd4 and %r4 from one bank. Parameters are left out.
    let counted = |run: &Run| {
        let counts = run.counts();
        (counts.memory_insn, counts.memory_results, counts.memory_cycles)
    };
    let (miss, hit) = (TO_UNIT + 1 + MEMORY + TO_REGISTER, SAME_BANK + TO_UNIT);
    assert_eq!(counted(&one), (4, 2, miss + hit));
    // More addresses pass while the line is awaited.
    assert_eq!(counted(&few), (4, 2, miss + hit + 3));
}

#[test]
fn constants_that_a_copy_has_written_are_asked_for_again() {
    let source = constants("mov.u32 %r3, 20;");
    let run = |writes: [u32; 3]| {
        let launches = (1..).zip(writes).map(|(id, constant_writes)| {
            let launch = Launch { id: LaunchId(id), constant_writes, ..launch_of(&source, 32) };
            (u64::from(id) * 1000, block(&Arc::new(launch), 0))
        });
        let run = run_blocks("{ l1i: { perfect: on } }", Memory::default(), launches.collect());
        assert_finished(&run.report);
        asked(&run).into_iter().filter(|line| *line == CONSTANTS).count()
    };
    assert_eq!([run([0, 0, 0]), run([0, 1, 1]), run([0, 1, 2]), run([0, 2, 1])], [1, 2, 3, 2]);
}

/// A kernel with an array of eight words of its own, or four of 64 bits.
fn local(body: &str) -> String {
    kernel(&format!(".local .align 8 .b8 mine[32];\n{body}"))
}

/// Lines of local memory that were read and written, in order.
fn local_traffic(run: &Run) -> Vec<(u64, bool)> {
    let of_local = run.requests.iter().filter(|(_, request)| request.line >= LOCAL);
    of_local.map(|(_, request)| (request.line, matches!(request.access, MemAccess::Write(..)))).collect()
}

const ALLOCATE: &str =
    "{ fetch_width: 8, l1d: { local_stores: allocate }, l1i: { perfect: on }, l1c: { perfect: on } }";

#[test]
fn local_memory_comes_back_and_its_lines_are_its_words() {
    let body = "st.local.u32 [mine+4], %r1;
        add.u64 %rd3, %rd2, 7;
        st.local.u64 [mine+8], %rd3;
        ld.local.u32 %r3, [mine+4];
        ld.local.u64 %rd4, [mine+8];
        ld.local.u16 %r4, [mine+10];
        st.global.u32 [%rd2+4096], %r3;
        st.global.u32 [%rd2+4352], %r4;
        cvt.u32.u64 %r5, %rd4;
        st.global.u32 [%rd2+4608], %r5;";
    for (params, traffic) in [
        // Stores go to memory, loads bring the lines, and the last one finds what it wants.
        (FETCHED, vec![(1, true), (2, true), (3, true), (1, false), (2, false), (3, false)]),
        (ALLOCATE, vec![]),
    ] {
        let run = run_kernel(params, &local(body), 32);
        let expected: Vec<(u64, bool)> =
            traffic.iter().map(|(word, write)| (LOCAL + STRIDE * word, *write)).collect();
        assert_eq!(local_traffic(&run), expected);
        for lane in 0..32 {
            let low = (BUFFER + 4 * lane + 7) as u32;
            assert_eq!(run.store(ENDED + 4 * lane).1, lane as u32);
            assert_eq!(run.store(ENDED + 256 + 4 * lane).1, low >> 16);
            assert_eq!(run.store(ENDED + 512 + 4 * lane).1, low);
        }
    }
}

#[test]
fn a_store_to_a_line_that_is_here_stays_until_the_line_is_evicted() {
    // One line of space: the second word's load evicts the first one's line, which has been written to.
    let body = "ld.local.u32 %r3, [mine];
        add.u32 %r3, %r3, 1;
        st.local.u32 [mine], %r1;
        ld.local.u32 %r4, [mine+4];
        add.u32 %r4, %r4, 1;
        ld.local.u32 %r5, [mine];
        st.global.u32 [%rd2+4096], %r5;";
    let params = "{ l1d: { capacity: 128 B, ways: 1, set_index: linear }, l1i: { perfect: on }, l1c: { perfect: on } }";
    let run = run_kernel(params, &local(body), 32);
    let [first, second] = [LOCAL, LOCAL + STRIDE];
    assert_eq!(local_traffic(&run), [(first, false), (second, false), (first, true), (first, false)]);
    assert!((0..32).all(|lane| run.store(ENDED + 4 * lane).1 == lane as u32));
}

#[test]
fn a_load_sees_what_was_there_before_a_younger_store() {
    let body = "st.local.u32 [mine], %r1;
        ld.local.u32 %r3, [mine];
        st.local.u32 [mine], %r2;
        ld.local.u32 %r4, [mine];
        st.global.u32 [%rd2+4096], %r3;
        st.global.u32 [%rd2+4352], %r4;";
    for params in [FETCHED, ALLOCATE] {
        let run = run_kernel(params, &local(body), 32);
        for lane in 0..32 {
            assert_eq!(run.store(ENDED + 4 * lane).1, lane as u32);
            assert_eq!(run.store(ENDED + 256 + 4 * lane).1, 3);
        }
    }
}

#[test]
fn a_line_that_is_here_in_part_is_completed() {
    // Stores take a place without the other bytes; the load wants two lanes' halves more.
    let body = "setp.lt.u32 %p1, %r1, 16;
        @%p1 st.local.u32 [mine], %r1;
        ld.local.u32 %r3, [mine];
        st.global.u32 [%rd2+4096], %r3;";
    let run = run_kernel(ALLOCATE, &local(body), 32);
    assert_eq!(local_traffic(&run), [(LOCAL, false)]);
    assert!((0..16).all(|lane| run.store(ENDED + 4 * lane).1 == lane as u32));
}

#[test]
fn another_launch_does_not_take_local_memory_from_one_that_runs() {
    let body = "st.local.u32 [mine], %r1;
        ld.global.u32 %r3, [%rd1+512];
        add.u32 %r3, %r3, 1;
        ld.global.u32 %r3, [%rd1+1024];
        add.u32 %r3, %r3, 1;
        ld.local.u32 %r4, [mine];
        st.global.u32 [%rd2+4096], %r4;";
    let (first, second) = (Arc::new(launch_of(&local(body), 32)), launch(2, &kernel(""), 1, 32));
    let run = run_blocks(ALLOCATE, Memory::default(), vec![(5, block(&first, 0)), (200, block(&second, 0))]);
    assert_finished(&run.report);
    assert!((0..32).all(|lane| run.store(ENDED + 4 * lane).1 == lane as u32));
    assert!(run.requests.iter().all(|(_, request)| stored(request, LOCAL).is_none()));
}

#[test]
fn local_memory_ends_somewhere() {
    let (message, line) = faults(".local .align 8 .b8 mine[32];\nld.local.u32 %r3, [mine+32];", 32);
    assert!(message.contains("outside of the thread's local memory (32 bytes)"), "{message}");
    assert!(message.contains(&line), "{message}");
}

#[test]
fn a_stack_is_at_the_end_of_local_memory() {
    let body = "alloca.u64 %rd3, 8;
        st.local.u32 [%rd3+4], %r1;
        ld.local.u32 %r3, [%rd3+4];
        st.global.u32 [%rd2+4096], %r3;";
    let run = run_kernel(FETCHED, &kernel(body), 32);
    // The last word of 8 KiB.
    let line = LOCAL + STRIDE * 2047;
    assert_eq!(local_traffic(&run), [(line, true), (line, false)]);
    assert!((0..32).all(|lane| run.store(ENDED + 4 * lane).1 == lane as u32));
    let (message, line) = faults("mul.lo.u32 %r3, %r1, 300;\nalloca.u32 %r4, %r3;", 32);
    assert!(message.contains("`alloca` takes 8400 at a multiple of 8, and 8192 are free"), "{message}");
    assert!(message.contains("lane 28") && message.contains(&line), "{message}");
}

#[test]
fn a_gather_from_a_layer_asks_for_the_rows_of_its_texels() {
    let body = "mov.u32 %r3, 1;
        cvt.rn.f32.u32 %f0, %r1;
        mov.f32 %f1, 0f3F800000;
        tld4.r.a2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [image, {%r3, %f0, %f1, %f1}];
        st.global.f32 [%rd2+4096], %f2;
        st.global.f32 [%rd2+4352], %f4;";
    let source = kernel(body).replace(".visible .entry", ".global .texref image;\n.visible .entry");
    let mut launch = launch_of(&source, 32);
    let texels = BUFFER + 0x4000;
    let (channel, address) = (Channel::F32, [AddressMode::Clamp; 3]);
    // A row is a line of memory.
    let (size, layers) = ([32, 2, 1], Some(2));
    let ([fractions, linear, normalized], pitch) = ([false; 3], None);
    let image =
        Texture { size, layers, channels: 1, channel, fractions, linear, normalized, address, pitch, texels };
    let references = [("image".to_owned(), image)].into();
    launch.textures = Arc::new(Textures { references, ..Textures::default() });
    let mut memory = Memory::default();
    (0..128).for_each(|texel| memory.set_word(texels + 4 * texel, (texel as f32).to_bits()));
    let run = run_blocks(FETCHED, memory, vec![(5, block(&Arc::new(launch), 0))]);
    assert_finished(&run.report);
    assert_eq!(asked(&run), [texels + 3 * 128, texels + 2 * 128]);
    for lane in 0..32u64 {
        let value = |address: u64| f32::from_bits(run.store(address).1);
        assert_eq!(value(ENDED + 4 * lane), 96.0 + lane.saturating_sub(1) as f32);
        assert_eq!(value(ENDED + 256 + 4 * lane), 64.0 + lane as f32);
    }
}

#[test]
fn a_fetch_looks_up_a_line_a_cycle_and_waits_for_the_last_one() {
    let body = "tex.1d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [image, {%r1}];
        st.global.f32 [%rd2+4096], %f2;
        tex.1d.v4.f32.s32 {%f6, %f3, %f4, %f5}, [image, {%r1}];
        st.global.f32 [%rd2+4352], %f6;";
    let source = kernel(body).replace(".visible .entry", ".global .texref image;\n.visible .entry");
    let mut launch = launch_of(&source, 32);
    // Texels of 16 bytes: the warp's 32 lie in four lines.
    let texels = BUFFER + 0x4000;
    let (channel, address) = (Channel::F32, [AddressMode::Clamp; 3]);
    let (size, layers) = ([32, 1, 1], None);
    let ([fractions, linear, normalized], pitch) = ([false; 3], None);
    let image =
        Texture { size, layers, channels: 4, channel, fractions, linear, normalized, address, pitch, texels };
    let references = [("image".to_owned(), image)].into();
    launch.textures = Arc::new(Textures { references, ..Textures::default() });
    let mut memory = Memory::default();
    (0..32).for_each(|texel| memory.set_word(texels + 16 * texel, (texel as f32).to_bits()));
    let run = run_blocks(FETCHED, memory, vec![(5, block(&Arc::new(launch), 0))]);
    assert_finished(&run.report);
    assert_eq!(asked(&run), (0..4).map(|line| texels + 128 * line).collect::<Vec<_>>());
    let reads: Vec<u64> = run.requests.iter().take(4).map(|(cycle, _)| *cycle).collect();
    assert_eq!(reads, (reads[0]..reads[0] + 4).collect::<Vec<_>>());
    // The store waits for the last line and reads %rd2 and %f2 from one bank; the second fetch, behind it in the collectors,
    // waits for the first one's registers and finds all lines.
    let (first, second) = (run.store(ENDED).0, run.store(ENDED + 256).0);
    assert_eq!(first, reads[3] + MEMORY + TO_REGISTER + SAME_BANK + LOOKUP + 1);
    assert_eq!(second - first, 1 + TO_UNIT + 3 + TO_REGISTER);
    assert_eq!(
        (run.store(ENDED + 4 * 9).1, run.store(ENDED + 256 + 4 * 9).1),
        (9f32.to_bits(), 9f32.to_bits())
    );
}

#[test]
fn a_late_fetch_does_not_overwrite_what_a_register_of_another_name_holds() {
    // Nothing reads three of the channels; the words that are written behind the fetch are there when it arrives.
    let body = "tex.1d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [image, {%r1}];
        mov.f32 %f6, 0f40E00000; mov.f32 %f7, 0f41000000;
        add.f32 %f0, %f6, %f7; add.f32 %f0, %f0, %f2; add.f32 %f0, %f0, %f6; add.f32 %f0, %f0, %f7;
        st.global.f32 [%rd2+4096], %f0;";
    let source = kernel(body).replace(".visible .entry", ".global .texref image;\n.visible .entry");
    let mut launch = launch_of(&source, 32);
    let texels = BUFFER + 0x4000;
    let (channel, address) = (Channel::F32, [AddressMode::Clamp; 3]);
    let (size, layers) = ([32, 1, 1], None);
    let ([fractions, linear, normalized], pitch) = ([false; 3], None);
    let image =
        Texture { size, layers, channels: 1, channel, fractions, linear, normalized, address, pitch, texels };
    let references = [("image".to_owned(), image)].into();
    launch.textures = Arc::new(Textures { references, ..Textures::default() });
    let mut memory = Memory::default();
    (0..32).for_each(|texel| memory.set_word(texels + 4 * texel, (texel as f32).to_bits()));
    let run = run_blocks(FETCHED, memory, vec![(5, block(&Arc::new(launch), 0))]);
    assert_finished(&run.report);
    for lane in 0..32u8 {
        assert_eq!(f32::from_bits(run.store(ENDED + 4 * u64::from(lane)).1), 30.0 + f32::from(lane));
    }
}
