//! Integer operations of one lane that need more than an expression (PTX ISA 9.7.1, 9.7.8, 9.7.9).
//!
//! All are total: lanes that are switched off run too, on whatever their registers hold.

macro_rules! division {
    ($($div:ident $rem:ident $ty:ty;)*) => { $(
        /// Quotient; all ones if the divisor is zero, as NVIDIA's assembler computes it (the manual leaves it open).
        #[inline(always)]
        pub fn $div(a: $ty, b: $ty) -> $ty {
            if b == 0 { !0 } else { a.wrapping_div(b) }
        }
        /// Remainder; all ones too if the divisor is zero.
        #[inline(always)]
        pub fn $rem(a: $ty, b: $ty) -> $ty {
            if b == 0 { !0 } else { a.wrapping_rem(b) }
        }
    )* };
}
division! {
    div_u16 rem_u16 u16;
    div_s16 rem_s16 i16;
    div_u32 rem_u32 u32;
    div_s32 rem_s32 i32;
    div_u64 rem_u64 u64;
    div_s64 rem_s64 i64;
}

/// Position of the highest set bit; all ones if there is none.
#[inline(always)]
pub fn bfind(a: u64) -> u32 {
    63u32.wrapping_sub(a.leading_zeros())
}

macro_rules! extract {
    ($unsigned:ident $signed:ident $uty:ty, $ity:ty) => {
        /// Bit field `length` long from `position`, zero-extended.
        #[inline(always)]
        pub fn $unsigned(a: $uty, position: u32, length: u32) -> $uty {
            let (position, length) = (position & 0xff, length & 0xff);
            let shifted = a.checked_shr(position).unwrap_or(0);
            if length >= <$uty>::BITS { shifted } else { shifted & (((1 as $uty) << length) - 1) }
        }
        /// Bit field `length` long from `position`, sign-extended: with the field's highest bit, or the value's if the field
        /// extends beyond it.
        #[inline(always)]
        pub fn $signed(a: $ity, position: u32, length: u32) -> $ity {
            let (position, length) = (position & 0xff, length & 0xff);
            if length == 0 {
                return 0;
            }
            let top = (position + length - 1).min(<$ity>::BITS - 1);
            let sign = if (a >> top) & 1 != 0 { -1 } else { 0 };
            let field = $unsigned(a as $uty, position, length) as $ity;
            let have = (<$ity>::BITS.saturating_sub(position)).min(length);
            if have >= <$ity>::BITS { field } else { field | (sign << have) }
        }
    };
}
extract!(bfe_u32 bfe_s32 u32, i32);
extract!(bfe_u64 bfe_s64 u64, i64);

/// `b` with the low `length` bits of `a` laid over it at `position`.
#[inline(always)]
pub fn bfi_b64(a: u64, b: u64, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let field = if length >= 64 { !0 } else { (1u64 << length) - 1 };
    let mask = field.checked_shl(position).unwrap_or(0);
    (b & !mask) | (a.checked_shl(position).unwrap_or(0) & mask)
}

/// Like [`bfi_b64`] in 32 bits: bits above bit 31 are lost.
#[inline(always)]
pub fn bfi_b32(a: u32, b: u32, position: u32, length: u32) -> u32 {
    bfi_b64(a as u64, b as u64, position, length) as u32
}

/// Any function of three bits: its truth table is `table`.
#[inline(always)]
pub fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut result = 0;
    for row in 0..8 {
        let select = |value: u32, bit: u32| if row & bit != 0 { value } else { !value };
        let minterm = select(a, 4) & select(b, 2) & select(c, 1);
        result |= if table >> row & 1 != 0 { minterm } else { 0 };
    }
    result
}

/// High word of `high:low` shifted left.
#[inline(always)]
pub fn funnel_left(low: u32, high: u32, amount: u32) -> u32 {
    let both = (high as u64) << 32 | low as u64;
    ((both << (amount & 63)) >> 32) as u32
}

/// Low word of `high:low` shifted right.
#[inline(always)]
pub fn funnel_right(low: u32, high: u32, amount: u32) -> u32 {
    let both = (high as u64) << 32 | low as u64;
    (both >> (amount & 63)) as u32
}

/// Four bytes picked from the eight of `b:a` by the nibbles of `selector`; bit 3 spreads the sign.
#[inline(always)]
pub fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    let both = (b as u64) << 32 | a as u64;
    let mut result = 0;
    for index in 0..4 {
        let nibble = selector >> (4 * index) & 0xf;
        let byte = (both >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        result |= (byte as u32) << (8 * index);
    }
    result
}

