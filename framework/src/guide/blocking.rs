//! Chapter 5: components that wait for one thing at a time.
//!
//! Most components are a plain loop: receive, work, send. At every moment they wait for one message, one credit or one
//! clock edge. Such a component says so:
//!
//! ```text
//! const BLOCKING: bool = true;
//! ```
//!
//! The kernel may then let it **run ahead**: within a window (chapter 7) it need not go back to the executor between
//! two steps, even if its neighbours have something to do in the meantime. The component is done with its part of the
//! window early, and its neighbours find the messages with the right times. It is called upon as soon as something has
//! come, whatever its time, and takes all that has come at once. That is faster and changes nothing else: not a time, not
//! a statistic, not the hash of the run.
//!
//! - **Allowed** are the operations that wait for one thing: `recv`, `ready`, `send`, `send_after`, `reserve`, `tick`,
//!   `cycles`, `until`, `sleep`.
//! - **Forbidden** is to look, for what can be seen now may still change: `try_recv`, `peek`, `has_message`,
//!   `try_send`, `try_reserve`, `credits`; and to wait for several things: `first`, `any`, `wait`, `concurrently`. A
//!   component that does so after all fails, and the message says why.
//!
//! ```
//! use counterpoint_framework::kernel::{Fault, In, Out, RunOptions};
//! use counterpoint_framework::model::{Component, Context, Invalid, Ports};
//! use counterpoint_framework::testing::{run_text, toys};
//!
//! #[derive(Ports)]
//! struct SlowPorts {
//!     /// Numbers.
//!     input: In<u64>,
//!     /// The same, later.
//!     out: Out<u64>,
//! }
//!
//! /// The same component, once with the declaration and once without.
//! struct Slow<const BLOCKING: bool>;
//!
//! impl<const B: bool> Component for Slow<B> {
//!     const KIND: &'static str = "example/slow";
//!     const DOC: &'static str = "Passes on a number every three cycles.";
//!     const DAEMON: bool = true;
//!     const BLOCKING: bool = B;
//!     type Params = ();
//!     type Ports = SlowPorts;
//!     type Stats = ();
//!
//!     fn new((): ()) -> Result<Self, Invalid> {
//!         Ok(Slow)
//!     }
//!
//!     async fn run(&mut self, io: &mut SlowPorts, sim: &Context<()>) -> Result<(), Fault> {
//!         loop {
//!             let number = io.input.recv().await;
//!             sim.cycles(3).await;
//!             io.out.send(number).await;
//!         }
//!     }
//! }
//!
//! let machine = "
//! counterpoint: 1
//! machine: chain
//! components:
//!   producer: { type: toy/producer, number: 100 }
//!   slow: { type: example/slow }
//!   consumer: { type: toy/consumer, number: 100 }
//! links:
//!   - producer.out -> slow.input
//!   - slow.out -> consumer.input
//! ";
//! let options = RunOptions { hash: true, ..RunOptions::default() };
//! let plain = run_text(machine, |r| { toys::register(r); r.component::<Slow<false>>(); }, &options);
//! let ahead = run_text(machine, |r| { toys::register(r); r.component::<Slow<true>>(); }, &options);
//! assert_eq!(ahead.outcome.to_string(), "finished at 302 ns");
//! assert_eq!((plain.outcome, plain.hash), (ahead.outcome, ahead.hash));
//! assert!(ahead.hash.is_some());
//! ```
//!
//! A process that has made the promise and looks:
//!
//! ```
//! use counterpoint_framework::kernel::{In, LinkOptions, Out, RunOptions};
//! use counterpoint_framework::testing::pair;
//! use counterpoint_framework::time::{Hertz, Latency};
//!
//! let clock = Hertz::new(1_000_000_000);
//! let link = LinkOptions { latency: Latency::Cycles(1), capacity: 4, bandwidth: None };
//! let mut machine = pair(
//!     [clock, clock],
//!     link,
//!     |mut out: Out<u64>, _| async move {
//!         out.send(7).await;
//!         Ok(())
//!     },
//!     |mut input: In<u64>, process| async move {
//!         process.cycles(5).await;
//!         input.try_recv();
//!         Ok(())
//!     },
//! );
//! // The kernel's word for `const BLOCKING: bool = true`.
//! machine.processes = machine.processes.into_iter().map(|process| process.blocking()).collect();
//! let outcome = machine.run(&RunOptions::default()).outcome.to_string();
//! assert!(outcome.starts_with(
//!     "receiver failed at 5 ns: panicked: a component that is declared to wait for one thing at a time only"
//! ));
//! ```
//!
//! When in doubt, leave the declaration out: the default is right for every component. Add it to a component that is
//! polled often, and measure.
