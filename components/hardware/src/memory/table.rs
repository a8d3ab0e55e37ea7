//! What is under way and is named by a small number: in tags, in queues, in what waits for it.

/// A table whose places keep their index while they are taken.
pub(crate) struct Table<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.places[index as usize] = Some(value);
            return index;
        }
        self.places.push(Some(value));
        self.places.len() as u32 - 1
    }

    /// # Panics
    /// If nothing has this index.
    pub(crate) fn get(&mut self, index: u32) -> &mut T {
        self.places[index as usize].as_mut().expect("it is under way")
    }

    /// All that is under way.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }

    /// # Panics
    /// If nothing has this index.
    pub(crate) fn take(&mut self, index: u32) -> T {
        self.free.push(index);
        self.places[index as usize].take().expect("it is under way")
    }
}
