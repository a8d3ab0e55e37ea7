//! The instruction table's rows of arithmetic with halves (PTX ISA 9.7.4), in the form of [`table`](super::table).
//!
//! All are computed in double precision and rounded once more. Sums and products of `.f16` are exact there, and a fused
//! sum is inexact only where a product below half the last place of the third operand is added to it. A double has more
//! than twice the bits of `.bf16`, so that rounding a sum twice is rounding it once; fused, it needs the last bit odd.
//!
//! Known deviation: `tanh.approx` and `ex2.approx` are rounded correctly, or nearly so, as those of single precision are.

/// Hands rows on to a macro with those of this file behind them.
#[doc(hidden)]
#[macro_export]
macro_rules! with_halves {
    ($apply:ident { $($rows:tt)* }) => {
        $crate::isa::half_comparisons::with_half_comparisons! { $apply {
            $($rows)*
            AddF16(a: H, b: H) -> H { a + b } Sp FpAdd "9.7.4.1" "add{|.rn}.f16";
            AddF16x2(a: H2, b: H2) -> H2 { each2(a, b, |a, b| a + b) } Sp FpAdd "9.7.4.1" "add{|.rn}.f16x2";
            AddSatF16(a: H, b: H) -> H { narrow::saturate(a + b) } Sp FpAdd "9.7.4.1" "add{|.rn}.sat.f16";
            AddSatF16x2(a: H2, b: H2) -> H2 { each2(a, b, |a, b| narrow::saturate(a + b)) } Sp FpAdd "9.7.4.1" "add{|.rn}.sat.f16x2";
            AddZ16(a: HZ, b: HZ) -> HZ { a + b } Sp FpAdd "9.7.4.1" "add{|.rn}.ftz.f16";
            AddZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, |a, b| a + b) } Sp FpAdd "9.7.4.1" "add{|.rn}.ftz.f16x2";
            AddSatZ16(a: HZ, b: HZ) -> HZ { narrow::saturate(a + b) } Sp FpAdd "9.7.4.1" "add{|.rn}.ftz.sat.f16";
            AddSatZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, |a, b| narrow::saturate(a + b)) } Sp FpAdd "9.7.4.1" "add{|.rn}.ftz.sat.f16x2";
            AddBf16(a: B, b: B) -> B { a + b } Sp FpAdd "9.7.4.1" "add{|.rn}.bf16";
            AddBf16x2(a: B2, b: B2) -> B2 { each2(a, b, |a, b| a + b) } Sp FpAdd "9.7.4.1" "add{|.rn}.bf16x2";
            SubF16(a: H, b: H) -> H { a - b } Sp FpAdd "9.7.4.2" "sub{|.rn}.f16";
            SubF16x2(a: H2, b: H2) -> H2 { each2(a, b, |a, b| a - b) } Sp FpAdd "9.7.4.2" "sub{|.rn}.f16x2";
            SubSatF16(a: H, b: H) -> H { narrow::saturate(a - b) } Sp FpAdd "9.7.4.2" "sub{|.rn}.sat.f16";
            SubSatF16x2(a: H2, b: H2) -> H2 { each2(a, b, |a, b| narrow::saturate(a - b)) } Sp FpAdd "9.7.4.2" "sub{|.rn}.sat.f16x2";
            SubZ16(a: HZ, b: HZ) -> HZ { a - b } Sp FpAdd "9.7.4.2" "sub{|.rn}.ftz.f16";
            SubZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, |a, b| a - b) } Sp FpAdd "9.7.4.2" "sub{|.rn}.ftz.f16x2";
            SubSatZ16(a: HZ, b: HZ) -> HZ { narrow::saturate(a - b) } Sp FpAdd "9.7.4.2" "sub{|.rn}.ftz.sat.f16";
            SubSatZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, |a, b| narrow::saturate(a - b)) } Sp FpAdd "9.7.4.2" "sub{|.rn}.ftz.sat.f16x2";
            SubBf16(a: B, b: B) -> B { a - b } Sp FpAdd "9.7.4.2" "sub{|.rn}.bf16";
            SubBf16x2(a: B2, b: B2) -> B2 { each2(a, b, |a, b| a - b) } Sp FpAdd "9.7.4.2" "sub{|.rn}.bf16x2";
            MulF16(a: H, b: H) -> H { a * b } Sp FpMul "9.7.4.3" "mul{|.rn}.f16";
            MulF16x2(a: H2, b: H2) -> H2 { each2(a, b, |a, b| a * b) } Sp FpMul "9.7.4.3" "mul{|.rn}.f16x2";
            MulSatF16(a: H, b: H) -> H { narrow::saturate(a * b) } Sp FpMul "9.7.4.3" "mul{|.rn}.sat.f16";
            MulSatF16x2(a: H2, b: H2) -> H2 { each2(a, b, |a, b| narrow::saturate(a * b)) } Sp FpMul "9.7.4.3" "mul{|.rn}.sat.f16x2";
            MulZ16(a: HZ, b: HZ) -> HZ { a * b } Sp FpMul "9.7.4.3" "mul{|.rn}.ftz.f16";
            MulZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, |a, b| a * b) } Sp FpMul "9.7.4.3" "mul{|.rn}.ftz.f16x2";
            MulSatZ16(a: HZ, b: HZ) -> HZ { narrow::saturate(a * b) } Sp FpMul "9.7.4.3" "mul{|.rn}.ftz.sat.f16";
            MulSatZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, |a, b| narrow::saturate(a * b)) } Sp FpMul "9.7.4.3" "mul{|.rn}.ftz.sat.f16x2";
            MulBf16(a: B, b: B) -> B { a * b } Sp FpMul "9.7.4.3" "mul{|.rn}.bf16";
            MulBf16x2(a: B2, b: B2) -> B2 { each2(a, b, |a, b| a * b) } Sp FpMul "9.7.4.3" "mul{|.rn}.bf16x2";
            FmaF16(a: H, b: H, c: H) -> H { a * b + c } Sp FpMad "9.7.4.4" "fma.rn.f16";
            FmaF16x2(a: H2, b: H2, c: H2) -> H2 { each3(a, b, c, |a, b, c| a * b + c) } Sp FpMad "9.7.4.4" "fma.rn.f16x2";
            FmaSatF16(a: H, b: H, c: H) -> H { narrow::saturate(a * b + c) } Sp FpMad "9.7.4.4" "fma.rn.sat.f16";
            FmaSatF16x2(a: H2, b: H2, c: H2) -> H2 { each3(a, b, c, |a, b, c| narrow::saturate(a * b + c)) } Sp FpMad "9.7.4.4" "fma.rn.sat.f16x2";
            FmaReluF16(a: H, b: H, c: H) -> H { narrow::relu(a * b + c) } Sp FpMad "9.7.4.4" "fma.rn.relu.f16";
            FmaReluF16x2(a: H2, b: H2, c: H2) -> H2 { each3(a, b, c, |a, b, c| narrow::relu(a * b + c)) } Sp FpMad "9.7.4.4" "fma.rn.relu.f16x2";
            FmaZ16(a: HZ, b: HZ, c: HZ) -> HZ { a * b + c } Sp FpMad "9.7.4.4" "fma.rn.ftz.f16";
            FmaZ16x2(a: HZ2, b: HZ2, c: HZ2) -> HZ2 { each3(a, b, c, |a, b, c| a * b + c) } Sp FpMad "9.7.4.4" "fma.rn.ftz.f16x2";
            FmaSatZ16(a: HZ, b: HZ, c: HZ) -> HZ { narrow::saturate(a * b + c) } Sp FpMad "9.7.4.4" "fma.rn.ftz.sat.f16";
            FmaSatZ16x2(a: HZ2, b: HZ2, c: HZ2) -> HZ2 { each3(a, b, c, |a, b, c| narrow::saturate(a * b + c)) } Sp FpMad "9.7.4.4" "fma.rn.ftz.sat.f16x2";
            FmaReluZ16(a: HZ, b: HZ, c: HZ) -> HZ { narrow::relu(a * b + c) } Sp FpMad "9.7.4.4" "fma.rn.ftz.relu.f16";
            FmaReluZ16x2(a: HZ2, b: HZ2, c: HZ2) -> HZ2 { each3(a, b, c, |a, b, c| narrow::relu(a * b + c)) } Sp FpMad "9.7.4.4" "fma.rn.ftz.relu.f16x2";
            FmaBf16(a: B, b: B, c: B) -> B { narrow::fused(a, b, c) } Sp FpMad "9.7.4.4" "fma.rn.bf16";
            FmaBf16x2(a: B2, b: B2, c: B2) -> B2 { each3(a, b, c, |a, b, c| narrow::fused(a, b, c)) } Sp FpMad "9.7.4.4" "fma.rn.bf16x2";
            FmaReluBf16(a: B, b: B, c: B) -> B { narrow::relu(narrow::fused(a, b, c)) } Sp FpMad "9.7.4.4" "fma.rn.relu.bf16";
            FmaReluBf16x2(a: B2, b: B2, c: B2) -> B2 { each3(a, b, c, |a, b, c| narrow::relu(narrow::fused(a, b, c))) } Sp FpMad "9.7.4.4" "fma.rn.relu.bf16x2";
            FmaRzBf16(a: B, b: B, c: B) -> B { narrow::round::<Brain>(narrow::fused(a, b, c), Rounding::Directed(Mode::Zero)) } Sp FpMad "9.7.4.4" "fma.rz.bf16";
            FmaRzBf16x2(a: B2, b: B2, c: B2) -> B2 { each3(a, b, c, |a, b, c| narrow::round::<Brain>(narrow::fused(a, b, c), Rounding::Directed(Mode::Zero))) } Sp FpMad "9.7.4.4" "fma.rz.bf16x2";
            FmaRzReluBf16(a: B, b: B, c: B) -> B { narrow::round::<Brain>(narrow::relu(narrow::fused(a, b, c)), Rounding::Directed(Mode::Zero)) } Sp FpMad "9.7.4.4" "fma.rz.relu.bf16";
            FmaRzReluBf16x2(a: B2, b: B2, c: B2) -> B2 { each3(a, b, c, |a, b, c| narrow::round::<Brain>(narrow::relu(narrow::fused(a, b, c)), Rounding::Directed(Mode::Zero))) } Sp FpMad "9.7.4.4" "fma.rz.relu.bf16x2";
            NegHalf(a: u16) -> u16 { a ^ 0x8000 } Sp FpOther "9.7.4.5" "neg.{f16|bf16}";
            NegHalves(a: u32) -> u32 { a ^ 0x8000_8000 } Sp FpOther "9.7.4.5" "neg.{f16x2|bf16x2}";
            NegZ16(a: HZ) -> HZ { -a } Sp FpOther "9.7.4.5" "neg.ftz.f16";
            NegZ16x2(a: HZ2) -> HZ2 { each(a, |a| -a) } Sp FpOther "9.7.4.5" "neg.ftz.f16x2";
            AbsHalf(a: u16) -> u16 { a & 0x7fff } Sp FpOther "9.7.4.6" "abs.{f16|bf16}";
            AbsHalves(a: u32) -> u32 { a & 0x7fff_7fff } Sp FpOther "9.7.4.6" "abs.{f16x2|bf16x2}";
            AbsZ16(a: HZ) -> HZ { a.abs() } Sp FpOther "9.7.4.6" "abs.ftz.f16";
            AbsZ16x2(a: HZ2) -> HZ2 { each(a, f64::abs) } Sp FpOther "9.7.4.6" "abs.ftz.f16x2";
            MinF16(a: H, b: H) -> H { float::min64(a, b) } Sp FpMax "9.7.4.7" "min.f16";
            MinF16x2(a: H2, b: H2) -> H2 { each2(a, b, float::min64) } Sp FpMax "9.7.4.7" "min.f16x2";
            MinXorF16(a: H, b: H) -> H { narrow::xor_sign(a, b, float::min64) } Sp FpMax "9.7.4.7" "min.xorsign.abs.f16";
            MinXorF16x2(a: H2, b: H2) -> H2 { each2(a, b, |a, b| narrow::xor_sign(a, b, float::min64)) } Sp FpMax "9.7.4.7" "min.xorsign.abs.f16x2";
            MinNanF16(a: H, b: H) -> H { narrow::min_or_nan(a, b) } Sp FpMax "9.7.4.7" "min.NaN.f16";
            MinNanF16x2(a: H2, b: H2) -> H2 { each2(a, b, narrow::min_or_nan) } Sp FpMax "9.7.4.7" "min.NaN.f16x2";
            MinNanXorF16(a: H, b: H) -> H { narrow::xor_sign(a, b, narrow::min_or_nan) } Sp FpMax "9.7.4.7" "min.NaN.xorsign.abs.f16";
            MinNanXorF16x2(a: H2, b: H2) -> H2 { each2(a, b, |a, b| narrow::xor_sign(a, b, narrow::min_or_nan)) } Sp FpMax "9.7.4.7" "min.NaN.xorsign.abs.f16x2";
            MinZ16(a: HZ, b: HZ) -> HZ { float::min64(a, b) } Sp FpMax "9.7.4.7" "min.ftz.f16";
            MinZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, float::min64) } Sp FpMax "9.7.4.7" "min.ftz.f16x2";
            MinXorZ16(a: HZ, b: HZ) -> HZ { narrow::xor_sign(a, b, float::min64) } Sp FpMax "9.7.4.7" "min.ftz.xorsign.abs.f16";
            MinXorZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, |a, b| narrow::xor_sign(a, b, float::min64)) } Sp FpMax "9.7.4.7" "min.ftz.xorsign.abs.f16x2";
            MinNanZ16(a: HZ, b: HZ) -> HZ { narrow::min_or_nan(a, b) } Sp FpMax "9.7.4.7" "min.ftz.NaN.f16";
            MinNanZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, narrow::min_or_nan) } Sp FpMax "9.7.4.7" "min.ftz.NaN.f16x2";
            MinNanXorZ16(a: HZ, b: HZ) -> HZ { narrow::xor_sign(a, b, narrow::min_or_nan) } Sp FpMax "9.7.4.7" "min.ftz.NaN.xorsign.abs.f16";
            MinNanXorZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, |a, b| narrow::xor_sign(a, b, narrow::min_or_nan)) } Sp FpMax "9.7.4.7" "min.ftz.NaN.xorsign.abs.f16x2";
            MinBf16(a: B, b: B) -> B { float::min64(a, b) } Sp FpMax "9.7.4.7" "min.bf16";
            MinBf16x2(a: B2, b: B2) -> B2 { each2(a, b, float::min64) } Sp FpMax "9.7.4.7" "min.bf16x2";
            MinXorBf16(a: B, b: B) -> B { narrow::xor_sign(a, b, float::min64) } Sp FpMax "9.7.4.7" "min.xorsign.abs.bf16";
            MinXorBf16x2(a: B2, b: B2) -> B2 { each2(a, b, |a, b| narrow::xor_sign(a, b, float::min64)) } Sp FpMax "9.7.4.7" "min.xorsign.abs.bf16x2";
            MinNanBf16(a: B, b: B) -> B { narrow::min_or_nan(a, b) } Sp FpMax "9.7.4.7" "min.NaN.bf16";
            MinNanBf16x2(a: B2, b: B2) -> B2 { each2(a, b, narrow::min_or_nan) } Sp FpMax "9.7.4.7" "min.NaN.bf16x2";
            MinNanXorBf16(a: B, b: B) -> B { narrow::xor_sign(a, b, narrow::min_or_nan) } Sp FpMax "9.7.4.7" "min.NaN.xorsign.abs.bf16";
            MinNanXorBf16x2(a: B2, b: B2) -> B2 { each2(a, b, |a, b| narrow::xor_sign(a, b, narrow::min_or_nan)) } Sp FpMax "9.7.4.7" "min.NaN.xorsign.abs.bf16x2";
            MaxF16(a: H, b: H) -> H { float::max64(a, b) } Sp FpMax "9.7.4.8" "max.f16";
            MaxF16x2(a: H2, b: H2) -> H2 { each2(a, b, float::max64) } Sp FpMax "9.7.4.8" "max.f16x2";
            MaxXorF16(a: H, b: H) -> H { narrow::xor_sign(a, b, float::max64) } Sp FpMax "9.7.4.8" "max.xorsign.abs.f16";
            MaxXorF16x2(a: H2, b: H2) -> H2 { each2(a, b, |a, b| narrow::xor_sign(a, b, float::max64)) } Sp FpMax "9.7.4.8" "max.xorsign.abs.f16x2";
            MaxNanF16(a: H, b: H) -> H { narrow::max_or_nan(a, b) } Sp FpMax "9.7.4.8" "max.NaN.f16";
            MaxNanF16x2(a: H2, b: H2) -> H2 { each2(a, b, narrow::max_or_nan) } Sp FpMax "9.7.4.8" "max.NaN.f16x2";
            MaxNanXorF16(a: H, b: H) -> H { narrow::xor_sign(a, b, narrow::max_or_nan) } Sp FpMax "9.7.4.8" "max.NaN.xorsign.abs.f16";
            MaxNanXorF16x2(a: H2, b: H2) -> H2 { each2(a, b, |a, b| narrow::xor_sign(a, b, narrow::max_or_nan)) } Sp FpMax "9.7.4.8" "max.NaN.xorsign.abs.f16x2";
            MaxZ16(a: HZ, b: HZ) -> HZ { float::max64(a, b) } Sp FpMax "9.7.4.8" "max.ftz.f16";
            MaxZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, float::max64) } Sp FpMax "9.7.4.8" "max.ftz.f16x2";
            MaxXorZ16(a: HZ, b: HZ) -> HZ { narrow::xor_sign(a, b, float::max64) } Sp FpMax "9.7.4.8" "max.ftz.xorsign.abs.f16";
            MaxXorZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, |a, b| narrow::xor_sign(a, b, float::max64)) } Sp FpMax "9.7.4.8" "max.ftz.xorsign.abs.f16x2";
            MaxNanZ16(a: HZ, b: HZ) -> HZ { narrow::max_or_nan(a, b) } Sp FpMax "9.7.4.8" "max.ftz.NaN.f16";
            MaxNanZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, narrow::max_or_nan) } Sp FpMax "9.7.4.8" "max.ftz.NaN.f16x2";
            MaxNanXorZ16(a: HZ, b: HZ) -> HZ { narrow::xor_sign(a, b, narrow::max_or_nan) } Sp FpMax "9.7.4.8" "max.ftz.NaN.xorsign.abs.f16";
            MaxNanXorZ16x2(a: HZ2, b: HZ2) -> HZ2 { each2(a, b, |a, b| narrow::xor_sign(a, b, narrow::max_or_nan)) } Sp FpMax "9.7.4.8" "max.ftz.NaN.xorsign.abs.f16x2";
            MaxBf16(a: B, b: B) -> B { float::max64(a, b) } Sp FpMax "9.7.4.8" "max.bf16";
            MaxBf16x2(a: B2, b: B2) -> B2 { each2(a, b, float::max64) } Sp FpMax "9.7.4.8" "max.bf16x2";
            MaxXorBf16(a: B, b: B) -> B { narrow::xor_sign(a, b, float::max64) } Sp FpMax "9.7.4.8" "max.xorsign.abs.bf16";
            MaxXorBf16x2(a: B2, b: B2) -> B2 { each2(a, b, |a, b| narrow::xor_sign(a, b, float::max64)) } Sp FpMax "9.7.4.8" "max.xorsign.abs.bf16x2";
            MaxNanBf16(a: B, b: B) -> B { narrow::max_or_nan(a, b) } Sp FpMax "9.7.4.8" "max.NaN.bf16";
            MaxNanBf16x2(a: B2, b: B2) -> B2 { each2(a, b, narrow::max_or_nan) } Sp FpMax "9.7.4.8" "max.NaN.bf16x2";
            MaxNanXorBf16(a: B, b: B) -> B { narrow::xor_sign(a, b, narrow::max_or_nan) } Sp FpMax "9.7.4.8" "max.NaN.xorsign.abs.bf16";
            MaxNanXorBf16x2(a: B2, b: B2) -> B2 { each2(a, b, |a, b| narrow::xor_sign(a, b, narrow::max_or_nan)) } Sp FpMax "9.7.4.8" "max.NaN.xorsign.abs.bf16x2";
            TanhF16(a: H) -> H { libm::tanh(a) } Sfu Sfu "9.7.4.9" "tanh.approx.f16";
            TanhF16x2(a: H2) -> H2 { each(a, libm::tanh) } Sfu Sfu "9.7.4.9" "tanh.approx.f16x2";
            TanhBf16(a: B) -> B { libm::tanh(a) } Sfu Sfu "9.7.4.9" "tanh.approx.bf16";
            TanhBf16x2(a: B2) -> B2 { each(a, libm::tanh) } Sfu Sfu "9.7.4.9" "tanh.approx.bf16x2";
            Ex2F16(a: H) -> H { libm::exp2(a) } Sfu Sfu "9.7.4.10" "ex2.approx.f16";
            Ex2F16x2(a: H2) -> H2 { each(a, libm::exp2) } Sfu Sfu "9.7.4.10" "ex2.approx.f16x2";
            Ex2Bf16(a: BZ) -> BZ { libm::exp2(a) } Sfu Sfu "9.7.4.10" "ex2.approx.ftz.bf16";
            Ex2Bf16x2(a: BZ2) -> BZ2 { each(a, libm::exp2) } Sfu Sfu "9.7.4.10" "ex2.approx.ftz.bf16x2";
        } }
    };
}
pub use with_halves;
