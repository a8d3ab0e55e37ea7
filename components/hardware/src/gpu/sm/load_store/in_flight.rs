//! Memory instructions under way, and those of their lanes that wait for a line.

use counterpoint_protocols::memory::Line;
use counterpoint_ptx::Access;

/// A memory instruction that has reached the load-store unit and is not done.
pub(super) struct InFlight {
    pub(super) warp: u32,
    pub(super) access: Box<Access>,
    /// The cycle of its issue.
    pub(super) since: u64,
    /// For textures: the lines that hold texels, and what has come of them.
    pub(super) texels: Vec<(u64, Line)>,
    /// Transactions made that have not been served.
    pub(super) pending: u32,
    /// All transactions have been made.
    pub(super) complete: bool,
}

/// Lanes of an instruction that wait for a line.
#[derive(Clone, Copy)]
pub(super) struct Waiter {
    pub(super) instruction: u32,
    pub(super) lanes: u32,
    /// Which word of each lane, where the words of a lane lie in several lines.
    pub(super) part: u32,
}

/// A table whose places keep their index while they are taken.
pub(super) struct Table<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    pub(super) fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.places[index as usize] = Some(value);
            return index;
        }
        self.places.push(Some(value));
        self.places.len() as u32 - 1
    }

    /// # Panics
    /// If nothing has this index.
    pub(super) fn get(&mut self, index: u32) -> &mut T {
        self.places[index as usize].as_mut().expect("it is under way")
    }

    /// # Panics
    /// If nothing has this index.
    pub(super) fn take(&mut self, index: u32) -> T {
        self.free.push(index);
        self.places[index as usize].take().expect("it is under way")
    }
}
