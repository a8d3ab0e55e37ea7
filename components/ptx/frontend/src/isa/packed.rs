//! Integers of 16 bits and fewer in one register: `.u16x2`, `.s16x2` (PTX ISA 9.7.1) and `cvt.pack` (9.7.9.22).

/// A function of both halves of two registers.
#[inline(always)]
pub fn each(a: u32, b: u32, of: impl Fn(u16, u16) -> u16) -> u32 {
    let high = of((a >> 16) as u16, (b >> 16) as u16);
    u32::from(high) << 16 | u32::from(of(a as u16, b as u16))
}

/// `cvt.pack`: two numbers clamped to some bits, the second lowest, and above them the low bits of the third source.
#[inline(always)]
pub fn join(signed: bool, bits: u32, a: i32, b: i32, c: u32) -> u32 {
    let half = 1 << (bits - 1);
    let (least, greatest) = if signed { (-half, half - 1) } else { (0, 2 * half - 1) };
    let part = |value: i32| value.clamp(least, greatest) as u32 & ((1 << bits) - 1);
    let above = if bits < 16 { c << (2 * bits) } else { 0 };
    above | part(a) << bits | part(b)
}

/// Hands rows on to a macro with those of this file behind them.
#[doc(hidden)]
#[macro_export]
macro_rules! with_packed {
    ($apply:ident { $($rows:tt)* }) => {
        $crate::isa::halves::with_halves! { $apply {
            $($rows)*
            AddB16x2(a: u32, b: u32) -> u32 { packed::each(a, b, u16::wrapping_add) } Sp IntAdd "9.7.1.1" "add.{u16x2|s16x2}";
            MinU16x2(a: u32, b: u32) -> u32 { packed::each(a, b, |a, b| a.min(b)) } Sp IntMax "9.7.1.12" "min.u16x2";
            MinS16x2(a: u32, b: u32) -> u32 { packed::each(a, b, |a, b| (a as i16).min(b as i16) as u16) } Sp IntMax "9.7.1.12" "min.s16x2";
            MinReluS16x2(a: u32, b: u32) -> u32 { packed::each(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16) } Sp IntMax "9.7.1.12" "min.relu.s16x2";
            MinReluS32(a: i32, b: i32) -> i32 { a.min(b).max(0) } Sp IntMax "9.7.1.12" "min.relu.s32";
            MaxU16x2(a: u32, b: u32) -> u32 { packed::each(a, b, |a, b| a.max(b)) } Sp IntMax "9.7.1.13" "max.u16x2";
            MaxS16x2(a: u32, b: u32) -> u32 { packed::each(a, b, |a, b| (a as i16).max(b as i16) as u16) } Sp IntMax "9.7.1.13" "max.s16x2";
            MaxReluS16x2(a: u32, b: u32) -> u32 { packed::each(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16) } Sp IntMax "9.7.1.13" "max.relu.s16x2";
            MaxReluS32(a: i32, b: i32) -> i32 { a.max(b).max(0) } Sp IntMax "9.7.1.13" "max.relu.s32";
            CvtPackU16(a: i32, b: i32) -> u32 { packed::join(false, 16, a, b, 0) } Sp IntOther "9.7.9.22" "cvt.pack.sat.u16.s32";
            CvtPackS16(a: i32, b: i32) -> u32 { packed::join(true, 16, a, b, 0) } Sp IntOther "9.7.9.22" "cvt.pack.sat.s16.s32";
            CvtPackU8(a: i32, b: i32, c: u32) -> u32 { packed::join(false, 8, a, b, c) } Sp IntOther "9.7.9.22" "cvt.pack.sat.u8.s32.b32";
            CvtPackS8(a: i32, b: i32, c: u32) -> u32 { packed::join(true, 8, a, b, c) } Sp IntOther "9.7.9.22" "cvt.pack.sat.s8.s32.b32";
            CvtPackU4(a: i32, b: i32, c: u32) -> u32 { packed::join(false, 4, a, b, c) } Sp IntOther "9.7.9.22" "cvt.pack.sat.u4.s32.b32";
            CvtPackS4(a: i32, b: i32, c: u32) -> u32 { packed::join(true, 4, a, b, c) } Sp IntOther "9.7.9.22" "cvt.pack.sat.s4.s32.b32";
            CvtPackU2(a: i32, b: i32, c: u32) -> u32 { packed::join(false, 2, a, b, c) } Sp IntOther "9.7.9.22" "cvt.pack.sat.u2.s32.b32";
            CvtPackS2(a: i32, b: i32, c: u32) -> u32 { packed::join(true, 2, a, b, c) } Sp IntOther "9.7.9.22" "cvt.pack.sat.s2.s32.b32";
        } }
    };
}
pub use with_packed;
