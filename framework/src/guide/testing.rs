//! Chapter 5: testing a component.
//!
//! A [`Bench`](crate::testing::Bench) holds one component; scripts take the place of the machine around it.
//! Times are cycles of the component's clock *as the component sees them*: a message driven at cycle n can be
//! received at its edge n, and one logged at cycle n was sent at its edge n. Timing tests can therefore state
//! the numbers of the data sheet exactly.
//!
//! # One-way ports: `drive` and `probe`
//!
//! ```
//! use counterpoint_framework::model::Environment;
//! use counterpoint_framework::testing::{Bench, toys::Relay};
//! use counterpoint_framework::time::Hertz;
//!
//! // Parameters as a machine file gives them: defaults, units and ranges are part of the test.
//! let clock = Hertz::new(1_000_000_000);
//! let mut bench = Bench::reading::<Relay>(clock, Environment::default(), |_| {}, "{ work: 4 cycles }");
//! bench.drive::<u64>("input", None, vec![(5, 100), (6, 101), (20, 102)]);
//! let out = bench.probe::<u64>("out", None);
//! // A relay serves for ever and a script ends with its last message: the run shall last until cycle 30.
//! bench.lasts(30);
//! assert_eq!(bench.run().outcome.to_string(), "finished at 30 ns");
//!
//! // The first takes four cycles; the second begins when the first is done.
//! assert_eq!(out.cycles(), [9, 13, 24]);
//! // Of the messages above 100, the first was sent at cycle 13 and not earlier.
//! out.assert_earliest(13, |&number| number > 100);
//! ```
//!
//! # Sockets: `client` and `server`
//!
//! A [`Socket`](crate::kernel::Socket) is a pair of ports to one peer. A client drives a socket and logs the
//! replies; the run lasts until it has all of them. A server answers a number of cycles after a request has
//! arrived.
//!
//! ```
//! use counterpoint_framework::kernel::{Fault, Socket};
//! use counterpoint_framework::model::{Component, Context, Counter, Invalid, Ports, Stats};
//! use counterpoint_framework::testing::Bench;
//! use counterpoint_framework::time::Hertz;
//!
//! #[derive(Ports)]
//! struct TranslatorPorts {
//!     /// Requests by number, replies.
//!     client: Socket<u64, u64>,
//!     /// Requests by address, replies.
//!     memory: Socket<u64, u64>,
//! }
//!
//! #[derive(Default, Stats)]
//! struct TranslatorStats {
//!     /// Requests served.
//!     requests: Counter,
//! }
//!
//! struct Translator;
//!
//! impl Component for Translator {
//!     const KIND: &'static str = "example/translator";
//!     const DOC: &'static str = "Turns numbers of words into addresses, one request at a time.";
//!     const DAEMON: bool = true;
//!     type Params = ();
//!     type Ports = TranslatorPorts;
//!     type Stats = TranslatorStats;
//!
//!     fn new((): ()) -> Result<Self, Invalid> {
//!         Ok(Translator)
//!     }
//!
//!     async fn run(&mut self, io: &mut TranslatorPorts, sim: &Context<TranslatorStats>) -> Result<(), Fault> {
//!         loop {
//!             let number = io.client.rx.recv().await;
//!             sim.stats.requests.add(1);
//!             sim.tick().await;
//!             io.memory.tx.send(8 * number).await;
//!             let value = io.memory.rx.recv().await;
//!             io.client.tx.send(value).await;
//!         }
//!     }
//! }
//!
//! let mut bench = Bench::new(Hertz::new(1_000_000_000), || Translator);
//! let replies = bench.client::<u64, u64>("client", None, vec![(5, 1), (6, 2)], 2);
//! // Answers each address with its successor, 10 cycles after the request has arrived.
//! let requests = bench.server::<u64, u64>("memory", None, |address| Some((10, address + 1)));
//! let report = bench.run();
//! assert_eq!(requests.take(), [(6, 8), (18, 16)]);
//! assert_eq!(replies.take(), [(17, 9), (29, 17)]);
//! assert_eq!(report.count("requests"), 2);
//! ```
//!
//! [`Bench::script`](crate::testing::Bench::script) is for all that a script cannot express: it takes an
//! async closure that sees the socket from the other side.
//! [`Bench::capacity`](crate::testing::Bench::capacity) makes the buffers shallow, for tests of backpressure.
//!
//! # A whole machine
//!
//! [`run_text`](crate::testing::run_text) runs a machine from its text, as chapter 1 does. Run it twice with `hash: true`
//! and different threads and islands: the two hashes must be equal (chapter 6).
