//! The types of variables, and their sizes in bytes (PTX ISA 5.2).

use std::ops::Range;

use crate::syntax::ast::{Function, Variable};
use crate::syntax::error::PtxError;

/// No space of a simulated machine needs more, and offsets cannot overflow below it.
pub const LARGEST: u64 = 1 << 40;

/// The bytes that the parameters of a kernel may take (PTX ISA 5.1.6.1).
const MOST_PARAMETER_BYTES: u64 = 4352;

/// Whether a word of an opcode is a type.
pub fn is_type(word: &str) -> bool {
    let digits = word.trim_start_matches("bf").trim_start_matches(['b', 'u', 's', 'f', 'e']);
    let narrow = ["tf32", "e4m3", "e5m2", "e4m3x2", "e5m2x2", "e2m1", "e2m3", "e3m2", "ue8m0", "pred"];
    narrow.contains(&word)
        || digits.len() < word.len()
            && digits.split('x').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

/// Bytes of an element type; 0 for predicates, which have no memory form.
pub fn element_size(name: &str) -> Option<u32> {
    Some(match name {
        "pred" => 0,
        "b8" | "u8" | "s8" => 1,
        "b16" | "u16" | "s16" | "f16" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" => 4,
        "b64" | "u64" | "s64" | "f64" | "texref" | "surfref" | "samplerref" => 8,
        "b128" => 16,
        _ => return None,
    })
}

/// Bytes of an instruction's type; some formats are types of instructions only, and no variable has them.
pub fn operand_size(name: &str) -> Option<u32> {
    match name {
        "bf16" | "e4m3x2" | "e5m2x2" => Some(2),
        "bf16x2" | "tf32" | "u16x2" | "s16x2" => Some(4),
        _ => element_size(name),
    }
}

/// Bytes and alignment of a variable.
pub fn extent(variable: &Variable) -> Result<(u64, u64), PtxError> {
    let place = variable.span.place;
    let element = element_size(&variable.element).unwrap_or(0) as u64 * variable.vector as u64;
    if element == 0 {
        return Err(PtxError::new(place, "predicates cannot be stored"));
    }
    let mut size = element;
    for dimension in &variable.dimensions {
        let count = match dimension {
            Some(count) => *count,
            None if variable.initial.is_empty() => 0,
            None => variable.initial.len() as u64,
        };
        size = size
            .checked_mul(count)
            .filter(|size| *size <= LARGEST)
            .ok_or_else(|| PtxError::new(place, format!("`{}` is too large", variable.name)))?;
    }
    Ok((size, variable.align.unwrap_or(element as u32).max(1) as u64))
}

/// The bytes of a parameter behind those of others, and its alignment.
pub fn parameter_place(behind: u64, parameter: &Variable) -> Result<(Range<u64>, u64), PtxError> {
    let (size, align) = extent(parameter)?;
    let start = behind.next_multiple_of(align);
    Ok((start..start + size, align))
}

/// Refuses a kernel whose parameters leave no space for `words` more numbers of 32 bits; `needer` is the pass that
/// needs them.
pub fn check_room(kernel: &Function, words: u64, needer: &str) -> Result<(), PtxError> {
    let mut bytes = 0;
    for param in &kernel.params {
        bytes = parameter_place(bytes, param)?.0.end;
    }
    if bytes.next_multiple_of(4) + 4 * words > MOST_PARAMETER_BYTES {
        let message = format!(
            "the parameters of `{}` take {bytes} bytes, and its {needer} needs {} more of {MOST_PARAMETER_BYTES}",
            kernel.name,
            4 * words
        );
        let place = kernel.params.last().map_or(kernel.span.place, |param| param.span.place);
        return Err(PtxError::new(place, message));
    }
    Ok(())
}
