//! Machines: YAML files, loaded, checked, and run without an application.

#[doc(inline)]
pub use counterpoint_framework::topology::{
    Disk, Endpoint, Files, Instance, Link, Loaded, Machine, RunReport, load, run,
};
