//! The parts of a component: parameters, ports, statistics, and the kind under which YAML names it.
//!
//! A set of parameters is a struct. Its doc comments, types and attributes are all there is to write:
//!
//! ```
//! use counterpoint_framework::model::{Diagnostics, Families, Params, Reader, Report, SourceMap, yaml};
//! use counterpoint_framework::time::Bytes;
//!
//! /// Geometry of a cache.
//! #[derive(Clone, Params)]
//! struct Cache {
//!     /// How much it holds.
//!     #[param(default = "128 KiB", min = "4 KiB")]
//!     capacity: Bytes,
//!     /// Ways of a set.
//!     ways: u32,
//! }
//!
//! let mut sources = SourceMap::default();
//! let file = sources.add("cache.yaml", "capacity: 131072");
//! let mut diagnostics = Diagnostics::default();
//! let node = yaml::parse(file, &sources, &mut diagnostics).unwrap();
//! let families = Families::default();
//! let cache = Cache::read(&node, &mut Reader::new(&families, &mut diagnostics));
//! assert!(cache.is_none());
//! let report = Report::new(&diagnostics, sources).render();
//! assert!(report.contains("cache.yaml:1:11: error: `131072` has no unit"));
//! assert!(report.contains("error: missing key `ways`"));
//! ```

pub mod catalogue;
mod component;
mod context;
mod counters;
mod declaration;
pub mod diagnostics;
pub mod families;
mod faults;
pub mod form;
mod keyed;
mod lists;
mod logs;
mod moved;
mod named;
pub mod node;
pub mod params;
pub mod ports;
mod registry;
mod scalars;
mod slots;
mod stats;
pub mod yaml;

pub use counterpoint_macros::{Choice, Params, Ports, Stats};

pub use catalogue::{Catalogue, KindInfo, ReadParams};
pub(crate) use component::equipped_process;
pub use component::{Component, Environment, Invalid, Remains, process};
pub use context::{Context, Resources};
pub use counters::CounterName;
pub use declaration::{Bounds, ChoiceInfo, Field, FieldSpec, Fields, TypeInfo};
pub use diagnostics::{Diagnostic, Diagnostics, Report};
pub use families::{Choose, Families, Lacking, Variant, VariantInfo};
pub use faults::{FaultKind, FaultParams, InjectorParams, InjectorSite};
pub(crate) use faults::{INPUT as INJECTOR_INPUT, OUTPUT as INJECTOR_OUTPUT};
pub use keyed::{FlatStats, Keyed, PartStats};
pub use logs::{LogLevel, Logs};
pub use moved::Moved;
pub(crate) use moved::has_moved;
pub use named::{Later, Named, Raw};
pub use node::{FileId, Key, Node, SourceMap, Span, Value};
pub use params::{MapReader, Parameter, Params, Reader};
pub use ports::{MessageType, Port, PortField, PortInfo, PortShape, Ports};
pub use registry::{Extension, Registry};
pub use slots::{Equipped, Every, Gear, Site, Slot};
pub use stats::{
    BusyCycles, BusyTime, Counter, Distribution, PERCENTILES, Ratio, Setting, Stat, StatLabel, StatRow,
    StatValue, StatVisitor, Stats,
};
