//! Items in flight, each with a small number as its name: in tags, in queues, in waiting lists.

/// A table whose slots keep their index while they are taken.
pub struct Table<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Takes a value in and gives its index, one that is free.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = Some(value);
            return index;
        }
        self.slots.push(Some(value));
        self.slots.len() as u32 - 1
    }

    /// The value with this index.
    ///
    /// # Panics
    /// If nothing has.
    pub fn get(&mut self, index: u32) -> &mut T {
        self.slots[index as usize].as_mut().expect("it is under way")
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    /// All that is under way.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    /// Removes and returns the item with this index.
    ///
    /// # Panics
    /// If there is no item with this index.
    pub fn take(&mut self, index: u32) -> T {
        self.free.push(index);
        self.slots[index as usize].take().expect("it is under way")
    }
}
