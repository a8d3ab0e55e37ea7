//! The canonical spelling of an opcode: its words in the order in which the manual prints them.
//!
//! NVIDIA's assembler takes an instruction's modifiers in any order, its types before or behind them, and `::cta`
//! where it changes nothing. The types among themselves have an order: `cvt.f32.f64` is not `cvt.f64.f32`.

use std::borrow::Cow;

use super::dictionary::{head, rows_of, spelled};
use crate::syntax::types::is_type;

/// The spelling of the instruction table, or of the manual for loads, stores and atomics. An opcode that is
/// unknown stays as it is.
pub fn canonical(opcode: &str) -> Cow<'_, str> {
    if spelled(opcode).is_some() {
        return Cow::Borrowed(opcode);
    }
    let head = head(opcode);
    let is_vector = || opcode.split('.').any(|word| matches!(word, "v2" | "v4"));
    if matches!(head, "ld" | "ldu" | "st" | "atom" | "red") || head == "mov" && is_vector() {
        return in_manuals_order(opcode);
    }
    let words = key(opcode);
    match rows_of(opcode).find_map(|rows| rows.with_words(&words, key)) {
        Some(spelling) => Cow::Borrowed(spelling),
        None => Cow::Borrowed(opcode),
    }
}

/// Loads, stores, atomics and moves of vectors: the words in the order of the manual's syntax.
fn in_manuals_order(opcode: &str) -> Cow<'_, str> {
    let rank = |word: &str| match word {
        "mmio" => 0,
        "weak" | "relaxed" | "acquire" | "release" | "acq_rel" | "sc" | "volatile" => 1,
        "cta" | "cluster" | "gpu" | "gl" | "sys" => 2,
        "global" | "shared" | "local" | "const" | "param" => 3,
        "add" | "min" | "max" | "and" | "or" | "xor" | "exch" | "cas" | "inc" | "dec" => 4,
        "noftz" => 5,
        "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" => 6,
        "nc" => 7,
        // Hints to the caches name their level.
        word if word.starts_with("L1::") || word.starts_with("L2::") => 8,
        "v2" | "v4" | "v8" => 9,
        word if is_type(word) => 10,
        word if word.starts_with("shared::") => 3,
        _ => 11,
    };
    let mut words = opcode.split('.').map(plain);
    let head = words.next().unwrap_or_default();
    let mut rest: Vec<&str> = words.collect();
    let ordered = rest.is_sorted_by_key(|word| rank(word)) && !opcode.contains("::");
    if ordered {
        return Cow::Borrowed(opcode);
    }
    rest.sort_by_key(|word| rank(word));
    Cow::Owned(std::iter::once(head).chain(rest).collect::<Vec<_>>().join("."))
}

/// A word without an addition that changes nothing: shared memory is the block's own by default.
fn plain(word: &str) -> &str {
    match word {
        "shared::cta" => "shared",
        "param::entry" | "param::func" => "param",
        _ => word,
    }
}

/// The head, the other words sorted, and the types in their order.
fn key(opcode: &str) -> String {
    let mut words = opcode.split('.').map(plain);
    let mut key = words.next().unwrap_or_default().to_owned();
    let (types, mut others): (Vec<&str>, Vec<&str>) = words.partition(|word| is_type(word));
    others.sort_unstable();
    for word in others.into_iter().chain(types) {
        key.push('.');
        key.push_str(word);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::super::dictionary::dictionary;
    use super::*;

    #[test]
    fn no_two_spellings_have_the_same_words() {
        let found = |spelling: &str| rows_of(spelling).find_map(|rows| rows.with_words(&key(spelling), key));
        let others = dictionary().keys().filter(|spelling| found(spelling) != Some(spelling.as_str()));
        let others: Vec<&String> = others.collect();
        assert!(others.is_empty(), "{others:?} have the words of other spellings");
    }

    #[test]
    fn words_are_brought_into_the_manuals_order() {
        for (written, canonical_spelling) in [
            ("add.f32.ftz", "add.ftz.f32"),
            ("div.ftz.rn.f32", "div.rn.ftz.f32"),
            ("setp.f32.ftz.eq", "setp.eq.ftz.f32"),
            ("cvt.ftz.f32.f64.rn", "cvt.rn.ftz.f32.f64"),
            ("shfl.up.sync.b32", "shfl.sync.up.b32"),
            ("cvta.to.shared::cta.u64", "cvta.to.shared.u64"),
            ("ld.u32.v2.global", "ld.global.v2.u32"),
            ("ld.global.gpu.acquire.b32", "ld.acquire.gpu.global.b32"),
            ("atom.add.global.u32.gpu.relaxed", "atom.relaxed.gpu.global.add.u32"),
            ("st.shared::cta.u32", "st.shared.u32"),
            ("ld.param::entry.u64", "ld.param.u64"),
            ("mov.u32.v2", "mov.v2.u32"),
            ("fence.gpu.acq_rel", "fence.acq_rel.gpu"),
            ("ld.global.f32", "ld.global.f32"),
            ("unheard.of", "unheard.of"),
        ] {
            assert_eq!(canonical(written), canonical_spelling);
        }
    }
}
