//! Units and simulated time: sizes, rates, clocks, and times in whole picoseconds.

#[doc(inline)]
pub use counterpoint_framework::time::{Bytes, BytesPerSecond, Clock, Cycles, Hertz, SimTime};
