//! A cell for state that one thread owns and several of its objects reach.
//!
//! Ports, processes and islands of one thread refer to each other, and each touches the other's state for the
//! length of a few instructions, never across an `await` and never recursively. [`Local`] states that rule once:
//! debug builds check it, release builds pay nothing for it.

#[cfg(debug_assertions)]
use std::cell::Cell;
use std::cell::UnsafeCell;

/// Interior mutability through short, non-recursive closures. `!Sync`, as its `UnsafeCell` is.
#[derive(Default)]
pub(crate) struct Local<T> {
    value: UnsafeCell<T>,
    #[cfg(debug_assertions)]
    entered: Cell<bool>,
}

impl<T> Local<T> {
    pub(crate) const fn new(value: T) -> Self {
        Local {
            value: UnsafeCell::new(value),
            #[cfg(debug_assertions)]
            entered: Cell::new(false),
        }
    }

    /// Runs `body` on the value. `body` must not reach this cell again.
    #[inline(always)]
    pub(crate) fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(debug_assertions)]
        assert!(!self.entered.replace(true), "a kernel cell was entered recursively");
        // SAFETY: the cell is not Sync, so only this thread is here; the closures passed to `with` in this crate
        // call nothing that could enter the same cell (checked in debug builds), so the borrow is unique.
        let result = body(unsafe { &mut *self.value.get() });
        #[cfg(debug_assertions)]
        self.entered.set(false);
        result
    }
}
