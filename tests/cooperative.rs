//! Cooperative launches: a grid barrier as in CUDA's cooperative groups, and launches whose blocks cannot all be resident.

use counterpoint_simulation::run::RunRequest;

use crate::support::{refusal, request, run_request};

/// Each block counts in its word, all meet, and each reads the word of the next; twice, so that the barrier is used again. The
/// barrier's word is four bytes behind the address in `%envreg1` and `%envreg2`: a block adds 1, the first one what turns the
/// highest bit when all have come, and all wait for that.
const KERNEL: &str = ".version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 words, .param .u64 sums)
{
.reg .pred %p<6>;
.reg .b32 %r<16>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [words];
ld.param.u64 %rd2, [sums];
mov.u32 %r1, %envreg1;
mov.u32 %r2, %envreg2;
mov.b64 %rd3, {%r2, %r1};
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %nctaid.x;
mov.u32 %r5, 0;
mov.u32 %r6, 0;
setp.ne.u32 %p1, %tid.x, 0;
mul.wide.u32 %rd4, %r3, 4;
add.u64 %rd5, %rd1, %rd4;
add.u32 %r7, %r3, 1;
rem.u32 %r7, %r7, %r4;
mul.wide.u32 %rd6, %r7, 4;
add.u64 %rd6, %rd1, %rd6;
setp.eq.u32 %p2, %r3, 0;
sub.u32 %r8, 0x80000001, %r4;
selp.u32 %r8, %r8, 1, %p2;
ROUND:
@%p1 bra MEET;
add.u32 %r9, %r3, 100;
st.global.u32 [%rd5], %r9;
MEET:
bar.sync 0;
@%p1 bra MET;
membar.gl;
atom.global.add.u32 %r10, [%rd3+4], %r8;
AGAIN:
ld.volatile.global.u32 %r11, [%rd3+4];
xor.b32 %r11, %r11, %r10;
setp.ge.s32 %p3, %r11, 0;
@%p3 bra AGAIN;
membar.gl;
MET:
bar.sync 0;
ld.volatile.global.u32 %r12, [%rd6];
add.u32 %r6, %r6, %r12;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p4, %r5, 2;
@%p4 bra ROUND;
@%p1 ret;
add.u64 %rd7, %rd2, %rd4;
st.global.u32 [%rd7], %r6;
ret;
}
";

fn request_for(folder: &tempfile::TempDir, blocks: u32, extra: &str, functional: bool) -> RunRequest {
    std::fs::write(folder.path().join("k.ptx"), KERNEL).unwrap();
    std::fs::write(folder.path().join("none.u32"), vec![0; 4 * blocks as usize]).unwrap();
    let text = format!(
        "counterpoint: 1
application: meets
code: {{ k: k.ptx }}
buffers: {{ words: {{ type: u32, elements: {blocks} }}, sums: {{ type: u32, elements: {blocks} }} }}
preload: [ {{ load: {{ file: none.u32, into: words }} }} ]
kernels: [ {{ launch: k.k, grid: {blocks}, block: 64, arguments: [words, sums]{extra} }} ]
copy_out: [sums]
postlude: [ {{ write: {{ from: sums, file: sums.u32 }} }} ]
"
    );
    let path = folder.path().join("meets.yaml");
    std::fs::write(&path, text).unwrap();
    RunRequest { functional, ..request("tiny", &path.display().to_string(), &["gpu.sms=2"]) }
}

#[test]
fn blocks_meet_as_cuda_s_groups_do_in_both_modes() {
    for functional in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let request = request_for(&folder, 6, ", cooperative: on", functional);
        let summary = run_request(&request);
        assert!(summary.is_good() && !summary.partial, "{}", summary.ending());
        let words = &summary.results.iter().find(|(file, _)| file == "sums.u32").unwrap().1;
        let want: Vec<u8> = (0..6u32).flat_map(|block| (2 * ((block + 1) % 6 + 100)).to_le_bytes()).collect();
        assert_eq!(words[..], want[..], "functional: {functional}");
    }
}

#[test]
fn more_blocks_than_fit_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let errors = |blocks: u32, extra: &str| refusal(&request_for(&folder, blocks, extra, false));
    let refused = errors(1000, ", cooperative: on");
    assert!(
        refused.contains("the 1000 blocks of `k` cannot all run at once, and the launch is cooperative"),
        "{refused}"
    );
    assert!(refused.contains("the device has room for "), "{refused}");
    let unclear = errors(2, ", cooperative: perhaps");
    assert!(unclear.contains("expected `on` or `off`"), "{unclear}");
}
