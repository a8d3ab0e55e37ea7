//! The rest of the instruction table: instructions that are no function of one lane alone.
//!
//! A row gives the instruction's meaning, its operands as the manual prints them, the unit and latency class
//! that a timing model books it on, the manual's section and its spellings, as in [`table`](super::table).
//! The modifiers of loads, stores and atomics multiply to thousands of spellings: their rows name the first
//! word only, and `isa/memory.rs` reads the others.

use super::space::Base;
use super::warp::{Reduction, WarpOp};
use super::{Latency, Unit};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredicateOp {
    Mov,
    Not,
    And,
    Or,
    Xor,
}

/// Memory that a function takes from its thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackOp {
    Allocate,
    Save,
    Restore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceAccess {
    Load,
    Store,
    Reduction,
}

/// The form of an instruction, as far as decoding differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Load,
    Store,
    Atomic,
    Predicate(PredicateOp),
    /// `cvta`: `None` for the windows that are generic addresses already.
    ToGeneric(Option<Base>),
    FromGeneric(Option<Base>),
    /// `isspacep`: `None` for parameters, which have no window.
    InSpace(Option<Base>),
    /// An operation of a warp's lanes among each other.
    Warp(WarpOp),
    Barrier {
        waits: bool,
    },
    BarrierReduction(Reduction),
    Fence,
    Branch,
    /// `brx.idx`
    IndexedBranch,
    Call,
    Return,
    Exit,
    Trap,
    /// `brkpt`
    Breakpoint,
    /// An instruction that changes no value: a hint to the caches or to the scheduling of grids. The address that it has is read.
    Hint,
    /// `createpolicy`, whose result only hints take.
    Policy,
    /// `nanosleep`
    Sleep,
    /// `mma`
    Product,
    /// `wmma.mma`
    FragmentProduct,
    /// `wmma.load` and `wmma.store`
    Fragment {
        stores: bool,
    },
    /// `ldmatrix` and `stmatrix`
    MatrixRows {
        stores: bool,
    },
    /// `movmatrix`
    Transpose,
    /// `cp.async`
    Copy,
    /// `cp.async.commit_group` and the waits for groups.
    CopyGroup {
        waits: bool,
    },
    /// `cp.async.mbarrier.arrive`
    ArriveAfterCopies,
    /// `mbarrier`
    BarrierInMemory,
    /// `tex` and `tld4`, whose words the decoder reads.
    Texture,
    /// `suld`, `sust` and `sured`, whose words the decoder reads.
    Surface(SurfaceAccess),
    /// `suq`
    SurfaceQuery,
    Stack(StackOp),
    /// `mov.b128`
    MovePair,
    /// `mov` of a vector, whose type the decoder reads.
    MoveVector,
    /// Arithmetic on parts of registers.
    Video,
    /// `lop3` with a predicate, combined by AND or by OR.
    LogicAnd,
    LogicOr,
}

#[derive(Debug)]
pub struct FormRow {
    pub form: Form,
    pub spellings: &'static str,
    /// Operands, as the manual prints them.
    pub operands: &'static str,
    pub unit: Unit,
    pub latency: Latency,
    /// Section of the PTX ISA manual.
    pub section: &'static str,
}

macro_rules! rows {
    ($($form:expr, $unit:ident $latency:ident $section:literal $spellings:literal, $operands:literal;)*) => {
        &[$(FormRow {
            form: $form,
            spellings: $spellings,
            operands: $operands,
            unit: Unit::$unit,
            latency: Latency::$latency,
            section: $section,
        }),*]
    };
}

