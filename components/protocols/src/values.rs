//! Values of a line on their way, as a handle: a message of a few dozen bytes is cheap to forward.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::memory::{LINE_BYTES, Line};

/// The values of a line in a message.
///
/// The line stays where it is while the message moves. Lines of values that are dropped serve for later ones of the same thread.
pub struct Values(Option<Box<Line>>);

/// Lines that a thread keeps for later values at most: half a mebibyte.
const MOST_SPARE: usize = 4096;

thread_local! {
    #[allow(clippy::vec_box, reason = "a line moves by pointer between here and values")]
    static SPARE: RefCell<Vec<Box<Line>>> = const { RefCell::new(Vec::new()) };
}

impl Values {
    /// Values of which every byte is zero.
    pub fn zero() -> Self {
        Values::from(&[0; LINE_BYTES as usize])
    }
}

impl From<&Line> for Values {
    #[inline]
    fn from(line: &Line) -> Self {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
        match spare.ok().flatten() {
            Some(mut place) => {
                *place = *line;
                Values(Some(place))
            }
            None => Values(Some(Box::new(*line))),
        }
    }
}

impl From<Line> for Values {
    #[inline]
    fn from(line: Line) -> Self {
        Values::from(&line)
    }
}

impl Drop for Values {
    #[inline]
    fn drop(&mut self) {
        let Some(line) = self.0.take() else { return };
        // When the thread ends there may be no list any more.
        let _ = SPARE.try_with(|spare| {
            let mut lines = spare.borrow_mut();
            if lines.len() < MOST_SPARE {
                lines.push(line);
            }
        });
    }
}

impl Deref for Values {
    type Target = Line;

    #[inline]
    fn deref(&self) -> &Line {
        self.0.as_ref().expect("values are there until they are dropped")
    }
}

impl DerefMut for Values {
    #[inline]
    fn deref_mut(&mut self) -> &mut Line {
        self.0.as_mut().expect("values are there until they are dropped")
    }
}

impl Clone for Values {
    fn clone(&self) -> Self {
        Values::from(&**self)
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_serves_again_and_keeps_nothing_of_before() {
        let mut first = Values::from([7; LINE_BYTES as usize]);
        first[3] = 9;
        let place = (&raw const *first).addr();
        let copy = first.clone();
        drop(first);
        let second = Values::zero();
        assert_eq!((&raw const *second).addr(), place);
        assert_eq!((*second, copy[3], copy[4]), ([0; LINE_BYTES as usize], 9, 7));
    }

    #[test]
    fn values_may_be_dropped_by_another_thread() {
        let values = Values::from([5; LINE_BYTES as usize]);
        std::thread::spawn(move || drop(values)).join().unwrap();
    }
}
