//! Video instructions: words of the opcode, and the parts of registers that operands select (`%r1.h0`, `%r2.b7654`).

use super::instruction::Line;
use super::operands::Wanted;
use crate::isa::{Second, Video, VideoOp};
use crate::program::Action;
use crate::syntax::ast::{Operand, OperandKind};
use crate::syntax::error::PtxError;

impl Line<'_, '_, '_> {
    pub(super) fn video(&mut self) -> Result<(), PtxError> {
        let opcode = self.opcode;
        let mut words = opcode.split('.');
        let head = words.next().unwrap_or("");
        let (types, others): (Vec<&str>, Vec<&str>) = words.partition(|word| matches!(*word, "u32" | "s32"));
        let has = |word: &str| others.contains(&word);
        let parts: u8 = match head.as_bytes().last() {
            Some(b'2') => 2,
            Some(b'4') => 4,
            _ => 1,
        };
        let op = operation(head.trim_end_matches(['2', '4']), &others).ok_or_else(|| self.unknown())?;
        // The result of a comparison is unsigned.
        let [result, a, b] = match types[..] {
            [result, a, b] => [result, a, b],
            [a, b] => ["u32", a, b],
            _ => return Err(self.unknown()),
        };
        let second = match () {
            () if has("add") => Second::Add,
            () if has("min") => Second::Min,
            () if has("max") => Second::Max,
            () => Second::None,
        };
        let needs_third = parts > 1 || second != Second::None || matches!(op, VideoOp::Mad { .. });
        let operands = self.operands(if needs_third { 4..=4 } else { 3..=4 })?;
        let bits = 32 / parts;
        let mut video = Video {
            op,
            second,
            saturates: has("sat"),
            signed: [result, a, b].map(|ty| ty == "s32"),
            source_bits: [bits; 2],
            bits,
            parts,
            // The parts of the one register, and those of the other.
            select: if parts == 1 { [0, 0] } else { [0x3210, if parts == 2 { 0x32 } else { 0x7654 }] },
            mask: (1 << parts) - 1,
        };
        for (index, element) in [a, b].into_iter().enumerate() {
            let operand = &operands[index + 1];
            let kind = match selected(operand) {
                Some((name, selector)) if parts == 1 => {
                    let (bits, part) =
                        part(selector).ok_or_else(|| misplaced(operand, "`.b0` to `.b3`, `.h0` or `.h1`"))?;
                    (video.source_bits[index], video.select[index]) = (bits, part.into());
                    OperandKind::Name(name.to_owned())
                }
                Some((name, selector)) => {
                    let all =
                        digits(selector, parts, 2 * parts).filter(|digits| digits.len() == parts.into());
                    let all = all
                        .ok_or_else(|| misplaced(operand, if parts == 2 { "`.h10`" } else { "`.b3210`" }))?;
                    video.select[index] = all.iter().fold(0, |all, digit| all << 4 | u16::from(*digit));
                    OperandKind::Name(name.to_owned())
                }
                None if parts > 1 && !matches!(operand.kind, OperandKind::Name(_)) => {
                    return Err(self.misfit(operand, "a register"));
                }
                None => operand.kind.clone(),
            };
            self.out.sources[index] = self.read_kind(&kind, operand.span.place, Wanted::exactly(element))?;
        }
        let mut to = operands[0].kind.clone();
        if let Some((name, selector)) = selected(&operands[0]) {
            if parts == 1 {
                let fits =
                    second == Second::None && operands.len() == 4 && !matches!(op, VideoOp::Mad { .. });
                let found = part(selector).filter(|_| fits);
                let (bits, part) =
                    found.ok_or_else(|| misplaced(&operands[0], "a register without parts"))?;
                (video.bits, video.mask) = (bits, 1 << part);
            } else {
                let falling = |digits: &Vec<u8>| digits.is_sorted_by(|a, b| a > b);
                let all = digits(selector, parts, parts).filter(falling);
                let all =
                    all.ok_or_else(|| misplaced(&operands[0], "parts from the highest to the lowest"))?;
                video.mask = all.iter().fold(0, |mask, digit| mask | 1 << digit);
            }
            to = OperandKind::Name(name.to_owned());
        }
        if let Some(third) = operands.get(3) {
            let element = if matches!(op, VideoOp::Mad { .. }) { "b32" } else { result };
            self.out.sources[2] = self.read(third, Wanted::exactly(element))?;
        }
        self.out.destinations[0] = self.write(&to, operands[0].span.place, Wanted::exactly(result))?.id;
        self.out.action = Action::Video(video);
        Ok(())
    }
}

fn operation(name: &str, words: &[&str]) -> Option<VideoOp> {
    let has = |word: &str| words.contains(&word);
    let shift = match () {
        () if has("shr7") => 7,
        () if has("shr15") => 15,
        () => 0,
    };
    Some(match name {
        "vadd" => VideoOp::Add,
        "vsub" => VideoOp::Sub,
        "vabsdiff" => VideoOp::AbsDiff,
        "vmin" => VideoOp::Min,
        "vmax" => VideoOp::Max,
        "vavrg" => VideoOp::Average,
        "vshl" => VideoOp::Shl { wraps: has("wrap") },
        "vshr" => VideoOp::Shr { wraps: has("wrap") },
        "vmad" => VideoOp::Mad { one_more: has("po"), shift },
        "vset" => VideoOp::Set(match words.first().copied()? {
            "eq" => [false, true, false],
            "ne" => [true, false, true],
            "lt" => [true, false, false],
            "le" => [true, true, false],
            "gt" => [false, false, true],
            "ge" => [false, true, true],
            _ => return None,
        }),
        _ => return None,
    })
}

/// A register's name and the selector behind its last dot.
fn selected(operand: &Operand) -> Option<(&str, &str)> {
    let OperandKind::Name(name) = &operand.kind else { return None };
    let (register, selector) = name.rsplit_once('.')?;
    let is_selector = selector.starts_with(['b', 'h']) && selector.len() > 1;
    (is_selector && selector[1..].bytes().all(|digit| digit.is_ascii_digit())).then_some((register, selector))
}

/// Bits and position of a single part.
fn part(selector: &str) -> Option<(u8, u8)> {
    let bits = if selector.starts_with('b') { 8 } else { 16 };
    let [_, digit] = *selector.as_bytes() else { return None };
    Some((bits, digit - b'0')).filter(|(bits, part)| part * bits < 32)
}

/// The digits of a selector of halves or bytes, all below a limit.
fn digits(selector: &str, parts: u8, limit: u8) -> Option<Vec<u8>> {
    let letter = if parts == 2 { 'h' } else { 'b' };
    let digits: Vec<u8> = selector.strip_prefix(letter)?.bytes().map(|digit| digit - b'0').collect();
    digits.iter().all(|digit| *digit < limit).then_some(digits)
}

fn misplaced(operand: &Operand, expected: &str) -> PtxError {
    PtxError::new(operand.span.place, "this operand has no such part here").expecting(expected)
}
