//! Positions of the items of each layer: each as near as possible to the middle of its neighbours, without overlap, in
//! the given order.

/// An item of a layer.
pub(super) struct Slot {
    /// Upper edge that the item would have if it were alone.
    pub(super) wanted: f64,
    pub(super) weight: f64,
    /// Height of the item with the space to the next.
    pub(super) height: f64,
}

/// The upper edges of items below each other, as near to the wanted edges as possible: in least squares, by pooling
/// neighbours that would overlap.
pub(super) fn place(slots: &[Slot]) -> Vec<f64> {
    // For each pool: its slots, their weight, and the position that the first of all would have.
    let mut pools: Vec<(usize, f64, f64)> = Vec::new();
    let mut above = 0.0;
    for slot in slots {
        pools.push((1, slot.weight, slot.wanted - above));
        above += slot.height;
        while let [.., (count, weight, start), (more, heavier, behind)] = pools[..]
            && behind < start
        {
            pools.truncate(pools.len() - 2);
            let mean = (weight * start + heavier * behind) / (weight + heavier);
            pools.push((count + more, weight + heavier, mean));
        }
    }
    let starts = pools.iter().flat_map(|&(count, _, start)| std::iter::repeat_n(start, count));
    let offsets = slots.iter().scan(0.0, |above, slot| {
        let own = *above;
        *above += slot.height;
        Some(own)
    });
    starts.zip(offsets).map(|(start, offset)| start + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_lie_where_they_want_unless_another_is_in_the_way() {
        let slot = |wanted, weight| Slot { wanted, weight, height: 10.0 };
        assert_eq!(place(&[slot(5.0, 1.0), slot(40.0, 1.0)]), [5.0, 40.0]);
        assert_eq!(place(&[slot(20.0, 1.0), slot(20.0, 1.0)]), [15.0, 25.0]);
        assert_eq!(place(&[slot(20.0, 3.0), slot(20.0, 1.0), slot(90.0, 1.0)]), [17.5, 27.5, 90.0]);
        assert_eq!(place(&[]), [] as [f64; 0]);
    }
}
