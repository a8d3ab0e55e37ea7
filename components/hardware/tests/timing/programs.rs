//! PTX programs and launches for the tests, and a memory that is a map.

use std::collections::BTreeMap;

pub(super) use counterpoint_hardware::testing::{BUFFER, kernel, launch};
use counterpoint_protocols::memory::{
    LINE_BYTES, Line, MemAccess, MemReply, MemRequest, MemResult, line_of, merge, sectors,
};

/// The line of a kernel's text that has this.
pub(super) fn line_of_text(source: &str, text: &str) -> usize {
    1 + source.lines().position(|line| line.contains(text)).expect("the text is in the kernel")
}

/// A memory that does everything at once and in the order in which it is asked.
#[derive(Clone, Default)]
pub(super) struct Memory(BTreeMap<u64, Line>);

impl Memory {
    fn line(&mut self, address: u64) -> &mut Line {
        self.0.entry(line_of(address)).or_insert([0; LINE_BYTES as usize])
    }

    pub(super) fn set_word(&mut self, address: u64, word: u32) {
        let offset = (address - line_of(address)) as usize;
        self.line(address)[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
    }

    pub(super) fn byte(&mut self, address: u64) -> u8 {
        self.line(address)[(address - line_of(address)) as usize]
    }

    pub(super) fn answer(&mut self, request: &MemRequest) -> MemReply {
        let line = self.line(request.line);
        let result = match &request.access {
            MemAccess::Read(mask) => MemResult::Line(*mask, (&*line).into()),
            MemAccess::Write(mask, data) => {
                merge(line, *mask, data);
                MemResult::Written(sectors(*mask) as u8)
            }
            MemAccess::Atomic(lanes) => {
                MemResult::Old(counterpoint_hardware::memory::atomic::execute(line, lanes))
            }
        };
        MemReply { line: request.line, tag: request.tag, client: request.client, result, far: 0 }
    }
}

/// The word that a request stores at an address, if it does.
pub(super) fn stored(request: &MemRequest, address: u64) -> Option<u32> {
    let offset = address.checked_sub(request.line).filter(|&offset| offset < LINE_BYTES)? as usize;
    match &request.access {
        MemAccess::Write(mask, data) if mask >> offset & 0xf == 0xf => {
            data[offset..offset + 4].try_into().ok().map(u32::from_le_bytes)
        }
        _ => None,
    }
}