pub static FORM_ROWS: &[FormRow] = rows! {
    // 9.7.8 and 9.7.9 Predicates and addresses.
    Form::Predicate(PredicateOp::And), Sp IntOther "9.7.8.1" "and.pred", "d, a, b";
    Form::Predicate(PredicateOp::Or), Sp IntOther "9.7.8.2" "or.pred", "d, a, b";
    Form::Predicate(PredicateOp::Xor), Sp IntOther "9.7.8.3" "xor.pred", "d, a, b";
    Form::Predicate(PredicateOp::Not), Sp IntOther "9.7.8.4" "not.pred", "d, a";
    Form::Predicate(PredicateOp::Mov), Sp IntOther "9.7.9.2" "mov.pred", "d, a";
    Form::MoveVector, Sp IntOther "9.7.9.2" "mov.v2 mov.v4", "d, a";
    Form::MovePair, Sp IntOther "9.7.9.3" "mov.b128", "d, a";
    Form::LogicAnd, Sp IntOther "9.7.8.6" "lop3.and.b32", "d|p, a, b, c, table, q";
    Form::LogicOr, Sp IntOther "9.7.8.6" "lop3.or.b32", "d|p, a, b, c, table, q";
    Form::Load, LdSt Load "9.7.9.8" "ld", "d, [a]";
    Form::Load, LdSt Load "9.7.9.10" "ldu", "d, [a]";
    Form::Store, LdSt Store "9.7.9.11" "st", "[a], b";
    Form::InSpace(Some(Base::Global)), Sp IntOther "9.7.9.19" "isspacep.global", "p, a";
    Form::InSpace(Some(Base::Shared)), Sp IntOther "9.7.9.19" "isspacep.{shared|shared::cluster}", "p, a";
    Form::InSpace(Some(Base::Local)), Sp IntOther "9.7.9.19" "isspacep.local", "p, a";
    Form::InSpace(Some(Base::Const)), Sp IntOther "9.7.9.19" "isspacep.const", "p, a";
    Form::InSpace(None), Sp IntOther "9.7.9.19" "isspacep.param", "p, a";
    Form::ToGeneric(Some(Base::Shared)), Sp IntOther "9.7.9.20" "cvta.shared.u64", "d, a";
    Form::ToGeneric(Some(Base::Local)), Sp IntOther "9.7.9.20" "cvta.local.u64", "d, a";
    Form::ToGeneric(None), Sp IntOther "9.7.9.20" "cvta.{global|const}.u64", "d, a";
    Form::FromGeneric(Some(Base::Shared)), Sp IntOther "9.7.9.20" "cvta.to.shared.u64", "d, a";
    Form::FromGeneric(Some(Base::Local)), Sp IntOther "9.7.9.20" "cvta.to.local.u64", "d, a";
    Form::FromGeneric(None), Sp IntOther "9.7.9.20" "cvta.to.{global|const}.u64", "d, a";

    Form::Hint, Sp IntOther "9.7.9.15" "prefetch{|.global|.local}.{L1|L2} prefetch.global.{L2::evict_last|L2::evict_normal}", "[a]";
    Form::Hint, Sp IntOther "9.7.9.15" "prefetchu.L1", "[a]";
    Form::Hint, Sp IntOther "9.7.9.16" "applypriority{|.global}.L2::evict_normal", "[a], 128";
    Form::Hint, Sp IntOther "9.7.9.17" "discard{|.global}.L2", "[a], 128";
    Form::Policy, Sp IntOther "9.7.9.18"
        "createpolicy.fractional.{L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged}.b64", "d{, fraction}";
    Form::Policy, Sp IntOther "9.7.9.18"
        "createpolicy.fractional.{L2::evict_last|L2::evict_normal}.{L2::evict_first|L2::evict_unchanged}.b64 createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64", "d{, fraction}";

    Form::Copy, LdSt Load "9.7.9.25" "cp.async", "[d], [s], bytes{, source bytes}";
    Form::CopyGroup { waits: false }, Control IntOther "9.7.9.25" "cp.async.commit_group", "";
    Form::CopyGroup { waits: true }, Control Fence "9.7.9.25" "cp.async.{wait_group|wait_all}", "{n}";

    // 9.7.10 Textures.
    Form::Texture, LdSt Load "9.7.10.3"
        "tex{|.base}.{1d|2d|3d|a1d|a2d}.v4.{f32|s32|u32}.{f32|s32}", "d, [a, c]";
    Form::Texture, LdSt Load "9.7.10.3" "tex{|.base}.{cube|acube}.v4.{f32|s32|u32}.f32", "d, [a, c]";
    Form::Texture, LdSt Load "9.7.10.3" "tex.level.{cube|acube}.v4.{f32|s32|u32}.f32", "d, [a, c], level";
    Form::Texture, LdSt Load "9.7.10.3" "tex.level.{1d|2d|3d|a1d|a2d}.v4.{f32|s32|u32}.{f32|s32}", "d, [a, c], level";
    Form::Texture, LdSt Load "9.7.10.3" "tex.grad.{1d|2d|3d|a1d|a2d}.v4.{f32|s32|u32}.{f32|s32}", "d, [a, c], x, y";
    Form::Texture, LdSt Load "9.7.10.4" "tld4.{r|g|b|a}.{2d|a2d}.v4.{f32|s32|u32}.f32", "d, [a, c]";

    // 9.7.11 Surfaces.
    Form::Surface(SurfaceAccess::Load), LdSt Load "9.7.11.1" "suld.b", "d, [a, c]";
    Form::Surface(SurfaceAccess::Store), LdSt Store "9.7.11.2" "sust.b", "[a, c], b";
    Form::Surface(SurfaceAccess::Reduction), LdSt Atomic "9.7.11.3" "sured.b", "[a, c], b";
    Form::SurfaceQuery, Sp IntOther "9.7.11.4" "suq.{width|height|depth|array_size|memory_layout}.b32", "d, [a]";

    // 9.7.12 Control.
    Form::Branch, Control Branch "9.7.12.3" "bra{|.uni}", "label";
    Form::IndexedBranch, Control Branch "9.7.12.4" "brx.idx{|.uni}", "a, targets";
    Form::Call, Control Branch "9.7.12.5" "call{|.uni}", "{(result),} function{, (arguments)}{, prototype}";
    Form::Return, Control Branch "9.7.12.6" "ret{|.uni}", "";
    Form::Exit, Control Exit "9.7.12.7" "exit", "";

    // 9.7.13 Synchronisation and communication.
    Form::Barrier { waits: true }, Control Barrier "9.7.13.1"
        "bar{|.cta}.sync barrier{|.cta}.sync{|.aligned}", "a{, b}";
    Form::Barrier { waits: false }, Control Barrier "9.7.13.1"
        "bar{|.cta}.arrive barrier{|.cta}.arrive{|.aligned}", "a, b";
    Form::BarrierReduction(Reduction::Popc), Control Barrier "9.7.13.1"
        "bar{|.cta}.red.popc.u32 barrier{|.cta}.red.popc{|.aligned}.u32", "d, a{, b}, c";
    Form::BarrierReduction(Reduction::And), Control Barrier "9.7.13.1"
        "bar{|.cta}.red.and.pred barrier{|.cta}.red.and{|.aligned}.pred", "p, a{, b}, c";
    Form::BarrierReduction(Reduction::Or), Control Barrier "9.7.13.1"
        "bar{|.cta}.red.or.pred barrier{|.cta}.red.or{|.aligned}.pred", "p, a{, b}, c";
    Form::Warp(WarpOp::Sync), Control IntOther "9.7.13.2" "bar.warp.sync", "membermask";
    Form::Fence, LdSt Fence "9.7.13.4"
        "membar.{cta|gl|sys} fence{|.sc|.acq_rel|.acquire|.release}.{cta|cluster|gpu|sys}", "";
    Form::Fence, LdSt Fence "9.7.13.4" "fence.proxy.alias membar.proxy.alias", "";
    Form::BarrierInMemory, LdSt Atomic "9.7.13.15" "mbarrier", "[a], …";
    Form::ArriveAfterCopies, LdSt Atomic "9.7.13.15"
        "cp.async.mbarrier.arrive{|.noinc}{|.shared}.b64", "[a]";
    Form::Hint, Control IntOther "9.7.13.13" "griddepcontrol.{launch_dependents|wait}", "";
    Form::Atomic, LdSt Atomic "9.7.13.5" "atom", "d, [a], b{, c}";
    Form::Atomic, LdSt Atomic "9.7.13.7" "red", "[a], b";
    Form::Warp(WarpOp::ShuffleUp), Sp IntShuffle "9.7.9.5" "shfl{|.sync}.up.b32", "d{|p}, a, b, c{, membermask}";
    Form::Warp(WarpOp::ShuffleDown), Sp IntShuffle "9.7.9.5" "shfl{|.sync}.down.b32", "d{|p}, a, b, c{, membermask}";
    Form::Warp(WarpOp::ShuffleXor), Sp IntShuffle "9.7.9.5" "shfl{|.sync}.bfly.b32", "d{|p}, a, b, c{, membermask}";
    Form::Warp(WarpOp::ShuffleIndex), Sp IntShuffle "9.7.9.5" "shfl{|.sync}.idx.b32", "d{|p}, a, b, c{, membermask}";
    Form::Warp(WarpOp::VoteAll), Sp IntOther "9.7.13.9" "vote{|.sync}.all.pred", "p, a{, membermask}";
    Form::Warp(WarpOp::VoteAny), Sp IntOther "9.7.13.9" "vote{|.sync}.any.pred", "p, a{, membermask}";
    Form::Warp(WarpOp::VoteUniform), Sp IntOther "9.7.13.9" "vote{|.sync}.uni.pred", "p, a{, membermask}";
    Form::Warp(WarpOp::Ballot), Sp IntOther "9.7.13.9" "vote{|.sync}.ballot.b32", "d, a{, membermask}";
    Form::Warp(WarpOp::MatchAny), Sp IntOther "9.7.13.10" "match.any.sync.{b32|b64}", "d, a, membermask";
    Form::Warp(WarpOp::MatchAll), Sp IntOther "9.7.13.10" "match.all.sync.{b32|b64}", "d{|p}, a, membermask";
    Form::Warp(WarpOp::ActiveMask), Sp IntOther "9.7.13.11" "activemask.b32", "d";
    Form::Warp(WarpOp::ReduceAdd), Sp IntOther "9.7.13.12" "redux.sync.add.{u32|s32}", "d, a, membermask";
    Form::Warp(WarpOp::ReduceMinU32), Sp IntOther "9.7.13.12" "redux.sync.min.u32", "d, a, membermask";
    Form::Warp(WarpOp::ReduceMinS32), Sp IntOther "9.7.13.12" "redux.sync.min.s32", "d, a, membermask";
    Form::Warp(WarpOp::ReduceMaxU32), Sp IntOther "9.7.13.12" "redux.sync.max.u32", "d, a, membermask";
    Form::Warp(WarpOp::ReduceMaxS32), Sp IntOther "9.7.13.12" "redux.sync.max.s32", "d, a, membermask";
    Form::Warp(WarpOp::ReduceAnd), Sp IntOther "9.7.13.12" "redux.sync.and.b32", "d, a, membermask";
    Form::Warp(WarpOp::ReduceOr), Sp IntOther "9.7.13.12" "redux.sync.or.b32", "d, a, membermask";
    Form::Warp(WarpOp::ReduceXor), Sp IntOther "9.7.13.12" "redux.sync.xor.b32", "d, a, membermask";
    Form::Warp(WarpOp::Elect), Sp IntOther "9.7.13.14" "elect.sync", "d|p, membermask";

    // 9.7.14 Matrices. The decoder reads shapes and types.
    Form::FragmentProduct, Tensor MatrixHalf "9.7.14.4" "wmma.mma", "d, a, b, c";
    Form::Fragment { stores: false }, LdSt Load "9.7.14.4" "wmma.load", "r, [a]{, stride}";
    Form::Fragment { stores: true }, LdSt Store "9.7.14.4" "wmma.store", "[a], r{, stride}";
    Form::Product, Tensor MatrixHalf "9.7.14.5" "mma", "d, a, b, c";
    Form::MatrixRows { stores: false }, LdSt Load "9.7.14.5"
        "ldmatrix.sync.aligned.m8n8.{x1|x2|x4}{|.trans}{|.shared}.b16", "r, [a]";
    Form::MatrixRows { stores: true }, LdSt Store "9.7.14.5"
        "stmatrix.sync.aligned.m8n8.{x1|x2|x4}{|.trans}{|.shared}.b16", "[a], r";
    Form::Transpose, Sp IntShuffle "9.7.14.5" "movmatrix.sync.aligned.m8n8.trans.b16", "d, a";

    // 9.7.17 Stack.
    Form::Stack(StackOp::Save), Sp IntOther "9.7.17.1" "stacksave.{u32|u64}", "d";
    Form::Stack(StackOp::Restore), Sp IntOther "9.7.17.2" "stackrestore.{u32|u64}", "a";
    Form::Stack(StackOp::Allocate), Sp IntAdd "9.7.17.3" "alloca.{u32|u64}", "d, size{, alignment}";

    // 9.7.18 Video.
    Form::Video, Sp IntOther "9.7.18.1.1"
        "v{add|sub|absdiff|min|max}.{u32|s32}.{u32|s32}.{u32|s32}{|.sat}{|.add|.min|.max}", "d, a, b{, c}";
    Form::Video, Sp IntOther "9.7.18.1.2"
        "v{shl|shr}.{u32|s32}.{u32|s32}.u32{|.sat}.{clamp|wrap}{|.add|.min|.max}", "d, a, b{, c}";
    Form::Video, Sp IntOther "9.7.18.1.3"
        "vmad.{u32|s32}.{u32|s32}.{u32|s32}{|.po}{|.sat}{|.shr7|.shr15}", "d, a, b, c";
    Form::Video, Sp IntOther "9.7.18.1.4"
        "vset.{u32|s32}.{u32|s32}.{eq|ne|lt|le|gt|ge}{|.add|.min|.max}", "d, a, b{, c}";
    Form::Video, Sp IntOther "9.7.18.2.1"
        "v{add|sub|avrg|absdiff|min|max}2.{u32|s32}.{u32|s32}.{u32|s32}{|.sat|.add}", "d, a, b, c";
    Form::Video, Sp IntOther "9.7.18.2.2"
        "vset2.{u32|s32}.{u32|s32}.{eq|ne|lt|le|gt|ge}{|.add}", "d, a, b, c";
    Form::Video, Sp IntOther "9.7.18.2.3"
        "v{add|sub|avrg|absdiff|min|max}4.{u32|s32}.{u32|s32}.{u32|s32}{|.sat|.add}", "d, a, b, c";
    Form::Video, Sp IntOther "9.7.18.2.4"
        "vset4.{u32|s32}.{u32|s32}.{eq|ne|lt|le|gt|ge}{|.add}", "d, a, b, c";

    // 9.7.19 Miscellaneous.
    Form::Breakpoint, Control Exit "9.7.19.1" "brkpt", "";
    Form::Sleep, Control IntOther "9.7.19.2" "nanosleep.u32", "t";
    Form::Hint, Control IntOther "9.7.19.3" "pmevent{|.mask}", "a";
    Form::Trap, Control Exit "9.7.19.4" "trap", "";
};
