//! Component tests of hardware, here and in extensions: benches, requests to memory, kernels and launches.
//!
//! Every component runs at 1 GHz between scripts that are one cycle away, so that a cycle is a nanosecond and times add
//! up by hand.

use std::sync::Arc;

use counterpoint_framework::kernel::Outcome;
#[cfg(test)]
use counterpoint_framework::model::Families;
use counterpoint_framework::model::{Component, Environment, Extension, Registry, StatValue};
use counterpoint_framework::testing::{Bench, BenchReport, Probe};
use counterpoint_framework::time::Hertz;
use counterpoint_protocols::extra::Extra;
use counterpoint_protocols::launch::{
    CtaCounts, Launch, LaunchId, Precedence, RunCta, SmEvent, SmResources, SmServer,
};
use counterpoint_protocols::local::LocalMemory;
use counterpoint_protocols::memory::{
    ByteMask, LINE_BYTES, Label, Line, MemAccess, MemReply, MemRequest, MemResult, Tag, sectors,
};
use counterpoint_ptx::{Allocation, Allocations, Kernel, Rights, StackSize, VariableBases};

/// The clock of every component.
pub const CLOCK: Hertz = Hertz::new(1_000_000_000);
/// All bytes of a line.
pub const ALL: ByteMask = ByteMask::MAX;

/// The families from which parameters choose.
#[cfg(test)]
pub(crate) fn families() -> Families {
    let mut registry = Registry::default();
    crate::register(&mut registry);
    registry.catalogue.families
}

/// A bench for a component with parameters in YAML.
pub fn bench<C: Component>(params: &str) -> Bench {
    bench_with::<C>(|_| {}, params)
}

/// Like [`bench()`], where the parameters may also choose variants that an extension registers.
pub fn bench_with<C: Component>(register: Extension, params: &str) -> Bench {
    let register = move |registry: &mut Registry| {
        crate::register(registry);
        register(registry);
    };
    Bench::reading::<C>(CLOCK, Environment::default(), register, params)
}

/// The SMs of a CTA scheduler, with the resources that each offers. A block ends with `counts`; its time in cycles, from being sent, is
/// `duration` of its launch. Returns for each SM the launches and blocks, and the times at which they were sent.
pub fn sms(
    bench: &mut Bench,
    offers: &[SmResources],
    duration: impl Fn(u32) -> u64 + Copy + Send + 'static,
    counts: CtaCounts,
) -> Vec<Probe<(u32, u32)>> {
    let sm = |(index, &offer): (usize, &SmResources)| {
        let log: Probe<(u32, u32)> = Probe::default();
        let given = log.clone();
        bench.script("sms", Some(index as u32), true, move |socket, process| {
            let SmServer { mut tx, mut rx } = socket;
            async move {
                tx.send(SmEvent::Resources(offer)).await;
                loop {
                    let Some(RunCta { launch, index, .. }) = rx.recv().await.run() else { continue };
                    given.log(process.cycle() - 1, (launch.id.0, index));
                    let done = SmEvent::CtaDone { launch: launch.id, index, counts };
                    tx.send_after(process.span(duration(launch.id.0)), done).await;
                }
            }
        });
        log
    };
    offers.iter().enumerate().map(sm).collect()
}

/// A request of no launch.
pub fn request(tag: u32, line: u64, access: MemAccess) -> MemRequest {
    MemRequest { line, tag: Tag(tag), client: 0, label: Label::default(), fresh: 0, access }
}

/// A read of these bytes.
pub fn read(tag: u32, line: u64, mask: ByteMask) -> MemRequest {
    request(tag, line, MemAccess::Read(mask))
}

/// A write of one value to these bytes.
pub fn write(tag: u32, line: u64, mask: ByteMask, byte: u8) -> MemRequest {
    request(tag, line, MemAccess::Write(mask, [byte; LINE_BYTES as usize].into()))
}

/// Reply of a memory in which every line holds its own number, and stores are acknowledged at once.
pub fn numbered(request: &MemRequest) -> MemReply {
    let result = match &request.access {
        MemAccess::Read(mask) => MemResult::Line(*mask, [number(request.line); LINE_BYTES as usize].into()),
        MemAccess::Write(mask, _) => MemResult::Written(sectors(*mask) as u8),
        MemAccess::Atomic(_) => panic!("an atomic reached the memory"),
    };
    MemReply { line: request.line, tag: request.tag, client: request.client, result, far: 0 }
}

