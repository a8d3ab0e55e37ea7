//! Chapter 6: islands and threads.
//!
//! A message takes at least its link's latency. For that long, an event at one end of a link cannot reach the
//! other end. The kernel makes use of this. It cuts the machine into *islands* at its long links; the
//! shortest latency between two islands is the **lookahead**. Each island runs on its own through a *window*
//! of simulated time that is no longer than the lookahead. Then islands swap messages, and the next window
//! begins. On several threads islands run side by side. On one thread a heavy component finds its state in the
//! processor's cache for a window; light ones share an island there, as windows cost more than that brings.
//!
//! **The value of a latency.** A window costs the same whether it is a nanosecond or a microsecond long. A
//! machine whose islands are 100 ns apart synchronises a hundred times less often than one whose islands are
//! 1 ns apart. So put the latency that the hardware has on the links between its large parts, not inside a
//! component: a link of 50 cycles, and not a link of one cycle after a `send_after` of 49. The messages
//! arrive at the same time; the lookahead is 50 cycles or one. `counterpoint check` prints it, with the link
//! that limits it.
//!
//! **Why results never depend on it.** Links are never instantaneous; an input orders messages by (arrival, sender,
//! sequence), not by when a thread delivered them; components share nothing; random numbers belong to a component; the
//! run ends at a time that depends on the machine alone. A run with `hash: true` hashes every message with its time,
//! per component: equal hashes are the proof.
//!
//! ```
//! use counterpoint_framework::kernel::{Islands, RunOptions, Sharing};
//! use counterpoint_framework::testing::{run_text, toys};
//! use counterpoint_framework::time::SimTime;
//!
//! // Three chains, whose parts are 20 ns apart, but for the 2 ns from the relays to the consumers.
//! let machine = "
//! counterpoint: 1
//! machine: chains
//! components:
//!   producer: { type: toy/producer, count: 3, number: 200 }
//!   relay: { type: toy/relay, count: 3, work: 2 cycles }
//!   consumer: { type: toy/consumer, count: 3, number: 200 }
//! links:
//!   - { from: 'producer[i].out', to: 'relay[i].input', latency: 20 ns }
//!   - { from: 'relay[i].out', to: 'consumer[i].input', latency: 2 ns }
//! ";
//! let sharing = Sharing::Always;
//! let run = |threads, islands| {
//!     let options = RunOptions { threads, sharing, islands, hash: true, ..RunOptions::default() };
//!     run_text(machine, toys::register, &options)
//! };
//!
//! let whole = run(1, Islands::One);
//! assert_eq!(whole.islands, 1);
//! assert_eq!(whole.outcome.to_string(), "finished at 422 ns");
//!
//! // Cut where a link takes 20 ns or more: each producer, and each relay with its consumer.
//! let coarse = run(1, Islands::AtLatency(SimTime::from_ns(20)));
//! assert_eq!((coarse.islands, coarse.lookahead), (6, SimTime::from_ns(20)));
//!
//! // Cut everywhere: nine islands, and windows of 2 ns only.
//! let fine = run(1, Islands::AtLatency(SimTime::from_ns(2)));
//! assert_eq!((fine.islands, fine.lookahead), (9, SimTime::from_ns(2)));
//!
//! // However it is cut, on however many threads: the same bits.
//! assert!(whole.hash.is_some());
//! for other in [coarse, fine, run(2, Islands::Auto), run(4, Islands::Auto)] {
//!     assert_eq!((other.hash, &other.stats), (whole.hash, &whole.stats));
//!     assert_eq!(other.outcome, whole.outcome);
//! }
//! ```
//!
//! [`RunOptions`](crate::kernel::RunOptions) has more: `stop_at` leaves out everything at or after a time, `snapshots`
//! notes the hashes while the run goes on. Should two runs differ after all, `counterpoint bisect` names the first clock
//! cycle in which they do, and the component.
