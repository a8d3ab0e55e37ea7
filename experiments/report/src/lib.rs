//! Results to look at: charts as SVG, PNG and CSV, and pages of HTML that need nothing else.
//!
//! The input is plain data. The crate knows neither machines nor studies, so no edit of a component rebuilds
//! the crate.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

mod chart;
mod draw;
mod page;

pub use chart::{Chart, Dot, FigureKind, Series};
pub use draw::{png, svg};
pub use page::{Page, Table, WIDE};
