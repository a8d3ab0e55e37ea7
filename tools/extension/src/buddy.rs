//! A prefetcher: the other line of an aligned pair.

use counterpoint::component::Variant;
use counterpoint::memory::cache::{LookedUp, Prefetcher};

/// The prefetcher `buddy`.
pub struct Buddy;

impl Variant<dyn Prefetcher> for Buddy {
    const NAME: &'static str = "buddy";
    const DOC: &'static str = "A miss fetches the other line of its 256 bytes as well.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Prefetcher>, String> {
        Ok(Box::new(Buddy))
    }
}

impl Prefetcher for Buddy {
    fn looked_up(&mut self, read: &LookedUp, wanted: &mut Vec<u64>) {
        if !read.hit {
            wanted.push(read.line ^ 128);
        }
    }
}
