//! Pages of gated launches at the end of an access or a block: grants resume warps, and blocks that have ended release their ranges.

use crate::gpu::sm::load_store::PageNews;
use crate::gpu::sm::state::Sm;

impl Sm {
    /// An answer of the authority.
    #[inline]
    pub(in crate::gpu::sm) fn hear(&mut self, news: Option<PageNews>) {
        match news {
            Some(PageNews::Granted(page)) => self.granted(page),
            Some(PageNews::Claimed(place)) => {
                if let Some(cta) = &mut self.ctas[place] {
                    cta.outstanding -= 1;
                    self.ended |= 1 << place;
                }
            }
            None => {}
        }
    }

    /// Resumes the warps that have waited for a page and wait for no other.
    fn granted(&mut self, page: u64) {
        let mut rest = self.at_page;
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            let Some(held) = self.held.get_mut(&slot) else { continue };
            held.missing.retain(|&missing| missing != page);
            if held.missing.is_empty() {
                self.at_page &= !(1 << slot);
                self.resume(1 << slot);
            }
        }
    }

    /// Sends the releases of a block that has ended, whose stores have been acknowledged; false if it has none.
    pub(in crate::gpu::sm) fn release_ranges(&mut self, place: usize) -> bool {
        let Some(cta) = &mut self.ctas[place] else { return false };
        let releases = std::mem::take(&mut cta.releases);
        cta.outstanding += releases.len() as u32;
        let any = !releases.is_empty();
        releases.into_iter().for_each(|claim| self.load_store.claim_range(claim));
        any
    }
}
