//! An opcode taken apart at its dots, and the types of its operands (PTX ISA 9.7).

/// The meaning of a value's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Bits,
    Unsigned,
    Signed,
    Float,
    /// `.bf16`
    Brain,
    /// `.tf32`
    Tensor,
    /// The two formats of 8 bits.
    E4M3,
    E5M2,
    /// Two numbers of 16 bits, and of 8.
    Halves,
    Brains,
    E4M3s,
    E5M2s,
    Unsigneds,
    Signeds,
    Predicate,
}

/// A type such as `.s32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) class: Class,
    pub(crate) bits: u32,
}

pub(crate) const PREDICATE: Type = Type { class: Class::Predicate, bits: 1 };
const B32: Type = Type { class: Class::Bits, bits: 32 };
const S32: Type = Type { class: Class::Signed, bits: 32 };
const U32: Type = Type { class: Class::Unsigned, bits: 32 };

impl Type {
    /// The type of this name, without its dot.
    pub(crate) fn parse(name: &str) -> Option<Type> {
        if name == "pred" {
            return Some(PREDICATE);
        }
        let format = match name {
            "f16x2" => Some((Class::Halves, 32)),
            "bf16" => Some((Class::Brain, 16)),
            "bf16x2" => Some((Class::Brains, 32)),
            "tf32" => Some((Class::Tensor, 32)),
            "u16x2" => Some((Class::Unsigneds, 32)),
            "s16x2" => Some((Class::Signeds, 32)),
            "e4m3x2" => Some((Class::E4M3s, 16)),
            "e5m2x2" => Some((Class::E5M2s, 16)),
            _ => None,
        };
        if let Some((class, bits)) = format {
            return Some(Type { class, bits });
        }
        let class = match name.as_bytes().first()? {
            b'b' => Class::Bits,
            b'u' => Class::Unsigned,
            b's' => Class::Signed,
            b'f' => Class::Float,
            _ => return None,
        };
        let bits = match name.get(1..)? {
            "2" => 2,
            "4" => 4,
            "8" => 8,
            "16" => 16,
            "32" => 32,
            "64" => 64,
            _ => return None,
        };
        Some(Type { class, bits })
    }

    /// Whether it is a floating-point type, or a pair of one.
    pub(crate) fn is_float(self) -> bool {
        match self.part() {
            Some(part) => part.is_float(),
            None => !matches!(self.class, Class::Bits | Class::Unsigned | Class::Signed | Class::Predicate),
        }
    }

    pub(crate) fn has_constants(self) -> bool {
        match self.class {
            Class::Bits | Class::Unsigned | Class::Signed | Class::Predicate => true,
            class => class == Class::Float && self.bits != 16,
        }
    }

    /// The type of the two numbers in a pair.
    pub(crate) fn part(self) -> Option<Type> {
        let class = match self.class {
            Class::Halves => Class::Float,
            Class::Brains => Class::Brain,
            Class::E4M3s => Class::E4M3,
            Class::E5M2s => Class::E5M2,
            Class::Unsigneds => Class::Unsigned,
            Class::Signeds => Class::Signed,
            _ => return None,
        };
        Some(Type { class, bits: self.bits / 2 })
    }

    pub(crate) fn is_signed(self) -> bool {
        self.class == Class::Signed
    }

    fn twice(self) -> Type {
        Type { bits: 2 * self.bits, ..self }
    }

    /// The low bits of a register, which is all that an instruction of this type sees of it.
    pub(crate) fn cut(self, value: u64) -> u64 {
        if self.bits == 64 { value } else { value & ((1 << self.bits) - 1) }
    }

    /// The number that these bits are: negative only if the type is signed.
    pub(crate) fn number(self, value: u64) -> i128 {
        let value = i128::from(self.cut(value));
        if self.is_signed() && value >= 1 << (self.bits - 1) { value - (1 << self.bits) } else { value }
    }

    /// The least and the greatest number of an integer type.
    pub(crate) fn range(self) -> (i128, i128) {
        if self.is_signed() {
            (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        } else {
            (0, (1 << self.bits) - 1)
        }
    }
}

/// `cvt.rni.ftz.s32.f32` and its words.
#[derive(Clone, Debug)]
pub(crate) struct Opcode<'a> {
    pub(crate) text: &'a str,
    pub(crate) head: &'a str,
    words: Vec<&'a str>,
    pub(crate) types: Vec<Type>,
}

