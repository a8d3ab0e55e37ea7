//! `bfs`: distances from node 0 with a queue.

use std::collections::VecDeque;

use super::{ReferenceInput, bytes_of_u32s};

/// The distance of a node that cannot be reached: -1 as the kernel has it.
const UNREACHED: u32 = u32::MAX;

/// The reference as applications name it: parameter `nodes`, input buffers `starts` and `edges`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let starts = input.u32s_of("starts", input.size("nodes")? + 1)?;
    let edges = input.u32s("edges")?;
    distances(&starts, &edges).map(|distances| bytes_of_u32s(&distances))
}

fn distances(starts: &[u32], edges: &[u32]) -> Result<Vec<u32>, String> {
    let mut distances = vec![UNREACHED; starts.len() - 1];
    let mut queue = VecDeque::from([0]);
    distances[0] = 0;
    while let Some(node) = queue.pop_front() {
        let range = starts[node] as usize..starts[node + 1] as usize;
        let edges = edges.get(range).ok_or("a node's edges end behind the others")?;
        for other in edges.iter().map(|other| *other as usize) {
            let next = distances[node] + 1;
            let distance = distances.get_mut(other).ok_or_else(|| format!("there is no node {other}"))?;
            if *distance == UNREACHED {
                *distance = next;
                queue.push_back(other);
            }
        }
    }
    Ok(distances)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_round_is_longer() {
        let found = distances(&[0, 2, 3, 4, 4], &[1, 2, 2, 0]).unwrap();
        assert_eq!(found, [0, 1, 1, UNREACHED]);
        assert!(distances(&[0, 1], &[7]).is_err());
    }
}
