//! What PTX means, from a second source: a slow interpreter that the executor is compared with, and value tables.

mod alone;
mod programs;
mod random;
mod scalar;
mod sweep;
mod values;
