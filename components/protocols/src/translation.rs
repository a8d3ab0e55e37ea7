//! Address translation: an SM's TLB asks the MMU for pages.

use counterpoint_framework::kernel::{Message, Socket};

/// To the MMU: where does this page lie?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Translate {
    /// The page's number: its address by its size.
    pub page: u64,
}

/// From the MMU: the page may be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Translated {
    /// The page's number.
    pub page: u64,
}

impl Message for Translate {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

impl Message for Translated {
    const DUPLICATE: Option<fn(&Self) -> Self> = Some(Clone::clone);
}

/// An SM's side.
pub type TranslationClient = Socket<Translate, Translated>;
/// The MMU's side.
pub type TranslationServer = Socket<Translated, Translate>;
