//! How to write components, in eight short chapters.
//!
//! You know Rust; you need to know nothing of simulation. Every example is a test that runs, and every time
//! in it is asserted: the text agrees with the code.
//!
//! 1. [`first_component`]: parameters, ports, statistics and `run`, in a machine of three components.
//! 2. [`ports`]: sending, receiving, credits, and the effect of a full buffer.
//! 3. [`clocks`]: two clocks, edges, and why nothing drifts.
//! 4. [`waiting`]: waiting for several things at once.
//! 5. [`testing`]: a single component on a bench, with exact times.
//! 6. [`islands`]: threads, the value of a link's latency, and why no result depends on either.
//! 7. [`hangs`]: the report of a run that cannot go on.
//! 8. [`scaling`]: how far threads help, measured and predicted.
//!
//! The examples import from this crate. A crate of a user imports the same names from `counterpoint`: [`model`](crate::model) is
//! `component` there, [`topology`](crate::topology) is `machine`, and the others keep their names.
//!
//! The words: a *component* is an independent process with parameters, ports and statistics. A *link* joins an output
//! to an input and takes time. *Simulated time* is a whole number of picoseconds ([`SimTime`](crate::time::SimTime));
//! it has nothing to do with how long the simulation takes. A component's *clock* has an *edge* at time zero and then
//! one every period; a component acts at edges only.
//!
//! The examples use two helpers for small machines: [`run_text`](crate::testing::run_text) runs a machine that is given
//! as YAML, [`pair`](crate::testing::pair) joins two processes by a link. A process there is a closure that gets its
//! port and its [`Process`](crate::kernel::Process); a component's `sim` has the same methods. An assertion that fails
//! inside a process fails the run, so every example ends with how the run ended.

pub mod clocks;
pub mod first_component;
pub mod hangs;
pub mod islands;
pub mod ports;
pub mod scaling;
pub mod testing;
pub mod waiting;
