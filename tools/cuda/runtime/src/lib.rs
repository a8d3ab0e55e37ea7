//! CUDA's runtime for programs on computers without a GPU, as a server.
//!
//! A CUDA program that is linked with `-cudart shared` loads the small library in `library/` instead of NVIDIA's, which sends every call
//! here. Kernels run at once in the functional engine of `counterpoint-ptx`, so every value is correct. Every call that a device or its
//! host would notice is written to a record, from which the command makes an application.
//!
//! [`Server`] accepts programs, and [`serve`] serves one; each program has a `state` and a `channel`. `api` has the functions that programs
//! call, each short: their work is done in `state`, `device` and `modules`. `made` has the objects that a program has created.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.
#![cfg(target_os = "linux")]

mod api;
mod channel;
mod device;
mod errors;
mod fatbin;
mod foreign;
mod graphs;
mod libraries;
mod limits;
mod made;
mod modules;
mod page;
mod pages;
mod pitched;
mod recorder;
mod reset;
mod residency;
mod server;
mod session;
mod settings;
mod shared;
mod sharing;
mod state;
mod waiting;
mod words;

pub use server::{SOCKET, Server, serve};
pub use settings::Settings;
