//! The instruction table's rows of combinations that compilers seldom write, in the form of [`table`](super::table):
//! saturation behind directed rounding, of conversions to floats, and `.ftz` of conversions to small integers.

/// Hands rows on to a macro with those of this file behind them.
#[doc(hidden)]
#[macro_export]
macro_rules! with_rare {
    ($apply:ident { $($rows:tt)* }) => {
        $crate::isa::packed::with_packed! { $apply {
            $($rows)*
            AddRzSatF32(a: F, b: F) -> F { float::saturate(float::fma32(1.0, a, b, Mode::Zero)) } Sp FpAdd "9.7.3.1" "add.rz.sat.f32";
            AddRzSatZ32(a: Z, b: Z) -> Z { float::saturate(float::fma32(1.0, a, b, Mode::Zero)) } Sp FpAdd "9.7.3.1" "add.rz.ftz.sat.f32";
            AddRmSatF32(a: F, b: F) -> F { float::saturate(float::fma32(1.0, a, b, Mode::Down)) } Sp FpAdd "9.7.3.1" "add.rm.sat.f32";
            AddRmSatZ32(a: Z, b: Z) -> Z { float::saturate(float::fma32(1.0, a, b, Mode::Down)) } Sp FpAdd "9.7.3.1" "add.rm.ftz.sat.f32";
            AddRpSatF32(a: F, b: F) -> F { float::saturate(float::fma32(1.0, a, b, Mode::Up)) } Sp FpAdd "9.7.3.1" "add.rp.sat.f32";
            AddRpSatZ32(a: Z, b: Z) -> Z { float::saturate(float::fma32(1.0, a, b, Mode::Up)) } Sp FpAdd "9.7.3.1" "add.rp.ftz.sat.f32";
            SubRzSatF32(a: F, b: F) -> F { float::saturate(float::fma32(1.0, a, -b, Mode::Zero)) } Sp FpAdd "9.7.3.2" "sub.rz.sat.f32";
            SubRzSatZ32(a: Z, b: Z) -> Z { float::saturate(float::fma32(1.0, a, -b, Mode::Zero)) } Sp FpAdd "9.7.3.2" "sub.rz.ftz.sat.f32";
            SubRmSatF32(a: F, b: F) -> F { float::saturate(float::fma32(1.0, a, -b, Mode::Down)) } Sp FpAdd "9.7.3.2" "sub.rm.sat.f32";
            SubRmSatZ32(a: Z, b: Z) -> Z { float::saturate(float::fma32(1.0, a, -b, Mode::Down)) } Sp FpAdd "9.7.3.2" "sub.rm.ftz.sat.f32";
            SubRpSatF32(a: F, b: F) -> F { float::saturate(float::fma32(1.0, a, -b, Mode::Up)) } Sp FpAdd "9.7.3.2" "sub.rp.sat.f32";
            SubRpSatZ32(a: Z, b: Z) -> Z { float::saturate(float::fma32(1.0, a, -b, Mode::Up)) } Sp FpAdd "9.7.3.2" "sub.rp.ftz.sat.f32";
            MulRzSatF32(a: F, b: F) -> F { float::saturate(float::narrow(a as f64 * b as f64, Mode::Zero)) } Sp FpMul "9.7.3.3" "mul.rz.sat.f32";
            MulRzSatZ32(a: Z, b: Z) -> Z { float::saturate(float::narrow(a as f64 * b as f64, Mode::Zero)) } Sp FpMul "9.7.3.3" "mul.rz.ftz.sat.f32";
            MulRmSatF32(a: F, b: F) -> F { float::saturate(float::narrow(a as f64 * b as f64, Mode::Down)) } Sp FpMul "9.7.3.3" "mul.rm.sat.f32";
            MulRmSatZ32(a: Z, b: Z) -> Z { float::saturate(float::narrow(a as f64 * b as f64, Mode::Down)) } Sp FpMul "9.7.3.3" "mul.rm.ftz.sat.f32";
            MulRpSatF32(a: F, b: F) -> F { float::saturate(float::narrow(a as f64 * b as f64, Mode::Up)) } Sp FpMul "9.7.3.3" "mul.rp.sat.f32";
            MulRpSatZ32(a: Z, b: Z) -> Z { float::saturate(float::narrow(a as f64 * b as f64, Mode::Up)) } Sp FpMul "9.7.3.3" "mul.rp.ftz.sat.f32";
            FmaRzSatF32(a: F, b: F, c: F) -> F { float::saturate(float::fma32(a, b, c, Mode::Zero)) } Sp FpMad "9.7.3.4" "{fma|mad}.rz.sat.f32";
            FmaRzSatZ32(a: Z, b: Z, c: Z) -> Z { float::saturate(float::fma32(a, b, c, Mode::Zero)) } Sp FpMad "9.7.3.4" "{fma|mad}.rz.ftz.sat.f32";
            FmaRmSatF32(a: F, b: F, c: F) -> F { float::saturate(float::fma32(a, b, c, Mode::Down)) } Sp FpMad "9.7.3.4" "{fma|mad}.rm.sat.f32";
            FmaRmSatZ32(a: Z, b: Z, c: Z) -> Z { float::saturate(float::fma32(a, b, c, Mode::Down)) } Sp FpMad "9.7.3.4" "{fma|mad}.rm.ftz.sat.f32";
            FmaRpSatF32(a: F, b: F, c: F) -> F { float::saturate(float::fma32(a, b, c, Mode::Up)) } Sp FpMad "9.7.3.4" "{fma|mad}.rp.sat.f32";
            FmaRpSatZ32(a: Z, b: Z, c: Z) -> Z { float::saturate(float::fma32(a, b, c, Mode::Up)) } Sp FpMad "9.7.3.4" "{fma|mad}.rp.ftz.sat.f32";
            FmaRmBf16(a: B, b: B, c: B) -> B { narrow::round::<Brain>(narrow::fused_down(a, b, c), Rounding::Directed(Mode::Down)) } Sp FpMad "9.7.4.4" "fma.rm.bf16";
            FmaRmBf16x2(a: B2, b: B2, c: B2) -> B2 { each3(a, b, c, |a, b, c| narrow::round::<Brain>(narrow::fused_down(a, b, c), Rounding::Directed(Mode::Down))) } Sp FpMad "9.7.4.4" "fma.rm.bf16x2";
            FmaRmReluBf16(a: B, b: B, c: B) -> B { narrow::round::<Brain>(narrow::relu(narrow::fused_down(a, b, c)), Rounding::Directed(Mode::Down)) } Sp FpMad "9.7.4.4" "fma.rm.relu.bf16";
            FmaRmReluBf16x2(a: B2, b: B2, c: B2) -> B2 { each3(a, b, c, |a, b, c| narrow::round::<Brain>(narrow::relu(narrow::fused_down(a, b, c)), Rounding::Directed(Mode::Down))) } Sp FpMad "9.7.4.4" "fma.rm.relu.bf16x2";
            FmaRpBf16(a: B, b: B, c: B) -> B { narrow::round::<Brain>(narrow::fused(a, b, c), Rounding::Directed(Mode::Up)) } Sp FpMad "9.7.4.4" "fma.rp.bf16";
            FmaRpBf16x2(a: B2, b: B2, c: B2) -> B2 { each3(a, b, c, |a, b, c| narrow::round::<Brain>(narrow::fused(a, b, c), Rounding::Directed(Mode::Up))) } Sp FpMad "9.7.4.4" "fma.rp.bf16x2";
            FmaRpReluBf16(a: B, b: B, c: B) -> B { narrow::round::<Brain>(narrow::relu(narrow::fused(a, b, c)), Rounding::Directed(Mode::Up)) } Sp FpMad "9.7.4.4" "fma.rp.relu.bf16";
            FmaRpReluBf16x2(a: B2, b: B2, c: B2) -> B2 { each3(a, b, c, |a, b, c| narrow::round::<Brain>(narrow::relu(narrow::fused(a, b, c)), Rounding::Directed(Mode::Up))) } Sp FpMad "9.7.4.4" "fma.rp.relu.bf16x2";
            CvtRniSatF32F32(a: F) -> F { float::saturate(a.round_ties_even()) } Sp FpOther "9.7.9.21" "cvt.rni.sat.f32.f32";
            CvtRniSatZ32F32(a: Z) -> Z { float::saturate(a.round_ties_even()) } Sp FpOther "9.7.9.21" "cvt.rni.ftz.sat.f32.f32";
            CvtRniSatF64F64(a: D) -> D { narrow::saturate(a.round_ties_even()) } Dp DpOther "9.7.9.21" "cvt.rni.sat.f64.f64";
            CvtRniU8Z32(a: Z) -> u8 { a.round_ties_even() as u8 } Sp IntOther "9.7.9.21" "cvt.rni.ftz{|.sat}.u8.f32";
            CvtRniS8Z32(a: Z) -> i8 { a.round_ties_even() as i8 } Sp IntOther "9.7.9.21" "cvt.rni.ftz{|.sat}.s8.f32";
            CvtRniU16Z32(a: Z) -> u16 { a.round_ties_even() as u16 } Sp IntOther "9.7.9.21" "cvt.rni.ftz{|.sat}.u16.f32";
            CvtRniS16Z32(a: Z) -> i16 { a.round_ties_even() as i16 } Sp IntOther "9.7.9.21" "cvt.rni.ftz{|.sat}.s16.f32";
            CvtRziSatF32F32(a: F) -> F { float::saturate(a.trunc()) } Sp FpOther "9.7.9.21" "cvt.rzi.sat.f32.f32";
            CvtRziSatZ32F32(a: Z) -> Z { float::saturate(a.trunc()) } Sp FpOther "9.7.9.21" "cvt.rzi.ftz.sat.f32.f32";
            CvtRziSatF64F64(a: D) -> D { narrow::saturate(a.trunc()) } Dp DpOther "9.7.9.21" "cvt.rzi.sat.f64.f64";
            CvtRziU8Z32(a: Z) -> u8 { a as u8 } Sp IntOther "9.7.9.21" "cvt.rzi.ftz{|.sat}.u8.f32";
            CvtRziS8Z32(a: Z) -> i8 { a as i8 } Sp IntOther "9.7.9.21" "cvt.rzi.ftz{|.sat}.s8.f32";
            CvtRziU16Z32(a: Z) -> u16 { a as u16 } Sp IntOther "9.7.9.21" "cvt.rzi.ftz{|.sat}.u16.f32";
            CvtRziS16Z32(a: Z) -> i16 { a as i16 } Sp IntOther "9.7.9.21" "cvt.rzi.ftz{|.sat}.s16.f32";
            CvtRmiSatF32F32(a: F) -> F { float::saturate(a.floor()) } Sp FpOther "9.7.9.21" "cvt.rmi.sat.f32.f32";
            CvtRmiSatZ32F32(a: Z) -> Z { float::saturate(a.floor()) } Sp FpOther "9.7.9.21" "cvt.rmi.ftz.sat.f32.f32";
            CvtRmiSatF64F64(a: D) -> D { narrow::saturate(a.floor()) } Dp DpOther "9.7.9.21" "cvt.rmi.sat.f64.f64";
            CvtRmiU8Z32(a: Z) -> u8 { a.floor() as u8 } Sp IntOther "9.7.9.21" "cvt.rmi.ftz{|.sat}.u8.f32";
            CvtRmiS8Z32(a: Z) -> i8 { a.floor() as i8 } Sp IntOther "9.7.9.21" "cvt.rmi.ftz{|.sat}.s8.f32";
            CvtRmiU16Z32(a: Z) -> u16 { a.floor() as u16 } Sp IntOther "9.7.9.21" "cvt.rmi.ftz{|.sat}.u16.f32";
            CvtRmiS16Z32(a: Z) -> i16 { a.floor() as i16 } Sp IntOther "9.7.9.21" "cvt.rmi.ftz{|.sat}.s16.f32";
            CvtRpiSatF32F32(a: F) -> F { float::saturate(a.ceil()) } Sp FpOther "9.7.9.21" "cvt.rpi.sat.f32.f32";
            CvtRpiSatZ32F32(a: Z) -> Z { float::saturate(a.ceil()) } Sp FpOther "9.7.9.21" "cvt.rpi.ftz.sat.f32.f32";
            CvtRpiSatF64F64(a: D) -> D { narrow::saturate(a.ceil()) } Dp DpOther "9.7.9.21" "cvt.rpi.sat.f64.f64";
            CvtRpiU8Z32(a: Z) -> u8 { a.ceil() as u8 } Sp IntOther "9.7.9.21" "cvt.rpi.ftz{|.sat}.u8.f32";
            CvtRpiS8Z32(a: Z) -> i8 { a.ceil() as i8 } Sp IntOther "9.7.9.21" "cvt.rpi.ftz{|.sat}.s8.f32";
            CvtRpiU16Z32(a: Z) -> u16 { a.ceil() as u16 } Sp IntOther "9.7.9.21" "cvt.rpi.ftz{|.sat}.u16.f32";
            CvtRpiS16Z32(a: Z) -> i16 { a.ceil() as i16 } Sp IntOther "9.7.9.21" "cvt.rpi.ftz{|.sat}.s16.f32";
            CvtSatF64F64(a: D) -> D { narrow::saturate(a) } Dp DpOther "9.7.9.21" "cvt.sat.f64.f64";
            CvtSatF64F32(a: F) -> D { narrow::saturate(a as f64) } Dp DpOther "9.7.9.21" "cvt.sat.f64.f32";
            CvtSatF64Z32(a: Z) -> D { narrow::saturate(a as f64) } Dp DpOther "9.7.9.21" "cvt.ftz.sat.f64.f32";
            CvtRnSatF32F64(a: D) -> F { narrow::saturate(a) as f32 } Dp DpOther "9.7.9.21" "cvt.rn.sat.f32.f64";
            CvtRnSatZ32F64(a: D) -> Z { narrow::saturate(a) as f32 } Dp DpOther "9.7.9.21" "cvt.rn.ftz.sat.f32.f64";
            CvtRzSatF32F64(a: D) -> F { float::narrow(narrow::saturate(a), Mode::Zero) } Dp DpOther "9.7.9.21" "cvt.rz.sat.f32.f64";
            CvtRzSatZ32F64(a: D) -> Z { float::narrow(narrow::saturate(a), Mode::Zero) } Dp DpOther "9.7.9.21" "cvt.rz.ftz.sat.f32.f64";
            CvtRmSatF32F64(a: D) -> F { float::narrow(narrow::saturate(a), Mode::Down) } Dp DpOther "9.7.9.21" "cvt.rm.sat.f32.f64";
            CvtRmSatZ32F64(a: D) -> Z { float::narrow(narrow::saturate(a), Mode::Down) } Dp DpOther "9.7.9.21" "cvt.rm.ftz.sat.f32.f64";
            CvtRpSatF32F64(a: D) -> F { float::narrow(narrow::saturate(a), Mode::Up) } Dp DpOther "9.7.9.21" "cvt.rp.sat.f32.f64";
            CvtRpSatZ32F64(a: D) -> Z { float::narrow(narrow::saturate(a), Mode::Up) } Dp DpOther "9.7.9.21" "cvt.rp.ftz.sat.f32.f64";
            CvtSatF32U8(a: u8) -> F { if a > 0 { 1.0 } else { 0.0 } } Sp IntOther "9.7.9.21" "cvt.{rn|rz|rm|rp}{|.ftz}.sat.f32.u8";
            CvtSatF64U8(a: u8) -> D { if a > 0 { 1.0 } else { 0.0 } } Dp DpOther "9.7.9.21" "cvt.{rn|rz|rm|rp}.sat.f64.u8";
            CvtSatF32S8(a: i8) -> F { if a > 0 { 1.0 } else { 0.0 } } Sp IntOther "9.7.9.21" "cvt.{rn|rz|rm|rp}{|.ftz}.sat.f32.s8";
            CvtSatF64S8(a: i8) -> D { if a > 0 { 1.0 } else { 0.0 } } Dp DpOther "9.7.9.21" "cvt.{rn|rz|rm|rp}.sat.f64.s8";
            CvtSatF32U16(a: u16) -> F { if a > 0 { 1.0 } else { 0.0 } } Sp IntOther "9.7.9.21" "cvt.{rn|rz|rm|rp}{|.ftz}.sat.f32.u16";
            CvtSatF64U16(a: u16) -> D { if a > 0 { 1.0 } else { 0.0 } } Dp DpOther "9.7.9.21" "cvt.{rn|rz|rm|rp}.sat.f64.u16";
            CvtSatF32S16(a: i16) -> F { if a > 0 { 1.0 } else { 0.0 } } Sp IntOther "9.7.9.21" "cvt.{rn|rz|rm|rp}{|.ftz}.sat.f32.s16";
            CvtSatF64S16(a: i16) -> D { if a > 0 { 1.0 } else { 0.0 } } Dp DpOther "9.7.9.21" "cvt.{rn|rz|rm|rp}.sat.f64.s16";
            CvtSatF32U32(a: u32) -> F { if a > 0 { 1.0 } else { 0.0 } } Sp IntOther "9.7.9.21" "cvt.{rn|rz|rm|rp}{|.ftz}.sat.f32.u32";
            CvtSatF64U32(a: u32) -> D { if a > 0 { 1.0 } else { 0.0 } } Dp DpOther "9.7.9.21" "cvt.{rn|rz|rm|rp}.sat.f64.u32";
            CvtSatF32S32(a: i32) -> F { if a > 0 { 1.0 } else { 0.0 } } Sp IntOther "9.7.9.21" "cvt.{rn|rz|rm|rp}{|.ftz}.sat.f32.s32";
            CvtSatF64S32(a: i32) -> D { if a > 0 { 1.0 } else { 0.0 } } Dp DpOther "9.7.9.21" "cvt.{rn|rz|rm|rp}.sat.f64.s32";
            CvtSatF32U64(a: u64) -> F { if a > 0 { 1.0 } else { 0.0 } } Sp IntOther "9.7.9.21" "cvt.{rn|rz|rm|rp}{|.ftz}.sat.f32.u64";
            CvtSatF64U64(a: u64) -> D { if a > 0 { 1.0 } else { 0.0 } } Dp DpOther "9.7.9.21" "cvt.{rn|rz|rm|rp}.sat.f64.u64";
            CvtSatF32S64(a: i64) -> F { if a > 0 { 1.0 } else { 0.0 } } Sp IntOther "9.7.9.21" "cvt.{rn|rz|rm|rp}{|.ftz}.sat.f32.s64";
            CvtSatF64S64(a: i64) -> D { if a > 0 { 1.0 } else { 0.0 } } Dp DpOther "9.7.9.21" "cvt.{rn|rz|rm|rp}.sat.f64.s64";
        } }
    };
}
pub use with_rare;