impl<'a> Opcode<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut words: Vec<&str> = text.split('.').collect();
        let head = words.remove(0);
        if text == "mad.f32" {
            // NVIDIA's assembler makes FFMA.FTZ of it.
            words.push("ftz");
        }
        let types = words.iter().filter_map(|word| Type::parse(word)).collect();
        Opcode { text, head, words, types }
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// The first of some modifiers that is given.
    pub(crate) fn one_of(&self, words: &[&'static str]) -> Option<&'static str> {
        words.iter().copied().find(|word| self.has(word))
    }

    /// The word at a position behind the head.
    pub(crate) fn word(&self, index: usize) -> &'a str {
        self.words.get(index).copied().unwrap_or("")
    }

    /// The combination of a comparison with a predicate.
    pub(crate) fn combination(&self) -> Option<&'static str> {
        if matches!(self.head, "setp" | "set") { self.one_of(&["and", "or", "xor"]) } else { None }
    }

    /// Whether it may write two predicates: one of a single half has one.
    pub(crate) fn has_two_results(&self) -> bool {
        self.head == "setp" && self.types.last().is_some_and(|ty| ty.has_constants() || ty.part().is_some())
    }

    /// The types of result and sources; `None` for an instruction that is no function of a thread's
    /// registers.
    pub(crate) fn signature(&self) -> Option<(Type, Vec<Type>)> {
        let first = *self.types.first()?;
        let last = *self.types.last()?;
        let wide = self.has("wide");
        let result = if wide { first.twice() } else { first };
        Some(match self.head {
            "add" | "sub" | "mul" | "mul24" | "div" | "rem" | "min" | "max" | "and" | "or" | "xor"
            | "copysign" | "addc" | "subc" => (result, vec![first; 2]),
            "mad" | "mad24" | "madc" | "fma" | "sad" => (result, vec![first, first, result]),
            "abs" | "neg" | "not" | "cnot" | "brev" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2"
            | "ex2" | "tanh" | "mov" => (first, vec![first]),
            "popc" | "clz" | "bfind" => (U32, vec![first]),
            "bfe" => (first, vec![first, U32, U32]),
            "bfi" => (first, vec![first, first, U32, U32]),
            "shl" | "shr" => (first, vec![first, U32]),
            "bmsk" | "szext" => (first, vec![first, U32]),
            "fns" => (B32, vec![B32, U32, S32]),
            "dp4a" | "dp2a" => {
                let sum = if first.is_signed() { first } else { last };
                (sum, vec![first, last, sum])
            }
            "shf" => (B32, vec![B32, B32, U32]),
            "prmt" => (B32, vec![B32; 3]),
            "lop3" if self.word(0) == "b32" => (B32, vec![B32; 4]),
            "selp" => (first, vec![first, first, PREDICATE]),
            "slct" => (first, vec![first, first, last]),
            "testp" => (PREDICATE, vec![first]),
            "set" | "setp" => {
                let mut sources = vec![last; 2];
                if self.combination().is_some() {
                    sources.push(PREDICATE);
                }
                (if self.head == "set" { first } else { PREDICATE }, sources)
            }
            "cvt" if self.word(0) == "pack" => {
                (U32, std::iter::chain([S32; 2], (last == B32).then_some(B32)).collect())
            }
            "cvt" if first.part().is_some() && last.part().is_none() => (first, vec![last; 2]),
            "cvt" => (first, vec![last]),
            "vmad" => (first, vec![self.types[1], last, B32]),
            head if head.starts_with('v') && head != "vote" => {
                let compares = head.starts_with("vset");
                let [a, b] = if compares { [first, last] } else { [self.types[1], last] };
                let result = if compares { U32 } else { first };
                let third = head.ends_with(['2', '4']) || self.one_of(&["add", "min", "max"]).is_some();
                (result, if third { vec![a, b, result] } else { vec![a, b] })
            }
            _ => return None,
        })
    }

    pub(crate) fn takes_wider_registers(&self) -> bool {
        self.head == "cvt"
    }
}
