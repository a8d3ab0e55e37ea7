//! Files that the program reads and writes, and its progress in them.
//!
//! The command has this library loaded before the C library, so that these functions precede those of the same names. They note a file when
//! it is opened, and pass every call on. The position in a file is queried at each call of CUDA and when the file is closed, so the
//! functions by which a program reads do not matter.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};

use crate::page::{NOTES, Page};
use crate::system::{Status, close_range_own, dlsym, fileno, free, ftello, lseek, realpath, statx};

/// `dlsym`'s handle for the next library, `lseek`'s word for the present place, and `statx`'s for the working folder, for a descriptor, and for type,
/// number and size.
pub(crate) const NEXT: *mut c_void = without_provenance_mut(usize::MAX);
const HERE: c_int = 1;
const WORKING_FOLDER: c_int = -100;
const BY_DESCRIPTOR: c_int = 0x1000;
const WANTED: u32 = 0x301;
/// Flags of `open`: a file is written alone, read and written, or appended to.
const WRITTEN: c_int = 1 | 2;
const APPEND: c_int = 0x400;
/// The file type bits of a mode, and their value for a regular file.
const KIND: u64 = 0xf000;
const DATA: u64 = 0x8000;
/// Folders that have no data of programs.
const SYSTEM: [&[u8]; 6] = [b"/proc/", b"/sys/", b"/dev/", b"/etc/", b"/lib", b"/usr/lib"];

/// Parts and ends of the names of files that are code: programs in Python load theirs while they run.
const CODE_PLACES: [&[u8]; 4] = [b"/site-packages/", b"/dist-packages/", b"/lib/python", b"/__pycache__/"];
const CODE_ENDS: [&[u8]; 6] = [b".py", b".pyc", b".so", b".cubin", b".fatbin", b".ptx"];

fn is_code(name: &[u8]) -> bool {
    let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    CODE_ENDS.iter().any(|end| name.ends_with(end)) || CODE_PLACES.iter().any(|part| has(part))
}

/// Keys of a free slot, and of a slot that is being filled.
const FREE: u64 = 0;
const TAKEN: u64 = 1;
/// Marks the key of a descriptor; that of a stream is its address.
const DESCRIPTOR: u64 = 1 << 63;

struct Open {
    key: AtomicU64,
    path: AtomicPtr<c_char>,
    /// Position up to which the record has the file.
    noted: AtomicU64,
    written: AtomicU64,
    /// Identity of the file: its inode number and its device.
    file: [AtomicU64; 2],
}

