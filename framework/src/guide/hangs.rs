//! Chapter 7: when a run hangs.
//!
//! A run ends when all components that count (those that are no daemons) have returned. When nothing can
//! happen any more and some have not, that is a **deadlock**, and the run ends with a report: the waiting
//! components, their ports and messages, how full the buffer is, and how old its oldest message. When time
//! passes and components run, but nobody has taken a message for
//! [`livelock_after`](crate::kernel::RunOptions::livelock_after) or a quarter longer, that is a **livelock**,
//! with the same report (`counterpoint run --livelock-after "2 ms"`). Another one is found forty thousand times as soon: messages flow,
//! but no component that acts by itself takes one or will wake at a time that is known
//! ([`set_acts`](crate::kernel::Process::set_acts) says who acts: a memory does not, nor does a core all of whose programs wait in
//! loops for values that nobody changes). A component that computes for longer
//! than that without messages reports progress ([`progress`](crate::kernel::Process::progress)). A component
//! that computes for ever without an `await` stops the simulation itself; the
//! [`Watchdog`](crate::kernel::Watchdog) then says which one it is, while it hangs.
//!
//! # A wait for a message that nobody sends
//!
//! ```
//! use counterpoint_framework::kernel::RunOptions;
//! use counterpoint_framework::testing::{run_text, toys};
//!
//! let machine = "
//! counterpoint: 1
//! machine: short
//! components:
//!   producer: { type: toy/producer, number: 10 }
//!   consumer: { type: toy/consumer, number: 100 }
//! links: [ producer.out -> consumer.input ]
//! ";
//! let report = run_text(machine, toys::register, &RunOptions::default());
//! assert_eq!(
//!     report.outcome.to_string(),
//!     "\
//! deadlock at 10 ns: nothing can happen any more, and 1 process has not returned
//!   consumer.input waits for a message from producer
//! "
//! );
//! ```
//!
//! # Two wait for each other
//!
//! Both components send all they have before they receive anything. With deep buffers that works; with shallow ones
//! each waits for a credit that the other would have to give.
//!
//! ```
//! use counterpoint_framework::kernel::{Fault, Outcome, RunOptions, Socket, WaitKind};
//! use counterpoint_framework::model::{Component, Context, Invalid, Ports};
//! use counterpoint_framework::testing::run_text;
//!
//! #[derive(Ports)]
//! struct TalkerPorts {
//!     /// To and from the other one.
//!     peer: Socket<u64, u64>,
//! }
//!
//! struct Talker;
//!
//! impl Component for Talker {
//!     const KIND: &'static str = "example/talker";
//!     const DOC: &'static str = "Sends ten numbers, then takes ten.";
//!     type Params = ();
//!     type Ports = TalkerPorts;
//!     type Stats = ();
//!
//!     fn new((): ()) -> Result<Self, Invalid> {
//!         Ok(Talker)
//!     }
//!
//!     async fn run(&mut self, io: &mut TalkerPorts, sim: &Context<()>) -> Result<(), Fault> {
//!         for number in 0..10 {
//!             io.peer.tx.send(number).await;
//!             sim.tick().await;
//!         }
//!         for _ in 0..10 {
//!             io.peer.rx.recv().await;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let run = |capacity: u32| {
//!     let machine = format!("
//! counterpoint: 1
//! machine: talkers
//! components:
//!   anna: {{ type: example/talker }}
//!   ben: {{ type: example/talker }}
//! links:
//!   - {{ from: anna.peer, to: ben.peer, latency: 2 cycles, capacity: {capacity} }}
//! ");
//!     run_text(&machine, |registry| { registry.component::<Talker>(); }, &RunOptions::default()).outcome
//! };
//!
//! // A capacity of six and four on the round trip: ten messages fit.
//! assert_eq!(run(6).to_string(), "finished at 11 ns");
//!
//! let outcome = run(1);
//! assert_eq!(
//!     outcome.to_string(),
//!     "\
//! deadlock at 5 ns: nothing can happen any more, and 2 processes have not returned
//!   wait-for cycle: anna.peer -> ben.peer -> anna
//!   anna.peer waits for a credit from ben (5 of 5 messages in flight or queued, the oldest arrived at 2 ns, 3 ns ago)
//!   ben.peer waits for a credit from anna (5 of 5 messages in flight or queued, the oldest arrived at 2 ns, 3 ns ago)
//! "
//! );
//! // The report is data, too.
//! let Outcome::Deadlock(hang) = outcome else { panic!("{outcome}") };
//! assert!(hang.blocked.iter().all(|process| process.waits[0].kind == WaitKind::Credit));
//! ```
//!
//! The usual cures: receive while you wait for a credit (chapter 4: `concurrently`, or `wait` on both), `reserve` the
//! reply's credit before the request is taken, or give requests and replies buffers that they do not share.
//!
//! # A fault
//!
//! A component that cannot go on returns a [`Fault`](crate::kernel::Fault); one that panics has a bug. Either ends the
//! run with path, time and cause. Of several the earliest counts, on any number of threads.
//!
//! ```
//! use counterpoint_framework::kernel::RunOptions;
//! use counterpoint_framework::testing::{run_text, toys};
//!
//! // Two producers, one consumer that wants its numbers in order.
//! let machine = "
//! counterpoint: 1
//! machine: disorder
//! components:
//!   producer: { type: toy/producer, count: 2 }
//!   consumer: { type: toy/consumer }
//! links: [ 'producer[*].out -> consumer.input' ]
//! ";
//! let report = run_text(machine, toys::register, &RunOptions::default());
//! assert_eq!(report.outcome.to_string(), "consumer failed at 1 ns: expected 1, found 0");
//! ```