/// A field of ones, `width` long from `position`; none beyond bit 31.
#[inline(always)]
pub fn bit_mask(position: u32, width: u32) -> u32 {
    let field = if width >= 32 { !0 } else { (1u32 << width) - 1 };
    field.checked_shl(position).unwrap_or(0)
}

/// Position of the set bit number `offset`, counted from bit `base` upwards or downwards, that bit included; all ones if there
/// is none. An offset of 0 means the bit at `base` itself.
#[inline(always)]
pub fn nth_set_bit(mask: u32, base: u32, offset: i32) -> u32 {
    let (upwards, mut left) = (offset >= 0, offset.unsigned_abs().max(1));
    let mut found = !0;
    for step in 0..32u32 {
        let place = if upwards { base.wrapping_add(step) } else { base.wrapping_sub(step) };
        let is_set = base < 32 && place < 32 && mask >> (place & 31) & 1 != 0 && (offset != 0 || step == 0);
        left = left.wrapping_sub(u32::from(is_set));
        if is_set && left == 0 {
            found = place;
        }
    }
    found
}

/// Sum of `c` and four products of bytes, which may be signed.
#[inline(always)]
pub fn dot4(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let byte = |word: u32, index: u32, signed: bool| {
        let byte = (word >> (8 * index)) as u8;
        if signed { byte as i8 as i32 } else { i32::from(byte) }
    };
    (0..4)
        .fold(c, |sum, index| sum.wrapping_add((byte(a, index, a_signed) * byte(b, index, b_signed)) as u32))
}

/// Sum of `c` and two products, of 16 bits of `a` and 8 of `b`'s low half.
#[inline(always)]
pub fn dot2(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let half = |index: u32| {
        let half = (a >> (16 * index)) as u16;
        if a_signed { half as i16 as i32 } else { i32::from(half) }
    };
    let byte = |index: u32| {
        let byte = (b >> (8 * index)) as u8;
        if b_signed { byte as i8 as i32 } else { i32::from(byte) }
    };
    (0..2).fold(c, |sum, index| sum.wrapping_add((half(index) * byte(index)) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_total() {
        assert_eq!(div_u32(7, 0), u32::MAX);
        assert_eq!(div_s32(7, 0), -1);
        assert_eq!(div_s32(i32::MIN, -1), i32::MIN);
        assert_eq!(rem_s64(i64::MIN, -1), 0);
        assert_eq!((rem_u16(9, 0), rem_s64(-9, 0)), (u16::MAX, -1));
        assert_eq!((div_s32(-7, 2), rem_s32(-7, 2)), (-3, -1));
    }

    #[test]
    fn bit_fields() {
        assert_eq!(bfe_u32(0xabcd_1234, 8, 8), 0x12);
        assert_eq!(bfe_s32(0x0000_8000, 8, 8), -128);
        assert_eq!(bfe_s32(i32::MIN, 28, 8), -8);
        assert_eq!(bfe_s32(-1, 40, 4), -1);
        assert_eq!(bfe_u32(!0, 40, 4), 0);
        assert_eq!(bfe_u64(!0, 0, 64), !0);
        assert_eq!(bfe_s64(-5, 0, 64), -5);
        assert_eq!(bfe_s32(5, 0, 0), 0);
        assert_eq!(bfi_b32(0xff, 0, 28, 8), 0xf000_0000);
        assert_eq!(bfi_b32(0, !0, 4, 8), 0xffff_f00f);
        assert_eq!(bfi_b64(1, 0, 63, 9), 1 << 63);
        assert_eq!(bfi_b64(1, 7, 64, 9), 7);
        assert_eq!((bfind(0), bfind(1), bfind(1 << 40)), (u32::MAX, 0, 40));
    }

    #[test]
    fn logic_and_permutation() {
        assert_eq!(lop3(0xf0, 0xcc, 0xaa, 0x80), 0xf0 & 0xcc & 0xaa);
        assert_eq!(lop3(0xf0, 0xcc, 0xaa, 0x96), 0xf0 ^ 0xcc ^ 0xaa);
        assert_eq!(prmt(0x3322_1100, 0x7766_5544, 0x7531), 0x7755_3311);
        assert_eq!(prmt(0x8000_0000, 0, 0x000b), 0xff);
        assert_eq!(funnel_left(0x8000_0000, 1, 1), 3);
        assert_eq!(funnel_left(5, 9, 32), 5);
        assert_eq!(funnel_right(2, 1, 1), 0x8000_0001);
        assert_eq!(funnel_right(2, 7, 32), 7);
    }
}
