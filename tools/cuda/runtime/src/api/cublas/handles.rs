//! Handles of the library and their settings, versions, and names of results.

use std::ffi::{c_int, c_void};

use super::super::entries;
use super::NOT_INITIALIZED;
use crate::errors::Error;
use crate::foreign::put;
use crate::made::Stream;
use crate::made::cublas::Handle;
use crate::settings::version;

/// Names and texts of results.
const STATUSES: [(c_int, &str, &str); 10] = [
    (0, "CUBLAS_STATUS_SUCCESS", "success"),
    (1, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"),
    (3, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"),
    (7, "CUBLAS_STATUS_INVALID_VALUE", "an unsupported value or parameter was passed to the function"),
    (8, "CUBLAS_STATUS_ARCH_MISMATCH", "the function requires a feature absent from the device architecture"),
    (11, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"),
    (13, "CUBLAS_STATUS_EXECUTION_FAILED", "the GPU program failed to execute"),
    (14, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"),
    (15, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality requested is not supported"),
    (16, "CUBLAS_STATUS_LICENSE_ERROR", "the functionality requested requires some license"),
];

/// The library's version: that of the last CUDA of a major version.
fn versions() -> [c_int; 3] {
    match version() {
        11 => [11, 11, 3],
        12 => [12, 9, 1],
        _ => [13, 0, 0],
    }
}

/// Precisions of computations: the default, that of tensor cores, and pedantic ones, with flags beside.
const MATH: c_int = 0xf;
const MATHS: c_int = 6;

entries! {
    fn cublasCreate_v2(place: *mut u64) |state| {
        let number = state.libraries.cublas.number();
        put(place, number)?;
        let handle = Handle { stream: std::ptr::null_mut(), on_device: false, math: 0, atomics: 0, scratch: 0 };
        state.libraries.cublas.handles.insert(number, handle);
        Ok(())
    }

    fn cublasDestroy_v2(handle: u64) |state| {
        let ended = state.libraries.cublas.handles.remove(&handle).ok_or(NOT_INITIALIZED)?;
        if ended.scratch != 0 {
            state.free(ended.scratch)?;
        }
        Ok(())
    }

    fn cublasGetVersion_v2(handle: u64, place: *mut c_int) |state| {
        state.cublas(handle)?;
        let [major, minor, patch] = versions();
        put(place, major * 10000 + minor * 100 + patch)
    }

    fn cublasGetProperty(kind: c_int, place: *mut c_int) |_state| {
        let number = usize::try_from(kind).ok().and_then(|kind| versions().get(kind).copied());
        put(place, number.ok_or(Error::INVALID_VALUE)?)
    }

    fn cublasSetStream_v2(handle: u64, stream: Stream) |state| {
        state.stream(stream)?;
        state.cublas(handle)?.stream = stream;
        Ok(())
    }

    fn cublasGetStream_v2(handle: u64, place: *mut Stream) |state| { put(place, state.cublas(handle)?.stream) }

    fn cublasSetPointerMode_v2(handle: u64, mode: c_int) |state| {
        let handle = state.cublas(handle)?;
        handle.on_device = match mode {
            0 => false,
            1 => true,
            _ => return Err(Error::INVALID_VALUE),
        };
        Ok(())
    }

    fn cublasGetPointerMode_v2(handle: u64, place: *mut c_int) |state| {
        put(place, state.cublas(handle)?.on_device.into())
    }

    /// Computations have the same precision in each mode.
    fn cublasSetMathMode(handle: u64, mode: c_int) |state| {
        if !(0..MATHS).contains(&(mode & MATH)) {
            return Err(Error::INVALID_VALUE);
        }
        state.cublas(handle)?.math = mode;
        Ok(())
    }

    fn cublasGetMathMode(handle: u64, place: *mut c_int) |state| { put(place, state.cublas(handle)?.math) }

    fn cublasSetAtomicsMode(handle: u64, mode: c_int) |state| {
        if !(0..=1).contains(&mode) {
            return Err(Error::INVALID_VALUE);
        }
        state.cublas(handle)?.atomics = mode;
        Ok(())
    }

    fn cublasGetAtomicsMode(handle: u64, place: *mut c_int) |state| { put(place, state.cublas(handle)?.atomics) }

    /// Kernels need no memory beside that of their operands.
    fn cublasSetWorkspace_v2(handle: u64, _place: *mut c_void, _bytes: usize) |state| {
        state.cublas(handle).map(drop)
    }

    fn cublasGetStatusName(status: c_int) => Answer |state| {
        let found = STATUSES.iter().find(|(number, ..)| *number == status);
        state.lasting_text(found.map_or("unknown status", |(_, name, _)| name))
    }

    fn cublasGetStatusString(status: c_int) => Answer |state| {
        let found = STATUSES.iter().find(|(number, ..)| *number == status);
        state.lasting_text(found.map_or("unknown status", |(.., text)| text))
    }

    fn cublasLoggerConfigure(_on: c_int, _to_output: c_int, _to_errors: c_int, _file: *const c_void) |_state| { Ok(()) }
}
