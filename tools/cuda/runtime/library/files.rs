//! Files that the program reads and writes: which, and how far.
//!
//! The command has this library loaded before the C library, so that these functions stand before those of the same names. They note a file when it
//! is opened, and pass everything on. How far a file has been read or written is asked at each call of CUDA and where it is closed; so it does
//! not matter by which functions a program reads.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};

use crate::page::{NOTES, Page};
use crate::system::{Status, dlsym, free, ftello, lseek, realpath, statx};

/// `dlsym`'s handle for the next library, `lseek`'s word for the present place, and `statx`'s for the working folder and for type and size.
const NEXT: *mut c_void = without_provenance_mut(usize::MAX);
const HERE: c_int = 1;
const WORKING_FOLDER: c_int = -100;
const TYPE_AND_SIZE: u32 = 0x201;
/// Flags of `open`: a file is written alone, read and written, or appended to.
const WRITTEN: c_int = 1 | 2;
const APPEND: c_int = 0x400;
/// The file type bits of a mode, and their value for a regular file.
const KIND: u64 = 0xf000;
const DATA: u64 = 0x8000;
/// Folders that have no data of programs.
const SYSTEM: [&[u8]; 6] = [b"/proc/", b"/sys/", b"/dev/", b"/etc/", b"/lib", b"/usr/lib"];

/// Keys of a place that is free, and of one that somebody fills.
const FREE: u64 = 0;
const TAKEN: u64 = 1;
/// Marks the key of a descriptor; that of a stream is its address.
const DESCRIPTOR: u64 = 1 << 63;

struct Open {
    key: AtomicU64,
    path: AtomicPtr<c_char>,
    /// The place up to which the record has it.
    noted: AtomicU64,
    written: AtomicU64,
}

/// Open files; those beyond are not recorded.
static OPEN: [Open; 1024] = [const {
    Open {
        key: AtomicU64::new(FREE),
        path: AtomicPtr::new(null_mut()),
        noted: AtomicU64::new(0),
        written: AtomicU64::new(0),
    }
}; 1024];
/// Places that have ever been used.
static USED: AtomicUsize = AtomicUsize::new(0);

fn find(key: u64) -> Option<&'static Open> {
    OPEN[..USED.load(Acquire)].iter().find(|open| open.key.load(Acquire) == key)
}

/// Notes a file that the program has opened, if it is a file of data.
unsafe fn opened(key: u64, path: *const c_char, written: bool, appended: bool) {
    let mut status = Status([0; 32]);
    // SAFETY: a program opens a file by a text that ends with a zero.
    let (name, known) = unsafe {
        (CStr::from_ptr(path).to_bytes(), statx(WORKING_FOLDER, path, 0, TYPE_AND_SIZE, &mut status) == 0)
    };
    // The mode is at byte 28, and the size at byte 40.
    let (mode, size) = (status.0[3] >> 32, status.0[5]);
    if !known || mode & KIND != DATA || SYSTEM.iter().any(|place| name.starts_with(place)) {
        return;
    }
    // Closed in a way that is not seen here, its key may be there still.
    let free =
        || OPEN.iter().position(|open| open.key.compare_exchange(FREE, TAKEN, SeqCst, Relaxed).is_ok());
    let open = match find(key) {
        Some(open) => open,
        None => {
            let Some(index) = free() else { return };
            USED.fetch_max(index + 1, SeqCst);
            &OPEN[index]
        }
    };
    // SAFETY: a text; the result is a new one, which `forget` frees.
    open.path.store(unsafe { realpath(path, null_mut()) }, Relaxed);
    open.noted.store(if appended { size } else { 0 }, Relaxed);
    open.written.store(u64::from(written), Relaxed);
    open.key.store(key, Release);
}

