//! Libraries that the program loads while it runs, by name or by place: those that the command has a stand-in for are loaded from the folder of
//! this library. Python's packages bring NVIDIA's libraries with them, and load them by their places.

use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::AtomicUsize;

use crate::files;
use crate::server::own_folder;
use crate::system::{access, strdup};

/// Whether a file is there.
const EXISTS: c_int = 0;

pub(crate) type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// Loads a library. The next function of this name looks from where it was called, so that it is jumped to.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    naked_asm!(
        "push rsi",
        "call {stand_in}",
        "push rax",
        "sub rsp, 8",
        "call {next}",
        "add rsp, 8",
        "pop rdi",
        "pop rsi",
        "jmp rax",
        stand_in = sym stand_in,
        next = sym next,
    )
}

/// The same for Arm.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "str x1, [sp, #16]",
        "bl {stand_in}",
        "str x0, [sp, #24]",
        "bl {next}",
        "mov x16, x0",
        "ldr x0, [sp, #24]",
        "ldr x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        stand_in = sym stand_in,
        next = sym next,
    )
}

/// The C library's function.
pub(crate) extern "C" fn next() -> Open {
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    let found = files::next(&FOUND, c"dlopen");
    // SAFETY: the function of this name has these arguments.
    unsafe { core::mem::transmute::<*mut c_void, Open>(found) }
}

/// The place of the stand-in for a library, or the library's own name.
extern "C" fn stand_in(name: *const c_char) -> *const c_char {
    if name.is_null() {
        return name;
    }
    // SAFETY: a text that ends with a zero.
    let whole = unsafe { CStr::from_ptr(name) }.to_bytes();
    let last = whole.rsplit(|byte| *byte == b'/').next().unwrap_or(whole);
    let is_library = last.starts_with(b"lib") && last.windows(3).any(|part| part == b".so");
    if !is_library {
        return name;
    }
    let mut path = [0; 4096];
    let Some(folder) = own_folder(&mut path) else { return name };
    let Some(place) = path.get_mut(folder..folder + last.len()) else { return name };
    place.copy_from_slice(last);
    // SAFETY: a text that ends with a zero, as the path is shorter than its room. The copy stays, as the C library may keep the name.
    unsafe { if access(path.as_ptr().cast(), EXISTS) == 0 { strdup(path.as_ptr().cast()) } else { name } }
}
