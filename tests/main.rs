//! The system tests, in one binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access_ranges;
mod applications;
mod bad_inputs;
mod bisect;
mod characterise_command;
mod cli;
mod co_run;
mod compare;
mod contract;
mod cooperative;
mod corpus;
mod determinism;
mod device_library;
mod ends;
mod faults;
mod front_ends;
mod hangs;
mod host_steps;
mod independent;
mod instrument_ranges;
mod l1_policies;
mod lines;
mod litmus;
mod machine_guide;
mod machine_kinds;
mod machines;
mod microbenchmarks;
mod modules;
mod otlp;
mod overlays;
#[cfg(feature = "papers")]
mod papers;
#[cfg(feature = "papers")]
mod papers_machines;
mod peaks;
mod pictures;
mod progress;
mod ptx_command;
mod slice_hashes;
mod slices;
mod speed;
mod stack;
mod statistics;
mod step_order;
mod streams;
mod studies;
mod surfaces;
mod tasks;
mod telemetry;
mod textures;
mod tidy;
mod timed_launches;
mod traffic;
mod tutorial;
mod validate_command;
mod validation;
mod wide_atomics;
mod wrong_machines;

use counterpoint_tests::{command, launches, support};
