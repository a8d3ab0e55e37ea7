//! Blocks that leave an SM before their end, and come back; samples of what they do.

use std::sync::Arc;

use counterpoint_framework::telemetry::SpanId;
use counterpoint_framework::testing::Probe;
use counterpoint_hardware::gpu::sm::Sm;
use counterpoint_protocols::launch::{
    CtaCounts, Launch, LaunchId, Preemption, RunCta, SmClient, SmEvent, ToSm,
};
use counterpoint_protocols::local::{Capacity, LocalMemory};

use super::programs::{Memory, kernel, launch, stored};
use super::sm::MEMORY;
use super::*;

const PARAMS: &str = "{ fetch_width: 8, l1i: { perfect: on }, l1c: { perfect: on }, context_rate: 64 B }";

/// Stores and events of an SM, in order and with their cycles.
struct Ran {
    stores: Vec<(u64, u64, u32)>,
    events: Vec<(u64, SmEvent)>,
}

/// Runs a block of a launch, which is to leave in a cycle, and comes back 100 cycles after it has left.
fn run(launch: &Arc<Launch>, leaves: Option<(u64, Preemption)>, sample: Option<u64>) -> Ran {
    let mut bench = bench::<Sm>(PARAMS);
    let (events, launch) = (Probe::<SmEvent>::default(), Arc::clone(launch));
    let log = events.clone();
    bench.script("work", None, false, move |socket, process| {
        let SmClient { mut tx, mut rx } = socket;
        async move {
            let block = || RunCta { launch: Arc::clone(&launch), index: 0, sm: 0, sms: 1, span: SpanId(0) };
            if let Some(every) = sample {
                tx.send(ToSm::Sample(every)).await;
            }
            tx.send(block().into()).await;
            if let Some((cycle, how)) = leaves {
                while process.cycle() < cycle {
                    process.tick().await;
                }
                tx.send(ToSm::Preempt(launch.id, 0, how)).await;
            }
            loop {
                let event = rx.recv().await;
                log.log(process.cycle(), event.clone());
                match event {
                    SmEvent::CtaDone { .. } => return Ok(()),
                    SmEvent::Preempted { context, .. } => {
                        for _ in 0..100 {
                            process.tick().await;
                        }
                        let again = match context {
                            Some(context) => ToSm::Resume(block(), context),
                            None => block().into(),
                        };
                        tx.send(again).await;
                    }
                    _ => {}
                }
            }
        }
    });
    let mut memory = Memory::default();
    let requests = bench.server("memory", None, move |request| Some((MEMORY, memory.answer(&request))));
    assert_finished(&bench.run());
    let words = |(cycle, request): (u64, MemRequest)| {
        let words = (0..32).map(move |word| request.line + 4 * word);
        let request = request.clone();
        words
            .filter_map(move |address| Some((cycle, address, stored(&request, address)?)))
            .collect::<Vec<_>>()
    };
    Ran { stores: requests.take().into_iter().flat_map(words).collect(), events: events.take() }
}

impl Ran {
    /// The words that were stored, without their cycles.
    fn values(&self) -> Vec<(u64, u32)> {
        let mut values: Vec<_> = self.stores.iter().map(|&(_, address, word)| (address, word)).collect();
        values.sort_unstable();
        values
    }

    /// The cycle of the block's departure, whether its context was saved, and its counts until then.
    fn departure(&self) -> (u64, bool, CtaCounts) {
        let left = self.events.iter().find_map(|(cycle, event)| match event {
            SmEvent::Preempted { counts, context, .. } => Some((*cycle, context.is_some(), *counts)),
            _ => None,
        });
        left.expect("the block has left")
    }

    fn end(&self) -> (u64, CtaCounts) {
        match self.events.last() {
            Some((cycle, SmEvent::CtaDone { counts, .. })) => (*cycle, *counts),
            other => panic!("{other:?}"),
        }
    }
}

/// A loop of 40 rounds with a barrier and a load in each, whose warps then store what they have: through shared memory, of the other warp.
const ROUNDS: &str = "mov.u32 %r3, 0;
    mov.u32 %r4, scratch;
    shl.b32 %r5, %r1, 2;
    add.u32 %r5, %r4, %r5;
    xor.b32 %r6, %r5, 128;
    again:
    ld.global.u32 %r8, [%rd2+512];
    mad.lo.u32 %r7, %r3, 3, %r1;
    add.u32 %r7, %r7, %r8;
    st.shared.u32 [%r5], %r7;
    bar.sync 0;
    ld.shared.u32 %r2, [%r6];
    add.u32 %r9, %r9, %r2;
    bar.sync 0;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 40;
    @%p1 bra again;
    st.global.u32 [%rd2+4096], %r9;";

