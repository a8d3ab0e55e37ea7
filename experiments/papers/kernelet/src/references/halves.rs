//! `kernelet-sad-16`: sums of absolute differences of halves of macroblocks, and of all of them, from those of quarters.

use counterpoint::application::ReferenceInput;

/// The reference as applications name it: parameters `columns`, `rows` (of macroblocks) and `pairs` (displacements by two), input
/// buffer `quarters`, results `upright`, `flat` and `whole`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (macroblocks, places) = (input.size("columns")? * input.size("rows")?, 2 * input.size("pairs")?);
    let quarters = input.bytes_of("quarters", 2 * 4 * macroblocks * places)?.as_chunks::<2>().0;
    let quarters: Vec<u16> = quarters.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
    let parts = parts(input.wanted)?;
    let sums = quarters.chunks(4 * places).flat_map(|macroblock| {
        let of_part = move |quarters: &'static [usize]| {
            let sum = move |place| quarters.iter().map(|quarter| macroblock[quarter * places + place]).sum();
            (0..places).map(sum)
        };
        parts.iter().copied().flat_map(of_part)
    });
    Ok(sums.flat_map(u16::to_le_bytes).collect())
}

/// The quarters that make up parts: 0 and 1 are above, 0 and 2 on the left.
fn parts(of: &str) -> Result<&'static [&'static [usize]], String> {
    match of {
        "upright" => Ok(&[&[0, 2], &[1, 3]]),
        "flat" => Ok(&[&[0, 1], &[2, 3]]),
        "whole" => Ok(&[&[0, 1, 2, 3]]),
        other => Err(format!("the reference knows no buffer `{other}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn parts_of_each_form_are_all_quarters() {
        for form in ["upright", "flat", "whole"] {
            let mut quarters = parts(form).unwrap().concat();
            quarters.sort_unstable();
            assert_eq!(quarters, [0, 1, 2, 3], "{form}");
        }
        assert!(parts("quarters").is_err());
    }
}
