//! Chapter 4: waiting for several things.
//!
//! # Two inputs: `first`
//!
//! [`first`](crate::kernel::first) takes a message from whichever input has one first. The left one wins a tie, so this
//! is a priority too.
//!
//! ```
//! use counterpoint_framework::kernel::{Either, Fault, In, Out, first};
//! use counterpoint_framework::model::{Component, Context, Invalid, Ports};
//! use counterpoint_framework::testing::Bench;
//! use counterpoint_framework::time::Hertz;
//!
//! #[derive(Ports)]
//! struct PriorityPorts {
//!     /// Goes first.
//!     urgent: In<u64>,
//!     /// Goes when there is nothing urgent.
//!     normal: In<u64>,
//!     /// The served messages.
//!     out: Out<u64>,
//! }
//!
//! struct Priority;
//!
//! impl Component for Priority {
//!     const KIND: &'static str = "example/priority";
//!     const DOC: &'static str = "Passes on one number a cycle, urgent ones first.";
//!     const DAEMON: bool = true;
//!     type Params = ();
//!     type Ports = PriorityPorts;
//!     type Stats = ();
//!
//!     fn new((): ()) -> Result<Self, Invalid> {
//!         Ok(Priority)
//!     }
//!
//!     async fn run(&mut self, io: &mut PriorityPorts, sim: &Context<()>) -> Result<(), Fault> {
//!         loop {
//!             let (Either::Left(number) | Either::Right(number)) =
//!                 first(&mut io.urgent, &mut io.normal).await;
//!             io.out.send(number).await;
//!             sim.tick().await;
//!         }
//!     }
//! }
//!
//! let mut bench = Bench::new(Hertz::new(1_000_000_000), || Priority);
//! // (cycle, message): messages there at cycle 5 go in three cycles, the urgent ones first.
//! bench.drive::<u64>("normal", None, vec![(5, 10), (9, 11)]);
//! bench.drive::<u64>("urgent", None, vec![(5, 1), (5, 2)]);
//! let out = bench.probe::<u64>("out", None);
//! bench.lasts(20);
//! assert_eq!(bench.run().outcome.to_string(), "finished at 20 ns");
//! assert_eq!(out.take(), [(5, 1), (6, 2), (7, 10), (9, 11)]);
//! ```
//!
//! # An array of inputs: `any`
//!
//! A port of type `Vec<In<M>>` is an array; its length follows from the links. [`any`](crate::kernel::any) takes from
//! one of them: the oldest message first, or in turn ([`Fairness`](crate::kernel::Fairness)).
//!
//! ```
//! use counterpoint_framework::kernel::{Fairness, Fault, In, Out, any};
//! use counterpoint_framework::model::{Component, Context, Invalid, Ports};
//! use counterpoint_framework::testing::Bench;
//! use counterpoint_framework::time::Hertz;
//!
//! #[derive(Ports)]
//! struct TurnPorts {
//!     /// Served in turn.
//!     inputs: Vec<In<u64>>,
//!     /// The served messages.
//!     out: Out<u64>,
//! }
//!
//! struct Turn;
//!
//! impl Component for Turn {
//!     const KIND: &'static str = "example/turn";
//!     const DOC: &'static str = "Serves its inputs in turn, one a cycle.";
//!     const DAEMON: bool = true;
//!     type Params = ();
//!     type Ports = TurnPorts;
//!     type Stats = ();
//!
//!     fn new((): ()) -> Result<Self, Invalid> {
//!         Ok(Turn)
//!     }
//!
//!     async fn run(&mut self, io: &mut TurnPorts, sim: &Context<()>) -> Result<(), Fault> {
//!         let mut last = 0;
//!         loop {
//!             let (index, number) = any(&mut io.inputs, Fairness::After(last)).await;
//!             last = index;
//!             io.out.send(number).await;
//!             sim.tick().await;
//!         }
//!     }
//! }
//!
//! let mut bench = Bench::new(Hertz::new(1_000_000_000), || Turn);
//! bench.drive::<u64>("inputs", Some(0), vec![(5, 10), (5, 11), (5, 12)]);
//! bench.drive::<u64>("inputs", Some(1), vec![(5, 20), (5, 21)]);
//! let out = bench.probe::<u64>("out", None);
//! bench.lasts(20);
//! assert_eq!(bench.run().outcome.to_string(), "finished at 20 ns");
//! // Input 0 was served last, as far as the component knows; so 1 comes first.
//! assert_eq!(out.take(), [(5, 20), (6, 10), (7, 21), (8, 11), (9, 12)]);
//! ```
//!
//! A component that steps from cycle to cycle and has dozens of inputs should not look at each in every step, nor arm each
//! when it waits: a [`Watch`](crate::kernel::Watch) knows which of them have something, and is one source for all of them.
//!
//! # A deadline, or conditions: `Process::wait`
//!
//! [`wait`](crate::kernel::Process::wait) ends when one of several sources has something, or at a deadline: whichever
//! comes first. An input is a source of messages, an output one of credits. `when(condition)` leaves a source out if
//! there is no use for it now. The wait takes nothing: look afterwards with `try_recv` or `try_reserve`.
//!
//! At least one cycle passes in a `wait`. This makes the usual loop right: do all that can be done in this
//! cycle, then wait, then look again.
//!
//! ```
//! use counterpoint_framework::kernel::{In, LinkOptions, Out, RunOptions, Source};
//! use counterpoint_framework::testing::pair;
//! use counterpoint_framework::time::{Hertz, Latency, SimTime};
//!
//! let clock = Hertz::new(1_000_000_000);
//! let link = LinkOptions { latency: Latency::Cycles(1), capacity: 4, bandwidth: None };
//! let machine = pair(
//!     [clock, clock],
//!     link,
//!     |mut out: Out<u64>, process| async move {
//!         process.cycles(20).await;
//!         out.send(7).await;
//!         Ok(())
//!     },
//!     |mut input: In<u64>, process| async move {
//!         process.wait(process.cycles_from_now(10), [input.when(true)]).await;
//!         assert_eq!((process.cycle(), input.try_recv()), (10, None), "the deadline came first");
//!         process.wait(SimTime::MAX, [input.when(true)]).await;
//!         assert_eq!((process.cycle(), input.try_recv()), (21, Some(7)), "the message came first");
//!         Ok(())
//!     },
//! );
//! assert_eq!(machine.run(&RunOptions::default()).outcome.to_string(), "finished at 21 ns");
//! ```
//!
//! # What a step tried: `Process::wait_tried`
//!
//! A server does in each step what it can, and then waits for what it could not do. Its ports know which of them it tried, so
//! [`wait_tried`](crate::kernel::Process::wait_tried) needs no list: it ends when an input from which the step took a message, or that it found
//! empty, has one, and when an output that had no credit has one. [`send_front`](crate::kernel::Out::send_front) sends the first message of a
//! queue and counts as a try if messages are left.
//!
//! ```
//! use std::collections::VecDeque;
//!
//! use counterpoint_framework::kernel::{Fault, In, Out};
//! use counterpoint_framework::model::{Component, Context, Invalid, Ports};
//! use counterpoint_framework::testing::Bench;
//! use counterpoint_framework::time::{Hertz, SimTime};
//!
//! #[derive(Ports)]
//! struct RelayPorts {
//!     /// Numbers.
//!     numbers: In<u64>,
//!     /// The same numbers.
//!     out: Out<u64>,
//! }
//!
//! struct Relay(VecDeque<u64>);
//!
//! impl Component for Relay {
//!     const KIND: &'static str = "relay";
//!     const DOC: &'static str = "Takes up to two numbers ahead.";
//!     const DAEMON: bool = true;
//!     type Params = ();
//!     type Ports = RelayPorts;
//!     type Stats = ();
//!
//!     fn new((): ()) -> Result<Self, Invalid> {
//!         Ok(Relay(VecDeque::new()))
//!     }
//!
//!     async fn run(&mut self, io: &mut RelayPorts, sim: &Context<()>) -> Result<(), Fault> {
//!         loop {
//!             if self.0.len() < 2 {
//!                 self.0.extend(io.numbers.try_recv());
//!             }
//!             io.out.send_front(&mut self.0, SimTime::ZERO);
//!             sim.wait_tried(SimTime::MAX, io).await;
//!         }
//!     }
//! }
//!
//! let mut bench = Bench::new(Hertz::new(1_000_000_000), || Relay(VecDeque::new()));
//! bench.drive::<u64>("numbers", None, vec![(3, 10), (3, 11), (9, 12)]);
//! let out = bench.probe::<u64>("out", None);
//! bench.lasts(20);
//! assert_eq!(bench.run().outcome.to_string(), "finished at 20 ns");
//! assert_eq!(out.take(), [(3, 10), (4, 11), (9, 12)]);
//! ```
//!
//! # Independent halves: `concurrently`
//!
//! Two directions of a bus have nothing to do with each other: two `async` blocks, joined, say it best. Combinators of
//! other crates (`join`, `select`) must run inside [`concurrently`](crate::kernel::Process::concurrently). A wait may
//! move the component's time forward at once if nothing else happens before; `concurrently` tells the kernel that
//! another branch may still have something to do now. `first`, `any` and `wait` need no such care.
//!
//! ```
//! use counterpoint_framework::kernel::{In, LinkOptions, Out, RunOptions};
//! use counterpoint_framework::testing::pair;
//! use counterpoint_framework::time::{Hertz, Latency};
//! use futures::future::join;
//!
//! let clock = Hertz::new(1_000_000_000);
//! let link = LinkOptions { latency: Latency::Cycles(20), capacity: 4, bandwidth: None };
//! let machine = pair(
//!     [clock, clock],
//!     link,
//!     |mut out: Out<u64>, _| async move {
//!         out.send(7).await;
//!         Ok(())
//!     },
//!     |mut input: In<u64>, process| async move {
//!         let receive = async {
//!             input.recv().await;
//!             process.cycle()
//!         };
//!         let timer = async {
//!             process.cycles(3).await;
//!             process.cycle()
//!         };
//!         assert_eq!(process.concurrently(join(receive, timer)).await, (20, 3));
//!         Ok(())
//!     },
//! );
//! assert_eq!(machine.run(&RunOptions::default()).outcome.to_string(), "finished at 20 ns");
//! ```
//!
//! A wait may be dropped half-way, as `select` does: a message that was not taken stays in its buffer, and a credit that
//! was not used goes back. But a `send` that is dropped before it has its credit drops its message too; where that
//! matters, `reserve` first.