/// The value of every byte of a line that holds its own number.
pub fn number(line: u64) -> u8 {
    (line / LINE_BYTES) as u8
}

/// Finds the reply with this tag.
pub fn tagged(tag: u32) -> impl Fn(&MemReply) -> bool {
    move |reply| reply.tag == Tag(tag)
}

/// The line in the reply with this tag.
#[track_caller]
pub fn line(replies: &[(u64, MemReply)], tag: u32) -> Line {
    let found = replies.iter().find(|(_, reply)| reply.tag == Tag(tag));
    match found.map(|(_, reply)| &reply.result) {
        Some(MemResult::Line(_, line)) => **line,
        other => panic!("no line for tag {tag}: {other:?}"),
    }
}

/// The message of the fault that ended the run.
#[track_caller]
pub fn fault(report: &BenchReport) -> &str {
    match &report.outcome {
        Outcome::Failed { fault, .. } if !fault.panicked => &fault.message,
        other => panic!("expected a fault: {other}"),
    }
}

/// A request on behalf of a launch, or of a copy, of a stream.
pub fn labelled(kernel: u32, stream: u32, request: MemRequest) -> MemRequest {
    MemRequest { label: Label { kernel, stream, ..Label::default() }, ..request }
}

/// Counters of a part of the component, such as `kernels[#1]`, in the order of their names here.
#[track_caller]
pub fn counted<const N: usize>(report: &BenchReport, part: &str, names: [&str; N]) -> [u64; N] {
    let path = format!("unit.{part}");
    names.map(|name| {
        let row = report.stats.iter().find(|row| row.path == path && row.label.name == name);
        match row.map(|row| row.value) {
            Some(StatValue::Count(count)) => count,
            other => panic!("no counter {name} of {part}: {other:?}"),
        }
    })
}

/// Asserts that the run finished.
#[track_caller]
pub fn assert_finished(report: &BenchReport) {
    let finished = matches!(report.outcome, Outcome::Finished(_));
    assert!(finished, "{}", report.outcome);
}

/// Address of the buffer that a kernel is given, of 64 KiB.
pub const BUFFER: u64 = 0x10000;
/// Bytes of the buffer.
pub const BUFFER_BYTES: u64 = 0x10000;

/// A kernel with these instructions as its body. The body finds the buffer's address in %rd1, the thread's number in
/// %r1, and the address of the thread's word in %rd2, which is computed last.
pub fn kernel(body: &str) -> String {
    format!(
        ".version 7.8
.target sm_35
.address_size 64
.visible .entry k(.param .u64 buffer)
{{
.reg .pred %p<4>;
.reg .b32 %r<16>;
.reg .f32 %f<16>;
.reg .f64 %d<16>;
.reg .b64 %rd<16>;
.shared .align 8 .b8 scratch[8192];
ld.param.u64 %rd1, [buffer];
mov.u32 %r1, %tid.x;
mov.u32 %r2, 3;
mov.f32 %f1, 0f3F800000;
mov.f64 %d1, 0d3FF0000000000000;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd2, %rd1, %rd2;
{body}
ret;
}}
"
    )
}

/// A launch of a kernel with this grid and block size.
pub fn launch(id: u32, source: &str, grid: u32, block: u32) -> Arc<Launch> {
    let kernel = Kernel::compile(source, Some("k")).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    Arc::new(Launch {
        id: LaunchId(id),
        stream: 0,
        precedence: Precedence::Stream,
        extra: Extra::default(),
        registers: kernel.registers_per_thread(),
        kernel: Arc::new(kernel),
        code: 0,
        variables: VariableBases::default(),
        shift: 0,
        textures: Arc::default(),
        local: LocalMemory::default(),
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        stack: StackSize::default(),
        constant_writes: 0,
        parameters: 0,
        params: BUFFER.to_le_bytes().into(),
        memory: Arc::new(Allocations::from_iter([Allocation {
            name: "buffer".to_owned(),
            range: BUFFER..BUFFER + BUFFER_BYTES,
            freed_after: None,
            rights: Rights::All,
        }])),
        span: None,
    })
}