/// Puts the progress of a file into the page, if it has come further.
fn note(open: &Open, page: &Page) {
    let (key, count) = (open.key.load(Acquire), page.notes.load(Relaxed) as usize);
    if key <= TAKEN || count == NOTES {
        return;
    }
    // SAFETY: the file is open, so its key means something to the C library.
    let at = unsafe {
        match key & DESCRIPTOR {
            0 => ftello(without_provenance_mut(key as usize)),
            _ => lseek(key as c_int, 0, HERE),
        }
    };
    let Ok(at) = u64::try_from(at) else { return };
    let from = open.noted.swap(at, Relaxed);
    let path = open.path.load(Relaxed);
    if at > from && !path.is_null() {
        let note = &page.files[count];
        note.path.store(path.addr() as u64, Relaxed);
        note.from.store(from, Relaxed);
        note.to.store(at, Relaxed);
        note.written.store(open.written.load(Relaxed), Relaxed);
        page.notes.store(count as u32 + 1, Relaxed);
    }
}

/// Puts the progress of all files into the page.
pub(crate) fn note_all(page: &Page) {
    OPEN[..USED.load(Acquire)].iter().for_each(|open| note(open, page));
}

fn closed(key: u64) {
    // Between `vfork` and `exec` a process has the memory of its parent.
    if crate::is_forked() {
        return;
    }
    if let Some(open) = find(key) {
        crate::with_page(|page| note(open, page));
        open.key.store(TAKEN, SeqCst);
        let path = open.path.swap(null_mut(), Relaxed);
        // SAFETY: it is `realpath`'s, and the server has read it.
        unsafe { free(path.cast()) };
        open.key.store(FREE, SeqCst);
    }
}

/// The function of a name behind this library.
fn next(cell: &AtomicUsize, name: &CStr) -> *mut c_void {
    let known = cell.load(Relaxed);
    if known != 0 {
        return without_provenance_mut(known);
    }
    // SAFETY: the name is a text that ends with a zero.
    let found = unsafe { dlsym(NEXT, name.as_ptr()) };
    cell.store(found.expose_provenance(), Relaxed);
    found
}

/// Functions that stand in front of the C library's: each calls the next one of its name, and notes the file.
macro_rules! before {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty |$next:ident| $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                static NEXT_ONE: AtomicUsize = AtomicUsize::new(0);
                type Function = unsafe extern "C" fn($($type),*) -> $result;
                let name = const { concat!(stringify!($name), "\0") };
                // SAFETY: the text ends with a zero, and the C library's function of this name has these arguments.
                let $next = || unsafe {
                    let name = CStr::from_bytes_with_nul_unchecked(name.as_bytes());
                    core::mem::transmute::<*mut c_void, Function>(next(&NEXT_ONE, name))($($argument),*)
                };
                $body
            }
        )*
    };
}

/// Notes what `open` gives.
unsafe fn descriptor(file: c_int, path: *const c_char, flags: c_int) -> c_int {
    if file >= 0 {
        let appended = flags & APPEND != 0;
        // SAFETY: the C library has read the path.
        unsafe { opened(DESCRIPTOR | file as u64, path, appended || flags & WRITTEN != 0, appended) };
    }
    file
}

/// Notes what `fopen` gives.
unsafe fn stream(file: *mut c_void, path: *const c_char, mode: *const c_char) -> *mut c_void {
    if !file.is_null() {
        // SAFETY: the C library has read the path and the mode.
        unsafe {
            let first = *mode as u8;
            opened(file.addr() as u64, path, first != b'r', first == b'a');
        }
    }
    file
}

before! {
    open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int |next| { unsafe { descriptor(next(), path, flags) } }
    open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int |next| { unsafe { descriptor(next(), path, flags) } }
    fopen(path: *const c_char, mode: *const c_char) -> *mut c_void |next| { unsafe { stream(next(), path, mode) } }
    fopen64(path: *const c_char, mode: *const c_char) -> *mut c_void |next| { unsafe { stream(next(), path, mode) } }
    close(file: c_int) -> c_int |next| {
        // A program that closes all that it does not know must not lose its device.
        if crate::is_own(file) {
            return 0;
        }
        closed(DESCRIPTOR | file as u32 as u64);
        next()
    }
    fclose(file: *mut c_void) -> c_int |next| {
        closed(file.addr() as u64);
        next()
    }
}
