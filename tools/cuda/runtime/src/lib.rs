//! CUDA's runtime library for programs that have no GPU.
//!
//! A CUDA program that is linked with `-cudart shared` loads this library instead of NVIDIA's. Its kernels run at once in the functional
//! engine of `counterpoint-ptx`, so every value is true. Every call that a device or its host would notice is written to a record, from
//! which the command makes an application.
//!
//! `api` has the functions that programs call, each short: what they do is in `state`, `device` and `modules`.

mod api;
mod device;
mod errors;
mod fatbin;
mod files;
mod foreign;
mod graphs;
mod limits;
mod modules;
mod recorder;
mod settings;
mod shared;
mod state;
