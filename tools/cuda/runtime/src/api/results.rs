//! Errors and versions.

use std::ffi::{c_char, c_int};

use super::entries;
use crate::errors::Error;
use crate::foreign::put;
use crate::settings::version;
use crate::state::last_error;

/// The last error, which is then forgotten.
#[unsafe(no_mangle)]
extern "C" fn cudaGetLastError() -> c_int {
    last_error(true).0
}

/// The last error.
#[unsafe(no_mangle)]
extern "C" fn cudaPeekAtLastError() -> c_int {
    last_error(false).0
}

/// The text of an error.
#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorString(error: c_int) -> *const c_char {
    Error(error).text().as_ptr()
}

/// The name of an error.
#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorName(error: c_int) -> *const c_char {
    Error(error).name().as_ptr()
}

entries! {
    /// The version of the runtime: the last one of its major version that programs may need.
    fn cudaRuntimeGetVersion(number: *mut c_int) |_state| {
        put(number, runtime_version())
    }

    /// The version of the driver, which is never older.
    fn cudaDriverGetVersion(number: *mut c_int) |_state| {
        put(number, runtime_version())
    }

    fn cudaProfilerStart() |_state| { Ok(()) }

    fn cudaProfilerStop() |_state| { Ok(()) }
}

fn runtime_version() -> c_int {
    match version() {
        11 => 11080,
        12 => 12090,
        _ => 13000,
    }
}
