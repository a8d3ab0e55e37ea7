//! Memory of the program, which is another process: the operating system checks the program's pointers.
//!
//! A thread of the server has one program. Pointers keep their types, so that what is read and written has them too.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

use crate::errors::{Error, Result};

#[repr(C)]
struct IoVec {
    start: *mut c_void,
    bytes: usize,
}

unsafe extern "C" {
    fn process_vm_readv(
        process: c_int,
        to: *const IoVec,
        to_count: usize,
        from: *const IoVec,
        from_count: usize,
        flags: usize,
    ) -> isize;
    fn process_vm_writev(
        process: c_int,
        from: *const IoVec,
        from_count: usize,
        to: *const IoVec,
        to_count: usize,
        flags: usize,
    ) -> isize;
}

/// Bytes that are moved at once, fewer than the system's limit.
const PORTION: usize = 1 << 30;
/// Bytes of a text at most, and those that are read at once.
const LONGEST_TEXT: usize = 1 << 16;
const LINE: u64 = 256;
/// Bytes of a long text that are read at once: a page.
const PART: u64 = 4096;

thread_local! {
    static PROCESS: Cell<c_int> = const { Cell::new(0) };
}

/// Has this thread look into a process from now on.
pub(crate) fn look_into(process: c_int) {
    PROCESS.set(process);
}

pub(crate) fn process() -> c_int {
    PROCESS.get()
}

/// A type that any bytes are a value of.
///
/// # Safety
/// They are.
pub(crate) unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($type:ty),* $(,)?) => {
        $(
            // SAFETY: numbers, addresses, and structures of those.
            unsafe impl $crate::foreign::Plain for $type {}
        )*
    };
}
pub(crate) use plain;

plain!(i32, u32, u64, usize, f32);

// SAFETY: an address, which nobody here follows.
unsafe impl<T> Plain for *const T {}
// SAFETY: the same.
unsafe impl<T> Plain for *mut T {}

/// Moves bytes into or out of the program.
///
/// # Safety
/// `own` has as many bytes, which may be written if they come from the program.
unsafe fn transfer(own: *mut u8, address: u64, bytes: usize, out: bool) -> Result {
    let mut done = 0;
    while done < bytes {
        let count = (bytes - done).min(PORTION);
        let own = IoVec { start: own.wrapping_add(done).cast(), bytes: count };
        let start = address.wrapping_add(done as u64);
        let other = IoVec { start: std::ptr::without_provenance_mut(start as usize), bytes: count };
        // SAFETY: the caller's promise; what the program has at the address is the system's to judge.
        let moved = unsafe {
            match out {
                true => process_vm_writev(PROCESS.get(), &own, 1, &other, 1, 0),
                false => process_vm_readv(PROCESS.get(), &own, 1, &other, 1, 0),
            }
        };
        match usize::try_from(moved) {
            Ok(moved @ 1..) => done += moved,
            _ => return Err(Error::INVALID_VALUE),
        }
    }
    Ok(())
}

/// Puts a result where the program wants it.
pub(crate) fn put<T: Plain>(place: *mut T, value: T) -> Result {
    let mut value = value;
    // SAFETY: the bytes of a value, which are only read.
    unsafe { transfer((&raw mut value).cast(), place.addr() as u64, size_of::<T>(), true) }
}

pub(crate) fn get<T: Plain>(place: *const T) -> Result<T> {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: all bytes of a value come from the program, and any are one.
    unsafe {
        transfer(value.as_mut_ptr().cast(), place.addr() as u64, size_of::<T>(), false)?;
        Ok(value.assume_init())
    }
}

/// Adds bytes of the program.
pub(crate) fn read_to(bytes: &mut Vec<u8>, address: u64, count: u64) -> Result {
    let count = usize::try_from(count).map_err(|_| Error::INVALID_VALUE)?;
    bytes.try_reserve_exact(count).map_err(|_| Error::INVALID_VALUE)?;
    // SAFETY: there is room behind them, which is filled when they become part of the vector.
    unsafe {
        transfer(bytes.as_mut_ptr().add(bytes.len()), address, count, false)?;
        bytes.set_len(bytes.len() + count);
    }
    Ok(())
}

/// Bytes of the program.
pub(crate) fn read(address: u64, count: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_to(&mut bytes, address, count)?;
    Ok(bytes)
}

/// Puts bytes into memory of the program.
pub(crate) fn write(address: u64, bytes: &[u8]) -> Result {
    // SAFETY: they are only read.
    unsafe { transfer(bytes.as_ptr().cast_mut(), address, bytes.len(), true) }
}

/// Bytes of a text of the program up to a zero, which is not among them, or to a number of them.
pub(crate) fn long_text(address: u64, most: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < most {
        let at = address + bytes.len() as u64;
        let count = (PART - at % PART).min((most - bytes.len()) as u64);
        let from = bytes.len();
        if read_to(&mut bytes, at, count).is_err() {
            // A larger part may end in memory that is not there.
            break;
        }
        if let Some(end) = bytes[from..].iter().position(|byte| *byte == 0) {
            bytes.truncate(from + end);
            break;
        }
    }
    if bytes.is_empty() { Err(Error::INVALID_VALUE) } else { Ok(bytes) }
}

/// A path of the program, whose working folder and root may be others.
pub(crate) fn path(path: &str) -> PathBuf {
    Path::new(&format!("/proc/{}/cwd", process())).join(path)
}

/// A text of the program, up to a zero or to where it cannot be read.
pub(crate) fn text(pointer: *const c_char) -> String {
    let (mut bytes, mut address) = (Vec::new(), pointer.addr() as u64);
    while !bytes.contains(&0) && bytes.len() < LONGEST_TEXT {
        // A portion does not reach into another page, which may not be there.
        let count = LINE - address % LINE;
        if read_to(&mut bytes, address, count).is_err() {
            break;
        }
        address += count;
    }
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
