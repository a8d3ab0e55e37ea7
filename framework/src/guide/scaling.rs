//! Chapter 8: how far threads help.
//!
//! A window is over when every thread has finished it, so a window of simulated time costs
//!
//! > T(p) = W · (1 + b) / p + M(p), where W = e · h
//!
//! with p threads, e events in a window, h the cost of an event, b the share by which the slowest thread has more than its part,
//! and M(p) the meeting at the end: a report to write, reports to read, and the lists of messages to threads that a link joins.
//! Four threads read each other's reports; with more, each has four others below it, whose reports it joins with its own
//! before, and which hear the sum of all from it after.
//!
//! # Measurements
//!
//! `cargo bench -p counterpoint-framework -- islands` runs rings of relays, a token on every cycle of every link: the least work
//! per event, and so the hardest case. Million hops per second on one and on two cores of an AMD EPYC, from runs of 16 million
//! hops, machine start and end included:
//!
//! | components | links | 1 thread | 2 threads | ratio |
//! | --- | --- | --- | --- | --- |
//! | 64 | 1 cycle | 42.2 | 56.0 | 1.3 |
//! | 64 | 10 cycles | 50.9 | 90.3 | 1.8 |
//! | 64 | 100 cycles | 49.3 | 93.5 | 1.9 |
//! | 256 | 10 cycles | 51.2 | 90.1 | 1.8 |
//! | 4,096 | 10 cycles | 47.5 | 91.4 | 1.9 |
//!
//! So h is about 20 ns. A window of 64 events takes 1.1 µs on two threads; M(2) is about 0.4 µs of that. Cores are shared: rates
//! of two threads scatter by a tenth from run to run, and b follows from the slower core.
//!
//! Idle islands cost nothing: `cargo bench -p counterpoint-framework -- idle` has a ring of 64, cut at every link, beside none, 1,000 and
//! 10,000 islands that wait for a message that never comes: 38.5, 38.8 and 36.1 million hops per second. The last has 160 times
//! as many components to start and to end as it has at work.
//!
//! Whole processes, by `counterpoint run gtx480 reference-mandelbrot --set app.n=512 --threads 2 --force-threads` and with
//! `reference-matmul`, on two threads and on one: 0.88 s and 1.47 s, 4.1 s and 6.8 s of wall-clock time, 1.7 and 1.6 times as fast.
//!
//! # Sixteen cores
//!
//! The same on a virtual computer with 16 cores of an Intel Xeon. Rates vary by a third from run to run; here is the middle of five.
//! Million hops per second:
//!
//! | components | links | 1 thread | 2 | 4 | 8 | 16 | ratio |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | 64 | 1 cycle | 7.5 | 9.2 | 13 | 15 | 14 | 1.9 |
//! | 64 | 10 cycles | 20 | 38 | 68 | 82 | 109 | 5.4 |
//! | 64 | 100 cycles | 37 | 49 | 91 | 170 | 270 | 7.3 |
//! | 256 | 10 cycles | 22 | 41 | 115 | 107 | 198 | 9.0 |
//! | 4,096 | 10 cycles | 20 | 38 | 74 | 131 | 244 | 12 |
//!
//! Whole processes, the better of two, in seconds, each with the same hash on any number of threads:
//!
//! | machine and program | 1 thread | 2 | 4 | 8 | 16 | ratio | estimate |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | `gtx480`, `reference-mandelbrot`, n 512 | 2.39 | 1.64 | 1.00 | 0.71 | 0.51 | 4.7 | 7.1 |
//! | `gtx480`, `reference-matmul`, n 512 | 9.17 | 5.58 | 3.44 | 2.20 | 1.85 | 5.0 | 8.3 |
//! | `crcs-64sm-pcie3-ssd`, `reference-mandelbrot`, n 1024 | 9.11 | 4.26 | 3.03 | 2.10 | 1.50 | 6.1 | 11.2 |
//!
//! The estimate is `counterpoint graph`'s for 16 threads, measured there (below): of the time in which all SMs have work. A process also
//! loads, copies and checks its results, and waits for the last blocks, on fewer threads.
//!
//! # Predictions
//!
//! A report to read is a cache line from another core, about 0.1 µs; the rest of the formula is arithmetic:
//!
//! ```
//! /// Reports that a thread reads one after another: of its group, then for each level below four before and one after.
//! fn reads(threads: f64) -> f64 {
//!     let levels = [4.0, 20.0, 84.0].iter().filter(|&&most| threads > most).count();
//!     threads.min(4.0) - 1.0 + 5.0 * levels as f64
//! }
//! /// Microseconds per window, without imbalance.
//! fn window(threads: f64, events: f64, event_ns: f64) -> f64 {
//!     let meeting = if threads == 1.0 { 0.0 } else { 0.3 + 0.1 * reads(threads) };
//!     events * event_ns / 1000.0 / threads + meeting
//! }
//! let speedup = |threads, events, event_ns| {
//!     (window(1.0, events, event_ns) / window(threads, events, event_ns) * 10.0).round() / 10.0
//! };
//!
//! // A small ring stops gaining at sixteen threads or so: 640 events are 13 µs of work. Measured with 16: 5.4.
//! assert_eq!([2.0, 4.0, 16.0, 64.0].map(|threads| speedup(threads, 640.0, 20.0)), [1.9, 3.4, 6.7, 7.1]);
//! // Sixteen times as many components keep more threads busy. Measured with 16 threads and 64 times as many: 12.
//! assert_eq!([2.0, 4.0, 16.0, 64.0].map(|threads| speedup(threads, 10_240.0, 20.0)), [2.0, 4.0, 14.7, 42.7]);
//! // And so does heavy work: 64 streaming multiprocessors, all busy, at 250 ns a cycle, cut at 8 cycles.
//! assert_eq!([2.0, 4.0, 16.0, 64.0].map(|threads| speedup(threads, 512.0, 250.0)), [2.0, 3.9, 14.1, 35.6]);
//! ```
//!
//! A real machine has an imbalance, too: parts that are there once, such as its network. The kernel's own estimate, by which it
//! cuts, counts them, with weights that were measured on the computer: `counterpoint graph gtx480 reference-mandelbrot --islands
//! --threads 16 --force-threads --warm-up 300us` prints 6.9 times as fast as one thread, where 15 SMs are all that works, and
//! 1.7 with two.
//!
//! So a window should hold some hundred events per thread. Where it holds fewer, a longer lookahead buys more than a thread
//! does; `counterpoint graph --islands --threads N` shows the lookahead, the link that limits it, and each thread's share.
