//! `mummer`: places of parts of reads in the reference, looked up by their first bases in a list of all its
//! places.

use std::collections::BTreeMap;

use super::{ReferenceInput, bytes_of_u32s};

/// The reference as applications name it: parameters `batches`, `bases`, `reads`, `length` and `shortest`, input buffers
/// `reference` and `reads`; the reference does not use the tree that the device walks through.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (length, shortest) = (input.size("length")?, input.size("shortest")?);
    let reference = input.bytes_of("reference", input.size("bases")?)?;
    let reads = input.bytes_of("reads", input.size("batches")? * input.size("reads")? * length)?;
    let index = Index::new(reference, shortest);
    Ok(bytes_of_u32s(&reads.chunks(length).flat_map(|read| index.report(read)).collect::<Vec<_>>()))
}

/// Places of each combination of `shortest` bases in a text, first places first.
struct Index<'a> {
    text: &'a [u8],
    shortest: usize,
    places: BTreeMap<&'a [u8], Vec<usize>>,
}

impl<'a> Index<'a> {
    fn new(text: &'a [u8], shortest: usize) -> Self {
        let mut places: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for (place, bases) in text.windows(shortest).enumerate() {
            places.entry(bases).or_default().push(place);
        }
        Index { text, shortest, places }
    }

    /// Occurrences of parts of the read in the text; and length and last place of the longest of them, the
    /// first part of several.
    fn report(&self, read: &[u8]) -> [u32; 2] {
        let (mut found, mut longest, mut last) = (0, 0, 0);
        for part in (0..=read.len() - self.shortest).map(|first| &read[first..]) {
            let places = self.places.get(&part[..self.shortest]).map_or(&[][..], Vec::as_slice);
            found += places.len() as u32;
            let equal =
                |place: usize| part.iter().zip(&self.text[place..]).take_while(|(a, b)| a == b).count();
            // `max` gives the last of several longest matches.
            let best = places.iter().map(|place| (equal(*place), *place)).max();
            if let Some((length, place)) = best.filter(|(length, _)| *length > longest) {
                (longest, last) = (length, place);
            }
        }
        [found, (longest as u32) << 24 | last as u32]
    }
}

#[cfg(test)]
mod tests {
    use super::Index;

    #[test]
    fn parts_are_counted_and_the_longest_is_told() {
        let text = [0, 1, 2, 0, 1, 2, 3];
        let index = Index::new(&text, 2);
        // `01` twice, `12` twice; `012` is the longest, last at 3.
        assert_eq!(index.report(&[0, 1, 2, 2]), [4, 3 << 24 | 3]);
        assert_eq!(index.report(&[3, 3, 3]), [0, 0]);
    }
}
