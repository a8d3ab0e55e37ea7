//! Memory order on an SM: what acquires do to the L1, and what releases wait for.

use std::sync::Arc;

use counterpoint_hardware::gpu::sm::Sm;
use counterpoint_protocols::launch::SmEvent;
use counterpoint_protocols::local::{Capacity, LocalMemory};

use super::programs::{BUFFER, Memory, kernel, launch, stored};
use super::sm::{MEMORY, block};
use super::*;

/// Data lies here, flags there.
const DATA: u64 = BUFFER + 512;
const FLAG: u64 = BUFFER + 1024;
/// Time of a memory for the data where it is slow.
const SLOW: u64 = 1000;

const PARAMS: &str = "{ fetch_width: 8, l1i: { perfect: on }, l1c: { perfect: on } }";

/// The requests of a block of a kernel for a target, with the cycles in which they came. Accesses to the data take `data` cycles.
fn requests(target: u32, body: &str, sizes: (u32, u64)) -> Vec<(u64, MemRequest)> {
    requests_on(PARAMS, target, body, sizes)
}

/// The same, on an SM with these parameters.
fn requests_on(params: &str, target: u32, body: &str, (threads, data): (u32, u64)) -> Vec<(u64, MemRequest)> {
    let source = kernel(body).replace("sm_35", &format!("sm_{target}"));
    let mut launch = Arc::unwrap_or_clone(launch(1, &source, 1, threads));
    let bytes_per_thread = launch.kernel.local_bytes(launch.stack);
    launch.local = LocalMemory { base: 0x6_0000, bytes_per_thread, capacity: Capacity { sms: 1, warps: 48 } };
    let mut bench = bench::<Sm>(params);
    let mut memory = Memory::default();
    let _events = bench.client::<_, SmEvent>("work", None, vec![(5, block(&launch.into(), 0))], 2);
    let requests = bench.server("memory", None, move |request: MemRequest| {
        let delay = if request.line == DATA { data } else { MEMORY };
        Some((delay, memory.answer(&request)))
    });
    assert_finished(&bench.run());
    requests.take()
}

fn reads_of(requests: &[(u64, MemRequest)], line: u64) -> Vec<u64> {
    let reads = requests
        .iter()
        .filter(|(_, request)| request.line == line && matches!(request.access, MemAccess::Read(_)));
    reads.map(|(cycle, _)| *cycle).collect()
}

/// When the first store to a line came, or the first atomic.
fn change_of(requests: &[(u64, MemRequest)], line: u64) -> u64 {
    let change = requests
        .iter()
        .find(|(_, request)| request.line == line && !matches!(request.access, MemAccess::Read(_)));
    change.expect("somebody changes it").0
}

/// Acquires on a flag, which %rd3 points to, and whether they reach beyond the block.
const ACQUIRES: [(&str, bool); 17] = [
    ("ld.acquire.gpu.global.u32 %r4, [%rd3];", true),
    ("ld.acquire.sys.u32 %r4, [%rd3];", true),
    ("ld.acquire.cluster.global.v2.u32 {%r4, %r5}, [%rd3];", true),
    ("ld.acquire.cta.global.u32 %r4, [%rd3];", false),
    ("atom.acquire.gpu.global.add.u32 %r4, [%rd3], 1;", true),
    ("atom.acq_rel.sys.global.cas.b32 %r4, [%rd3], 0, 1;", true),
    ("atom.acquire.cta.global.add.u32 %r4, [%rd3], 1;", false),
    ("atom.global.add.u32 %r4, [%rd3], 1;\nmembar.gl;", true),
    ("ld.volatile.global.u32 %r4, [%rd3];\nmembar.sys;", true),
    ("ld.volatile.global.u32 %r4, [%rd3];\nmembar.cta;", false),
    ("ld.relaxed.gpu.global.u32 %r4, [%rd3];\nfence.acq_rel.gpu;", true),
    ("ld.relaxed.gpu.global.u32 %r4, [%rd3];\nfence.sc.cluster;", true),
    ("ld.relaxed.sys.global.u32 %r4, [%rd3];\nfence.acquire.sys;", true),
    ("ld.relaxed.sys.global.u32 %r4, [%rd3];\nfence.acq_rel.cta;", false),
    ("ld.relaxed.gpu.global.u32 %r4, [%rd3];", false),
    ("ld.mmio.relaxed.sys.global.u32 %r4, [%rd3];", false),
    ("st.release.gpu.global.u32 [%rd3], %r4;", false),
];

const POINT: &str = "add.u64 %rd3, %rd1, 1024;\n";

#[test]
fn behind_an_acquire_the_l1_answers_nothing_that_it_had() {
    for (acquire, beyond) in ACQUIRES {
        // The line has come, or is on its way when the value comes.
        for (use_, data) in [("add.u32 %r7, %r6, 1;", MEMORY), ("", SLOW)] {
            let body = format!(
                "{POINT}ld.global.u32 %r6, [%rd1+512];\n{use_}\n{acquire}\nld.global.u32 %r8, [%rd1+512];\n\
                 st.global.u32 [%rd1+4096], %r8;"
            );
            // A fence waits for the line, after which it is there.
            let again = |beyond: bool| if beyond { 2 } else { 1 };
            let requests = requests(70, &body, (32, data));
            let reads = reads_of(&requests, DATA);
            assert_eq!(reads.len(), again(beyond), "{acquire} {data}");
            if beyond {
                let of_flag = requests.iter().find(|(_, request)| request.line == FLAG).unwrap().0;
                assert!(reads[1] > of_flag + MEMORY, "{acquire}: it is asked for when the value is there");
            }
            // Before sm_70 nothing acquires.
            let reads = reads_of(&self::requests(61, &body, (32, data)), DATA);
            assert_eq!(reads.len(), 1, "{acquire}");
        }
    }
}

