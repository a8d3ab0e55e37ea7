//! Counterpoint as a library: the one crate that a user depends on.
//!
//! Counterpoint simulates a whole heterogeneous machine as independent components that exchange messages over links, and in no
//! other way. An extension is a crate that registers components, policies, runtimes, machines or studies:
//!
//! ```
//! use counterpoint::component::{Component, Context, Counter, Invalid, Params, Ports, Registry, Stats};
//! use counterpoint::kernel::{Fault, In, Out};
//! use counterpoint::messages::launch::SmEvent;
//! use counterpoint::time::SimTime;
//!
//! /// Parameters of a delay.
//! #[derive(Clone, Debug, Params)]
//! struct DelayParams {
//!     /// From a message's arrival to its leaving.
//!     #[param(default = "50 ns", max = "1 us")]
//!     latency: SimTime,
//! }
//!
//! /// Ports of a delay.
//! #[derive(Ports)]
//! struct DelayPorts {
//!     /// What arrives.
//!     input: In<SmEvent>,
//!     /// The same, later.
//!     output: Out<SmEvent>,
//! }
//!
//! /// Statistics of a delay.
//! #[derive(Default, Stats)]
//! struct DelayStats {
//!     /// Messages passed on.
//!     messages: Counter,
//! }
//!
//! struct Delay(DelayParams);
//!
//! impl Component for Delay {
//!     const KIND: &'static str = "example/delay";
//!     const DOC: &'static str = "Passes messages on, a little later.";
//!     const DAEMON: bool = true;
//!     type Params = DelayParams;
//!     type Ports = DelayPorts;
//!     type Stats = DelayStats;
//!
//!     fn new(params: DelayParams) -> Result<Self, Invalid> {
//!         Ok(Delay(params))
//!     }
//!
//!     async fn run(&mut self, io: &mut DelayPorts, sim: &Context<DelayStats>) -> Result<(), Fault> {
//!         loop {
//!             let message = io.input.recv().await;
//!             io.output.send_after(self.0.latency, message).await;
//!             sim.stats.messages.add(1);
//!         }
//!     }
//! }
//!
//! /// Registers all of it.
//! pub fn register(registry: &mut Registry) {
//!     registry.component::<Delay>();
//! }
//!
//! let registry = counterpoint::run::registry_with(&[register]);
//! assert!(registry.catalogue.get("example/delay").is_some());
//! ```
//!
//! From version 0.2 on the names here follow semantic versioning: a change of one changes the second number of the version. These names
//! come from internal crates, whose other public items may change with any version.
//!
//! An extension may depend on two other crates. `counterpoint-cli` is the `counterpoint` command, which the `main` of an extension calls
//! with its registrations; crates of papers may come in between. `counterpoint-archive` packs files in a build script, which would
//! otherwise have to build the simulator.

pub mod application;
pub mod component;
pub mod cost;
pub mod gpu;
pub mod host;
pub mod kernel;
pub mod machine;
pub mod memory;
pub mod messages;
pub mod network;
pub mod ptx;
pub mod run;
pub mod study;
pub mod telemetry;
pub mod testing;
pub mod time;

/// What derived code names.
#[doc(hidden)]
pub use counterpoint_framework as derived;
