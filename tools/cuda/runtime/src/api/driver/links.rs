//! The driver's linker. What it links stays PTX: the image that it gives is the text of one module.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::super::entries;
use super::images::{Options, file, image};
use crate::errors::{Error, Result};
use crate::fatbin::Contents;
use crate::foreign::{put, text, write};
use crate::made::Link;
use crate::made::contexts::{LINKS, number};
use crate::modules::{Unusable, link_parts};
use crate::state::State;

/// Kinds of input: machine code, PTX, fat binaries, objects, archives of those, and the compiler's intermediate code.
const KINDS: std::ops::RangeInclusive<c_int> = 0..=5;

impl State {
    fn link(&mut self, handle: u64) -> Result<&mut Link> {
        let number = number(handle, LINKS)?;
        self.links.get_mut(&number).ok_or(Error::INVALID_RESOURCE_HANDLE)
    }

    fn add(
        &mut self,
        (link, kind): (u64, c_int),
        parts: std::result::Result<Vec<Contents>, Unusable>,
        options: Options,
    ) -> Result {
        self.link(link)?;
        if !KINDS.contains(&kind) {
            return Err(Error::INVALID_VALUE);
        }
        match parts {
            Ok(parts) => {
                self.link(link)?.parts.extend(parts);
                Ok(())
            }
            Err((error, message)) => {
                options.log(&message)?;
                self.unusable((error, message));
                Err(error)
            }
        }
    }
}

entries! {
    fn cuLinkCreate_v2(_count: c_uint, _keys: *const c_int, _values: *mut u64, link: *mut u64) |state| {
        let number = state.links.last_key_value().map_or(0, |(last, _)| last + 1);
        state.links.insert(number, Link::default());
        put(link, LINKS + number as u64)
    }

    fn cuLinkAddData_v2(
        link: u64, kind: c_int, data: *const c_void, bytes: usize, _name: *const c_char, count: c_uint,
        keys: *const c_int, values: *mut u64,
    ) |state| {
        state.add((link, kind), image(data, Some(bytes)), Options { count, keys, values })
    }

    fn cuLinkAddFile_v2(
        link: u64, kind: c_int, path: *const c_char, count: c_uint, keys: *const c_int, values: *mut u64,
    ) |state| {
        state.add((link, kind), file(&text(path)), Options { count, keys, values })
    }

    fn cuLinkComplete(link: u64, image: *mut u64, bytes: *mut usize) |state| {
        let made = match link_parts(&state.link(link)?.parts) {
            Ok(made) => made,
            Err((error, message)) => {
                state.unusable((error, message));
                return Err(error);
            }
        };
        let room = state.allocate_pinned(made.len() as u64 + 1, 0, false)?;
        write(room, made.as_bytes())?;
        if let Some(before) = state.link(link)?.made.replace(room) {
            state.free_shared(before)?;
        }
        put(image, room)?;
        if bytes.is_null() { Ok(()) } else { put(bytes, made.len() + 1) }
    }

    fn cuLinkDestroy(link: u64) |state| {
        let link = state.links.remove(&number(link, LINKS)?).ok_or(Error::INVALID_RESOURCE_HANDLE)?;
        link.made.map_or(Ok(()), |made| state.free_shared(made))
    }
}
