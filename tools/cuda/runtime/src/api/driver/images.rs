//! Code as programs hand it to the driver: PTX as a text, fat binaries, and what a compiler wraps around those; from memory or from a file.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::super::registration;
use crate::errors::{Error, Result};
use crate::fatbin::{self, Contents, Ptx};
use crate::foreign::{self, get, put, read};
use crate::modules::Unusable;
use crate::state::State;

/// The first bytes of machine code and of objects, of archives of those, and of the compiler's own intermediate code.
const ELF: &[u8] = b"\x7fELF";
const ARCHIVE: &[u8] = b"!<ar";
const BITCODE: [&[u8]; 2] = [b"BC\xc0\xde", b"\xde\xc0\x17\x0b"];
/// Bytes of a text of PTX at most.
const LONGEST_PTX: usize = 1 << 30;

/// Options of a compilation that say where messages go: the errors, and the bytes that they may have; and the same for remarks
/// (`CUjit_option` in CUDA's `cuda.h`).
const INFO_BYTES: c_int = 4;
const ERRORS: c_int = 5;
const ERROR_BYTES: c_int = 6;

/// A list of options with a value each.
#[derive(Clone, Copy)]
pub(super) struct Options {
    pub(super) count: c_uint,
    pub(super) keys: *const c_int,
    pub(super) values: *mut u64,
}

impl Options {
    fn place(self, key: c_int) -> Result<Option<*mut u64>> {
        for index in 0..self.count as usize {
            if get(self.keys.wrapping_add(index))? == key {
                return Ok(Some(self.values.wrapping_add(index)));
            }
        }
        Ok(None)
    }

    /// Puts the message of a compilation where the program wants it, and its length.
    pub(super) fn log(self, message: &str) -> Result {
        if let Some(bytes) = self.place(INFO_BYTES)? {
            put(bytes, 0)?;
        }
        let Some(bytes) = self.place(ERROR_BYTES)? else { return Ok(()) };
        let room = get(bytes)? as u32 as usize;
        if let Some(log) = self.place(ERRORS)?
            && room > 0
        {
            super::devices::put_text(get(log)? as usize as *mut c_char, room, message.as_bytes())?;
        }
        put(bytes, message.len().min(room) as u64)
    }
}

/// The parts of an image that the program has in memory; its bytes are counted where the caller knows them.
pub(super) fn image(
    place: *const c_void,
    bytes: Option<usize>,
) -> std::result::Result<Vec<Contents>, Unusable> {
    let invalid = |message: &str| (Error::INVALID_IMAGE, message.to_owned());
    if place.is_null() {
        return Err((Error::INVALID_VALUE, "there is no code".to_owned()));
    }
    let first = bytes.unwrap_or(4).min(4);
    let first =
        read(place.addr() as u64, first as u64).map_err(|error| (error, "there is no code".to_owned()))?;
    let word = <[u8; 4]>::try_from(&*first).map_or(0, u32::from_le_bytes);
    match word {
        registration::WRAPPER_MAGIC => {
            registration::wrapped(place.cast()).map_err(|message| invalid(&message))
        }
        fatbin::MAGIC => {
            registration::contents(place.cast()).map(|one| vec![one]).map_err(|message| invalid(&message))
        }
        _ if let Some(bytes) = bytes.filter(|_| first.starts_with(ELF) || first.starts_with(ARCHIVE)) => {
            let bytes = read(place.addr() as u64, bytes as u64);
            within(&bytes.map_err(|error| (error, "there is no code".to_owned()))?)
        }
        _ if first.starts_with(ELF) => Err((Error::NO_KERNEL_IMAGE, MACHINE_CODE.to_owned())),
        _ if BITCODE.iter().any(|code| first.starts_with(code)) => Err(invalid(
            "the code is in a form between languages, and kernels run from PTX: compile it to PTX",
        )),
        _ => {
            let text = foreign::long_text(place.addr() as u64, bytes.unwrap_or(LONGEST_PTX).min(LONGEST_PTX));
            parts(text.map_err(|error| (error, "there is no code".to_owned()))?)
        }
    }
}

