//! What device memory holds before time 0: states that were made without time, for studies that begin on the device.

use std::sync::OnceLock;

use crate::memory::{LINE_BYTES, Line, line_of};

/// What buffers hold, by their number.
pub type Contents = Vec<(u32, Vec<u8>)>;

/// Contents of buffers, given to a run as a resource. Who allocates the buffers says where each lies; memories take from
/// here what lines hold that nobody has written yet.
#[derive(Debug, Default)]
pub struct Preloaded(Vec<Piece>);

#[derive(Debug)]
struct Piece {
    buffer: u32,
    bytes: Vec<u8>,
    place: OnceLock<Place>,
}

#[derive(Debug)]
struct Place {
    device: String,
    address: u64,
}

impl Preloaded {
    /// Of these buffers, which nobody has placed yet.
    pub fn new(contents: Contents) -> Self {
        let piece = |(buffer, bytes)| Piece { buffer, bytes, place: OnceLock::new() };
        Preloaded(contents.into_iter().map(piece).collect())
    }

    /// Says where a buffer lies: on the device whose components' paths begin with `device`, from `address` on. Must be
    /// said before anybody asks for what is there, and holds for the whole run.
    pub fn place(&self, buffer: u32, device: &str, address: u64) {
        for piece in self.0.iter().filter(|piece| piece.buffer == buffer) {
            piece.place.get_or_init(|| Place { device: device.to_owned(), address });
        }
    }

    /// Puts what lies in the line at `address`, of the memory at `path`, over what it would hold otherwise.
    pub fn fill(&self, path: &str, address: u64, line: &mut Line) {
        for Piece { bytes, place, .. } in &self.0 {
            let Some(place) = place.get().filter(|place| is_part(path, &place.device)) else { continue };
            // Both ends in bytes of the piece, which may begin or end within the line.
            let start = address.max(place.address);
            let end = (address + LINE_BYTES).min(place.address + bytes.len() as u64);
            if start < end {
                let from = (start - place.address) as usize..(end - place.address) as usize;
                line[(start - address) as usize..(end - address) as usize].copy_from_slice(&bytes[from]);
            }
        }
    }
}

impl Preloaded {
    /// Lines that hold something, of the memory at `path`, in the order in which the buffers were given; a line that two
    /// buffers share comes twice.
    pub fn lines<'a>(&'a self, path: &'a str) -> impl Iterator<Item = u64> + 'a {
        let placed = self.0.iter().filter_map(|piece| Some((piece.place.get()?, piece.bytes.len() as u64)));
        let here = placed.filter(move |(place, bytes)| *bytes > 0 && is_part(path, &place.device));
        here.flat_map(|(place, bytes)| {
            (line_of(place.address)..place.address + bytes).step_by(LINE_BYTES as usize)
        })
    }
}

/// Whether a component is a part of what has the other path.
fn is_part(path: &str, whole: &str) -> bool {
    whole.is_empty() || path.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_what_lies_in_them() {
        let preloaded = Preloaded::new(vec![(4, vec![1; 200]), (7, vec![2; 8]), (9, vec![3; 999])]);
        preloaded.place(4, "gpu[1]", 1024 + 100);
        preloaded.place(7, "gpu[1]", 1024 + 90);
        let line = |path: &str, address: u64| {
            let mut line = [9; LINE_BYTES as usize];
            preloaded.fill(path, address, &mut line);
            [1, 2, 3, 9].map(|value| line.iter().filter(|byte| **byte == value).count())
        };
        assert_eq!(line("gpu[1].dram[0]", 1024), [28, 8, 0, 92]);
        assert_eq!(line("gpu[1].dram[0]", 1152), [128, 0, 0, 0]);
        assert_eq!(line("gpu[1].memory.dram[3]", 1280), [44, 0, 0, 84]);
        assert_eq!(line("gpu[1].dram[0]", 1408), [0, 0, 0, 128]);
        assert_eq!(preloaded.lines("gpu[1].l2[0]").collect::<Vec<_>>(), [1024, 1152, 1280, 1024]);
        assert_eq!(preloaded.lines("gpu[10].l2[0]").count(), 0, "another device");
        assert_eq!(line("gpu[10].dram[0]", 1152), [0, 0, 0, 128], "another device");
        assert_eq!(line("gpu[0].dram[0]", 1152), [0, 0, 0, 128], "another device");
    }
}
