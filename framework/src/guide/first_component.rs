//! Chapter 1: a first component.
//!
//! A component is four small structs and one `async fn`:
//!
//! - *parameters*, which a machine file sets. The doc comment, default, unit and range of each are written once; the
//!   parser, the error messages, `counterpoint explain` and the editor's schema come from there;
//! - *ports*, through which messages come and go;
//! - *statistics*, which the component counts for itself;
//! - the component's own *state*, which nobody else sees.
//!
//! This one multiplies numbers. `toy/producer` and `toy/consumer` are kinds that come with the framework, for tests.
//!
//! ```
//! use counterpoint_framework::kernel::{Fault, In, Out, RunOptions};
//! use counterpoint_framework::model::{
//!     Component, Context, Counter, Invalid, Params, Ports, StatValue, Stats,
//! };
//! use counterpoint_framework::testing::{run_text, toys};
//! use counterpoint_framework::time::Cycles;
//!
//! /// Parameters of a scaler.
//! #[derive(Clone, Params)]
//! struct ScaleParams {
//!     /// The factor of each number.
//!     #[param(default = "2", min = "1")]
//!     factor: u64,
//!     /// Time that each number takes.
//!     #[param(default = "3 cycles", min = "1 cycle")]
//!     work: Cycles,
//! }
//!
//! /// How it is connected.
//! #[derive(Ports)]
//! struct ScalePorts {
//!     /// Numbers.
//!     input: In<u64>,
//!     /// Their multiples.
//!     out: Out<u64>,
//! }
//!
//! /// Statistics of a scaler.
//! #[derive(Default, Stats)]
//! struct ScaleStats {
//!     /// Numbers multiplied.
//!     scaled: Counter,
//! }
//!
//! struct Scale(ScaleParams);
//!
//! impl Component for Scale {
//!     const KIND: &'static str = "example/scale";
//!     const DOC: &'static str = "Multiplies numbers, one after another.";
//!     // It serves others for ever: the run does not wait for it to return.
//!     const DAEMON: bool = true;
//!     type Params = ScaleParams;
//!     type Ports = ScalePorts;
//!     type Stats = ScaleStats;
//!
//!     fn new(params: ScaleParams) -> Result<Self, Invalid> {
//!         Ok(Scale(params))
//!     }
//!
//!     async fn run(&mut self, io: &mut ScalePorts, sim: &Context<ScaleStats>) -> Result<(), Fault> {
//!         loop {
//!             let number = io.input.recv().await;
//!             sim.cycles(self.0.work.get()).await;
//!             io.out.send(number * self.0.factor).await;
//!             sim.stats.scaled.add(1);
//!         }
//!     }
//! }
//!
//! let machine = "
//! counterpoint: 1
//! machine: first
//! components:
//!   producer: { type: toy/producer, number: 3 }
//!   scale: { type: example/scale, factor: 10 }
//!   consumer: { type: toy/consumer, number: 3, check: off }
//! links:
//!   - producer.out -> scale.input
//!   - scale.out -> consumer.input
//! ";
//! let register = |registry: &mut _| {
//!     toys::register(registry);
//!     registry.component::<Scale>();
//! };
//! let report = run_text(machine, register, &RunOptions::default());
//!
//! // The clock runs at 1 GHz and a link takes one cycle, as the file says nothing else. The first number is sent at
//! // 0 ns, received at 1 ns, multiplied at 4 ns and consumed at 5 ns; the others follow every three cycles.
//! assert_eq!(report.outcome.to_string(), "finished at 11 ns");
//! let stat = |path: &str, name: &str| {
//!     report.stats.iter().find(|row| row.path == path && row.label.name == name).map(|row| row.value)
//! };
//! assert_eq!(stat("consumer", "sum"), Some(StatValue::Count(0 + 10 + 20)));
//! assert_eq!(stat("scale", "scaled"), Some(StatValue::Count(3)));
//! ```
//!
//! Here `register` names the kind by hand. A component of a crate is one file and one line: the line of its folder's
//! [`components!`](crate::components) list declares the file and registers the component in it. Policies, runtimes and other
//! variants that a parameter chooses from are in [`variants!`](crate::variants) lists.
//!
//! [`Context::debug`](crate::model::Context::debug) and [`Context::trace`](crate::model::Context::trace) write lines to the
//! log, with time and path: the first for what happens rarely, the second for every message or command.
//!
//! Three rules hold for all components.
//!
//! - **Only messages.** A component knows of others only through its ports. No globals, no shared cells.
//! - **`await` is the only thing that takes simulated time.** Code between two `await`s happens at one instant, however
//!   long it takes to run.
//! - **`Err` for a user's mistakes, panic for bugs.** [`Component::new`](crate::model::Component::new)
//!   refuses parameters that contradict each other: the user sees it when the machine is loaded, with the
//!   place in the file. `run` returns a [`Fault`](crate::kernel::Fault) when it cannot go on: the run ends,
//!   and says with which component and when.
