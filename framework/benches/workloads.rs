//! The four workloads as machines of our kernel.
//!
//! A tick or unit is a cycle: of 1 GHz everywhere, or of three clocks in rotation that share no edges. What a run has
//! done is in its results; see [`work`].

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::rc::Rc;

use counterpoint_framework::kernel::{
    DEFAULT_WEIGHT, Endpoint, Fault, Finished, LinkOptions, LinkSpec, ProcessNetwork, ProcessSpec, Source,
    Started, Wiring,
};
use counterpoint_framework::time::{Clock, Hertz, Latency, SimTime};

use super::graph::{
    BUFFER, FLIGHT, OUTPUTS, PROCESSES, RING, STAGES, TOKENS_EACH, Work, draw, graph, hold, last_tick,
    output, xorshift,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clocks {
    /// 1 GHz everywhere, as in kernels that know no clocks.
    Unit,
    /// 700, 924 and 1600 MHz in rotation: edges at picoseconds that rarely coincide.
    Mixed,
}

impl Clocks {
    fn of(self, component: usize) -> Clock {
        let megahertz = match self {
            Clocks::Unit => 1_000,
            Clocks::Mixed => [700, 924, 1_600][component % 3],
        };
        Clock::new(Hertz::new(megahertz * 1_000_000))
    }
}

/// Total work of the processes of a finished run.
pub(crate) fn work(finished: Finished) -> Work {
    let each = finished.results.into_iter().filter_map(|result| result.downcast::<Work>().ok());
    each.fold(Work::default(), |sum, work| sum.and(*work))
}

/// The work of a process, set at its end.
type Done = Rc<Cell<Work>>;

/// Adds a process that sets its work at its end. The kernel polls its body directly.
fn add<B>(
    machine: &mut ProcessNetwork,
    clocks: Clocks,
    body: impl FnOnce(&mut Wiring<'_>, Done) -> B + Send + 'static,
) where
    B: Future<Output = Result<(), Fault>> + 'static,
{
    let number = machine.processes.len();
    let start = Box::new(|wiring: &mut Wiring<'_>| {
        let done = Done::default();
        Started {
            body: Box::pin(body(wiring, Rc::clone(&done))),
            finish: Box::new(move || Box::new(done.get())),
            sampler: None,
            viewer: None,
        }
    });
    let (path, clock) = (format!("p[{number}]"), clocks.of(number));
    machine.processes.push(ProcessSpec {
        path,
        clock,
        daemon: false,
        weight: DEFAULT_WEIGHT,
        link_weight: 0,
        start,
    });
}

fn join(
    machine: &mut ProcessNetwork,
    from: (usize, Option<u32>),
    to: (usize, u32),
    cycles: u64,
    capacity: usize,
) {
    let options =
        LinkOptions { latency: Latency::Cycles(cycles), capacity: capacity as u32, bandwidth: None };
    machine.links.push(LinkSpec {
        from: Endpoint { process: from.0, port: "out".into(), index: from.1 },
        to: Endpoint { process: to.0, port: "in".into(), index: None },
        sender: to.1,
        options,
    });
}

/// The ring for `hops` hops, a multiple of the square of its size.
pub(crate) fn ring(clocks: Clocks, hops: u64) -> ProcessNetwork {
    long_ring(clocks, RING, 1, hops)
}

/// A ring of `nodes` with links of `cycles` cycles and as many tokens for each, for `hops` hops.
pub(crate) fn long_ring(clocks: Clocks, nodes: usize, cycles: u64, hops: u64) -> ProcessNetwork {
    let mut machine = ProcessNetwork::default();
    for node in 0..nodes {
        add(&mut machine, clocks, move |wiring, done| {
            let (mut input, mut out) = (wiring.input::<u64>("in", None), wiring.output::<u64>("out", None));
            async move {
                let mut work = Work::default();
                for _ in 0..cycles {
                    out.send(node as u64).await;
                }
                for _ in 0..hops / nodes as u64 {
                    let token = input.recv().await;
                    work.add(token);
                    out.send(token).await;
                }
                done.set(work);
                Ok(())
            }
        });
        join(&mut machine, (node, None), ((node + 1) % nodes, 0), cycles, BUFFER);
    }
    machine
}

/// The pipeline for `items` items. Process 0 is the source.
pub(crate) fn pipeline(clocks: Clocks, items: u64) -> ProcessNetwork {
    let mut machine = ProcessNetwork::default();
    add(&mut machine, clocks, move |wiring, _| {
        let mut out = wiring.output::<u64>("out", None);
        async move {
            for item in 0..items {
                out.send(item).await;
            }
            Ok(())
        }
    });
    for stage in 1..STAGES {
        add(&mut machine, clocks, move |wiring, done| {
            let (mut input, mut out) = (wiring.input::<u64>("in", None), wiring.output::<u64>("out", None));
            let process = wiring.process();
            async move {
                for _ in 0..items {
                    let item = input.recv().await;
                    process.tick().await;
                    out.send(item).await;
                }
                done.set(Work { operations: items, check: 0 });
                Ok(())
            }
        });
        join(&mut machine, (stage - 1, None), (stage, 0), 1, BUFFER);
    }
    add(&mut machine, clocks, move |wiring, done| {
        let mut input = wiring.input::<u64>("in", None);
        let process = wiring.process();
        async move {
            let mut work = Work::default();
            for _ in 0..items {
                let item = input.recv().await;
                process.tick().await;
                work.add(item);
            }
            done.set(work);
            Ok(())
        }
    });
    join(&mut machine, (STAGES - 1, None), (STAGES, 0), 1, BUFFER);
    machine
}

/// PHOLD for about `events` hops.
pub(crate) fn phold(clocks: Clocks, events: u64) -> ProcessNetwork {
    let mut machine = ProcessNetwork::default();
    let end = SimTime::from_ns(last_tick(events));
    for process in 0..PROCESSES {
        add(&mut machine, clocks, move |wiring, done| holder(wiring, done, process, end));
    }
    let mut senders = [0; PROCESSES];
    for (process, receivers) in graph().into_iter().enumerate() {
        for (index, receiver) in receivers.into_iter().enumerate() {
            let sender = &mut senders[receiver as usize];
            // The credits in flight, two hundred, are far more than a link needs: nothing ever waits for one.
            join(&mut machine, (process, Some(index as u32)), (receiver as usize, *sender), FLIGHT, BUFFER);
            *sender += 1;
        }
    }
    machine
}

/// A process of PHOLD: holds what arrives, each token in a timer of its own, until `end`.
fn holder(
    wiring: &mut Wiring<'_>,
    done: Done,
    index: usize,
    end: SimTime,
) -> impl Future<Output = Result<(), Fault>> + use<> {
    let mut input = wiring.input::<u32>("in", None);
    let mut outs: Vec<_> = (0..OUTPUTS as u32).map(|out| wiring.output::<u32>("out", Some(out))).collect();
    let process = wiring.process();
    async move {
        let mut work = Work::default();
        let tokens = (index * TOKENS_EACH) as u32..((index + 1) * TOKENS_EACH) as u32;
        let mut timers: BinaryHeap<Reverse<(u64, u32)>> =
            tokens.map(|token| Reverse((hold(draw(token, 0)), token))).collect();
        loop {
            let cycle = process.cycle();
            while let Some(token) = input.try_recv() {
                let draw = draw(token, cycle);
                work.add(draw);
                timers.push(Reverse((cycle + hold(draw), token)));
            }
            while let Some(&Reverse((due, token))) = timers.peek()
                && due <= cycle
            {
                timers.pop();
                let out = &mut outs[output(draw(token, cycle))];
                out.try_send(token).map_err(|_| Fault::new("a link was full"))?;
            }
            let due = timers.peek().map_or(end, |&Reverse((due, _))| process.cycles_from_now(due - cycle));
            process.wait(due.min(end), [input.when(true)]).await;
            if process.now() >= end {
                done.set(work);
                return Ok(());
            }
        }
    }
}

/// `components` components that are woken in every cycle, `cycles` times.
pub(crate) fn clocked(clocks: Clocks, components: usize, cycles: u64) -> ProcessNetwork {
    let mut machine = ProcessNetwork::default();
    for component in 0..components {
        add(&mut machine, clocks, move |wiring, done| {
            let process = wiring.process();
            async move {
                let mut state = component as u64 + 1;
                for _ in 0..cycles {
                    process.tick().await;
                    state = xorshift(state);
                }
                done.set(Work { operations: cycles, check: state });
                Ok(())
            }
        });
    }
    machine
}
