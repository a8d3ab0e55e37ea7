//! `rodinia-bp-1`: weights times inputs, and their sums over 16 input units, added in a tree.

use counterpoint::application::ReferenceInput;

use super::bytes_of_f32s;

/// Input units whose products are added.
const TOGETHER: usize = 16;

/// The reference as applications name it: parameters `inputs`, `hidden` and `copies`, input buffers `input` and `weights`, results
/// `partial` (the sums) and `products` (the products as the tree leaves them).
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (inputs, hidden, copies) = (input.size("inputs")?, input.size("hidden")?, input.size("copies")?);
    let (units, width) = (inputs + 1, hidden + 1);
    let values = input.f32s_of("input", copies * units)?;
    let weights = input.f32s_of("weights", copies * units * width)?;
    let mut products = vec![0.0; copies * units * width];
    let mut partial = Vec::new();
    for copy in 0..copies {
        for first in (1..=inputs).step_by(TOGETHER) {
            for column in 1..=hidden {
                let place = |row: usize| (copy * units + first + row) * width + column;
                let product = |row: usize| weights[place(row)] * values[copy * units + first + row];
                let tree = tree(std::array::from_fn(product));
                (0..TOGETHER).for_each(|row| products[place(row)] = tree[row]);
                partial.push(tree[0]);
            }
        }
    }
    match input.wanted {
        "products" => Ok(bytes_of_f32s(&products)),
        "partial" => Ok(bytes_of_f32s(&partial)),
        other => Err(format!("the reference knows no buffer `{other}`")),
    }
}

/// A tree of sums in place: that of all is in front, and behind it the last addition to each place.
fn tree(mut values: [f32; TOGETHER]) -> [f32; TOGETHER] {
    for half in [1, 2, 4, 8] {
        for place in (0..TOGETHER).step_by(2 * half) {
            values[place] += values[place + half];
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::tree;

    #[test]
    fn a_tree_leaves_partial_sums() {
        let sums = tree(std::array::from_fn(|place| place as f32));
        assert_eq!(sums[..9], [120.0, 1.0, 5.0, 3.0, 22.0, 5.0, 13.0, 7.0, 92.0]);
    }
}
