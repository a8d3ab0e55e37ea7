//! Fat binaries: the code that a compiler puts into a program, for several GPUs and in several forms.
//!
//! A fat binary is a header and entries, each with a form, a generation and bytes that may be packed. Only PTX is of use here.

use std::fmt;
use std::io::Read;

/// The first word of a fat binary.
pub(crate) const MAGIC: u32 = 0xba55_ed50;
/// Bytes of the header before the entries.
pub(crate) const HEADER_BYTES: usize = 16;
/// The first bytes of a fat binary: the word, its version and the length of its header.
const START: [u8; 8] = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
/// Bytes of an entry's header at least.
const LEAST_ENTRY: usize = 64;
/// Kinds of entries.
const PTX: u16 = 1;
const CUBIN: u16 = 2;
/// Flags of packed entries.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// Bytes of a fat binary, or of PTX that is unpacked, at most: more than any compiler makes.
const MOST_BYTES: u64 = 1 << 30;

/// PTX of a fat binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ptx {
    /// Generation of the GPU that it is for, such as 75.
    pub(crate) generation: u32,
    pub(crate) text: String,
}

/// The entries of a fat binary that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) ptx: Vec<Ptx>,
    pub(crate) machine_code: Vec<u32>,
}

/// The reason why a fat binary cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadBinary(String);

impl fmt::Display for BadBinary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the fat binary is damaged: {}", self.0)
    }
}

fn bad(message: impl Into<String>) -> BadBinary {
    BadBinary(message.into())
}

/// Bytes of a fat binary, header included, from its first bytes.
pub(crate) fn length(header: &[u8]) -> Result<usize, BadBinary> {
    let magic = word(header, 0, 4)? as u32;
    if magic != MAGIC {
        return Err(bad(format!("it begins with {magic:#x} instead of {MAGIC:#x}")));
    }
    let (before, bytes) = (word(header, 6, 2)?, word(header, 8, 8)?);
    let length = before.checked_add(bytes).filter(|length| *length <= MOST_BYTES);
    length.map(|length| length as usize).ok_or_else(|| bad(format!("{bytes} bytes long")))
}

/// Reads a fat binary.
pub(crate) fn contents(binary: &[u8]) -> Result<Contents, BadBinary> {
    let end = length(binary)?.min(binary.len());
    let (mut found, mut at) = (Contents::default(), word(binary, 6, 2)? as usize);
    while at + LEAST_ENTRY <= end {
        let entry = &binary[at..end];
        let (kind, header, payload) = (word(entry, 0, 2)?, word(entry, 4, 4)?, word(entry, 8, 8)?);
        let generation = word(entry, 28, 4)? as u32;
        let next = header.checked_add(payload).filter(|bytes| *bytes <= entry.len() as u64);
        let Some(next) = next.filter(|_| header >= LEAST_ENTRY as u64) else {
            return Err(bad(format!("an entry of {payload} bytes ends beyond it")));
        };
        let stored = &entry[header as usize..next as usize];
        match kind as u16 {
            PTX => found.ptx.push(Ptx { generation, text: text(entry, stored)? }),
            CUBIN => found.machine_code.push(generation),
            _ => {}
        }
        at += next as usize;
    }
    Ok(found)
}

/// The highest generation for which a program's file has PTX.
pub(crate) fn newest(program: &[u8]) -> Option<u32> {
    let binaries = program.chunks_exact(8).enumerate().filter(|(_, start)| start.starts_with(&START));
    binaries.filter_map(|(number, _)| newest_of(&program[number * 8..]).ok().flatten()).max()
}

/// The highest generation for which a fat binary has PTX, without reading it.
fn newest_of(binary: &[u8]) -> Result<Option<u32>, BadBinary> {
    let end = length(binary)?.min(binary.len());
    let (mut newest, mut at) = (None, HEADER_BYTES);
    while at + LEAST_ENTRY <= end {
        let entry = &binary[at..end];
        if word(entry, 0, 2)? as u16 == PTX {
            newest = newest.max(Some(word(entry, 28, 4)? as u32));
        }
        let bytes = word(entry, 4, 4)?.saturating_add(word(entry, 8, 8)?);
        at = at.saturating_add(bytes.max(LEAST_ENTRY as u64) as usize);
    }
    Ok(newest)
}

