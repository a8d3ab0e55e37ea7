//! Memory and functions of the program.
//!
//! Its pointers are what the program makes them: these functions rely on CUDA's rules for them, as CUDA does, and check what can be
//! checked.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::errors::{Error, Result};

unsafe extern "C" {
    static stdout: *mut c_void;
    fn fwrite(bytes: *const c_void, size: usize, count: usize, file: *mut c_void) -> usize;
    fn fflush(file: *mut c_void) -> c_int;
}

/// Puts a result where the program wants it.
///
/// # Safety
/// The pointer is null or the program's, for a value of this type.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) -> Result {
    if place.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// A value of the program.
///
/// # Safety
/// The pointer is null or the program's, for a value of this type.
pub(crate) unsafe fn get<T: Copy>(place: *const T) -> Result<T> {
    if place.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { place.read_unaligned() })
}

/// Bytes of the program.
///
/// # Safety
/// The address is null or the program's, for as many bytes.
pub(crate) unsafe fn read<'a>(address: u64, bytes: u64) -> Result<&'a [u8]> {
    match (address, bytes) {
        (_, 0) => Ok(&[]),
        (0, _) => Err(Error::INVALID_VALUE),
        // SAFETY: the caller's promise.
        _ => Ok(unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize) }),
    }
}

/// Puts bytes into memory of the program.
///
/// # Safety
/// As [`read`].
pub(crate) unsafe fn write(address: u64, bytes: &[u8]) -> Result {
    if bytes.is_empty() {
        return Ok(());
    }
    if address == 0 {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(bytes.as_ptr(), address as *mut u8, bytes.len()) };
    Ok(())
}

/// A text of the program.
///
/// # Safety
/// The pointer is null or a text that ends with a zero.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// Prints through the program's own buffer, so that its output and that of its kernels have their order.
pub(crate) fn print(text: &str) {
    // SAFETY: the C library's own file, and bytes of a text.
    unsafe {
        fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
        fflush(stdout);
    }
}
