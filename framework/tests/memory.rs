//! Memory use of a machine: nothing per message or wake-up once it runs, and little per component that waits.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use counterpoint_framework::kernel::*;
use counterpoint_framework::model::{Component, Context, Environment, Invalid, process};
use counterpoint_framework::telemetry::{Attribute, Lane, Level, Recording};
use counterpoint_framework::time::{Clock, Hertz, Latency, SimTime};

/// The system's allocator, which counts.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicU64 = AtomicU64::new(0);
/// Tests of one binary run side by side: those that count must not.
static ALONE: Mutex<()> = Mutex::new(());

// SAFETY: every call goes to the system's allocator as it came; the counters are atomics and allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        LIVE.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the pointer came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn clock(number: usize) -> Clock {
    Clock::new(Hertz::new([700, 924, 1_600][number % 3] * 1_000_000))
}

fn link(from: (usize, &str), to: (usize, &str), sender: u32, cycles: u64) -> LinkSpec {
    let end = |(process, port): (usize, &str)| Endpoint { process, port: port.into(), index: None };
    let options = LinkOptions { latency: Latency::Cycles(cycles), capacity: 4, bandwidth: None };
    LinkSpec { from: end(from), to: end(to), sender, options }
}

/// Everything that a component does all the time: a ring of relays that receive, send, tick and wait for one of several
/// things, and report to a collector.
fn busy(nodes: usize) -> ProcessNetwork {
    let mut machine = ProcessNetwork::default();
    for node in 0..nodes {
        machine.processes.push(ProcessSpec::new(format!("n[{node}]"), clock(node), true, move |wiring| {
            let mut input = wiring.input::<u64>("in", None);
            let mut out = wiring.output::<u64>("out", None);
            let mut report = wiring.output::<u64>("report", None);
            let process = wiring.process();
            async move {
                out.send(node as u64).await;
                loop {
                    let token = input.recv().await;
                    out.send(token).await;
                    process.tick().await;
                    let _ = report.try_send(token);
                    let soon = process.cycles_from_now(3);
                    process.wait(soon, [input.when(true), report.when(false)]).await;
                }
            }
        }));
        machine.links.push(link((node, "out"), ((node + 1) % nodes, "in"), 0, 1 + node as u64 % 9));
        machine.links.push(link((node, "report"), (nodes, "in"), node as u32, 5));
    }
    machine.processes.push(ProcessSpec::new("z", clock(0), false, |wiring| {
        let mut input = wiring.input::<u64>("in", None);
        async move {
            loop {
                input.recv().await;
            }
        }
    }));
    machine
}

/// Allocations of a run up to a time.
fn allocations(micros: u64, threads: usize, islands: Islands) -> u64 {
    let machine = busy(24);
    let stop_at = Some(SimTime::from_ns(micros * 1_000));
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let finished = machine.run(&RunOptions {
        threads,
        sharing: Sharing::Always,
        islands,
        stop_at,
        ..RunOptions::default()
    });
    assert!(finished.islands >= threads, "{} islands for {threads} threads", finished.islands);
    assert!(matches!(finished.outcome, Outcome::Stopped(_)), "{}", finished.outcome);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn messages_and_wake_ups_allocate_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for islands in [Islands::One, Islands::AtLatency(SimTime::ZERO), Islands::Auto] {
        // A hundred thousand messages and more lie between the two ends.
        let (short, long) = (allocations(20, 1, islands), allocations(220, 1, islands));
        // The test's own threads write a line now and then.
        assert!(long < short + 20, "{short} and {long} allocations with {islands:?}");
    }
}

#[test]
fn nor_do_they_between_two_threads() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for islands in [Islands::AtLatency(SimTime::ZERO), Islands::AtLatency(SimTime::from_ns(5))] {
        let (short, long) = (allocations(20, 2, islands), allocations(80, 2, islands));
        // The lists between the threads have grown to their size in the short run already.
        assert!(long < short + 20, "{short} and {long} allocations with {islands:?}");
    }
}

#[test]
fn a_component_that_waits_takes_less_than_a_kibibyte() {
    const COUNT: usize = 4_096;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // An island of one's own, with its clock and its queue, takes some more.
    for (islands, most) in [(Islands::One, 1_024), (Islands::AtLatency(SimTime::ZERO), 1_536)] {
        let before = LIVE.load(Ordering::Relaxed);
        let mut machine = ProcessNetwork::default();
        for node in 0..COUNT {
            let path = format!("n[{node}]");
            machine.processes.push(ProcessSpec::new(path, clock(0), true, |wiring| {
                let mut input = wiring.input::<u64>("in", None);
                let mut out = wiring.output::<u64>("out", None);
                async move {
                    loop {
                        let token = input.recv().await;
                        out.send(token).await;
                    }
                }
            }));
            machine.links.push(link((node, "out"), ((node + 1) % COUNT, "in"), 0, 8));
        }
        let (tell, told) = std::sync::mpsc::channel();
        machine.processes.push(ProcessSpec::new("observer", clock(0), false, move |wiring| {
            let process = wiring.process();
            async move {
                process.cycles(100).await;
                tell.send(LIVE.load(Ordering::Relaxed)).map_err(|_| Fault::new("nobody listens"))?;
                Ok(())
            }
        }));
        machine.run(&RunOptions { islands, ..RunOptions::default() });
        let each = (told.recv().expect("the observer ran") - before) / COUNT as u64;
        assert!(each < most, "{each} bytes per component with {islands:?}");
        assert!(LIVE.load(Ordering::Relaxed) < before + 100_000, "a run leaves nothing behind");
    }
}

/// Makes launches, one after another, and notes what memory is taken after some and after as many again.
struct Launcher;

static AFTER: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
const LAUNCHES: u64 = 20_000;

impl Component for Launcher {
    const KIND: &'static str = "test/launcher";
    const DOC: &'static str = "Makes launches.";
    type Params = ();
    type Ports = ();
    type Stats = ();

    fn new((): ()) -> Result<Self, Invalid> {
        Ok(Launcher)
    }

    async fn run(&mut self, (): &mut (), sim: &Context<()>) -> Result<(), Fault> {
        for number in 1..=2 * LAUNCHES {
            let launch = sim.open_span(Level::Kernels, None, format!("step#{number}"), Lane::Only);
            sim.tick().await;
            let counts = ["cycles", "ctas", "warp_insn", "thread_insn"];
            sim.close_span(launch, counts.map(|name| (name, Attribute::Amount(number))).into());
            if number % LAUNCHES == 0 {
                AFTER[(number / LAUNCHES - 1) as usize]
                    .store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

#[test]
fn launches_beyond_the_limit_of_spans_leave_little() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Where blocks are kept, launches leave what they are parts of.
    for (level, most) in [(Level::Kernels, 1), (Level::Ctas, 100)] {
        let mut machine = ProcessNetwork::default();
        let environment = Environment { recording: Recording::of(level), ..Environment::default() };
        assert!(environment.recording.limit as u64 <= LAUNCHES);
        machine.processes.push(process("launcher".to_owned(), clock(0), environment, || Launcher));
        let finished = machine.run(&RunOptions::default());
        assert!(matches!(finished.outcome, Outcome::Finished(_)), "{}", finished.outcome);
        let [few, many] = AFTER.each_ref().map(|after| after.load(Ordering::Relaxed));
        assert!(many < few + most * LAUNCHES, "{} bytes for {LAUNCHES} launches", many - few);
    }
}