#[test]
fn a_block_goes_on_where_it_was_switched() {
    let launch = launch(7, &kernel(&format!("mov.u32 %r9, 0;\n{ROUNDS}")), 1, 64);
    let whole = run(&launch, None, None);
    assert_eq!(whole.values().len(), 64);
    for cycle in (20..whole.end().0).step_by(37) {
        let moved = run(&launch, Some((cycle, Preemption::Switch)), None);
        assert_eq!(moved.values(), whole.values(), "cycle {cycle}");
        if moved.events.len() == 2 {
            continue;
        }
        let (left, saved, mut counts) = moved.departure();
        // 64 threads' registers and the shared memory, 64 bytes a cycle, behind what was under way.
        let context = (64 * 4 * u64::from(launch.registers) + 8192).div_ceil(64);
        assert!(saved && left >= cycle + context && left < cycle + context + 2 * MEMORY, "{left}, {cycle}");
        let (end, rest) = moved.end();
        counts += rest;
        assert_eq!(
            (counts.warp_insn, counts.thread_insn),
            (whole.end().1.warp_insn, whole.end().1.thread_insn)
        );
        assert!(end >= whole.end().0 + 2 * context + 100, "{end}, {}", whole.end().0);
    }
}

#[test]
fn a_flushed_block_begins_anew_and_one_that_has_written_stays() {
    let launch = launch(7, &kernel(&format!("mov.u32 %r9, 0;\n{ROUNDS}")), 1, 64);
    let whole = run(&launch, None, None);
    let flushed = run(&launch, Some((600, Preemption::Flush)), None);
    let (left, saved, counts) = flushed.departure();
    assert!(!saved && left < 600 + 2 * MEMORY && counts.warp_insn > 0);
    assert_eq!(flushed.values(), whole.values());
    assert_eq!(flushed.end().1.warp_insn, whole.end().1.warp_insn, "all of its work is done again");
    // It writes in its first round here.
    let source = kernel(&format!("mov.u32 %r9, 0;\nst.global.u32 [%rd2+8192], %r1;\n{ROUNDS}"));
    let launch = counterpoint_hardware::testing::launch(7, &source, 1, 64);
    let kept = run(&launch, Some((600, Preemption::Flush)), None);
    let stays =
        |(_, event): &(u64, SmEvent)| matches!(event, SmEvent::Kept { launch: LaunchId(7), index: 0 });
    assert!(kept.events.iter().any(stays), "{:?}", kept.events);
    assert_eq!(kept.values().len(), 128);
}

#[test]
fn a_block_with_local_memory_is_not_switched() {
    let body = format!("mov.u32 %r9, 0;\n{ROUNDS}")
        .replace("mov.u32 %r3, 0;", "mov.u32 %r3, 0;\nst.local.u32 [own], %r1;");
    let source = kernel(&body).replace(".shared .align 8", ".local .align 4 .b8 own[16];\n.shared .align 8");
    let mut launch = Arc::unwrap_or_clone(launch(7, &source, 1, 64));
    let bytes_per_thread = launch.kernel.local_bytes(launch.stack);
    launch.local = LocalMemory { base: 0x6_0000, bytes_per_thread, capacity: Capacity { sms: 1, warps: 48 } };
    let kept = run(&launch.into(), Some((600, Preemption::Switch)), None);
    assert!(kept.events.iter().any(|(_, event)| matches!(event, SmEvent::Kept { .. })));
}

#[test]
fn samples_add_up_to_the_counts_of_the_block() {
    let launch = launch(7, &kernel(&format!("mov.u32 %r9, 0;\n{ROUNDS}")), 1, 64);
    let ran = run(&launch, None, Some(500));
    let samples: Vec<(u64, CtaCounts)> = ran
        .events
        .iter()
        .filter_map(|(cycle, event)| match event {
            SmEvent::Sample { launch: LaunchId(7), counts } => Some((*cycle, *counts)),
            _ => None,
        })
        .collect();
    assert!(samples.len() > 3, "{samples:?}");
    assert!(samples.windows(2).all(|pair| pair[1].0 - pair[0].0 == 500));
    let sum = samples.iter().fold(CtaCounts::default(), |mut sum, (_, counts)| {
        sum += *counts;
        sum
    });
    let (end, all) = ran.end();
    // The last instructions have issued before the last sample, and its store is under way.
    assert_eq!(sum.warp_insn, all.warp_insn, "{end}: {samples:?}");
    assert!(samples.iter().all(|(_, counts)| counts.memory_insn > 0 && counts.slots.total() > 0));
}
