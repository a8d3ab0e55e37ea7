//! Chapter 8: how far threads help.
//!
//! A window is over when every thread has finished it, so a window of simulated time costs
//!
//! > T(p) = W · (1 + b) / p + M(p), where W = n · (e · h + I)
//!
//! with p threads, n islands, e events an island has in a window, h the cost of an event, I that of running an island for a
//! window, b the share by which the slowest thread has more than its part, and M(p) the meeting at the end: a report to
//! write, p − 1 to read, and the lists of messages to other threads.
//!
//! # Measurements
//!
//! `cargo bench -p counterpoint-framework -- islands` runs rings of relays, every relay an island of its own, a token on
//! every cycle of every link: the least work per event, and so the hardest case. Million hops per second on one and on two
//! cores of an AMD EPYC, from runs of 16 million hops, machine start and end included:
//!
//! | components | lookahead | 1 thread | 2 threads | ratio |
//! | --- | --- | --- | --- | --- |
//! | 64 | 1 cycle | 8.7 | 14.9 | 1.7 |
//! | 64 | 10 cycles | 40.2 | 75.6 | 1.9 |
//! | 64 | 100 cycles | 68.5 | 90.7 | 1.3 |
//! | 256 | 10 cycles | 42.9 | 56.0 | 1.3 |
//! | 4,096 | 10 cycles | 14.4 | 59.5 | 4.1 |
//!
//! From the first three rows: h is about 15 ns and I about 100 ns; M(2) is about 0.6 µs, the time left over
//! with two threads at a lookahead of 1. Two rows gain more or less than the formula says. A machine of 4,096
//! islands is six megabytes that pass through a core's caches once a window, so h is four times as much
//! there, and two cores have twice the cache: half the machine is as fast on one thread. The other way, cores
//! are shared: rates of two threads scatter by a tenth from sample to sample and more from run to run, and b
//! follows from the slower core.
//!
//! Idle islands cost nothing: `cargo bench -p counterpoint-framework -- idle` has a ring of 64 beside none, 1,000 and 10,000 islands
//! that wait for a message that never comes: 43.8, 43.6 and 37.6 million hops per second. The last has 160 times as many
//! components to start and to end as it has at work.
//!
//! # Predictions
//!
//! More cores than these were not to be had. M grows with the reports that each thread must read, a cache line from another
//! core each, about 0.1 µs; the rest of the formula is arithmetic:
//!
//! ```
//! /// Microseconds per window, without imbalance.
//! fn window(threads: f64, islands: f64, events: f64, event_ns: f64) -> f64 {
//!     let work = islands * (events * event_ns + 100.0) / 1000.0;
//!     let meeting = if threads == 1.0 { 0.0 } else { 0.4 + 0.1 * threads };
//!     work / threads + meeting
//! }
//! let speedup = |threads, islands, events, event_ns| {
//!     (window(1.0, islands, events, event_ns) / window(threads, islands, events, event_ns) * 10.0).round() / 10.0
//! };
//!
//! // A small ring stops gaining at four threads or so: 640 events are 16 µs of work.
//! assert_eq!([2.0, 4.0, 16.0].map(|threads| speedup(threads, 64.0, 10.0, 15.0)), [1.9, 3.3, 5.3]);
//! // Sixteen times as many components keep sixteen threads busy.
//! assert_eq!([2.0, 4.0, 16.0].map(|threads| speedup(threads, 1024.0, 10.0, 15.0)), [2.0, 4.0, 14.2]);
//! // And so does heavy work: 64 streaming multiprocessors at 250 ns a cycle, cut at 8 cycles.
//! assert_eq!([2.0, 4.0, 16.0].map(|threads| speedup(threads, 64.0, 8.0, 250.0)), [2.0, 3.9, 12.9]);
//! ```
//!
//! So a window should hold some hundred events per thread. Where it holds fewer, a longer lookahead buys more than a thread
//! does; `counterpoint graph --islands --threads N` shows the lookahead, the link that limits it, and each thread's share.
