//! The instruction table's rows of comparisons of halves (PTX ISA 9.7.7), in the form of [`table`](super::table).

/// Hands rows on to a macro with those of this file behind them.
#[doc(hidden)]
#[macro_export]
macro_rules! with_half_comparisons {
    ($apply:ident { $($rows:tt)* }) => {
        $crate::isa::half_conversions::with_half_conversions! { $apply {
            $($rows)*
            SetpEqF16(a: H, b: H) -> bool { a == b } Sp FpOther "9.7.7.2" "setp.eq{|.and|.or|.xor}.f16 set.eq{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpNeF16(a: H, b: H) -> bool { a < b || a > b } Sp FpOther "9.7.7.2" "setp.ne{|.and|.or|.xor}.f16 set.ne{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpLtF16(a: H, b: H) -> bool { a < b } Sp FpOther "9.7.7.2" "setp.lt{|.and|.or|.xor}.f16 set.lt{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpLeF16(a: H, b: H) -> bool { a <= b } Sp FpOther "9.7.7.2" "setp.le{|.and|.or|.xor}.f16 set.le{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpGtF16(a: H, b: H) -> bool { a > b } Sp FpOther "9.7.7.2" "setp.gt{|.and|.or|.xor}.f16 set.gt{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpGeF16(a: H, b: H) -> bool { a >= b } Sp FpOther "9.7.7.2" "setp.ge{|.and|.or|.xor}.f16 set.ge{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpEquF16(a: H, b: H) -> bool { !(a < b || a > b) } Sp FpOther "9.7.7.2" "setp.equ{|.and|.or|.xor}.f16 set.equ{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpNeuF16(a: H, b: H) -> bool { a != b } Sp FpOther "9.7.7.2" "setp.neu{|.and|.or|.xor}.f16 set.neu{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpLtuF16(a: H, b: H) -> bool { !(a >= b) } Sp FpOther "9.7.7.2" "setp.ltu{|.and|.or|.xor}.f16 set.ltu{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpLeuF16(a: H, b: H) -> bool { !(a > b) } Sp FpOther "9.7.7.2" "setp.leu{|.and|.or|.xor}.f16 set.leu{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpGtuF16(a: H, b: H) -> bool { !(a <= b) } Sp FpOther "9.7.7.2" "setp.gtu{|.and|.or|.xor}.f16 set.gtu{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpGeuF16(a: H, b: H) -> bool { !(a < b) } Sp FpOther "9.7.7.2" "setp.geu{|.and|.or|.xor}.f16 set.geu{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpNumF16(a: H, b: H) -> bool { !a.is_nan() && !b.is_nan() } Sp FpOther "9.7.7.2" "setp.num{|.and|.or|.xor}.f16 set.num{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpNanF16(a: H, b: H) -> bool { a.is_nan() || b.is_nan() } Sp FpOther "9.7.7.2" "setp.nan{|.and|.or|.xor}.f16 set.nan{|.and|.or|.xor}.{u16|s16|u32|s32|f16|bf16}.f16";
            SetpEqZ16(a: HZ, b: HZ) -> bool { a == b } Sp FpOther "9.7.7.2" "setp.eq{|.and|.or|.xor}.ftz.f16 set.eq{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpNeZ16(a: HZ, b: HZ) -> bool { a < b || a > b } Sp FpOther "9.7.7.2" "setp.ne{|.and|.or|.xor}.ftz.f16 set.ne{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpLtZ16(a: HZ, b: HZ) -> bool { a < b } Sp FpOther "9.7.7.2" "setp.lt{|.and|.or|.xor}.ftz.f16 set.lt{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpLeZ16(a: HZ, b: HZ) -> bool { a <= b } Sp FpOther "9.7.7.2" "setp.le{|.and|.or|.xor}.ftz.f16 set.le{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpGtZ16(a: HZ, b: HZ) -> bool { a > b } Sp FpOther "9.7.7.2" "setp.gt{|.and|.or|.xor}.ftz.f16 set.gt{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpGeZ16(a: HZ, b: HZ) -> bool { a >= b } Sp FpOther "9.7.7.2" "setp.ge{|.and|.or|.xor}.ftz.f16 set.ge{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpEquZ16(a: HZ, b: HZ) -> bool { !(a < b || a > b) } Sp FpOther "9.7.7.2" "setp.equ{|.and|.or|.xor}.ftz.f16 set.equ{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpNeuZ16(a: HZ, b: HZ) -> bool { a != b } Sp FpOther "9.7.7.2" "setp.neu{|.and|.or|.xor}.ftz.f16 set.neu{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpLtuZ16(a: HZ, b: HZ) -> bool { !(a >= b) } Sp FpOther "9.7.7.2" "setp.ltu{|.and|.or|.xor}.ftz.f16 set.ltu{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpLeuZ16(a: HZ, b: HZ) -> bool { !(a > b) } Sp FpOther "9.7.7.2" "setp.leu{|.and|.or|.xor}.ftz.f16 set.leu{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpGtuZ16(a: HZ, b: HZ) -> bool { !(a <= b) } Sp FpOther "9.7.7.2" "setp.gtu{|.and|.or|.xor}.ftz.f16 set.gtu{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpGeuZ16(a: HZ, b: HZ) -> bool { !(a < b) } Sp FpOther "9.7.7.2" "setp.geu{|.and|.or|.xor}.ftz.f16 set.geu{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpNumZ16(a: HZ, b: HZ) -> bool { !a.is_nan() && !b.is_nan() } Sp FpOther "9.7.7.2" "setp.num{|.and|.or|.xor}.ftz.f16 set.num{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpNanZ16(a: HZ, b: HZ) -> bool { a.is_nan() || b.is_nan() } Sp FpOther "9.7.7.2" "setp.nan{|.and|.or|.xor}.ftz.f16 set.nan{|.and|.or|.xor}.ftz.{u16|s16|u32|s32|f16}.f16";
            SetpEqBf16(a: B, b: B) -> bool { a == b } Sp FpOther "9.7.7.2" "setp.eq{|.and|.or|.xor}.bf16 set.eq{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpNeBf16(a: B, b: B) -> bool { a < b || a > b } Sp FpOther "9.7.7.2" "setp.ne{|.and|.or|.xor}.bf16 set.ne{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpLtBf16(a: B, b: B) -> bool { a < b } Sp FpOther "9.7.7.2" "setp.lt{|.and|.or|.xor}.bf16 set.lt{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpLeBf16(a: B, b: B) -> bool { a <= b } Sp FpOther "9.7.7.2" "setp.le{|.and|.or|.xor}.bf16 set.le{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpGtBf16(a: B, b: B) -> bool { a > b } Sp FpOther "9.7.7.2" "setp.gt{|.and|.or|.xor}.bf16 set.gt{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpGeBf16(a: B, b: B) -> bool { a >= b } Sp FpOther "9.7.7.2" "setp.ge{|.and|.or|.xor}.bf16 set.ge{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpEquBf16(a: B, b: B) -> bool { !(a < b || a > b) } Sp FpOther "9.7.7.2" "setp.equ{|.and|.or|.xor}.bf16 set.equ{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpNeuBf16(a: B, b: B) -> bool { a != b } Sp FpOther "9.7.7.2" "setp.neu{|.and|.or|.xor}.bf16 set.neu{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpLtuBf16(a: B, b: B) -> bool { !(a >= b) } Sp FpOther "9.7.7.2" "setp.ltu{|.and|.or|.xor}.bf16 set.ltu{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpLeuBf16(a: B, b: B) -> bool { !(a > b) } Sp FpOther "9.7.7.2" "setp.leu{|.and|.or|.xor}.bf16 set.leu{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpGtuBf16(a: B, b: B) -> bool { !(a <= b) } Sp FpOther "9.7.7.2" "setp.gtu{|.and|.or|.xor}.bf16 set.gtu{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpGeuBf16(a: B, b: B) -> bool { !(a < b) } Sp FpOther "9.7.7.2" "setp.geu{|.and|.or|.xor}.bf16 set.geu{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpNumBf16(a: B, b: B) -> bool { !a.is_nan() && !b.is_nan() } Sp FpOther "9.7.7.2" "setp.num{|.and|.or|.xor}.bf16 set.num{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpNanBf16(a: B, b: B) -> bool { a.is_nan() || b.is_nan() } Sp FpOther "9.7.7.2" "setp.nan{|.and|.or|.xor}.bf16 set.nan{|.and|.or|.xor}.{u16|s16|u32|s32|bf16}.bf16";
            SetpEqF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| a == b) } Sp FpOther "9.7.7.2" "setp.eq{|.and|.or|.xor}.f16x2 set.eq{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpNeF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| a < b || a > b) } Sp FpOther "9.7.7.2" "setp.ne{|.and|.or|.xor}.f16x2 set.ne{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpLtF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| a < b) } Sp FpOther "9.7.7.2" "setp.lt{|.and|.or|.xor}.f16x2 set.lt{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpLeF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| a <= b) } Sp FpOther "9.7.7.2" "setp.le{|.and|.or|.xor}.f16x2 set.le{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpGtF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| a > b) } Sp FpOther "9.7.7.2" "setp.gt{|.and|.or|.xor}.f16x2 set.gt{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpGeF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| a >= b) } Sp FpOther "9.7.7.2" "setp.ge{|.and|.or|.xor}.f16x2 set.ge{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpEquF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| !(a < b || a > b)) } Sp FpOther "9.7.7.2" "setp.equ{|.and|.or|.xor}.f16x2 set.equ{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpNeuF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| a != b) } Sp FpOther "9.7.7.2" "setp.neu{|.and|.or|.xor}.f16x2 set.neu{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpLtuF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| !(a >= b)) } Sp FpOther "9.7.7.2" "setp.ltu{|.and|.or|.xor}.f16x2 set.ltu{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpLeuF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| !(a > b)) } Sp FpOther "9.7.7.2" "setp.leu{|.and|.or|.xor}.f16x2 set.leu{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpGtuF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| !(a <= b)) } Sp FpOther "9.7.7.2" "setp.gtu{|.and|.or|.xor}.f16x2 set.gtu{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpGeuF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| !(a < b)) } Sp FpOther "9.7.7.2" "setp.geu{|.and|.or|.xor}.f16x2 set.geu{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpNumF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| !a.is_nan() && !b.is_nan()) } Sp FpOther "9.7.7.2" "setp.num{|.and|.or|.xor}.f16x2 set.num{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpNanF16x2(a: H2, b: H2) -> Both { each2(a, b, |a, b| a.is_nan() || b.is_nan()) } Sp FpOther "9.7.7.2" "setp.nan{|.and|.or|.xor}.f16x2 set.nan{|.and|.or|.xor}.{u32|s32|f16x2}.f16x2";
            SetpEqZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| a == b) } Sp FpOther "9.7.7.2" "setp.eq{|.and|.or|.xor}.ftz.f16x2 set.eq{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpNeZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| a < b || a > b) } Sp FpOther "9.7.7.2" "setp.ne{|.and|.or|.xor}.ftz.f16x2 set.ne{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpLtZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| a < b) } Sp FpOther "9.7.7.2" "setp.lt{|.and|.or|.xor}.ftz.f16x2 set.lt{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpLeZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| a <= b) } Sp FpOther "9.7.7.2" "setp.le{|.and|.or|.xor}.ftz.f16x2 set.le{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpGtZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| a > b) } Sp FpOther "9.7.7.2" "setp.gt{|.and|.or|.xor}.ftz.f16x2 set.gt{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpGeZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| a >= b) } Sp FpOther "9.7.7.2" "setp.ge{|.and|.or|.xor}.ftz.f16x2 set.ge{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpEquZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| !(a < b || a > b)) } Sp FpOther "9.7.7.2" "setp.equ{|.and|.or|.xor}.ftz.f16x2 set.equ{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpNeuZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| a != b) } Sp FpOther "9.7.7.2" "setp.neu{|.and|.or|.xor}.ftz.f16x2 set.neu{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpLtuZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| !(a >= b)) } Sp FpOther "9.7.7.2" "setp.ltu{|.and|.or|.xor}.ftz.f16x2 set.ltu{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpLeuZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| !(a > b)) } Sp FpOther "9.7.7.2" "setp.leu{|.and|.or|.xor}.ftz.f16x2 set.leu{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpGtuZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| !(a <= b)) } Sp FpOther "9.7.7.2" "setp.gtu{|.and|.or|.xor}.ftz.f16x2 set.gtu{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpGeuZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| !(a < b)) } Sp FpOther "9.7.7.2" "setp.geu{|.and|.or|.xor}.ftz.f16x2 set.geu{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpNumZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| !a.is_nan() && !b.is_nan()) } Sp FpOther "9.7.7.2" "setp.num{|.and|.or|.xor}.ftz.f16x2 set.num{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpNanZ16x2(a: HZ2, b: HZ2) -> Both { each2(a, b, |a, b| a.is_nan() || b.is_nan()) } Sp FpOther "9.7.7.2" "setp.nan{|.and|.or|.xor}.ftz.f16x2 set.nan{|.and|.or|.xor}.ftz.{u32|s32|f16x2}.f16x2";
            SetpEqBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| a == b) } Sp FpOther "9.7.7.2" "setp.eq{|.and|.or|.xor}.bf16x2 set.eq{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpNeBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| a < b || a > b) } Sp FpOther "9.7.7.2" "setp.ne{|.and|.or|.xor}.bf16x2 set.ne{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpLtBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| a < b) } Sp FpOther "9.7.7.2" "setp.lt{|.and|.or|.xor}.bf16x2 set.lt{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpLeBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| a <= b) } Sp FpOther "9.7.7.2" "setp.le{|.and|.or|.xor}.bf16x2 set.le{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpGtBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| a > b) } Sp FpOther "9.7.7.2" "setp.gt{|.and|.or|.xor}.bf16x2 set.gt{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpGeBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| a >= b) } Sp FpOther "9.7.7.2" "setp.ge{|.and|.or|.xor}.bf16x2 set.ge{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpEquBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| !(a < b || a > b)) } Sp FpOther "9.7.7.2" "setp.equ{|.and|.or|.xor}.bf16x2 set.equ{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpNeuBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| a != b) } Sp FpOther "9.7.7.2" "setp.neu{|.and|.or|.xor}.bf16x2 set.neu{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpLtuBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| !(a >= b)) } Sp FpOther "9.7.7.2" "setp.ltu{|.and|.or|.xor}.bf16x2 set.ltu{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpLeuBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| !(a > b)) } Sp FpOther "9.7.7.2" "setp.leu{|.and|.or|.xor}.bf16x2 set.leu{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpGtuBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| !(a <= b)) } Sp FpOther "9.7.7.2" "setp.gtu{|.and|.or|.xor}.bf16x2 set.gtu{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpGeuBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| !(a < b)) } Sp FpOther "9.7.7.2" "setp.geu{|.and|.or|.xor}.bf16x2 set.geu{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpNumBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| !a.is_nan() && !b.is_nan()) } Sp FpOther "9.7.7.2" "setp.num{|.and|.or|.xor}.bf16x2 set.num{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
            SetpNanBf16x2(a: B2, b: B2) -> Both { each2(a, b, |a, b| a.is_nan() || b.is_nan()) } Sp FpOther "9.7.7.2" "setp.nan{|.and|.or|.xor}.bf16x2 set.nan{|.and|.or|.xor}.{u32|s32|bf16x2}.bf16x2";
        } }
    };
}
pub use with_half_comparisons;
