//! Studies: files that describe many runs, and the table of their values.

#[doc(inline)]
pub use counterpoint_experiments::study::engine::{
    Board, Failure, Ran, Settings, State, StudyError, run_points,
};
#[doc(inline)]
pub use counterpoint_experiments::study::store::PointKey;
#[doc(inline)]
pub use counterpoint_experiments::study::table::{Results, Row};
#[doc(inline)]
pub use counterpoint_experiments::study::values::{KnownValues, PointResult};
#[doc(inline)]
pub use counterpoint_experiments::study::{Chosen, Point, Study, load};
