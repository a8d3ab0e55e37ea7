//! Types of a buffer's elements: their size, and numbers to and from their bytes.

/// The type of a buffer's elements, in PTX's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// Unsigned, 1 byte.
    U8,
    /// Unsigned, 2 bytes.
    U16,
    /// Unsigned, 4 bytes.
    U32,
    /// Unsigned, 8 bytes.
    U64,
    /// Signed, 1 byte.
    S8,
    /// Signed, 2 bytes.
    S16,
    /// Signed, 4 bytes.
    S32,
    /// Signed, 8 bytes.
    S64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

use Element::{F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};

impl Element {
    /// All types, by their names in YAML.
    pub const ALL: [(&'static str, Element); 10] = [
        ("f32", F32),
        ("f64", F64),
        ("u32", U32),
        ("s32", S32),
        ("u8", U8),
        ("u16", U16),
        ("u64", U64),
        ("s8", S8),
        ("s16", S16),
        ("s64", S64),
    ];

    /// The type of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, element)| *element)
    }

    /// The type that C, CUDA or NumPy call by a name.
    pub fn of_c(name: &str) -> Option<Self> {
        let element = match name {
            "float" | "float32" | "float32_t" => F32,
            "double" | "float64" | "float64_t" => F64,
            "char" | "int8" | "int8_t" | "i8" => S8,
            "uchar" | "byte" | "uint8" | "uint8_t" => U8,
            "short" | "int16" | "int16_t" | "i16" => S16,
            "ushort" | "uint16" | "uint16_t" => U16,
            "int" | "int32" | "int32_t" | "i32" => S32,
            "unsigned" | "uint" | "uint32" | "uint32_t" => U32,
            "long" | "int64" | "int64_t" | "i64" => S64,
            "ulong" | "uint64" | "uint64_t" | "size_t" => U64,
            _ => return None,
        };
        Some(element)
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, element)| *element == self).map_or("", |(name, _)| name)
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            U8 | S8 => 1,
            U16 | S16 => 2,
            U32 | S32 | F32 => 4,
            U64 | S64 | F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, F32 | F64)
    }

    /// The smallest and the largest value of a type of whole numbers.
    pub fn range(self) -> Option<(i128, i128)> {
        let bits = 8 * self.bytes() as u32;
        match self {
            F32 | F64 => None,
            U8 | U16 | U32 | U64 => Some((0, (1 << bits) - 1)),
            S8 | S16 | S32 | S64 => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        }
    }

    /// Appends a floating-point number, rounded to the type.
    pub(crate) fn push_float(self, value: f64, out: &mut Vec<u8>) {
        match self {
            F32 => out.extend((value as f32).to_le_bytes()),
            F64 => out.extend(value.to_le_bytes()),
            _ => self.push_whole(value as i128, out),
        }
    }

    /// Appends a whole number, which is in the type's range.
    pub(crate) fn push_whole(self, value: i128, out: &mut Vec<u8>) {
        match self {
            F32 | F64 => self.push_float(value as f64, out),
            _ => out.extend(&value.to_le_bytes()[..self.bytes()]),
        }
    }

    /// The value of an element's bytes, for comparing and printing.
    pub fn value(self, bytes: &[u8]) -> Value {
        let mut wide = [0; 8];
        let length = self.bytes().min(bytes.len());
        wide[..length].copy_from_slice(&bytes[..length]);
        let raw = u64::from_le_bytes(wide);
        match self {
            U8 | U16 | U32 | U64 => Value::Whole(i128::from(raw)),
            S8 => Value::Whole(i128::from(raw as i8)),
            S16 => Value::Whole(i128::from(raw as i16)),
            S32 => Value::Whole(i128::from(raw as i32)),
            S64 => Value::Whole(i128::from(raw as i64)),
            F32 => Value::Float(f64::from(f32::from_bits(raw as u32))),
            F64 => Value::Float(f64::from_bits(raw)),
        }
    }
}

/// The value of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(i128),
    /// A floating-point number.
    Float(f64),
}

impl Value {
    /// The value as a floating-point number.
    pub fn as_f64(self) -> f64 {
        match self {
            Value::Whole(value) => value as f64,
            Value::Float(value) => value,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Whole(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_their_bytes() {
        for (name, element) in Element::ALL {
            assert_eq!(Element::parse(name), Some(element));
            assert_eq!(element.name(), name);
            for value in [0, 1, 100] {
                let mut bytes = Vec::new();
                element.push_whole(value, &mut bytes);
                assert_eq!(bytes.len(), element.bytes());
                assert_eq!(element.value(&bytes).as_f64(), value as f64, "{name}");
            }
        }
        let mut bytes = Vec::new();
        S16.push_whole(-2, &mut bytes);
        assert_eq!(S16.value(&bytes), Value::Whole(-2));
        assert_eq!(S16.range(), Some((-32768, 32767)));
        assert_eq!(U64.range(), Some((0, i128::from(u64::MAX))));
    }
}