/// Open files; those beyond are not recorded.
static OPEN: [Open; 1024] = [const {
    Open {
        key: AtomicU64::new(FREE),
        path: AtomicPtr::new(null_mut()),
        noted: AtomicU64::new(0),
        written: AtomicU64::new(0),
        file: [const { AtomicU64::new(0) }; 2],
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
        (CStr::from_ptr(path).to_bytes(), statx(WORKING_FOLDER, path, 0, WANTED, &mut status) == 0)
    };
    // The mode is at byte 28, and the size at byte 40.
    let (mode, size) = (status.0[3] >> 32, status.0[5]);
    if !known || mode & KIND != DATA || SYSTEM.iter().any(|place| name.starts_with(place)) || is_code(name) {
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
    open.file.iter().zip(identity(&status)).for_each(|(place, word)| place.store(word, Relaxed));
    open.key.store(key, Release);
}

/// The number of a file, at byte 32, and its device, at byte 136.
fn identity(status: &Status) -> [u64; 2] {
    [status.0[4], status.0[17]]
}

/// Whether a key is still that of the file that it was noted for: a program may close a descriptor in ways that are not seen here.
fn is_still(open: &Open, key: u64) -> bool {
    let mut status = Status([0; 32]);
    // SAFETY: the arguments are numbers, a text, and a buffer that the call fills; the stream is open, since calls that close streams are
    // intercepted.
    let known = unsafe {
        let file =
            if key & DESCRIPTOR == 0 { fileno(without_provenance_mut(key as usize)) } else { key as c_int };
        statx(file, c"".as_ptr(), BY_DESCRIPTOR, WANTED, &mut status) == 0
    };
    known && open.file.iter().zip(identity(&status)).all(|(place, word)| place.load(Relaxed) == word)
}

/// Puts the progress of a file into the page, if it has come further.
fn note(open: &Open, page: &Page) {
    let (key, count) = (open.key.load(Acquire), page.notes.load(Relaxed) as usize);
    if key <= TAKEN || count == NOTES {
        return;
    }
    if !is_still(open, key) {
        forget(open);
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
        forget(open);
    }
}

/// Makes the place of a file free, unless it is.
fn forget(open: &Open) {
    if open.key.swap(TAKEN, SeqCst) > TAKEN {
        let path = open.path.swap(null_mut(), Relaxed);
        // SAFETY: it is `realpath`'s, and the server has read it.
        unsafe { free(path.cast()) };
    }
    open.key.store(FREE, SeqCst);
}

/// The descriptors of a range are about to be closed.
fn closed_range(first: u32, last: u32) {
    for open in &OPEN[..USED.load(Acquire)] {
        let key = open.key.load(Acquire);
        if key & DESCRIPTOR != 0 && (first..=last).contains(&(key as u32)) {
            closed(key);
        }
    }
}

/// Records that the descriptor `to` now refers to the file of the descriptor `from`.
fn duplicated(from: c_int, to: c_int) {
    if from != to && !crate::is_forked() {
        closed(DESCRIPTOR | to as u32 as u64);
        crate::give_way(to);
    }
}

/// Records that a file known by the descriptor `from` is known by `to` from now on, which shares its position.
fn moved(from: c_int, to: c_int) {
    if to >= 0
        && from != to
        && let Some(open) = find(DESCRIPTOR | from as u32 as u64)
    {
        open.key.store(DESCRIPTOR | to as u32 as u64, Release);
    }
}

/// The function of a name behind this library.
pub(crate) fn next(cell: &AtomicUsize, name: &CStr) -> *mut c_void {
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
                static NEXT_ONE: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
                type Function = unsafe extern "C" fn($($type),*) -> $result;
                let name = const { concat!(stringify!($name), "\0") };
                // SAFETY: the text ends with a zero, and the C library's function of this name has these arguments.
                let $next = || unsafe {
                    let name = core::ffi::CStr::from_bytes_with_nul_unchecked(name.as_bytes());
                    core::mem::transmute::<*mut core::ffi::c_void, Function>($crate::files::next(&NEXT_ONE, name))($($argument),*)
                };
                $body
            }
        )*
    };
}
pub(crate) use before;

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

/// Closes all descriptors from one on, as the C library's function of this name.
#[unsafe(no_mangle)]
extern "C" fn closefrom(lowest: c_int) {
    let lowest = lowest.max(0) as u32;
    closed_range(lowest, u32::MAX);
    match crate::own().map(|own| own as u32).filter(|own| *own >= lowest) {
        None => drop(close_range_own(lowest, u32::MAX, 0)),
        Some(own) => {
            if lowest < own {
                close_range_own(lowest, own - 1, 0);
            }
            close_range_own(own + 1, u32::MAX, 0);
        }
    }
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
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int |next| {
        if flags != 0 {
            return next();
        }
        closed_range(first, last);
        match crate::own().map(|own| own as u32).filter(|own| (first..=last).contains(own)) {
            None => next(),
            Some(own) => {
                let before = if first < own { close_range_own(first, own - 1, 0) } else { 0 };
                let behind = if own < last { close_range_own(own + 1, last, 0) } else { 0 };
                before.min(behind)
            }
        }
    }
    dup2(from: c_int, to: c_int) -> c_int |next| {
        duplicated(from, to);
        let file = next();
        moved(from, file);
        file
    }
    dup3(from: c_int, to: c_int, _flags: c_int) -> c_int |next| {
        duplicated(from, to);
        let file = next();
        moved(from, file);
        file
    }
    freopen(path: *const c_char, mode: *const c_char, file: *mut c_void) -> *mut c_void |next| {
        closed(file.addr() as u64);
        let file = next();
        if path.is_null() { file } else { unsafe { stream(file, path, mode) } }
    }
    freopen64(path: *const c_char, mode: *const c_char, file: *mut c_void) -> *mut c_void |next| {
        closed(file.addr() as u64);
        let file = next();
        if path.is_null() { file } else { unsafe { stream(file, path, mode) } }
    }
    fclose(file: *mut c_void) -> c_int |next| {
        closed(file.addr() as u64);
        next()
    }
}
