//! Writes of the host and its copy engine, seen by a kernel that runs: scope `.sys`.

use crate::support::{request, run_request};

/// Loads the datum, waits for the flag, loads the datum again.
const READER: &str = ".version 7.8
.target sm_70
.address_size 64
.visible .entry reader(.param .u64 data, .param .u64 flag, .param .u64 out)
{
.reg .pred %p<2>;
.reg .b32 %r<9>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [data];
ld.param.u64 %rd2, [flag];
ld.param.u64 %rd3, [out];
ld.global.u32 %r1, [%rd1];
st.global.u32 [%rd3], %r1;
WAIT:
ACQUIRE
setp.eq.u32 %p1, %r2, 0;
@%p1 bra WAIT;
FENCE
ld.global.u32 %r3, [%rd1];
st.global.u32 [%rd3+4], %r3;
ret;
}
";

/// The kernel's loads before and behind the flag, which the host copies behind the datum while the kernel
/// runs.
fn loaded(acquire: &str, fence: &str, target: u32) -> [u32; 2] {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let kernel = READER.replace("ACQUIRE", acquire).replace("FENCE", fence);
    write("k.ptx", kernel.replace("sm_70", &format!("sm_{target}")).as_bytes());
    let words = |value: u32, count: usize| value.to_le_bytes().repeat(count);
    for (name, value) in [("old", 5), ("unset", 0), ("new", 42), ("set", 1)] {
        write(&format!("{name}.u32"), &words(value, 32));
    }
    write("long.u32", &words(0, 65536));
    let text = "counterpoint: 1
application: host
code: { k: k.ptx }
buffers:
  data: { type: u32, elements: 32 }
  flag: { type: u32, elements: 32 }
  out: { type: u32, elements: 32 }
  long: { type: u32, elements: 65536 }
preload:
  - load: { file: old.u32, into: data }
  - load: { file: unset.u32, into: flag }
prelude:
  - read: { file: new.u32, into: data }
  - read: { file: set.u32, into: flag }
  - read: { file: long.u32, into: long }
kernels:
  - { launch: k.reader, grid: 1, block: 1, arguments: [data, flag, out], stream: a }
  - { copy_in: long, stream: b }
  - { copy_in: data, stream: b }
  - { copy_in: flag, stream: b }
copy_out: [out]
postlude:
  - write: { from: out, file: out.u32 }
";
    write("host.yaml", text.as_bytes());
    let path = folder.path().join("host.yaml").display().to_string();
    let summary = run_request(&request("tiny", &path, &["host.cpu.runtime=streams"]));
    assert!(summary.is_good() && !summary.partial, "{}", summary.ending());
    let (_, out) = summary.results.iter().find(|(file, _)| file == "out.u32").expect("it was written");
    [0, 4].map(|at| u32::from_le_bytes(out[at..at + 4].try_into().unwrap()))
}

#[test]
fn a_kernel_sees_what_the_host_copied_before_the_flag() {
    let acquire = "ld.acquire.sys.global.u32 %r2, [%rd2];";
    let volatile = "ld.volatile.global.u32 %r2, [%rd2];";
    for (load, fence, target, behind) in [
        (acquire, "", 70, 42),
        (volatile, "membar.sys;", 70, 42),
        (volatile, "fence.acq_rel.sys;", 90, 42),
        // No load acquires, or the target has no acquire.
        (volatile, "", 70, 5),
        (volatile, "membar.sys;", 61, 5),
    ] {
        assert_eq!(loaded(load, fence, target), [5, behind], "sm_{target}: {load} {fence}");
    }
}
