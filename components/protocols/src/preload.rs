//! What device memory holds before time 0: states that were made without time, for studies that begin on the device, and
//! the variables, constants and code of modules.

use std::sync::{Arc, PoisonError, RwLock};

use crate::memory::{LINE_BYTES, Line};

/// What allocations hold, by their number: that of the buffer, or the one that the application gives a module's variables.
pub type Contents = Vec<(u32, Vec<u8>)>;

/// Contents of device memory, given to a run as a resource. Who allocates says where each piece lies; memories take from
/// here what lines hold that nobody has written yet. All is placed before anybody asks for it, and holds for the whole run,
/// so that the lock cannot show in a result.
#[derive(Debug, Default)]
pub struct Preloaded {
    contents: Vec<(u32, Arc<[u8]>)>,
    placed: RwLock<Vec<Placed>>,
}

#[derive(Debug)]
struct Placed {
    device: String,
    address: u64,
    bytes: Arc<[u8]>,
}

impl Preloaded {
    /// With these contents, which nobody has placed yet.
    pub fn new(contents: Contents) -> Self {
        let contents = contents.into_iter().map(|(number, bytes)| (number, bytes.into())).collect();
        Preloaded { contents, placed: RwLock::default() }
    }

    /// What an allocation holds, if that was made before the run.
    pub fn contents(&self, number: u32) -> Option<&Arc<[u8]>> {
        self.contents.iter().find(|(known, _)| *known == number).map(|(_, bytes)| bytes)
    }

    /// Puts bytes into the memory of the device whose components' paths begin with `device`, from `address` on.
    pub fn place(&self, device: &str, address: u64, bytes: Arc<[u8]>) {
        let placed = Placed { device: device.to_owned(), address, bytes };
        self.placed.write().unwrap_or_else(PoisonError::into_inner).push(placed);
    }

    /// Puts what lies in the line at `address`, of the memory at `path`, over what it would hold otherwise.
    pub fn fill(&self, path: &str, address: u64, line: &mut Line) {
        let all = self.placed.read().unwrap_or_else(PoisonError::into_inner);
        for Placed { address: begin, bytes, .. } in all.iter().filter(|placed| is_part(path, &placed.device))
        {
            // Both ends in bytes of the piece, which may begin or end within the line.
            let start = address.max(*begin);
            let end = (address + LINE_BYTES).min(begin + bytes.len() as u64);
            if start < end {
                let from = (start - begin) as usize..(end - begin) as usize;
                line[(start - address) as usize..(end - address) as usize].copy_from_slice(&bytes[from]);
            }
        }
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
        let known = |number| Arc::clone(preloaded.contents(number).expect("it was given"));
        assert!(preloaded.contents(5).is_none());
        preloaded.place("gpu[1]", 1024 + 100, known(4));
        preloaded.place("gpu[1]", 1024 + 90, known(7));
        let line = |path: &str, address: u64| {
            let mut line = [9; LINE_BYTES as usize];
            preloaded.fill(path, address, &mut line);
            [1, 2, 3, 9].map(|value| line.iter().filter(|byte| **byte == value).count())
        };
        assert_eq!(line("gpu[1].dram[0]", 1024), [28, 8, 0, 92]);
        assert_eq!(line("gpu[1].dram[0]", 1152), [128, 0, 0, 0]);
        assert_eq!(line("gpu[1].memory.dram[3]", 1280), [44, 0, 0, 84]);
        assert_eq!(line("gpu[1].dram[0]", 1408), [0, 0, 0, 128]);
        assert_eq!(line("gpu[10].dram[0]", 1152), [0, 0, 0, 128], "another device");
        assert_eq!(line("gpu[0].dram[0]", 1152), [0, 0, 0, 128], "another device");
    }
}
