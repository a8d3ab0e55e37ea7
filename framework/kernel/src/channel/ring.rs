//! A growing ring buffer, for the two queues that every message passes.
//!
//! `VecDeque` allows any capacity and so wraps with comparisons and subtractions; here the capacity is a power of two
//! and wrapping is a mask, which saves a tenth of the instructions of a message.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// A queue whose capacity is a power of two, in 24 bytes.
pub(crate) struct Ring<T> {
    /// The first of the slots, a box that the ring owns.
    slots: NonNull<MaybeUninit<T>>,
    /// The capacity less one; minus one while there is none.
    mask: i32,
    /// Counts items taken; the place is this modulo the capacity.
    head: u32,
    /// Counts items put.
    tail: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { slots: NonNull::dangling(), mask: -1, head: 0, tail: 0 }
    }
}

impl<T> Ring<T> {
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.tail.wrapping_sub(self.head) as i32 > self.mask
    }

    /// The place of a count.
    ///
    /// # Safety
    /// The capacity must not be zero.
    #[inline(always)]
    unsafe fn at(&self, count: u32) -> *mut T {
        debug_assert!(self.mask >= 0);
        let place = (count & self.mask as u32) as usize;
        // SAFETY: the mask keeps the place below the capacity.
        unsafe { self.slots.add(place).cast::<T>().as_ptr() }
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&T> {
        // SAFETY: items between head and tail are initialised, and the reference borrows the ring.
        (!self.is_empty()).then(|| unsafe { &*self.at(self.head) })
    }

    /// The item behind the front.
    #[inline(always)]
    pub(crate) fn second(&self) -> Option<&T> {
        // SAFETY: as in `front`.
        (self.len() > 1).then(|| unsafe { &*self.at(self.head.wrapping_add(1)) })
    }

    /// The last item, which was put in most recently.
    #[inline(always)]
    pub(crate) fn back(&self) -> Option<&T> {
        // SAFETY: as in `front`.
        (!self.is_empty()).then(|| unsafe { &*self.at(self.tail.wrapping_sub(1)) })
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, item: T) {
        self.push_back_with(|| item);
    }

    /// Appends an item that is constructed in place, so that a large one need not be moved.
    #[inline(always)]
    pub(crate) fn push_back_with(&mut self, make: impl FnOnce() -> T) {
        if self.is_full() {
            self.grow();
        }
        // SAFETY: a ring that is not full has a capacity; the slot at its tail was taken or never filled.
        unsafe { self.at(self.tail).write(make()) };
        self.tail = self.tail.wrapping_add(1);
    }

    #[inline(always)]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let head = self.head;
        self.head = head.wrapping_add(1);
        if self.is_empty() {
            // Few items pass the same slots again, which are in the host's cache.
            (self.head, self.tail) = (0, 0);
        }
        // SAFETY: the item was initialised, and moving the head has released the slot that it is read from.
        Some(unsafe { self.at(head).read() })
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        // SAFETY: as in `front`.
        (0..self.len()).map(|place| unsafe { &*self.at(self.head.wrapping_add(place as u32)) })
    }

    /// Puts an item so that `place` items are before it.
    pub(crate) fn insert(&mut self, place: usize, item: T) {
        self.push_back(item);
        for later in (place + 1..self.len()).rev() {
            let to = self.head.wrapping_add(later as u32);
            // SAFETY: both counts are between head and tail, so that both slots are initialised.
            unsafe { self.at(to).swap(self.at(to.wrapping_sub(1))) };
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let capacity = (self.capacity() * 2).max(4);
        let mut slots = Box::new_uninit_slice(capacity);
        let len = self.len();
        for slot in slots.iter_mut().take(len) {
            slot.write(self.pop_front().expect("the ring has as many items"));
        }
        self.release();
        self.slots = NonNull::from(Box::leak(slots)).cast();
        (self.mask, self.head, self.tail) = (capacity as i32 - 1, 0, len as u32);
    }

    fn capacity(&self) -> usize {
        (self.mask + 1) as usize
    }

    /// Frees the slots. The ring must be empty and get others, if it is used again.
    fn release(&mut self) {
        let slots = NonNull::slice_from_raw_parts(self.slots, self.capacity());
        // SAFETY: `grow` leaked a box of this many slots; without any the pointer is aligned, and a box of nothing frees nothing.
        drop(unsafe { Box::from_raw(slots.as_ptr()) });
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        while self.pop_front().is_some() {}
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::rc::Rc;

    use super::*;
    use crate::process::random::random;

    #[test]
    fn it_does_what_a_deque_does() {
        let (mut ring, mut model) = (Ring::default(), VecDeque::new());
        let mut random = random(1);
        for step in 0..10_000_u64 {
            let drawn = random();
            match drawn % 5 {
                0 | 1 => {
                    ring.push_back(step);
                    model.push_back(step);
                }
                2 => {
                    let place = (drawn >> 7) as usize % (model.len() + 1);
                    ring.insert(place, step);
                    model.insert(place, step);
                }
                _ => assert_eq!(ring.pop_front(), model.pop_front()),
            }
            assert_eq!((ring.front(), ring.back()), (model.front(), model.back()));
            assert!(ring.iter().eq(model.iter()) && ring.len() == model.len());
        }
    }

    #[test]
    fn every_item_is_dropped_once() {
        let item = Rc::new(());
        let mut ring = Ring::default();
        for _ in 0..9 {
            ring.push_back(Rc::clone(&item));
        }
        drop(ring.pop_front());
        assert_eq!(Rc::strong_count(&item), 9);
        drop(ring);
        assert_eq!(Rc::strong_count(&item), 1);
    }
}
