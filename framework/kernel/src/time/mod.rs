//! Simulated time, and the units in which people write quantities.

mod clock;
mod simtime;
mod units;
mod wire;

pub use clock::{Clock, Edge, Span};
pub use simtime::SimTime;
pub use units::{
    Bytes, BytesPerSecond, Cycles, Hertz, Latency, Quantity, Unit, UnitError, Unread, base_units, decimal,
    same, symbols,
};
pub use wire::Wire;
