//! Atomics of 128 bits of an application, with time and without.

use counterpoint_simulation::run::RunRequest;

use crate::support::{assert_verified, request, run_request};

/// Every thread increments a 128-bit number in global memory and a 128-bit number of its block, which the block's first thread
/// adds to the global one at the end, in words of 64 bits; all threads also exchange one number, and add up its old values.
const MODULE: &str = ".version 8.4
.target sm_90
.address_size 64
.visible .entry count(.param .u64 counter, .param .u64 chain, .param .u64 sums) {
.reg .b64 %d<16>; .reg .b32 %r<4>; .reg .pred %p<4>; .reg .b128 %q<4>; .shared .align 16 .b8 own[16];
ld.param.u64 %d0, [counter]; ld.param.u64 %d1, [chain]; ld.param.u64 %d2, [sums]; mov.u32 %r0, %tid.x;
setp.eq.u32 %p1, %r0, 0; mov.b128 %q0, {7, 3}; @%p1 st.shared.b128 [own], %q0; bar.sync 0;
again:
ld.relaxed.gpu.global.b128 %q0, [%d0]; mov.b128 {%d4, %d5}, %q0; add.cc.u64 %d6, %d4, 1; addc.u64 %d7, %d5, 0;
mov.b128 %q1, {%d6, %d7}; atom.global.cas.b128 %q2, [%d0], %q0, %q1; mov.b128 {%d8, %d9}, %q2;
setp.ne.u64 %p0, %d8, %d4; setp.ne.or.u64 %p0, %d9, %d5, %p0; @%p0 bra again;
shared:
ld.shared.b128 %q0, [own]; mov.b128 {%d4, %d5}, %q0; add.u64 %d6, %d4, 1; add.u64 %d7, %d5, 2;
mov.b128 %q1, {%d6, %d7}; atom.shared.cas.b128 %q2, [own], %q0, %q1; mov.b128 {%d8, %d9}, %q2;
setp.ne.u64 %p0, %d8, %d4; setp.ne.or.u64 %p0, %d9, %d5, %p0; @%p0 bra shared;
mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 32, %r0; cvt.u64.u32 %d10, %r2; shl.b64 %d11, %d10, 40;
mov.b128 %q1, {%d10, %d11}; atom.global.exch.b128 %q2, [%d1], %q1; mov.b128 {%d8, %d9}, %q2;
red.global.add.u64 [%d2], %d8; red.global.add.u64 [%d2+8], %d9; bar.sync 0;
@!%p1 bra out; ld.shared.v2.b64 {%d4, %d5}, [own]; red.global.add.u64 [%d2+16], %d4; red.global.add.u64 [%d2+24], %d5;
out: ret;
}
.visible .entry rest(.param .u64 chain, .param .u64 sums) {
.reg .b64 %d<6>;
ld.param.u64 %d1, [chain]; ld.param.u64 %d2, [sums]; ld.global.v2.b64 {%d3, %d4}, [%d1];
red.global.add.u64 [%d2], %d3; red.global.add.u64 [%d2+8], %d4; ret;
}
";

#[test]
fn numbers_of_128_bits_are_changed_in_one_step() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    write("m.ptx", MODULE.as_bytes());
    // Three blocks of 32 threads count over a carry; the chain has each thread's value once, and the one before all.
    write("start.u64", &words(&[u64::MAX - 40, 1]));
    write("counter.u64", &words(&[96 - 41, 2]));
    write("chain.u64", &words(&[1000, 5]));
    let all: u64 = (0..96).sum();
    write("sums.u64", &words(&[1000 + all, 5 + (all << 40), 3 * (7 + 32), 3 * (3 + 64)]));
    let application = "counterpoint: 1
application: wide
code: { m: m.ptx }
buffers:
  counter: { type: u64, elements: 2 }
  chain: { type: u64, elements: 2 }
  sums: { type: u64, elements: 4 }
prelude:
  - read: { file: start.u64, into: counter }
  - read: { file: chain.u64, into: chain }
copy_in: [counter, chain, sums]
kernels:
  - { launch: m.count, grid: 3, block: 32, arguments: [counter, chain, sums] }
  - { launch: m.rest, grid: 1, block: 1, arguments: [chain, sums] }
copy_out: [counter, sums]
expect:
  - { buffer: counter, file: counter.u64 }
  - { buffer: sums, file: sums.u64 }
";
    write("wide.yaml", application.as_bytes());
    let application = folder.path().join("wide.yaml").display().to_string();
    for functional in [true, false] {
        let how = RunRequest { application: application.clone(), functional, ..request("tiny", "", &[]) };
        assert_verified(&run_request(&how));
    }
}
