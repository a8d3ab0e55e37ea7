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

/// State that is made before the first process runs and undone after the last one has: only read in between.
pub(crate) struct Frame<T>(UnsafeCell<T>);

impl<T> Frame<T> {
    pub(crate) const fn new(value: T) -> Self {
        Frame(UnsafeCell::new(value))
    }

    /// The state, for the length of a few instructions.
    #[inline(always)]
    pub(crate) fn get(&self) -> &T {
        // SAFETY: the cell is not Sync, and no reader of the state creates or removes it.
        unsafe { &*self.0.get() }
    }

    /// Makes the state, or undoes it. No process may be running.
    pub(crate) fn change<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: as above; `body` reaches this cell through its argument alone.
        body(unsafe { &mut *self.0.get() })
    }
}
