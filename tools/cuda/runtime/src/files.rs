//! Files that the program reads and writes: which, and how far.
//!
//! The command has the library loaded before the C library, so that these functions stand before those of the same names. They note a
//! file when it is opened, and pass everything on. How far a file has been read or written is asked where the record goes on and
//! where it is closed; so it does not matter by which functions a program reads.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use counterpoint_cuda_capture::Entry;

use crate::state::register_file_entries;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn lseek(file: c_int, offset: i64, from: c_int) -> i64;
    fn ftello(file: *mut c_void) -> i64;
}

/// `dlsym`'s handle for the next library, and `lseek`'s word for the present place.
const NEXT: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);
const HERE: c_int = 1;
/// Flags of `open`: a file is written alone, read and written, or appended to.
const WRITE_ONLY: c_int = 1;
const READ_WRITE: c_int = 2;
const APPEND: c_int = 0x400;

/// A file by the program's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Descriptor(c_int),
    Stream(usize),
}

/// An open file.
#[derive(Clone, Debug)]
struct OpenFile {
    path: String,
    written: bool,
    /// The place up to which it is in the record.
    noted: u64,
}

static OPEN: Mutex<BTreeMap<Name, OpenFile>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The library itself is at work, whose files are not the program's.
    static OWN: Cell<bool> = const { Cell::new(false) };
}

/// Does something whose files are not the program's.
pub(crate) fn as_own<T>(work: impl FnOnce() -> T) -> T {
    let before = OWN.replace(true);
    let done = work();
    OWN.set(before);
    done
}

/// The use of a file, as it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Write,
    Append,
}

/// Notes a file that the program has opened, if it is a file of data.
fn opened(name: Name, path: *const c_char, to: Use) {
    if OWN.get() || path.is_null() {
        return;
    }
    as_own(|| {
        // SAFETY: a program opens a file by a text that ends with a zero.
        let path = unsafe { CStr::from_ptr(path) }.to_string_lossy().into_owned();
        let found = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
        let system = ["/proc/", "/sys/", "/dev/", "/etc/", "/lib", "/usr/lib"]
            .iter()
            .any(|place| path.starts_with(place));
        if let Some(found) = found.filter(|_| !system) {
            let path = std::fs::canonicalize(&path).map_or(path, |whole| whole.display().to_string());
            let noted = if to == Use::Append { found.len() } else { 0 };
            let file = OpenFile { path, written: to != Use::Read, noted };
            OPEN.lock().unwrap_or_else(PoisonError::into_inner).insert(name, file);
        }
    });
}

/// An entry for the progress of an open file since it was noted last.
fn progress(name: Name, file: &mut OpenFile) -> Option<Entry> {
    // SAFETY: the file is open, so its name means something to the C library.
    let at = unsafe {
        match name {
            Name::Descriptor(descriptor) => lseek(descriptor, 0, HERE),
            Name::Stream(stream) => ftello(std::ptr::with_exposed_provenance_mut(stream)),
        }
    };
    let at = u64::try_from(at).ok()?;
    let from = std::mem::replace(&mut file.noted, at);
    let (path, to) = (file.path.clone(), at);
    let entry = if file.written { Entry::Wrote { path, from, to } } else { Entry::Read { path, from, to } };
    (at > from).then_some(entry)
}

/// Entries for all files that have come further.
pub(crate) fn entries() -> Vec<Entry> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.iter_mut().filter_map(|(name, file)| progress(*name, file)).collect()
}

/// A file is closed.
fn closed(name: Name) {
    if OWN.get() {
        return;
    }
    as_own(|| {
        let file = OPEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
        if let Some(entry) = file.and_then(|mut file| progress(name, &mut file)) {
            register_file_entries(&[entry]);
        }
    });
}

/// The function of a name behind this library.
fn next(cell: &OnceLock<usize>, name: &CStr) -> *mut c_void {
    // SAFETY: the name is a text that ends with a zero.
    let found = *cell.get_or_init(|| unsafe { dlsym(NEXT, name.as_ptr()) }.expose_provenance());
    std::ptr::with_exposed_provenance_mut(found)
}

/// Functions that open a file by a descriptor.
macro_rules! open_functions {
    ($($name:ident = $text:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
                static NEXT_OPEN: OnceLock<usize> = OnceLock::new();
                type Open = unsafe extern "C" fn(*const c_char, c_int, c_uint) -> c_int;
                // SAFETY: the C library's function of this name, with the program's arguments.
                let file = unsafe {
                    std::mem::transmute::<*mut c_void, Open>(next(&NEXT_OPEN, $text))(path, flags, mode)
                };
                if file >= 0 {
                    let to = match flags & (WRITE_ONLY | READ_WRITE | APPEND) {
                        0 => Use::Read,
                        flags if flags & APPEND != 0 => Use::Append,
                        _ => Use::Write,
                    };
                    opened(Name::Descriptor(file), path, to);
                }
                file
            }
        )*
    };
}

open_functions! {
    open = c"open";
    open64 = c"open64";
}

/// Functions that open a file as a stream.
macro_rules! stream_functions {
    ($($name:ident = $text:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(path: *const c_char, mode: *const c_char) -> *mut c_void {
                static NEXT_OPEN: OnceLock<usize> = OnceLock::new();
                type Open = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_void;
                // SAFETY: the C library's function of this name, with the program's arguments.
                let file = unsafe { std::mem::transmute::<*mut c_void, Open>(next(&NEXT_OPEN, $text))(path, mode) };
                if !file.is_null() {
                    // SAFETY: the C library has read the mode.
                    let to = match unsafe { *mode } as u8 {
                        b'r' => Use::Read,
                        b'a' => Use::Append,
                        _ => Use::Write,
                    };
                    opened(Name::Stream(file.expose_provenance()), path, to);
                }
                file
            }
        )*
    };
}

stream_functions! {
    fopen = c"fopen";
    fopen64 = c"fopen64";
}

/// Closes a file.
#[unsafe(no_mangle)]
unsafe extern "C" fn close(file: c_int) -> c_int {
    static NEXT_CLOSE: OnceLock<usize> = OnceLock::new();
    closed(Name::Descriptor(file));
    type Close = unsafe extern "C" fn(c_int) -> c_int;
    // SAFETY: the C library's function, with the program's argument.
    unsafe { std::mem::transmute::<*mut c_void, Close>(next(&NEXT_CLOSE, c"close"))(file) }
}

/// Closes a stream.
#[unsafe(no_mangle)]
unsafe extern "C" fn fclose(file: *mut c_void) -> c_int {
    static NEXT_CLOSE: OnceLock<usize> = OnceLock::new();
    closed(Name::Stream(file.expose_provenance()));
    type Close = unsafe extern "C" fn(*mut c_void) -> c_int;
    // SAFETY: the C library's function, with the program's argument.
    unsafe { std::mem::transmute::<*mut c_void, Close>(next(&NEXT_CLOSE, c"fclose"))(file) }
}
