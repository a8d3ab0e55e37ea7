//! Counterpoint's framework: components that exchange messages over timed links. It has no model of hardware.
//!
//! A machine is a YAML file that names component kinds, their parameters and the links between their ports. The
//! following machine has three components, of kinds that [`testing::toys`] registers:
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//! use counterpoint_framework::{kernel::RunOptions, model::{Environment, Registry}, testing::toys, topology};
//!
//! let text = "
//! counterpoint: 1
//! machine: first
//! components:
//!   producer: { type: toy/producer, number: 100 }
//!   relay: { type: toy/relay, work: 2 cycles }
//!   consumer: { type: toy/consumer, number: 100 }
//! links:
//!   - producer.out -> relay.input
//!   - { from: relay.out, to: consumer.input, latency: 5 ns }
//! ";
//! let mut registry = Registry::default();
//! toys::register(&mut registry);
//! let registry = Arc::new(registry);
//!
//! let files = BTreeMap::from([("first.yaml".to_owned(), text.to_owned())]);
//! let loaded = topology::load("first.yaml", &[], &[], &registry.catalogue, &files)
//!     .unwrap_or_else(|report| panic!("{}", report.render()));
//! let report = topology::run(&loaded.machine, &registry, &Environment::default(), &RunOptions::default());
//! assert_eq!(report.outcome.to_string(), "finished at 206 ns");
//! ```
//!
//! The layers follow; each layer imports only the layers before it: [`time`] has clocks without drift and the units
//! that people write; [`kernel`] runs processes and links; [`telemetry`] records events; [`model`] defines components;
//! [`topology`] makes machines of YAML; [`testing`] drives a single component and checks its timing.
//!
//! The [`guide`] continues from here: eight short chapters for authors of components.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

// The derives name this crate by its full name, also from within.
extern crate self as counterpoint_framework;

#[doc(inline)]
pub use counterpoint_kernel as kernel;
#[doc(inline)]
pub use counterpoint_kernel::time;

pub mod guide;
pub mod model;
pub mod telemetry;
pub mod testing;
pub mod topology;
