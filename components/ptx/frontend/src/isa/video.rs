//! Video instructions in one lane (PTX ISA 9.7.18): arithmetic on words, halves or bytes of two registers, with a second
//! operation or a merge behind it.
//!
//! The manual leaves open how wide an intermediate result is that is not saturated: it is cut to 32 bits before the
//! second operation.

/// Operation on two selected parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VideoOp {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    Average,
    /// Shift by at most 32, `.clamp`, or modulo 32, `.wrap`.
    Shl {
        wraps: bool,
    },
    Shr {
        wraps: bool,
    },
    /// `vmad`: a product and a sum, one more with `.po`, moved right.
    Mad {
        one_more: bool,
        shift: u8,
    },
    /// `vset`: a comparison, true by the sign of the difference: negative, zero, positive.
    Set([bool; 3]),
}

/// The combination of a result with the third source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second {
    None,
    Add,
    Min,
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Video {
    pub op: VideoOp,
    pub second: Second,
    pub saturates: bool,
    /// The types of the destination, of `a` and of `b`.
    pub signed: [bool; 3],
    /// Bits of each part of the sources, 8, 16 or 32; and of the result.
    pub source_bits: [u8; 2],
    pub bits: u8,
    /// Number of results: 1, or the number that fits a register.
    pub parts: u8,
    /// For each result, the parts of `a` and `b` from which it is computed, numbered across both registers; four bits each,
    /// the lowest first.
    pub select: [u16; 2],
    /// The parts of the destination that are written; all others are those of the third source.
    pub mask: u8,
}

impl Video {
    /// The result in one lane.
    #[inline]
    pub fn compute(&self, a: u32, b: u32, c: u32) -> u32 {
        let both = u64::from(b) << 32 | u64::from(a);
        // A single result takes its second part from `b` alone.
        let registers = if self.parts == 1 { [u64::from(a), u64::from(b)] } else { [both; 2] };
        let mut sum = i64::from(c);
        let mut merged = u64::from(c);
        for part in 0..self.parts {
            let source = |which: usize| {
                let at = u32::from(self.select[which] >> (4 * part) & 0xf);
                let bits = u32::from(self.source_bits[which]);
                extend(registers[which] >> (at * bits), bits, self.signed[1 + which])
            };
            let result = self.result(source(0), source(1), c);
            if self.parts > 1 && self.mask >> part & 1 == 1 {
                sum = sum.wrapping_add(result);
                merged = insert(merged, result as u64, u32::from(self.bits), u32::from(part));
            } else if self.parts == 1 {
                return self.combined(result, c);
            }
        }
        if self.second == Second::Add { sum as u32 } else { merged as u32 }
    }

    /// The result of one pair of parts, saturated.
    #[inline]
    fn result(&self, a: i64, b: i64, c: u32) -> i64 {
        let amount = |wraps: bool| if wraps { b & 31 } else { b.min(32) } as u32;
        let product_is_signed = self.signed[1] || self.signed[2];
        let exact = match self.op {
            VideoOp::Add => a + b,
            VideoOp::Sub => a - b,
            VideoOp::AbsDiff => (a - b).abs(),
            VideoOp::Min => a.min(b),
            VideoOp::Max => a.max(b),
            VideoOp::Average => (a + b + i64::from(a + b >= 0)) >> 1,
            VideoOp::Shr { wraps } => a >> amount(wraps),
            VideoOp::Set(truths) => i64::from(truths[(1 + (a - b).signum()) as usize]),
            // These two operations may need more than 64 bits.
            VideoOp::Shl { wraps } => {
                return self.bounded(i128::from(a) << amount(wraps), self.signed[0]) as i64;
            }
            VideoOp::Mad { one_more, shift } => {
                let c = extend(u64::from(c), 32, product_is_signed);
                let sum = i128::from(a) * i128::from(b) + i128::from(c) + i128::from(one_more);
                return self.bounded(sum >> shift, product_is_signed) as i64;
            }
        };
        if self.saturates { self.bounded(exact.into(), self.signed[0]) as i64 } else { exact }
    }

    /// A number clamped to the result's bits, if it is saturated.
    #[inline]
    fn bounded(&self, exact: i128, signed: bool) -> i128 {
        let half = 1 << (self.bits - 1);
        match (self.saturates, signed) {
            (false, _) => exact,
            (true, true) => exact.clamp(-half, half - 1),
            (true, false) => exact.clamp(0, 2 * half - 1),
        }
    }

    /// A single result with the third source: combined, or merged into it.
    #[inline]
    fn combined(&self, result: i64, c: u32) -> u32 {
        let low = result as u32;
        match self.second {
            Second::None if self.bits == 32 => low,
            Second::None => {
                insert(u64::from(c), u64::from(low), u32::from(self.bits), self.mask.trailing_zeros()) as u32
            }
            Second::Add => low.wrapping_add(c),
            Second::Min if self.signed[0] => (low as i32).min(c as i32) as u32,
            Second::Max if self.signed[0] => (low as i32).max(c as i32) as u32,
            Second::Min => low.min(c),
            Second::Max => low.max(c),
        }
    }
}

/// The low bits of a register as a number.
#[inline]
fn extend(value: u64, bits: u32, signed: bool) -> i64 {
    let shift = 64 - bits;
    if signed { (value << shift) as i64 >> shift } else { (value << shift >> shift) as i64 }
}

#[inline]
fn insert(register: u64, part: u64, bits: u32, at: u32) -> u64 {
    let mask = ((1 << bits) - 1) << (at * bits);
    register & !mask | part << (at * bits) & mask
}
