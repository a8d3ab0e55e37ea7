//! Functions of the device library on an SM: their traffic, and what waits for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint_framework::testing::Probe;
use counterpoint_hardware::gpu::sm::Sm;
use counterpoint_protocols::launch::SmEvent;
use counterpoint_protocols::memory::{MemAccess, MemRequest};
use counterpoint_ptx::VariableBases;
use counterpoint_ptx::printf::Ring;

use super::programs::{BUFFER, Memory, kernel, launch, stored};
use super::sm::{ENDED, FETCHED, block};
use super::*;

/// Where the module's variables, the ring, and the arguments of each thread lie.
const VARIABLES: u64 = BUFFER + 0x8000;
const RING: u64 = BUFFER + 0x4000;
const ARGUMENTS: u64 = BUFFER + 512;

/// Prints a number of each thread with the format `%u` and a line's end.
fn printing() -> String {
    kernel(
        "mov.u64 %rd4, format;\nadd.u64 %rd5, %rd2, 512;\ncall (%r3), vprintf, (%rd4, %rd5);\nst.global.u32 [%rd1+4096], %r3;",
    )
    .replace(
        ".visible .entry",
        ".extern .func (.param .b32 n) vprintf(.param .b64 f, .param .b64 a);\n.global .align 4 .b8 format[4] = {37,117,10,0};\n\
         .visible .entry",
    )
}

/// Runs a block on an SM whose memory answers after some cycles.
fn run(threads: u32, latency: u64) -> Vec<(u64, MemRequest)> {
    let mut launch = Arc::unwrap_or_clone(launch(1, &printing(), 1, threads));
    launch.variables = VariableBases { globals: VARIABLES, printf: RING, ..VariableBases::default() };
    let mut memory = Memory::default();
    let mut place = |address: u64, bytes: &[u8]| {
        for (word, offset) in bytes.as_chunks().0.iter().zip((0..).step_by(4)) {
            memory.set_word(address + offset, u32::from_le_bytes(*word));
        }
    };
    place(VARIABLES, &launch.kernel.global_image(launch.variables));
    place(RING, &Ring::new(4096).header());
    for thread in 0..threads {
        place(ARGUMENTS + 4 * u64::from(thread), &(100 + thread).to_le_bytes());
    }
    let mut bench = bench::<Sm>(FETCHED);
    let _events: Probe<SmEvent> = bench.client("work", None, vec![(5, block(&Arc::new(launch), 0))], 2);
    let requests = bench.server("memory", None, move |request| Some((latency, memory.answer(&request))));
    assert_finished(&bench.run());
    requests.take()
}

fn end(requests: &[(u64, MemRequest)]) -> u64 {
    let found =
        requests.iter().find_map(|(cycle, request)| stored(request, ENDED).map(|count| (*cycle, count)));
    let (cycle, count) = found.expect("the kernel stores the number of arguments");
    assert_eq!(count, 1);
    cycle
}

#[test]
fn a_record_is_reserved_by_an_atomic_and_stored_word_by_word() {
    let requests = run(32, 100);
    let (mut reads, mut atomics, mut stores) = (BTreeMap::new(), Vec::new(), 0);
    for (_, request) in &requests {
        match &request.access {
            MemAccess::Read(_) => *reads.entry(request.line).or_insert(0) += 1,
            MemAccess::Atomic(_) => atomics.push(request.line),
            MemAccess::Write(..) => stores += u32::from(request.line != ENDED),
        }
    }
    // The ring's line is read again because the atomic takes it out of the L1.
    assert_eq!(reads, BTreeMap::from([(ARGUMENTS, 1), (VARIABLES, 1), (RING, 2)]));
    assert_eq!(atomics, [RING]);
    // Stamp, sizes, format and argument are 2 + 2 + 1 + 1 words of each lane's 32 bytes, so each word lies in eight lines.
    assert_eq!(stores, 6 * 8);
    let word = |offset: u64| requests.iter().find_map(|(_, request)| stored(request, RING + offset));
    for lane in 0..32 {
        let record = Ring::HEADER_BYTES + 32 * lane;
        assert_eq!(word(record + 8), Some(32));
        assert_eq!(word(record + 16), Some(u32::from_le_bytes(*b"%u\n\0")));
        assert_eq!(word(record + 24), Some(100 + lane as u32));
    }
}

#[test]
fn printing_waits_for_what_it_reads_and_not_for_what_it_stores() {
    // It waits for the format, the ring's size, its place in the ring, the size again, and the argument.
    let waits = |threads| end(&run(threads, 150)) - end(&run(threads, 100));
    assert_eq!([waits(1), waits(32)], [5 * 50, 5 * 50]);
    // The eight lines of a word leave in as many cycles, and the next word comes later than that: 32 lanes take no longer than one.
    let requests = run(32, 100);
    let left = |lane: u64, offset: u64| {
        let address = RING + Ring::HEADER_BYTES + 32 * lane + offset;
        let stores = requests.iter().filter(|(_, request)| stored(request, address).is_some());
        stores.map(|(cycle, _)| *cycle).collect::<Vec<u64>>()
    };
    let words = [0, 4, 8, 12, 16, 24].map(|offset| left(0, offset)[0]);
    for (word, offset) in words.iter().zip([0, 4, 8, 12, 16, 24]) {
        assert_eq!(
            [4, 12, 28].map(|lane| left(lane, offset)),
            [1, 3, 7].map(|lines| vec![word + lines]),
            "{offset}"
        );
    }
    assert!(words.windows(2).all(|pair| pair[0] + 8 <= pair[1]), "{words:?}");
    assert_eq!(end(&requests), end(&run(1, 100)));
}
