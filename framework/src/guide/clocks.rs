//! Chapter 3: clock domains.
//!
//! Every component has a clock. Edge n of a clock of f Hz is at ⌊n · 10¹² ÷ f⌋ picoseconds: each edge is rounded down
//! by itself, and no error adds up. A component acts at edges of its own clock only. Whatever wakes it between two
//! edges, it wakes at the next one.
//!
//! ```
//! use counterpoint_framework::kernel::{In, LinkOptions, Out, RunOptions};
//! use counterpoint_framework::testing::pair;
//! use counterpoint_framework::time::{Hertz, Latency, SimTime};
//!
//! let (core, cache) = (Hertz::new(700_000_000), Hertz::new(924_000_000));
//! let link = LinkOptions { latency: Latency::Cycles(1), capacity: 4, bandwidth: None };
//! let machine = pair(
//!     [core, cache],
//!     link,
//!     |mut out: Out<u64>, process| async move {
//!         // Latency in cycles counts edges of the sender: this arrives at its edge 1, which is at 1428 ps.
//!         out.send(0).await;
//!         process.tick().await;
//!         assert_eq!(process.now(), SimTime::from_ps(1_428));
//!         // A duration is rounded up to the next edge: 1428 + 1000 ps lies before edge 2.
//!         process.sleep(SimTime::from_ps(1_000)).await;
//!         assert_eq!((process.cycle(), process.now()), (2, SimTime::from_ps(2_857)));
//!         // 700 cycles of 700 MHz are a microsecond, to the picosecond.
//!         process.cycles(698).await;
//!         assert_eq!(process.now(), SimTime::from_ns(1_000));
//!         out.send(1).await;
//!         Ok(())
//!     },
//!     |mut input: In<u64>, process| async move {
//!         // Edges of 924 MHz are at 0, 1082, 2164, ... ps: the message of 1428 ps is seen at the third.
//!         input.recv().await;
//!         assert_eq!((process.cycle(), process.now()), (2, SimTime::from_ps(2_164)));
//!         // 924 cycles are a microsecond too. The second message arrives at 1001428 ps.
//!         input.recv().await;
//!         assert_eq!((process.cycle(), process.now()), (926, SimTime::from_ps(1_002_164)));
//!         Ok(())
//!     },
//! );
//! assert_eq!(machine.run(&RunOptions::default()).outcome.to_string(), "finished at 1002164 ps");
//! ```
//!
//! The ratio of two clocks stays exact however long the run: after an hour of simulated time, 700 MHz and 924 MHz meet
//! in the same picosecond.
//!
//! ```
//! use counterpoint_framework::time::{Clock, Edge, Hertz, SimTime};
//!
//! let hour = SimTime::from_ns(3_600 * 1_000_000_000);
//! for megahertz in [700, 924, 1417] {
//!     let clock = Clock::new(Hertz::new(megahertz * 1_000_000));
//!     let edge = clock.after(Edge::default(), clock.cycles(3_600 * megahertz * 1_000_000));
//!     assert_eq!(edge.time(), hour);
//! }
//! ```
//!
//! Consequences for components:
//!
//! - "k cycles later" is edge n + k, not a time plus k periods: use [`cycles`](crate::kernel::Process::cycles) and
//!   [`span`](crate::kernel::Process::span), and keep no period of your own.
//! - A parameter that belongs to the component's own clock is a [`Cycles`](crate::time::Cycles); one that does not, such
//!   as the delay of a cable, is a [`SimTime`](crate::time::SimTime). A user then changes the clock, and the right ones
//!   change with it.
//! - [`now`](crate::kernel::Process::now) is a time, [`cycle`](crate::kernel::Process::cycle) the number of edges that
//!   have passed.
//!
//! In a machine file, `clocks: { core: 700 MHz }` names a clock and `clock: core` gives it to a component.