/// The parts of the bytes of a file.
pub(super) fn file(path: &str) -> std::result::Result<Vec<Contents>, Unusable> {
    let bytes = std::fs::read(foreign::path(path))
        .map_err(|error| (Error::FILE_NOT_FOUND, format!("{path}: {error}")))?;
    let invalid = |message: String| (Error::INVALID_IMAGE, format!("{path}: {message}"));
    if bytes.starts_with(&fatbin::MAGIC.to_le_bytes()) {
        return fatbin::contents(&bytes).map(|one| vec![one]).map_err(|error| invalid(error.to_string()));
    }
    if bytes.starts_with(ELF) || bytes.starts_with(ARCHIVE) {
        return within(&bytes).map_err(|(error, message)| (error, format!("{path}: {message}")));
    }
    parts(bytes)
}

/// The fat binaries within an object or an archive, wherever they lie; machine code has none.
fn within(bytes: &[u8]) -> std::result::Result<Vec<Contents>, Unusable> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= fatbin::HEADER_BYTES) {
        let is_there = rest.starts_with(&fatbin::MAGIC.to_le_bytes());
        let length = if is_there { fatbin::length(rest).ok() } else { None };
        match length.and_then(|length| Some((length, fatbin::contents(rest.get(..length)?).ok()?))) {
            Some((length, contents)) => {
                found.push(contents);
                at += length.max(1);
            }
            None => at += 1,
        }
    }
    if found.is_empty() { Err((Error::NO_KERNEL_IMAGE, MACHINE_CODE.to_owned())) } else { Ok(found) }
}

/// A text of PTX as the one part of a binary.
fn parts(mut bytes: Vec<u8>) -> std::result::Result<Vec<Contents>, Unusable> {
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    let text = String::from_utf8(bytes).ok().filter(|text| text.contains(".version"));
    let text =
        text.ok_or_else(|| (Error::INVALID_IMAGE, "the code is neither PTX nor a fat binary".to_owned()))?;
    let generation = text.split(".target").nth(1).and_then(|rest| rest.trim_start().strip_prefix("sm_"));
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    let generation = generation.and_then(|rest| digits(rest).parse().ok()).unwrap_or(0);
    Ok(vec![Contents { ptx: vec![Ptx { generation, text }], machine_code: Vec::new() }])
}

const MACHINE_CODE: &str =
    "the code is machine code, and kernels run from PTX: hand PTX over, or a fat binary that has some";

impl State {
    /// Puts code on the device; the result is the number of its binary.
    pub(super) fn load_image(
        &mut self,
        contents: std::result::Result<Vec<Contents>, Unusable>,
        options: Options,
    ) -> Result<usize> {
        let loaded = contents.and_then(|contents| {
            let binary = self.modules.register(Some(contents));
            self.load_with_reason(binary).map(|()| binary)
        });
        match loaded {
            Ok(binary) => {
                options.log("")?;
                Ok(binary)
            }
            Err((error, message)) => {
                options.log(&message)?;
                self.unusable((error, message));
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_code_if_it_is_ptx() {
        let found = parts(b".version 8.0\n.target sm_86, debug\n\0garbage".to_vec()).expect("PTX");
        assert_eq!(found[0].ptx[0].generation, 86);
        assert!(found[0].ptx[0].text.ends_with("debug\n"));
        assert_eq!(parts(b"int main() {}".to_vec()).expect_err("no PTX").0, Error::INVALID_IMAGE);
        assert_eq!(parts(vec![0xff; 8]).expect_err("no text").0, Error::INVALID_IMAGE);
    }

    #[test]
    fn objects_and_archives_have_fat_binaries_within() {
        assert_eq!(within(b"\x7fELF machine code").expect_err("none").0, Error::NO_KERNEL_IMAGE);
        // Two without entries, one of which is cut short.
        let header = [&fatbin::MAGIC.to_le_bytes()[..], &[1, 0, 16, 0], &[0; 8]].concat();
        let archive = [b"!<arch>\nmember", &header[..], b"between", &header[..12]].concat();
        assert_eq!(within(&archive).expect("one"), [Contents::default()]);
    }
}