#[test]
fn a_release_leaves_when_what_is_before_it_is_performed() {
    for (release, waits) in [
        ("st.release.gpu.global.u32 [%rd3], %r1;", true),
        ("st.release.cta.u32 [%rd3], %r1;", true),
        ("red.release.sys.global.add.u32 [%rd3], 1;", true),
        ("atom.release.gpu.global.exch.b32 %r4, [%rd3], 1;", true),
        ("atom.acq_rel.cluster.global.add.u32 %r4, [%rd3], 1;", true),
        ("fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd3], %r1;", true),
        ("fence.release.sys;\nst.relaxed.sys.global.u32 [%rd3], %r1;", true),
        ("membar.gl;\nst.volatile.global.u32 [%rd3], %r1;", true),
        ("st.relaxed.gpu.global.u32 [%rd3], %r1;", false),
        ("atom.acquire.gpu.global.exch.b32 %r4, [%rd3], 1;", false),
    ] {
        // A store or a load before it.
        for before in ["st.global.u32 [%rd1+512], %r1;", "ld.global.u32 %r9, [%rd1+512];"] {
            let requests = requests(70, &format!("{POINT}{before}\n{release}\n"), (1, SLOW));
            let first = requests.iter().find(|(_, request)| request.line == DATA).unwrap().0;
            let gap = change_of(&requests, FLAG) - first;
            assert_eq!(gap > SLOW, waits, "{before} {release}: {gap}");
        }
    }
}

#[test]
fn a_release_beyond_the_block_waits_for_what_a_barrier_put_before_it() {
    // The second warp stores, the first one releases behind a barrier.
    let body = |release: &str| {
        format!(
            "{POINT}setp.lt.u32 %p1, %r1, 32;\n@%p1 bra MEET;\nst.global.u32 [%rd1+512], %r1;\nMEET: bar.sync 0;\n\
             @!%p1 bra DONE;\n{release}\nDONE:"
        )
    };
    for (target, release, waits) in [
        (70, "st.release.gpu.global.u32 [%rd3], %r1;", true),
        (70, "red.release.gpu.global.add.u32 [%rd3], 1;", true),
        (80, "membar.gl;\nst.volatile.global.u32 [%rd3], %r1;", true),
        (90, "fence.acq_rel.cluster;\nst.relaxed.cluster.global.u32 [%rd3], %r1;", true),
        (70, "st.relaxed.gpu.global.u32 [%rd3], %r1;", false),
        (70, "membar.cta;\nst.volatile.global.u32 [%rd3], %r1;", false),
        // Fermi to Pascal: a fence waits for its own warp.
        (61, "membar.gl;\nst.volatile.global.u32 [%rd3], %r1;", false),
    ] {
        let requests = requests(target, &body(release), (64, SLOW));
        let gap = change_of(&requests, FLAG) - change_of(&requests, DATA);
        assert_eq!(gap > SLOW, waits, "sm_{target} {release}: {gap}");
    }
}

#[test]
fn stores_that_go_on_hold_no_release_up() {
    // The second warp stores until it sees the flag, which the first one releases.
    let body = format!(
        "{POINT}setp.lt.u32 %p1, %r1, 32;\n@%p1 bra RELEASE;\nAGAIN: st.global.u32 [%rd1+512], %r1;\n\
         ld.relaxed.gpu.global.u32 %r4, [%rd3];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra AGAIN;\nret;\n\
         RELEASE: mov.u32 %r5, 7;\nst.release.gpu.global.u32 [%rd3], %r5;"
    );
    let requests = requests(70, &body, (64, SLOW));
    assert!(change_of(&requests, FLAG) < 4 * SLOW);
    assert!(requests.iter().any(|(_, request)| stored(request, FLAG) == Some(7)));
}

#[test]
fn an_acquire_leaves_local_memory_where_it_is() {
    // Stores to local memory change the line in the L1, which is dirty then.
    let body = format!(
        ".local .align 4 .b8 stack[16];\n{POINT}ld.local.u32 %r6, [stack+4];\nadd.u32 %r6, %r6, %r1;\nst.local.u32 [stack+4], %r6;\n\
         ld.acquire.gpu.global.u32 %r4, [%rd3];\nld.local.u32 %r5, [stack+4];\nadd.u32 %r5, %r5, 9;\nst.global.u32 [%rd2+4096], %r5;"
    );
    let requests = requests(70, &body, (32, MEMORY));
    let reads = requests.iter().filter(|(_, request)| {
        (0x6_0000..0x7_0000).contains(&request.line) && matches!(request.access, MemAccess::Read(_))
    });
    assert_eq!(reads.count(), 1, "the line was loaded once, and changed in the L1");
    let last = requests.iter().find_map(|(_, request)| stored(request, BUFFER + 4096 + 4 * 5));
    assert_eq!(last, Some(5 + 9));
}

#[test]
fn an_acquiring_atomic_on_shared_memory_ends_with_locks_and_without() {
    let body = ".shared .align 4 .u32 flag[32];\nmov.u32 %r5, flag;\n\
        atom.acquire.cta.shared.add.u32 %r4, [%r5], 1;\nst.global.u32 [%rd2+4096], %r1;";
    for atomics in ["locks", "native"] {
        let params = PARAMS.replace("{ fetch_width", &format!("{{ shared_atomics: {atomics}, fetch_width"));
        let requests = requests_on(&params, 70, body, (32, MEMORY));
        let stores = requests.iter().find_map(|(_, request)| stored(request, BUFFER + 4096));
        assert!(stores.is_some(), "{atomics}: the store behind the atomic");
    }
}
