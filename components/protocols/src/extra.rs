//! Additions of an extension to messages: opaque to all that pass them on, and part of their hashes.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use counterpoint_framework::telemetry::Attributes;

/// A value that an extension attaches to a launch. Components that do not know its type carry it along.
pub trait Payload: Any + fmt::Debug + Send + Sync {
    /// Feeds the hash of the message that carries it.
    fn feed(&self, state: &mut dyn Hasher);

    /// Its attributes on the span of the launch.
    fn attributes(&self) -> Attributes {
        Attributes::new()
    }
}

/// Bits of an extension on a launch, a copy, a request to memory and a line that a request has written. Without an extension
/// they are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineTag(pub u16);

impl LineTag {
    /// The tag of requests that no extension has marked.
    pub const NONE: LineTag = LineTag(0);
}

/// The addition of an extension to a launch: a value for components that ask for its type, and the tag of the
/// launch's requests.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    payload: Option<Arc<dyn Payload>>,
    /// On every request of the launch to global memory.
    pub tag: LineTag,
}

impl Extra {
    /// A value, and the tag of the requests.
    pub fn new(payload: impl Payload, tag: LineTag) -> Self {
        Extra { payload: Some(Arc::new(payload)), tag }
    }

    /// The value, if it is of this type.
    pub fn get<T: Payload>(&self) -> Option<&T> {
        let payload: &dyn Any = &**self.payload.as_ref()?;
        payload.downcast_ref()
    }

    /// The value's attributes on the span of the launch.
    pub fn attributes(&self) -> Attributes {
        self.payload.as_ref().map_or_else(Attributes::new, |payload| payload.attributes())
    }
}

impl Hash for Extra {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.tag.hash(state);
        if let Some(payload) = &self.payload {
            payload.feed(state);
        }
    }
}

/// A message of an extension to its counterpart, which generic components forward.
#[derive(Clone, Debug)]
pub struct Note(Arc<dyn Payload>);

impl Note {
    /// A message.
    pub fn new(payload: impl Payload) -> Self {
        Note(Arc::new(payload))
    }

    /// The message, if it is of this type.
    pub fn get<T: Payload>(&self) -> Option<&T> {
        let payload: &dyn Any = &*self.0;
        payload.downcast_ref()
    }
}

impl Hash for Note {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.feed(state);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Number(u32);

    impl Payload for Number {
        fn feed(&self, mut state: &mut dyn Hasher) {
            self.0.hash(&mut state);
        }
    }

    #[derive(Debug)]
    struct Other;

    impl Payload for Other {
        fn feed(&self, _state: &mut dyn Hasher) {}
    }

    fn hash(extra: &Extra) -> u64 {
        let mut state = DefaultHasher::new();
        extra.hash(&mut state);
        state.finish()
    }

    #[test]
    fn a_payload_is_found_by_its_type_and_hashed() {
        let extra = Extra::new(Number(7), LineTag(3));
        assert_eq!((extra.get::<Number>(), extra.get::<Other>().is_some()), (Some(&Number(7)), false));
        assert!(Extra::default().get::<Number>().is_none());
        let same = Extra::new(Number(7), LineTag(3));
        let others = [Extra::new(Number(8), LineTag(3)), Extra::new(Number(7), LineTag(2)), Extra::default()];
        assert_eq!(hash(&extra), hash(&same));
        assert!(others.iter().all(|other| hash(other) != hash(&extra)));
        let note = Note::new(Number(7));
        assert_eq!((note.get::<Number>(), note.get::<Other>().is_some()), (Some(&Number(7)), false));
    }
}
