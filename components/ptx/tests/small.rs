//! Small kernels of one CTA, for tests: a body, words in, words out.

use counterpoint_ptx::functional::{FlatMemory, Options, Statistics, run};
use counterpoint_ptx::{ExecError, Kernel, StackSize};

pub(crate) const HEAD: &str = ".version 7.8\n.target sm_35\n.address_size 64\n";

/// A kernel around these instructions; `before` precedes it.
fn kernel(before: &str, body: &str) -> Kernel {
    let source = format!(
        "{HEAD}{before}.visible .entry k(.param .u64 out, .param .u64 in) {{
        .reg .pred %p<20>; .reg .b16 %rs<20>; .reg .b32 %r<40>; .reg .f32 %f<20>; .reg .b64 %rd<20>; .reg .f64 %fd<20>;
        .shared .align 4 .b8 tile[256];
        ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];
        mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 8; add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2;
        {body}
        }}"
    );
    Kernel::compile(&source, None).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"))
}

/// Runs one CTA; each thread has 8 bytes of input and of output.
pub(crate) fn execute(
    body: &str,
    threads: u32,
    input: &[u64],
    baseline: bool,
) -> Result<(Vec<u64>, Statistics), ExecError> {
    execute_in("", body, threads, input, baseline)
}

/// The same with module items before the kernel.
pub(crate) fn execute_in(
    before: &str,
    body: &str,
    threads: u32,
    input: &[u64],
    baseline: bool,
) -> Result<(Vec<u64>, Statistics), ExecError> {
    run_kernel(&kernel(before, body), threads, input, baseline, StackSize::default())
}

/// The words that each thread of one CTA wrote, with a stack of `bytes` bytes for each thread and no input.
pub(crate) fn execute_on_stack(
    bytes: u64,
    before: &str,
    body: &str,
    threads: u32,
) -> Result<Vec<u64>, ExecError> {
    let stack = StackSize::new(bytes).expect("a size");
    run_kernel(&kernel(before, body), threads, &[], false, stack).map(|(words, _)| words)
}

fn run_kernel(
    kernel: &Kernel,
    threads: u32,
    input: &[u64],
    baseline: bool,
    stack: StackSize,
) -> Result<(Vec<u64>, Statistics), ExecError> {
    let mut memory = FlatMemory::new(0);
    let bytes: Vec<u8> = (0..threads as usize)
        .flat_map(|thread| input.get(thread % input.len().max(1)).copied().unwrap_or(0).to_le_bytes())
        .collect();
    let from = memory.push(&bytes);
    let to = memory.push(&vec![0; 8 * threads as usize]);
    let params: Vec<u8> = [to, from].into_iter().flat_map(u64::to_le_bytes).collect();
    let options = Options { baseline, stack, limit: 1_000_000, ..Options::default() };
    let statistics = run(kernel, [1, 1, 1], [threads, 1, 1], &params, &mut memory, &options)?;
    let start = (to - memory.base) as usize;
    let words =
        memory.bytes[start..].chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")));
    Ok((words.take(threads as usize).collect(), statistics))
}

/// The words that each thread wrote, the same with and without vector extensions.
pub(crate) fn outputs(body: &str, threads: u32, input: &[u64]) -> Vec<u64> {
    outputs_in("", body, threads, input)
}

/// The same with module items before the kernel.
pub(crate) fn outputs_in(before: &str, body: &str, threads: u32, input: &[u64]) -> Vec<u64> {
    let kernel = kernel(before, body);
    let (fast, counted) = run_kernel(&kernel, threads, input, false, StackSize::default()).expect("it runs");
    let (plain, counted_plain) =
        run_kernel(&kernel, threads, input, true, StackSize::default()).expect("it runs");
    assert_eq!((&fast, counted), (&plain, counted_plain), "the two builds differ: {body}");
    fast
}
