//! Chapter 2: ports and back-pressure.
//!
//! A link goes from one [`Out<M>`](crate::kernel::Out) to one [`In<M>`](crate::kernel::In); an input may have many
//! links. A link has a **latency**, at least one cycle of the sender's clock, and a **capacity**, the depth of the
//! receiver's buffer in messages. It may have a **bandwidth**.
//!
//! # Credits
//!
//! A sender needs a credit for each message. It gets the credit back one latency after the receiver has *taken* the
//! message. So that a link of any latency can carry a message a cycle, a link has as many credits as the buffer is
//! deep, plus those in flight there and back: `capacity + 2 × latency in cycles`. A receiver with a slower
//! clock may keep a credit for longer than that; `counterpoint check` prints the throughput of every link,
//! and its limit.
//!
//! - [`send`](crate::kernel::Out::send) waits for a credit, and then takes no time itself: a component that sends once
//!   a cycle says so with `tick`.
//! - [`try_send`](crate::kernel::Out::try_send) hands the message back when there is no credit.
//! - [`reserve`](crate::kernel::Out::reserve) waits for a credit and keeps it: sending on the
//!   [`Permit`](crate::kernel::Permit) cannot fail. A permit that is dropped gives its credit back.
//!
//! A full buffer loses nothing. It stops the sender, and so, in time, every component upstream: this is
//! backpressure.
//!
//! ```
//! use counterpoint_framework::kernel::{In, LinkOptions, Out, RunOptions};
//! use counterpoint_framework::testing::pair;
//! use counterpoint_framework::time::{Hertz, Latency};
//!
//! let clock = Hertz::new(1_000_000_000);
//! let link = LinkOptions { latency: Latency::Cycles(3), capacity: 2, bandwidth: None };
//! let machine = pair(
//!     [clock, clock],
//!     link,
//!     |mut out: Out<u64>, process| async move {
//!         // Two for the buffer, three on their way there and three on their way back.
//!         assert_eq!(out.credits(), 8);
//!         for number in 0..8 {
//!             out.send(number).await;
//!         }
//!         assert_eq!(process.cycle(), 0, "with credits, sending takes no time");
//!
//!         // There is none for a ninth.
//!         assert_eq!(out.try_send(8), Err(8));
//!         // The receiver takes its first message at edge 10; the credit is back at edge 13.
//!         out.send(8).await;
//!         assert_eq!(process.cycle(), 13);
//!
//!         // The next one is taken at edge 15.
//!         let permit = out.reserve().await;
//!         assert_eq!(process.cycle(), 18);
//!         permit.send(9);
//!         Ok(())
//!     },
//!     |mut input: In<u64>, process| async move {
//!         process.cycles(2).await;
//!         assert_eq!(input.try_recv(), None, "sent at edge 0, a message arrives at edge 3");
//!         process.cycles(8).await;
//!         for number in 0..10 {
//!             assert_eq!(input.recv().await, number);
//!             process.cycles(5).await;
//!         }
//!         Ok(())
//!     },
//! );
//! // Ten messages, one every five cycles from edge 10.
//! assert_eq!(machine.run(&RunOptions::default()).outcome.to_string(), "finished at 60 ns");
//! ```
//!
//! # Latency rides on the message
//!
//! A unit with a latency of ten cycles that takes a new input every cycle must not sleep for ten cycles: that would let
//! one in per ten cycles. It sends with a delay: [`send_after`](crate::kernel::Out::send_after) takes the credit now,
//! and the message leaves later. [`span`](crate::kernel::Process::span) gives a number of cycles as a time. A
//! message with a shorter delay may overtake one that was sent before.
//!
//! ```
//! use counterpoint_framework::kernel::{In, LinkOptions, Out, RunOptions};
//! use counterpoint_framework::testing::pair;
//! use counterpoint_framework::time::{Hertz, Latency};
//!
//! let clock = Hertz::new(1_000_000_000);
//! let link = LinkOptions { latency: Latency::Cycles(1), capacity: 4, bandwidth: None };
//! let machine = pair(
//!     [clock, clock],
//!     link,
//!     |mut out: Out<u64>, process| async move {
//!         out.send_after(process.span(10), 1).await;
//!         out.send(2).await;
//!         Ok(())
//!     },
//!     |mut input: In<u64>, process| async move {
//!         assert_eq!((input.recv().await, process.cycle()), (2, 1));
//!         assert_eq!((input.recv().await, process.cycle()), (1, 11));
//!         Ok(())
//!     },
//! );
//! assert_eq!(machine.run(&RunOptions::default()).outcome.to_string(), "finished at 11 ns");
//! ```
//!
//! # Bandwidth
//!
//! A link with a bandwidth passes one message after another; each takes
//! [`Message::wire_bytes`](crate::kernel::Message::wire_bytes) ÷ bandwidth, in exact time, and then the latency.
//!
//! ```
//! use counterpoint_framework::kernel::{In, LinkOptions, Out, RunOptions};
//! use counterpoint_framework::testing::pair;
//! use counterpoint_framework::time::{BytesPerSecond, Hertz, Latency};
//!
//! let clock = Hertz::new(1_000_000_000);
//! // The eight bytes of a u64 take 3.2 ns.
//! let bandwidth = Some(BytesPerSecond::new(2_500_000_000));
//! let link = LinkOptions { latency: Latency::Cycles(1), capacity: 4, bandwidth };
//! let machine = pair(
//!     [clock, clock],
//!     link,
//!     |mut out: Out<u64>, _| async move {
//!         for number in 0..4 {
//!             out.send(number).await;
//!         }
//!         Ok(())
//!     },
//!     |mut input: In<u64>, process| async move {
//!         // They arrive at 4.2, 7.4, 10.6 and 13.8 ns; the receiver acts at its next edge.
//!         for cycle in [5, 8, 11, 14] {
//!             input.recv().await;
//!             assert_eq!(process.cycle(), cycle);
//!         }
//!         Ok(())
//!     },
//! );
//! assert_eq!(machine.run(&RunOptions::default()).outcome.to_string(), "finished at 14 ns");
//! ```
//!
//! # Order
//!
//! An input gives messages in the order of (arrival, sender, sequence), where the sender's number is its place in the
//! machine. A message is visible if its arrival is now or earlier. As no link is instantaneous, two components cannot
//! affect each other within an instant, and the order in which the kernel polls them never shows.
//!
//! In a machine file all this is a line:
//! `{ from: a.out, to: b.input, latency: 3 cycles, capacity: 2, bandwidth: 2.5 GB/s }`. Between sockets `back` gives the
//! latency of the other direction, where it differs.
