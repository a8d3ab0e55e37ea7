//! Prefetchers of a cache: the choice of lines to fetch before a request for them.
//!
//! A prefetcher is one file and one line in the list.

counterpoint_framework::variants! {
    /// Registers the prefetchers of this folder.
    pub(crate) fn register, of dyn Prefetcher;

    pub(in crate::memory) mod none::NoPrefetcher;
    mod next_line::NextLine;
    mod stride::Stride;
}

pub(crate) mod queue;

use counterpoint_protocols::memory::Label;

/// A read that has looked up its line.
#[derive(Clone, Copy, Debug)]
pub struct LookedUp {
    /// Address of the line.
    pub line: u64,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// Whether the line was there.
    pub hit: bool,
    /// On whose behalf.
    pub label: Label,
    /// The client that asks: of an L2 slice the port of the network, of an L1 the warp.
    pub client: u32,
}

/// Names lines that will be wanted.
pub trait Prefetcher {
    /// Whether it never names a line, so that the cache does without it.
    fn is_idle(&self) -> bool {
        false
    }

    /// Notes a read and adds the addresses of lines to `wanted`, the most urgent first. When it has nothing else to fetch, the
    /// cache fetches those lines that it may hold, that are not here yet, and that are in the 4-KiB page of the read.
    fn looked_up(&mut self, read: &LookedUp, wanted: &mut Vec<u64>);
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::model::{Choose, Params};
    use counterpoint_framework::testing::params;

    use super::*;
    use crate::testing::families;

    /// A prefetcher as a machine file names it.
    #[derive(Clone, Debug, Params)]
    struct Named {
        /// The prefetcher.
        prefetcher: Choose<dyn Prefetcher>,
    }

    /// The lines that are named after each of these reads, in lines of 128 bytes.
    fn named(text: &str, reads: &[(u32, u64, bool)]) -> Vec<Vec<u64>> {
        let named: Named = params(&families(), &format!("{{ prefetcher: {text} }}"));
        let mut prefetcher = named.prefetcher.build();
        let mut after = |&(client, line, hit): &(u32, u64, bool)| {
            let mut wanted = Vec::new();
            let read = LookedUp { line: line * 128, line_bytes: 128, hit, label: Label::default(), client };
            prefetcher.looked_up(&read, &mut wanted);
            wanted.iter().map(|line| line / 128).collect()
        };
        reads.iter().map(&mut after).collect()
    }

    #[test]
    fn the_next_lines_follow_a_miss() {
        let found = named("{ next-line: { lines: 2 } }", &[(0, 8, false), (0, 9, true), (0, 40, false)]);
        assert_eq!(found, [vec![9, 10], vec![], vec![41, 42]]);
    }

    #[test]
    fn a_stride_is_trusted_when_it_comes_again() {
        let reads =
            [(0, 10, false), (1, 90, false), (0, 13, false), (1, 90, true), (0, 16, false), (0, 19, false)];
        let found = named("{ stride: { degree: 2, confidence: 1 } }", &reads);
        assert_eq!(found, [vec![], vec![], vec![], vec![], vec![19, 22], vec![22, 25]]);
        let back = named("stride", &[(0, 30, false), (0, 28, false), (0, 26, false), (0, 24, false)]);
        assert_eq!(back[3], [22], "downwards too, once it came twice again");
    }
}
