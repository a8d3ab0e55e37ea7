//! Suffix trees as tables of numbers, for programs that walk through them on a device.
//!
//! A node represents the bases on the way to it from the root. A node has eight words: its children by the next base (0
//! for none), the position of the last occurrence of its bases in the text, the number of bases, its parent, and its
//! suffix link, the node of its bases without the first; only nodes with children have a suffix link. Where position and
//! number add up to the length of the text, a suffix ends at the node, and every suffix ends at a node. Nodes are
//! numbered level by level from the root, which is node 0, so that the first nodes of every walk are adjacent.

pub(crate) const WORDS: usize = 8;

#[derive(Clone, Default)]
struct SuffixNode {
    children: [usize; 4],
    place: usize,
    depth: usize,
    parent: usize,
    link: usize,
}

/// The table of a text of bases, each 0 to 3. There are fewer nodes than twice the bases, and the root.
pub(crate) fn table(text: &[u8]) -> Vec<u32> {
    let mut nodes = vec![SuffixNode::default()];
    (0..text.len()).for_each(|place| insert(&mut nodes, text, place));
    for index in 1..nodes.len() {
        if nodes[index].children != [0; 4] {
            nodes[index].link = linked(&nodes, text, &nodes[index]);
        }
    }
    words(&nodes)
}

/// Inserts the suffix at a position into the tree of the earlier suffixes.
fn insert(nodes: &mut Vec<SuffixNode>, text: &[u8], place: usize) {
    let suffix = &text[place..];
    let mut node = 0;
    loop {
        nodes[node].place = place;
        let Some(base) = suffix.get(nodes[node].depth) else { return };
        let child = nodes[node].children[usize::from(*base)];
        if child == 0 {
            break add(nodes, (node, *base), place, suffix.len());
        }
        let start = nodes[node].depth;
        let edge = &text[nodes[child].place..][..nodes[child].depth];
        let equal = edge[start..].iter().zip(&suffix[start..]).take_while(|(a, b)| a == b).count();
        let depth = start + equal;
        if depth < edge.len() {
            // The suffix leaves the edge, or ends on it.
            add(nodes, (node, *base), place, depth);
            let middle = nodes.len() - 1;
            nodes[middle].children[usize::from(edge[depth])] = child;
            nodes[child].parent = middle;
            node = middle;
        } else {
            node = child;
        }
    }
}

/// Adds a node as the child that a parent has for a base.
fn add(nodes: &mut Vec<SuffixNode>, (parent, base): (usize, u8), place: usize, depth: usize) {
    let index = nodes.len();
    nodes[parent].children[usize::from(base)] = index;
    nodes.push(SuffixNode { place, depth, parent, ..SuffixNode::default() });
}

/// The node of a node's bases but the first: what two bases, or one and the end, follow in two places does so without its
/// first base too.
fn linked(nodes: &[SuffixNode], text: &[u8], of: &SuffixNode) -> usize {
    let wanted = &text[of.place + 1..of.place + of.depth];
    let mut node = 0;
    while let Some(base) = wanted.get(nodes[node].depth) {
        node = nodes[node].children[usize::from(*base)];
    }
    node
}

/// The nodes level by level.
fn words(nodes: &[SuffixNode]) -> Vec<u32> {
    let mut order = vec![0];
    let mut next = 0;
    while next < order.len() {
        order.extend(nodes[order[next]].children.into_iter().filter(|child| *child != 0));
        next += 1;
    }
    let mut number = vec![0_u32; nodes.len()];
    for (place, node) in order.iter().enumerate() {
        number[*node] = place as u32;
    }
    let record = |index: &usize| {
        let SuffixNode { children, place, depth, parent, link } = &nodes[*index];
        let [a, c, g, t] = children.map(|child| number[child]);
        [a, c, g, t, *place as u32, *depth as u32, number[*parent], number[*link]]
    };
    order.iter().flat_map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::generate::SplitMix;

    /// Follows bases from the root: the node at or before which they end, if they occur in the text.
    fn find<'a>(table: &'a [[u32; WORDS]], text: &[u8], bases: &[u8]) -> Option<&'a [u32; WORDS]> {
        let mut node = &table[0];
        for (index, base) in bases.iter().enumerate() {
            if node[5] as usize == index {
                let child = node[usize::from(*base)];
                node = (child != 0).then(|| &table[child as usize])?;
            }
            if text[node[4] as usize + index] != *base {
                return None;
            }
        }
        Some(node)
    }

    #[test]
    fn every_suffix_ends_at_a_node_of_its_own() {
        let mut random = SplitMix(5);
        for (count, kinds) in [(1, 4), (2, 1), (40, 1), (60, 2), (300, 4), (2000, 4)] {
            let text: Vec<u8> = (0..count).map(|_| random.below(kinds) as u8).collect();
            let table = table(&text);
            let table = table.as_chunks::<WORDS>().0;
            assert!(table.len() <= 2 * text.len());
            let ends = table[1..].iter().filter(|node| (node[4] + node[5]) as usize == text.len());
            assert_eq!(ends.count(), text.len());
            for place in 0..text.len() {
                let node = find(table, &text, &text[place..]).unwrap();
                assert_eq!((node[4] as usize, node[5] as usize), (place, text.len() - place));
            }
        }
    }

    #[test]
    fn links_leave_out_the_first_base() {
        let mut random = SplitMix(6);
        let text: Vec<u8> = (0..500).map(|_| random.below(4) as u8).collect();
        let table = table(&text);
        let table = table.as_chunks::<WORDS>().0;
        let bases = |node: &[u32; WORDS]| text[node[4] as usize..][..node[5] as usize].to_vec();
        let mut looked_at = 0;
        for (index, node) in table.iter().enumerate().skip(1) {
            let parent = &table[node[6] as usize];
            assert!(parent[..4].contains(&(index as u32)));
            assert!(bases(node).starts_with(&bases(parent)) && parent[5] < node[5]);
            if node[..4] != [0; 4] {
                assert_eq!(bases(&table[node[7] as usize]), bases(node)[1..]);
                looked_at += 1;
            }
        }
        assert!(looked_at > 100, "{looked_at} nodes have children");
    }

    #[test]
    fn a_node_knows_the_last_place_of_its_bases() {
        // 0 1 0 1 2: `01` stands at 0 and 2, and `2` at the end.
        let table = table(&[0, 1, 0, 1, 2]);
        let table = table.as_chunks::<WORDS>().0;
        assert_eq!(find(table, &[0, 1, 0, 1, 2], &[0]).map(|node| (node[4], node[5])), Some((2, 2)));
        assert_eq!(find(table, &[0, 1, 0, 1, 2], &[2]).map(|node| (node[4], node[5])), Some((4, 1)));
        assert!(find(table, &[0, 1, 0, 1, 2], &[2, 0]).is_none());
    }
}
