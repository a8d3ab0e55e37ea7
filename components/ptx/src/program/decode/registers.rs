//! Registers as the text declares them: kinds, classes of types, and the numbers in their names.

/// The kind of a register's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterType {
    Predicate,
    /// Up to 32 bits; one row.
    Narrow(u8),
    /// 64 bits; two rows.
    Wide,
}

impl RegisterType {
    pub(super) fn bits(self) -> u8 {
        match self {
            RegisterType::Predicate => 1,
            RegisterType::Narrow(bits) => bits,
            RegisterType::Wide => 64,
        }
    }
}

/// A register in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Register {
    pub(crate) id: u16,
    pub(crate) kind: RegisterType,
    pub(crate) class: Class,
}

/// Class of a type (PTX ISA 9.2): types of different classes do not mix, untyped bits go with all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Bits,
    Integer,
    Float,
    /// `.f16`, and `.f16x2`.
    Half,
    Halves,
    /// A format that registers do not have: its values lie in untyped ones.
    Format,
}

impl Class {
    /// The class of a type such as `u32`.
    pub(crate) fn of(element: &str) -> Class {
        match element.as_bytes() {
            b"f16" => Class::Half,
            b"f16x2" => Class::Halves,
            b"bf16" | b"bf16x2" | b"tf32" | b"e4m3x2" | b"e5m2x2" => Class::Format,
            [b'u' | b's', ..] => Class::Integer,
            [b'f', ..] => Class::Float,
            _ => Class::Bits,
        }
    }

    /// A register of this class, in words; and that together with an untyped one.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Class::Bits | Class::Format => ("an untyped register", "an untyped one"),
            Class::Integer => ("an integer register", "an integer or untyped one"),
            Class::Float => ("a floating-point register", "a floating-point or untyped one"),
            Class::Half => ("an `.f16` register", "an `.f16` or untyped one"),
            Class::Halves => ("an `.f16x2` register", "an `.f16x2` or untyped one"),
        }
    }
}

/// The number in a register's name, modulo 256: its place in the register file.
pub(super) fn number_of(name: &str) -> Option<u8> {
    let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    digits
        .fold(None, |number, digit| Some(number.unwrap_or(0_u8).wrapping_mul(10).wrapping_add(digit - b'0')))
}
