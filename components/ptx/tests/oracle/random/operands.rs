//! Registers and constants to choose from, and the values at which arithmetic has its edges.

use super::Choices;
use crate::oracle::scalar::{Class, PREDICATE, Type};

/// Registers that programs compute in: type, name, how many.
pub(crate) const REGISTERS: [(&str, &str, usize); 15] = [
    ("pred", "%p", 8),
    ("b16", "%h", 4),
    ("u16", "%hu", 2),
    ("s16", "%hs", 2),
    ("b32", "%r", 6),
    ("u32", "%u", 3),
    ("s32", "%s", 3),
    ("f32", "%f", 8),
    ("b64", "%rd", 6),
    ("u64", "%ru", 2),
    ("s64", "%rs", 2),
    ("f64", "%fd", 6),
    ("b32", "%w", 2),
    ("f16", "%hf", 2),
    ("f16x2", "%hh", 2),
];

/// The numbers of a node, read one after another; zero behind the last.
pub(crate) struct Chooser<'c> {
    choices: &'c Choices,
    at: usize,
}

impl<'c> Chooser<'c> {
    pub(crate) fn new(choices: &'c Choices) -> Self {
        Chooser { choices, at: 0 }
    }

    fn number(&mut self) -> usize {
        self.at += 1;
        usize::from(self.choices.get(self.at - 1).copied().unwrap_or(0))
    }

    /// One of the numbers below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.number() % count
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// True once in `count` times.
    pub(crate) fn once_in(&mut self, count: usize) -> bool {
        // Shrinking goes towards zero, where the rare thing does not happen.
        self.below(count) == count - 1
    }

    /// A register that an instruction of this type may name; `widest` bits of it at most.
    pub(crate) fn register(&mut self, ty: Type, widest: u32) -> String {
        let fits = |name: &str| {
            let register = Type::parse(name).expect("a type");
            let alike = match (ty.class, register.class) {
                (Class::Predicate, other) | (other, Class::Predicate) => {
                    other == ty.class && other == register.class
                }
                (Class::Bits, _) | (_, Class::Bits) => true,
                (Class::Unsigned | Class::Signed, Class::Unsigned | Class::Signed) => true,
                (class, other) => class == other,
            };
            let narrowest = ty.bits.max(if register == PREDICATE { 1 } else { 16 });
            // Nothing but integers and bits grows.
            let grows = !ty.is_float() && !register.is_float();
            alike
                && (narrowest..=widest.max(narrowest)).contains(&register.bits)
                && (register.bits == ty.bits || grows)
        };
        let known: Vec<_> = REGISTERS.iter().filter(|(name, ..)| fits(name)).collect();
        let &&(_, name, count) = &known[self.below(known.len())];
        format!("{name}{}", self.below(count))
    }

    pub(crate) fn constant(&mut self, ty: Type) -> String {
        let bits = edge(ty, self.number());
        match (ty.class, ty.bits) {
            (Class::Float, 32) => format!("0f{bits:08X}"),
            (Class::Float, _) => format!("0d{bits:016X}"),
            (Class::Signed, _) => ty.number(bits).to_string(),
            (_, _) if bits & 1 == 1 => format!("{bits:#x}"),
            _ => bits.to_string(),
        }
    }

    /// A register or a constant.
    pub(crate) fn source(&mut self, ty: Type, widest: u32) -> String {
        if ty != PREDICATE && ty.has_constants() && self.once_in(4) {
            self.constant(ty)
        } else {
            self.register(ty, widest)
        }
    }

    /// Usually nothing, sometimes `@%p1 ` or `@!%p1 `.
    pub(crate) fn guard(&mut self) -> String {
        match self.below(8) {
            6 => format!("@{} ", self.register(PREDICATE, 1)),
            7 => format!("@!{} ", self.register(PREDICATE, 1)),
            _ => String::new(),
        }
    }
}

const SINGLE: [u32; 24] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0x4000_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fff_ffff,
    0x7fc0_0000,
    0xffc0_1234,
    0x7f80_0001,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x4f00_0000,
    0xcf00_0000,
    0x3f7f_ffff,
    0x4b00_0001,
    0x4020_0000,
];

const DOUBLE: [u64; 24] = [
    0,
    1 << 63,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0xfff8_0000_dead_beef,
    0x7ff0_0000_0000_0001,
    1,
    0x8000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x41e0_0000_0000_0000,
    0x43e0_0000_0000_0000,
    0x36a0_0000_0000_0000,
    0x380f_ffff_ffff_ffff,
    0x47ef_ffff_f000_0000,
    0x3ff0_0000_1000_0000,
];

const HALF: [u64; 24] = [
    0, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x4100, 0x7c00, 0xfc00, 0x7fff, 0x7e00, 0xfe12, 0x7c01, 1, 0x8001,
    0x03ff, 0x0400, 0x8400, 0x7bff, 0xfbff, 0x3bff, 0x6801, 0x7800, 0x2401, 0x0401,
];

const BRAIN: [u64; 24] = [
    0, 0x8000, 0x3f80, 0xbf80, 0x3f00, 0x4020, 0x7f80, 0xff80, 0x7fff, 0x7fc0, 0xffc1, 0x7f81, 1, 0x8001,
    0x007f, 0x0080, 0x8080, 0x7f7f, 0xff7f, 0x3f7f, 0x4f00, 0xcf00, 0x3c01, 0x0081,
];

/// The bits of a value where something is special, or of any value, as a number chooses.
pub(crate) fn edge(ty: Type, number: usize) -> u64 {
    if let Some(part) = ty.part() {
        // Pairs are of unlike numbers.
        return edge(part, number) | edge(part, number / 7 + 3) << part.bits;
    }
    let mut scrambled = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    scrambled ^= scrambled >> 29;
    let special = number / 4;
    let bits = match (number % 4, ty.class, ty.bits) {
        (0, ..) => scrambled.rotate_left(17),
        (_, Class::Float, 16) => HALF[special % HALF.len()],
        (_, Class::Brain, _) => BRAIN[special % BRAIN.len()],
        // Of the formats of 8 bits, every value is near an edge.
        (_, Class::E4M3 | Class::E5M2, _) => scrambled,
        (_, Class::Float | Class::Tensor, 32) => u64::from(SINGLE[special % SINGLE.len()]),
        (_, Class::Float, _) => DOUBLE[special % DOUBLE.len()],
        (1, _, bits) => [0, 1, !0, 1 << (bits - 1), (1 << (bits - 1)) - 1, !1, 2, 7][special % 8],
        // Powers of two, and around the widths of types, where shifts and fields end.
        (2, _, bits) => {
            1u64.rotate_left((special % bits as usize) as u32).wrapping_sub((special / 64 % 2) as u64)
        }
        _ => [8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 255, 256, 0xffff, 0x8000, 3][special % 16],
    };
    ty.cut(bits)
}
