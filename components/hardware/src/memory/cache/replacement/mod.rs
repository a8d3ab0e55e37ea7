//! Replacement policies of a cache: the choice of the victim in a set.
//!
//! A policy is one file and one line in the list. Ways are numbered for the whole cache; the ways of a set have consecutive
//! numbers.

counterpoint_framework::variants! {
    /// Registers the replacement policies of this folder.
    pub(crate) fn register, of dyn Replacement;

    mod lru::Lru;
    mod fifo::Fifo;
    mod random::Random;
    mod srrip::Srrip;
    mod bimodal::Bimodal;
}

/// Chooses the victim among the lines of a set.
pub trait Replacement {
    /// Whether the victim is the least recently used line, of which the cache keeps the order itself. Then nothing else is asked.
    fn is_lru(&self) -> bool {
        false
    }

    /// Notes the size of the cache, in ways: once, before all else.
    fn begin(&mut self, ways: usize);

    /// Notes that a way has been given to another line, for an access or for a prefetch.
    fn filled(&mut self, way: usize, prefetched: bool);

    /// Notes another use of the line in a way.
    fn used(&mut self, way: usize);

    /// The way of the victim, one of the candidates: ways of one set, none of them empty, in ascending order.
    fn victim(&mut self, candidates: &[usize]) -> usize;
}

/// The candidate with the smallest key, the first of equals.
fn least(candidates: &[usize], key: impl Fn(usize) -> u64) -> usize {
    candidates.iter().copied().min_by_key(|&way| key(way)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
