//! Timing of single components, to the cycle, and the values that travel through them.

mod caches;
mod control;

mod crossbar;
mod dram;
mod endless;
mod gate;
mod half;
mod independent;
mod io;
mod l1_policies;
mod l2;
mod latencies;
mod library;
mod lines;
mod mix;
mod network;
mod order;
mod preempt;
mod programs;
mod replay;
mod saturation;
mod scheduling;
mod sm;
mod spaces;
mod tensor;
mod translation;
mod waiting;

use counterpoint_framework::model::{Environment, StatValue};
use counterpoint_framework::testing::{Bench, BenchReport};
use counterpoint_hardware::testing::*;
use counterpoint_protocols::memory::{ByteMask, LINE_BYTES, Label, MemAccess, MemReply, MemRequest, Tag};
