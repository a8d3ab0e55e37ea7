//! Costs in hardware, as `counterpoint cost` prints them: an extension registers a [`CostReport`].

#[doc(inline)]
pub use counterpoint_simulation::cost::{
    CostReport, FieldBits, Table, bits, l2, named, of, of_kind, one, parameter, size, width,
};
