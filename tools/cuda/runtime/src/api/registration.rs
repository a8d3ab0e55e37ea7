//! Calls that compilers put in front of `main`: code, kernels and variables of the program.

use std::ffi::{c_char, c_void};

use super::entries;
use crate::fatbin::{self, Contents};
use crate::foreign::{get, read, text};
use crate::modules::{Function, Variable};
use crate::shared::Managed;

/// The first word of a wrapper, and the version of one whose fat binaries are to be linked with each other.
pub(super) const WRAPPER_MAGIC: u32 = 0x4662_43b1;
const LINKED: u32 = 2;

/// A compiler's description of a fat binary.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    binaries: *const *const u8,
}

crate::foreign::plain!(Wrapper);

/// Handles are numbers of binaries, counted from 1: nobody but this library looks at them.
type Handle = u64;

fn number(handle: Handle) -> usize {
    (handle as usize).wrapping_sub(1)
}

/// The contents of a fat binary in the program's memory.
pub(super) fn contents(data: *const u8) -> Result<Contents, String> {
    let missing = |_| "there is no fat binary".to_owned();
    let header = read(data.addr() as u64, fatbin::HEADER_BYTES as u64).map_err(missing)?;
    let bytes = fatbin::length(&header).map_err(|error| error.to_string())?;
    let all = read(data.addr() as u64, bytes as u64).map_err(missing)?;
    fatbin::contents(&all).map_err(|error| error.to_string())
}

/// The contents of all fat binaries of a wrapper.
pub(super) fn wrapped(wrapper: *const Wrapper) -> Result<Vec<Contents>, String> {
    let missing = |_| "there is no fat binary".to_owned();
    let Wrapper { magic, version, data, binaries } = get(wrapper).map_err(missing)?;
    if magic != WRAPPER_MAGIC {
        return Err(format!("the code is wrapped in an unknown way, {magic:#x}"));
    }
    if version != LINKED {
        return Ok(vec![contents(data)?]);
    }
    let mut all = Vec::new();
    for index in 0.. {
        let data = get(binaries.wrapping_add(index)).map_err(missing)?;
        if data.is_null() {
            break;
        }
        all.push(contents(data)?);
    }
    Ok(all)
}

entries! {
    fn __cudaRegisterFatBinary(wrapper: *const Wrapper) => Register |state| {
        let contents = wrapped(wrapper).map_err(|message| state.say_once(&message)).ok();
        Ok(state.modules.register(contents) as u64 + 1)
    }

    /// The registration of a fat binary is complete.
    fn __cudaRegisterFatBinaryEnd() => Register |_state| { Ok(0) }

    /// The program ends.
    fn __cudaUnregisterFatBinary() => Register |state| {
        state.end();
        Ok(0)
    }

    /// The program is about to use managed variables of a fat binary.
    fn __cudaInitModule(handle: Handle) => Answer |state| {
        let given = state.give_managed(number(handle));
        if given.is_err() {
            state.say_once("`__managed__` variables of the program have no place in its memory: it cannot use them");
        }
        Ok(given.is_ok().into())
    }

    fn __cudaRegisterFunction(
        handle: Handle, stub: *const c_void, _device_stub: *const c_char, name: *const c_char,
    ) => Register |state| {
        state.modules.register_function(stub.addr(), Function { binary: number(handle), name: text(name) });
        Ok(0)
    }

    fn __cudaRegisterVar(
        handle: Handle, host: *const c_char, _device: *const c_char, name: *const c_char,
    ) => Register |state| {
        state.modules.register_variable(host.addr(), Variable { binary: number(handle), name: text(name) });
        Ok(0)
    }

    /// Notes a variable that host and device share. The program has its address when it asks for those of its module.
    fn __cudaRegisterManagedVar(
        handle: Handle, host: u64, _device: *const c_char, name: *const c_char,
    ) => Register |state| {
        state.shared.register(Managed { binary: number(handle), name: text(name), host });
        Ok(0)
    }

    /// A variable of the host that device code sees is not supported.
    fn __cudaRegisterHostVar() |state| {
        Err(state.refuse("__cudaRegisterHostVar", "variables of the host that kernels see are not supported"))
    }
}
