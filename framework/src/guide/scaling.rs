//! Chapter 9: how far threads help.
//!
//! A window is over when every thread has finished it, so a window of simulated time costs
//!
//! > T(p) = W · (1 + b) / p + M(p), where W = n · (e · h + I)
//!
//! with p threads, n islands, e events an island has in a window, h the cost of an event, I that of running an island for a
//! window, b the share by which the slowest thread has more than its part, and M(p) the meeting at the end: a report to
//! write, p − 1 to read, and the lists of what goes to other threads.
//!
//! # What was measured
//!
//! `cargo bench -p counterpoint-framework -- islands` runs rings of relays, every relay an island of its own, a token on
//! every cycle of every link: the least work per event, and so the hardest case. Million hops per second on one and on two
//! cores of an AMD EPYC, from runs of 0.7 million hops, machine start and end included:
//!
//! | components | lookahead | 1 thread | 2 threads | ratio |
//! | --- | --- | --- | --- | --- |
//! | 64 | 1 cycle | 8.7 | 14.0 | 1.6 |
//! | 64 | 10 cycles | 36.8 | 54.2 | 1.5 |
//! | 64 | 100 cycles | 52.3 | 60.7 | 1.2 |
//! | 256 | 10 cycles | 30.1 | 54.1 | 1.8 |
//! | 4,096 | 10 cycles | 10.0 | 18.6 | 1.9 |
//!
//! From one row to the next: h is about 19 ns while the machine fits the second-level cache and 90 ns when it does not (4,096
//! components); I is about 95 ns, the difference between a lookahead of 1 and of 100 cycles; M(2) is about 0.9 µs, what two
//! threads have left over at a lookahead of 1. The rates of two threads scatter by a fifth: the cores are shared, and b is what
//! the slower one makes of it; with 64 components these runs were so short that starting a thread shows. The benchmark has since
//! been given 16 million hops, in which it does not.
//!
//! Idle islands should cost nothing. `cargo bench -p counterpoint-framework -- idle` has a ring of 64 beside none, 1,000 and 10,000
//! islands that wait for a message that never comes: 34, 36 and 32 million hops per second on a machine with other work, where the
//! same row scatters by a tenth and more from run to run. So no cost per idle island shows, and none of less than that would.
//!
//! # What it predicts
//!
//! More cores than these were not to be had. M grows with the reports that each thread must read, a cache line from another
//! core each, about 0.1 µs; the rest of the formula is arithmetic:
//!
//! ```
//! /// Microseconds per window, without imbalance.
//! fn window(threads: f64, islands: f64, events: f64, event_ns: f64) -> f64 {
//!     let work = islands * (events * event_ns + 95.0) / 1000.0;
//!     let meeting = if threads == 1.0 { 0.0 } else { 0.7 + 0.1 * threads };
//!     work / threads + meeting
//! }
//! let speedup = |threads, islands, events, event_ns| {
//!     (window(1.0, islands, events, event_ns) / window(threads, islands, events, event_ns) * 10.0).round() / 10.0
//! };
//!
//! // A small ring stops gaining at four threads or so: 640 events are 18 µs of work.
//! assert_eq!([2.0, 4.0, 16.0].map(|threads| speedup(threads, 64.0, 10.0, 19.0)), [1.8, 3.2, 5.3]);
//! // Sixteen times as many components keep sixteen threads busy.
//! assert_eq!([2.0, 4.0, 16.0].map(|threads| speedup(threads, 1024.0, 10.0, 19.0)), [2.0, 3.9, 14.2]);
//! // And so does heavy work: 64 streaming multiprocessors at 250 ns a cycle, cut at 8 cycles.
//! assert_eq!([2.0, 4.0, 16.0].map(|threads| speedup(threads, 64.0, 8.0, 250.0)), [2.0, 3.9, 12.6]);
//! ```
//!
//! So a window should hold some hundred events per thread. Where it holds fewer, a longer lookahead buys more than a thread
//! does; `counterpoint graph --islands --threads N` shows the lookahead, the link that limits it, and each thread's share.