fn text(entry: &[u8], stored: &[u8]) -> Result<String, BadBinary> {
    let (packed, flags, bytes) = (word(entry, 16, 4)? as usize, word(entry, 40, 8)?, word(entry, 56, 8)?);
    let mut unpacked = if flags & (LZ4 | ZSTD) == 0 {
        stored.to_vec()
    } else {
        let packed = stored.get(..packed).ok_or_else(|| bad("packed code ends beyond its entry"))?;
        if bytes > MOST_BYTES {
            return Err(bad(format!("{bytes} bytes of PTX")));
        }
        match flags & ZSTD {
            0 => {
                lz4_flex::block::decompress(packed, bytes as usize).map_err(|error| bad(error.to_string()))?
            }
            _ => zstd(packed, bytes)?,
        }
    };
    // The text ends with a zero, and more of them fill the entry.
    unpacked.truncate(unpacked.iter().position(|byte| *byte == 0).unwrap_or(unpacked.len()));
    String::from_utf8(unpacked).map_err(|_| bad("its PTX is not a text"))
}

fn zstd(packed: &[u8], bytes: u64) -> Result<Vec<u8>, BadBinary> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|error| bad(error.to_string()))?;
    let mut unpacked = Vec::new();
    decoder.take(bytes).read_to_end(&mut unpacked).map_err(|error| bad(error.to_string()))?;
    Ok(unpacked)
}

/// A number, little endian.
fn word(bytes: &[u8], at: usize, size: usize) -> Result<u64, BadBinary> {
    let bytes = bytes.get(at..at + size).ok_or_else(|| bad("it ends too early"))?;
    Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 8.0\n.target sm_70\n.address_size 64\n";

    /// An entry, after the table of the format.
    fn entry(kind: u16, generation: u32, flags: u64, payload: &[u8], unpacked: u64) -> Vec<u8> {
        let padded = payload.len().next_multiple_of(8);
        let mut bytes = vec![0; LEAST_ENTRY + padded];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &kind.to_le_bytes());
        put(2, &0x101_u16.to_le_bytes());
        put(4, &64_u32.to_le_bytes());
        put(8, &(padded as u64).to_le_bytes());
        put(16, &(if flags & (LZ4 | ZSTD) == 0 { 0 } else { payload.len() as u32 }).to_le_bytes());
        put(28, &generation.to_le_bytes());
        put(40, &(0x11 | flags).to_le_bytes());
        put(56, &unpacked.to_le_bytes());
        put(64, payload);
        bytes
    }

    fn binary(entries: &[Vec<u8>]) -> Vec<u8> {
        let all = entries.concat();
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend((all.len() as u64).to_le_bytes());
        bytes.extend(all);
        bytes
    }

    #[test]
    fn ptx_is_found_in_all_packings() {
        let plain = [TEXT.as_bytes(), &[0]].concat();
        let lz4 = lz4_flex::block::compress(&plain);
        let zstd = ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest);
        let size = plain.len() as u64;
        let all = [
            entry(PTX, 70, 0, &plain, 0),
            entry(CUBIN, 86, 0, &[1; 24], 0),
            entry(PTX, 75, LZ4, &lz4, size),
            entry(PTX, 90, ZSTD, &zstd, size),
        ];
        let found = contents(&binary(&all)).expect("a fat binary");
        let expected = [70, 75, 90].map(|generation| Ptx { generation, text: TEXT.to_owned() });
        assert_eq!(found.ptx, expected);
        assert_eq!(found.machine_code, [86]);
    }

    #[test]
    fn a_program_tells_its_newest_ptx() {
        let old = binary(&[entry(PTX, 70, 0, &[1; 24], 0), entry(CUBIN, 90, 0, &[1; 24], 0)]);
        let new = binary(&[entry(PTX, 80, 0, &[1; 24], 0)]);
        let program = [vec![7; 40], old, new[..20].to_vec(), vec![0; 4], new].concat();
        assert_eq!(newest(&program), Some(80));
        assert_eq!(newest(&program[..120]), Some(70));
        assert_eq!(newest(&[0; 64]), None);
    }

    #[test]
    fn damage_is_an_error() {
        let plain = [TEXT.as_bytes(), &[0]].concat();
        let lz4 = lz4_flex::block::compress(&plain);
        let good = binary(&[entry(PTX, 75, LZ4, &lz4, plain.len() as u64)]);
        assert!(contents(&good).is_ok());
        assert!(contents(&good[..10]).is_err(), "half a header");
        for place in 0..good.len() {
            let mut damaged = good.clone();
            damaged[place] ^= 0xff;
            // The damaged contents may still be readable; reading must not panic.
            let _ = contents(&damaged);
        }
        let message = length(b"\x7fELF............").expect_err("a file of another kind").to_string();
        assert_eq!(message, "the fat binary is damaged: it begins with 0x464c457f instead of 0xba55ed50");
    }
}
