//! tokio's current-thread runtime with its clock paused, which jumps to the next timer when nothing else is ready, and
//! flume channels. A tick is a millisecond, the resolution of tokio's timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::pin::pin;

use flume::{Receiver, Sender};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, MissedTickBehavior, interval_at, sleep, sleep_until};

use crate::graph::{
    BUFFER, FLIGHT, OUTPUTS, PROCESSES, RING, STAGES, TOKENS_EACH, Work, draw, graph, hold, last_tick,
    output, xorshift,
};
use crate::measure::{COMPONENTS, Run, Workload};

const TICK: Duration = Duration::from_millis(1);
const OPEN: &str = "the receiver outlives its senders";

pub(crate) fn run(workload: Workload, size: u64) -> Run {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime needs nothing but memory");
    Run::time(|| {
        runtime.block_on(async {
            let mut tasks = JoinSet::new();
            match workload {
                Workload::Ring => ring(&mut tasks, size),
                Workload::Pipeline => pipeline(&mut tasks, size),
                Workload::Phold => phold(&mut tasks, size),
                Workload::Clocked => clocked(&mut tasks, size),
            }
            tasks.join_all().await.into_iter().fold(Work::default(), Work::and)
        })
    })
}

fn ring(tasks: &mut JoinSet<Work>, hops: u64) {
    let (senders, mut receivers): (Vec<Sender<u64>>, Vec<_>) =
        (0..RING).map(|_| flume::bounded(BUFFER)).unzip();
    // Component n sends to channel n and receives from the one before.
    receivers.rotate_right(1);
    for (node, (sender, receiver)) in senders.into_iter().zip(receivers).enumerate() {
        tasks.spawn(async move {
            let mut work = Work::default();
            let mut token = node as u64;
            for _ in 0..hops / RING as u64 {
                sleep(TICK).await;
                sender.send_async(token).await.expect(OPEN);
                token = receiver.recv_async().await.expect("a neighbour sends as often");
                work.add(token);
            }
            work
        });
    }
}

fn pipeline(tasks: &mut JoinSet<Work>, items: u64) {
    let (sender, mut input): (Sender<u64>, Receiver<u64>) = flume::bounded(BUFFER);
    tasks.spawn(async move {
        for item in 0..items {
            sender.send_async(item).await.expect(OPEN);
        }
        Work::default()
    });
    for _ in 1..STAGES {
        let (sender, next) = flume::bounded(BUFFER);
        let receiver = std::mem::replace(&mut input, next);
        tasks.spawn(async move {
            let mut operations = 0;
            while let Ok(item) = receiver.recv_async().await {
                sleep(TICK).await;
                sender.send_async(item).await.expect(OPEN);
                operations += 1;
            }
            Work { operations, check: 0 }
        });
    }
    tasks.spawn(async move {
        let mut work = Work::default();
        while let Ok(item) = input.recv_async().await {
            sleep(TICK).await;
            work.add(item);
        }
        work
    });
}

/// The timers of a PHOLD process: a token's arrival or the end of its hold.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Arrive,
    Leave,
}

fn phold(tasks: &mut JoinSet<Work>, events: u64) {
    let (senders, inputs): (Vec<Sender<(u64, u32)>>, Vec<_>) =
        (0..PROCESSES).map(|_| flume::unbounded()).unzip();
    let (start, end) = (Instant::now(), last_tick(events));
    for (process, (input, receivers)) in inputs.into_iter().zip(graph()).enumerate() {
        let outs = receivers.map(|receiver| senders[receiver as usize].clone());
        tasks.spawn(holder(process, input, outs, start, end));
    }
}

async fn holder(
    process: usize,
    input: Receiver<(u64, u32)>,
    outs: [Sender<(u64, u32)>; OUTPUTS],
    start: Instant,
    end: u64,
) -> Work {
    let at = |tick: u64| start + Duration::from_millis(tick);
    let mut work = Work::default();
    let tokens = (process * TOKENS_EACH) as u32..((process + 1) * TOKENS_EACH) as u32;
    let mut timers: BinaryHeap<Reverse<(u64, Timer, u32)>> =
        tokens.map(|token| Reverse((hold(draw(token, 0)), Timer::Leave, token))).collect();
    let mut alarm = pin!(sleep_until(at(end)));
    loop {
        let due = timers.peek().map_or(end, |Reverse((due, ..))| end.min(*due));
        if alarm.deadline() != at(due) {
            alarm.as_mut().reset(at(due));
        }
        tokio::select! {
            biased;
            Ok(message) = input.recv_async() => {
                let mut next = Some(message);
                while let Some((due, token)) = next {
                    timers.push(Reverse((due, Timer::Arrive, token)));
                    next = input.try_recv().ok();
                }
            }
            () = &mut alarm => {
                if due >= end {
                    return work;
                }
                while timers.peek().is_some_and(|Reverse((time, ..))| *time == due) {
                    let Some(Reverse((now, timer, token))) = timers.pop() else { break };
                    let draw = draw(token, now);
                    if timer == Timer::Arrive {
                        work.add(draw);
                        timers.push(Reverse((now + hold(draw), Timer::Leave, token)));
                    } else {
                        // A receiver may have returned already at the end.
                        let _ = outs[output(draw)].send((now + FLIGHT, token));
                    }
                }
            }
        }
    }
}

fn clocked(tasks: &mut JoinSet<Work>, cycles: u64) {
    let start = Instant::now() + TICK;
    for component in 0..COMPONENTS {
        tasks.spawn(async move {
            let mut clock = interval_at(start, TICK);
            clock.set_missed_tick_behavior(MissedTickBehavior::Burst);
            let mut state = component as u64 + 1;
            for _ in 0..cycles {
                clock.tick().await;
                state = xorshift(state);
            }
            Work { operations: cycles, check: state }
        });
    }
}
