//! Direction vectors of Sobol sequences, by the recurrence of Bratley and Fox (ACM TOMS 14, 88-100, 1988).

/// Dimensions that the table has.
pub(super) const DIMENSIONS: u32 = 64;

/// The vectors of all dimensions, 32 of each.
pub(super) fn vectors() -> Vec<[u32; 32]> {
    let lines = include_str!("sobol.txt").lines().filter(|line| !line.starts_with('#'));
    let rows = lines.map(|line| line.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<u32>>());
    std::iter::once(std::array::from_fn(|bit| 1 << (31 - bit))).chain(rows.map(|row| of(&row))).collect()
}

/// The vectors of a dimension: a primitive polynomial, and the first odd numbers.
fn of(row: &[u32]) -> [u32; 32] {
    let (polynomial, first) = (row[0], &row[1..]);
    let degree = first.len();
    let mut vectors = [0; 32];
    for bit in 0..32 {
        vectors[bit] = match first.get(bit) {
            Some(number) => number << (31 - bit),
            None => {
                let others = (1..degree).filter(|back| polynomial >> (degree - back) & 1 != 0);
                let start = vectors[bit - degree] ^ vectors[bit - degree] >> degree;
                others.fold(start, |sum, back| sum ^ vectors[bit - back])
            }
        };
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dimension_has_each_part_of_the_interval_once() {
        let all = vectors();
        assert_eq!(all.len(), DIMENSIONS as usize);
        for vectors in all {
            let mut seen = [false; 256];
            for point in 0..256u32 {
                let gray = point ^ point >> 1;
                let bits = (0..8).filter(|bit| gray >> bit & 1 != 0);
                seen[(bits.fold(0, |sum, bit| sum ^ vectors[bit]) >> 24) as usize] = true;
            }
            assert!(seen.iter().all(|seen| *seen));
        }
    }
}
