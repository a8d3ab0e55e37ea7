//! NVIDIA's linker as a library of its own (`libnvJitLink`), in whose place PTX is linked: what it gives as machine code is the text of one module,
//! which every function that takes an image understands.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::super::entries;
use super::images::{file, image};
use crate::errors::Result;
use crate::fatbin::Contents;
use crate::foreign::{put, text, write};
use crate::made::JitLink;
use crate::modules::{Unusable, link_parts};
use crate::state::State;

/// Results: success, wrong input, and an error within (`nvJitLinkResult` in `nvJitLink.h`).
const SUCCESS: u64 = 0;
const INVALID_INPUT: u64 = 3;
const INTERNAL: u64 = 6;

/// A version that does not take the code of optimisation at link time, so that compilers hand PTX over.
const VERSION: [c_uint; 2] = [12, 2];

fn result(done: Result<u64>) -> Result<u64> {
    Ok(done.unwrap_or(INTERNAL))
}

impl State {
    fn jit(&mut self, handle: u64, body: impl FnOnce(&mut JitLink) -> Result<u64>) -> Result<u64> {
        match self.jit_links.get_mut(&handle) {
            Some(link) => result(body(link)),
            None => Ok(INVALID_INPUT),
        }
    }

    fn jit_add(&mut self, handle: u64, parts: std::result::Result<Vec<Contents>, Unusable>) -> Result<u64> {
        let failed = parts.as_ref().err().map(|(_, message)| message.clone());
        if let Some(message) = &failed {
            self.say_once(message);
        }
        self.jit(handle, |link| match parts {
            Ok(parts) => {
                link.parts.extend(parts);
                Ok(SUCCESS)
            }
            Err((_, message)) => {
                link.errors = message;
                Ok(INVALID_INPUT)
            }
        })
    }
}

fn put_length(text: &str, place: *mut usize) -> Result<u64> {
    put(place, text.len() + 1)?;
    Ok(SUCCESS)
}

fn put_all(text: &str, place: u64) -> Result<u64> {
    write(place, text.as_bytes())?;
    write(place + text.len() as u64, &[0])?;
    Ok(SUCCESS)
}

entries! {
    fn nvJitLinkCreate(handle: *mut u64, _count: c_uint, _options: *const *const c_char) => Answer |state| {
        let number = state.jit_links.last_key_value().map_or(1, |(last, _)| last + 1);
        state.jit_links.insert(number, JitLink::default());
        result(put(handle, number).map(|()| SUCCESS))
    }

    fn nvJitLinkDestroy(handle: *mut u64) => Answer |state| {
        let number = crate::foreign::get(handle).unwrap_or(0);
        Ok(if state.jit_links.remove(&number).is_some() { SUCCESS } else { INVALID_INPUT })
    }

    fn nvJitLinkAddData(
        handle: u64, _kind: c_int, data: *const c_void, bytes: usize, _name: *const c_char,
    ) => Answer |state| {
        state.jit_add(handle, image(data, Some(bytes)))
    }

    fn nvJitLinkAddFile(handle: u64, _kind: c_int, path: *const c_char) => Answer |state| {
        state.jit_add(handle, file(&text(path)))
    }

    fn nvJitLinkComplete(handle: u64) => Answer |state| {
        state.jit(handle, |link| match link_parts(&link.parts) {
            Ok(made) => {
                link.made = made;
                Ok(SUCCESS)
            }
            Err((_, message)) => {
                link.errors = message;
                Ok(INVALID_INPUT)
            }
        })
    }

    fn nvJitLinkGetLinkedCubinSize(handle: u64, bytes: *mut usize) => Answer |state| {
        state.jit(handle, |link| put_length(&link.made, bytes))
    }

    fn nvJitLinkGetLinkedCubin(handle: u64, place: u64) => Answer |state| {
        state.jit(handle, |link| put_all(&link.made, place))
    }

    fn nvJitLinkGetLinkedPtxSize(handle: u64, bytes: *mut usize) => Answer |state| {
        state.jit(handle, |link| put_length(&link.made, bytes))
    }

    fn nvJitLinkGetLinkedPtx(handle: u64, place: u64) => Answer |state| {
        state.jit(handle, |link| put_all(&link.made, place))
    }

    fn nvJitLinkGetErrorLogSize(handle: u64, bytes: *mut usize) => Answer |state| {
        state.jit(handle, |link| put_length(&link.errors, bytes))
    }

    fn nvJitLinkGetErrorLog(handle: u64, place: u64) => Answer |state| {
        state.jit(handle, |link| put_all(&link.errors, place))
    }

    fn nvJitLinkGetInfoLogSize(handle: u64, bytes: *mut usize) => Answer |state| {
        state.jit(handle, |_| put_length("", bytes))
    }

    fn nvJitLinkGetInfoLog(handle: u64, place: u64) => Answer |state| {
        state.jit(handle, |_| put_all("", place))
    }

    fn nvJitLinkVersion(major: *mut c_uint, minor: *mut c_uint) => Answer |_state| {
        result(put(major, VERSION[0]).and_then(|()| put(minor, VERSION[1])).map(|()| SUCCESS))
    }
}
