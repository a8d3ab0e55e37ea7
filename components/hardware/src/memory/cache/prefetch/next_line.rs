//! The lines after one that missed.

use counterpoint_framework::model::{Params, Variant};

use super::{LookedUp, Prefetcher};

/// How far it looks ahead.
#[derive(Clone, Debug, Params)]
pub(super) struct NextLineParams {
    /// Lines prefetched after a line that missed.
    #[param(default = "1", min = "1", max = "32")]
    lines: u32,
}

/// The prefetcher `next-line`.
pub(super) struct NextLine(u64);

impl Variant<dyn Prefetcher> for NextLine {
    const NAME: &'static str = "next-line";
    const DOC: &'static str = "A miss fetches the lines that follow it, too.";
    type Params = NextLineParams;

    fn build(params: &NextLineParams) -> Result<Box<dyn Prefetcher>, String> {
        Ok(Box::new(NextLine(params.lines.into())))
    }
}

impl Prefetcher for NextLine {
    fn looked_up(&mut self, read: &LookedUp, wanted: &mut Vec<u64>) {
        if !read.hit {
            wanted.extend((1..=self.0).map(|ahead| read.line + ahead * read.line_bytes));
        }
    }
}
