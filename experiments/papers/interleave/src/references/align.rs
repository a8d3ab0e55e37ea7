//! `rodinia-nw`: tiles of an alignment's scores, cell by cell in the order of reading.

use counterpoint::application::ReferenceInput;

use super::bytes_of_u32s;

/// Cells of a tile, in each direction.
const SIDE: usize = 16;
/// Tiles from a diagonal to the next that is computed.
const APART: usize = 4;

/// The reference as applications name it: parameters `length`, `penalty` and `copies`, input buffers `similarity` and `scores`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (length, copies) = (input.size("length")?, input.size("copies")?);
    let penalty = input.parameter("penalty")? as i32;
    let (columns, tiles) = (length + 1, length / SIDE);
    let signed = |name| -> Result<Vec<i32>, String> {
        Ok(input.u32s_of(name, columns * columns)?.into_iter().map(u32::cast_signed).collect())
    };
    let (similarity, scores) = (signed("similarity")?, signed("scores")?);
    let mut aligned = vec![0; columns * columns];
    for copy in 0..copies {
        for tile_x in 0..tiles {
            let tile_y = (tiles - 1 - tile_x + APART * copy) % tiles;
            let corner = columns * SIDE * tile_y + SIDE * tile_x;
            let tile = tile(&scores[corner..], &similarity[corner..], columns, penalty);
            for (row, cells) in tile.iter().enumerate().skip(1) {
                let place = corner + columns * row + 1;
                aligned[place..place + SIDE].copy_from_slice(&cells[1..]);
            }
        }
    }
    Ok(bytes_of_u32s(&aligned.into_iter().map(i32::cast_unsigned).collect::<Vec<_>>()))
}

/// The scores of a tile, with the row above it and the column left of it.
fn tile(scores: &[i32], similarity: &[i32], columns: usize, penalty: i32) -> [[i32; SIDE + 1]; SIDE + 1] {
    let mut tile = [[0; SIDE + 1]; SIDE + 1];
    for y in 0..=SIDE {
        for x in 0..=SIDE {
            let here = columns * y + x;
            tile[y][x] = if y == 0 || x == 0 {
                scores[here]
            } else {
                let both = tile[y - 1][x - 1] + similarity[here];
                both.max(tile[y][x - 1] - penalty).max(tile[y - 1][x] - penalty)
            };
        }
    }
    tile
}

#[cfg(test)]
mod tests {
    use super::{SIDE, tile};

    #[test]
    fn likes_add_up_along_the_diagonal() {
        let columns = SIDE + 1;
        let scores = [0; (SIDE + 1) * (SIDE + 1)];
        let mut similarity = [0; (SIDE + 1) * (SIDE + 1)];
        (0..columns).for_each(|place| similarity[place * columns + place] = 3);
        let tile = tile(&scores, &similarity, columns, 1);
        assert_eq!(tile[SIDE][SIDE], 3 * 16);
        assert_eq!(tile[SIDE][SIDE - 1], 3 * 15 - 1);
    }
}
