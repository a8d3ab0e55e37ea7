//! Modifiers of loads, stores and atomics (PTX ISA 9.7.9.8 to 9.7.9.12, 9.7.13).
//!
//! Their modifiers multiply to thousands of spellings, so they are read one after another, in the
//! order the manual prints them (`isa/spelling.rs` brings them into it), instead of being listed.
//! Hints to the caches are read and have no effect.
//!
//! Known deviation: `atom.add.f32` on global memory keeps subnormals, which the manual flushes to zero.

use super::float;
use super::narrow::{self, Brain, Format, Half, Rounding};
use super::order::{Order, Scope};
use super::space::Space;
use crate::syntax::types::element_size;

/// The cache operator of a load or store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheOperator {
    /// No operator given: `.ca` for loads, `.wb` for stores.
    #[default]
    Default,
    /// `.ca`, `.wb`: all levels.
    All,
    /// `.cg`: L2 only.
    Global,
    /// `.cs`: streaming.
    Streaming,
    /// `.lu`: last use.
    LastUse,
    /// `.cv`, `.wt`: do not cache, fetch again; write through.
    Volatile,
    /// `.nc`: the read-only path.
    NonCoherent,
}

/// The operation of an atomic on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum AtomicOperation {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Increment,
    Decrement,
    /// Operations on the word of a barrier (`mbarrier`): an arrival, an arrival that takes part no more, expected arrivals,
    /// expected bytes, completed bytes, and a test.
    BarrierArrive,
    BarrierDrop,
    BarrierExpectArrivals,
    BarrierExpectBytes,
    BarrierCompleteBytes,
    BarrierTest,
}

/// The type in which an atomic computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum AtomicType {
    U32,
    S32,
    F32,
    U64,
    S64,
    F64,
    B16,
    F16,
    Bf16,
    /// Two values, each for itself.
    F16x2,
    Bf16x2,
    /// Sixteen bytes, which [`AtomicOperation::apply_wide`] changes.
    B128,
}

impl AtomicType {
    /// Bytes of the value.
    #[inline]
    pub fn bytes(self) -> u8 {
        match self {
            AtomicType::B16 | AtomicType::F16 | AtomicType::Bf16 => 2,
            AtomicType::U32 | AtomicType::S32 | AtomicType::F32 | AtomicType::F16x2 | AtomicType::Bf16x2 => 4,
            AtomicType::U64 | AtomicType::S64 | AtomicType::F64 => 8,
            AtomicType::B128 => 16,
        }
    }
}

/// The operation on a half, whose subnormals stay (`.noftz`).
fn on_half<F: Format>(operation: AtomicOperation, old: u64, b: u64) -> u64 {
    let (x, y) =
        (narrow::decode::<F>(old as u32 & 0xffff, false), narrow::decode::<F>(b as u32 & 0xffff, false));
    let value = match operation {
        AtomicOperation::Min => float::min64(x, y),
        AtomicOperation::Max => float::max64(x, y),
        _ => narrow::round::<F>(x + y, Rounding::Nearest),
    };
    u64::from(narrow::encode::<F>(value, false))
}

impl AtomicOperation {
    /// The value in memory afterwards. `b` is the operand; for compare-and-swap, `b` is compared, and `c` is
    /// swapped in. Values of 32 bits are in the low half.
    #[inline]
    pub fn apply(self, kind: AtomicType, old: u64, b: u64, c: u64) -> u64 {
        use AtomicOperation as Op;
        match kind {
            AtomicType::F32 => {
                let (x, y) = (f32::from_bits(old as u32), f32::from_bits(b as u32));
                match self {
                    Op::Add => canonical32(x + y) as u64,
                    Op::Min => float::min32(x, y).to_bits() as u64,
                    Op::Max => float::max32(x, y).to_bits() as u64,
                    _ => self.bits(old, b, c),
                }
            }
            AtomicType::F64 => {
                let (x, y) = (f64::from_bits(old), f64::from_bits(b));
                match self {
                    Op::Add if (x + y).is_nan() => 0x7ff8_0000_0000_0000,
                    Op::Add => (x + y).to_bits(),
                    _ => self.bits(old, b, c),
                }
            }
            AtomicType::S32 => {
                let (x, y) = (old as u32 as i32, b as u32 as i32);
                match self {
                    Op::Min => x.min(y) as u32 as u64,
                    Op::Max => x.max(y) as u32 as u64,
                    _ => self.bits(old & 0xffff_ffff, b & 0xffff_ffff, c) & 0xffff_ffff,
                }
            }
            AtomicType::S64 => match self {
                Op::Min => (old as i64).min(b as i64) as u64,
                Op::Max => (old as i64).max(b as i64) as u64,
                _ => self.bits(old, b, c),
            },
            AtomicType::U32 => self.bits(old & 0xffff_ffff, b & 0xffff_ffff, c & 0xffff_ffff) & 0xffff_ffff,
            AtomicType::U64 => self.bits(old, b, c),
            // A value of 128 bits does not get here.
            AtomicType::B128 => old,
            AtomicType::B16 => self.bits(old & 0xffff, b & 0xffff, c & 0xffff) & 0xffff,
            AtomicType::F16 => on_half::<Half>(self, old, b),
            AtomicType::Bf16 => on_half::<Brain>(self, old, b),
            AtomicType::F16x2 => {
                on_half::<Half>(self, old, b) | on_half::<Half>(self, old >> 16, b >> 16) << 16
            }
            AtomicType::Bf16x2 => {
                on_half::<Brain>(self, old, b) | on_half::<Brain>(self, old >> 16, b >> 16) << 16
            }
        }
    }

    /// The value in memory afterwards, of 128 bits, which are exchanged, or compared and swapped.
    #[inline]
    pub fn apply_wide(self, old: u128, b: u128, c: u128) -> u128 {
        match self {
            AtomicOperation::CompareAndSwap if old == b => c,
            AtomicOperation::CompareAndSwap => old,
            _ => b,
        }
    }

    #[inline]
    fn bits(self, old: u64, b: u64, c: u64) -> u64 {
        match self {
            AtomicOperation::Add => old.wrapping_add(b),
            AtomicOperation::Min => old.min(b),
            AtomicOperation::Max => old.max(b),
            AtomicOperation::And => old & b,
            AtomicOperation::Or => old | b,
            AtomicOperation::Xor => old ^ b,
            AtomicOperation::Exchange => b,
            AtomicOperation::CompareAndSwap => {
                if old == b {
                    c
                } else {
                    old
                }
            }
            AtomicOperation::Increment => {
                if old >= b {
                    0
                } else {
                    old + 1
                }
            }
            AtomicOperation::Decrement => {
                if old == 0 || old > b {
                    b
                } else {
                    old - 1
                }
            }
            barrier => super::barrier::apply(barrier, old, b).unwrap_or(old),
        }
    }
}

#[inline]
fn canonical32(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

#[derive(Clone, Copy, Debug)]
pub struct Modifiers {
    /// The space named, or `None` for a generic address.
    pub space: Option<Space>,
    /// `.param`: the kernel's parameters, which never reach a memory.
    pub param: bool,
    pub volatile: bool,
    pub order: Order,
    /// Scope of a strong operation; `None` if it is weak.
    pub scope: Option<Scope>,
    pub cache: CacheOperator,
    /// Elements: 1, 2 or 4.
    pub elements: u8,
    /// Bytes of one element.
    pub bytes: u8,
    pub signed: bool,
    pub atomic: Option<(AtomicOperation, AtomicType)>,
    /// Whether the last operand is a policy for the cache (`.L2::cache_hint`).
    pub policy: bool,
}

/// Reads the modifiers of `ld`, `ldu`, `st`, `atom` or `red`; the error is the modifier that is unknown or in
/// the wrong place.
pub fn modifiers(opcode: &str) -> Result<Modifiers, String> {
    let mut words = opcode.split('.').peekable();
    let name = words.next().unwrap_or("");
    let atomic = matches!(name, "atom" | "red");
    let mut found = Modifiers {
        space: None,
        param: false,
        volatile: atomic,
        order: Order::NONE,
        scope: atomic.then_some(Scope::Gpu),
        cache: if name == "ldu" { CacheOperator::NonCoherent } else { CacheOperator::Default },
        elements: 1,
        bytes: 0,
        signed: false,
        atomic: None,
        policy: false,
    };
    match words.peek().copied() {
        Some("volatile") if !atomic => {
            found.volatile = true;
            found.scope = Some(Scope::System);
            words.next();
        }
        Some(semantics) if is_strong(name, semantics) => {
            // Stronger than weak: the value must come from where all CTAs meet.
            found.volatile = true;
            words.next();
            if semantics == "mmio" && words.peek() == Some(&"relaxed") {
                words.next();
            }
            let scope = words.next_if(|word| is_scope(word));
            found.order = Order::of(semantics, scope);
            let widest = if semantics == "mmio" { Scope::System } else { Scope::Gpu };
            found.scope = Some(scope.and_then(Scope::of).unwrap_or(widest));
        }
        Some(scope) if atomic && is_scope(scope) => {
            found.scope = Scope::of(scope);
            words.next();
        }
        Some("weak") if !atomic => {
            words.next();
        }
        _ => {}
    }
    let space = match words.peek().copied() {
        Some("global") => Some(Space::Global),
        Some("shared") => Some(Space::Shared),
        Some("local") if !atomic => Some(Space::Local),
        Some("const") if name == "ld" => Some(Space::Const),
        Some("param") if !atomic => {
            found.param = true;
            words.next();
            None
        }
        _ => None,
    };
    if space.is_some() {
        found.space = space;
        words.next();
    }
    if atomic {
        if let Some(scope) = words.next_if(|word| is_scope(word)) {
            found.scope = Scope::of(scope);
        }
        return atomic_modifiers(found, words);
    }
    let cache = match (name, words.peek().copied()) {
        ("ld", Some("ca")) | ("st", Some("wb")) => CacheOperator::All,
        ("ld" | "st", Some("cg")) => CacheOperator::Global,
        ("ld" | "st", Some("cs")) => CacheOperator::Streaming,
        ("ld", Some("lu")) => CacheOperator::LastUse,
        ("ld", Some("cv")) | ("st", Some("wt")) => CacheOperator::Volatile,
        ("ld", Some("nc")) => CacheOperator::NonCoherent,
        _ => CacheOperator::Default,
    };
    if cache != CacheOperator::Default {
        found.cache = cache;
        found.volatile |= cache == CacheOperator::Volatile;
        words.next();
        if cache != CacheOperator::NonCoherent && words.peek() == Some(&"nc") {
            found.cache = CacheOperator::NonCoherent;
            words.next();
        }
    }
    found.policy = hints(&mut words);
    found.elements = match words.peek().copied() {
        Some("v2") => 2,
        Some("v4") => 4,
        _ => 1,
    };
    if found.elements > 1 {
        words.next();
    }
    let element = words.next().unwrap_or("");
    match element_size(element) {
        // Two registers of 64 bits.
        Some(16) if found.elements == 1 => (found.elements, found.bytes) = (2, 8),
        Some(bytes @ 1..=8) if !matches!(element, "f16" | "f16x2" | "texref") => found.bytes = bytes as u8,
        _ => return Err(element.to_owned()),
    }
    found.signed = element.starts_with('s');
    if let Some(extra) = words.next() {
        return Err(extra.to_owned());
    }
    if found.bytes * found.elements > 16 {
        return Err(format!("v4.{element}"));
    }
    Ok(found)
}

/// Whether a word gives the order of an instruction, or says that its access is performed once and as it is
/// written.
fn is_strong(name: &str, word: &str) -> bool {
    match name {
        "ld" => matches!(word, "relaxed" | "acquire" | "mmio"),
        "st" => matches!(word, "relaxed" | "release" | "mmio"),
        "red" => matches!(word, "relaxed" | "release"),
        "atom" => matches!(word, "relaxed" | "acquire" | "release" | "acq_rel"),
        _ => false,
    }
}

/// Skips the hints to the caches; returns whether one names a policy in an operand.
fn hints<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> bool {
    const KNOWN: [&str; 12] = [
        "L1::evict_normal",
        "L1::evict_unchanged",
        "L1::evict_first",
        "L1::evict_last",
        "L1::no_allocate",
        "L2::evict_normal",
        "L2::evict_first",
        "L2::evict_last",
        "L2::64B",
        "L2::128B",
        "L2::256B",
        "L2::cache_hint",
    ];
    let mut policy = false;
    while let Some(hint) = words.next_if(|word| KNOWN.contains(word)) {
        policy |= hint == "L2::cache_hint";
    }
    policy
}

fn is_scope(word: &str) -> bool {
    matches!(word, "cta" | "cluster" | "gpu" | "gl" | "sys")
}

fn atomic_modifiers<'a>(
    mut found: Modifiers,
    mut words: std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Modifiers, String> {
    use AtomicOperation as Op;
    let name = words.next().unwrap_or("");
    let operation = match name {
        "add" => Op::Add,
        "min" => Op::Min,
        "max" => Op::Max,
        "and" => Op::And,
        "or" => Op::Or,
        "xor" => Op::Xor,
        "exch" => Op::Exchange,
        "cas" => Op::CompareAndSwap,
        "inc" => Op::Increment,
        "dec" => Op::Decrement,
        other => return Err(other.to_owned()),
    };
    let keeps_subnormals = words.next_if_eq(&"noftz").is_some();
    found.policy = hints(&mut words);
    let vector = match words.next_if(|word| matches!(*word, "v2" | "v4" | "v8")) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
        None => 1,
    };
    let element = words.next().unwrap_or("");
    // Each operation has types of its own (PTX ISA 9.7.13.5).
    let kind = match (operation, element) {
        (Op::And | Op::Or | Op::Xor | Op::Exchange | Op::CompareAndSwap, "b32") => AtomicType::U32,
        (Op::And | Op::Or | Op::Xor | Op::Exchange | Op::CompareAndSwap, "b64") => AtomicType::U64,
        (Op::Add | Op::Min | Op::Max | Op::Increment | Op::Decrement, "u32") => AtomicType::U32,
        (Op::Add | Op::Min | Op::Max, "s32") => AtomicType::S32,
        (Op::Add | Op::Min | Op::Max, "u64") => AtomicType::U64,
        (Op::Min | Op::Max, "s64") => AtomicType::S64,
        (Op::Add, "f32") => AtomicType::F32,
        (Op::Add, "f64") if vector == 1 => AtomicType::F64,
        (Op::CompareAndSwap, "b16") => AtomicType::B16,
        (Op::Exchange | Op::CompareAndSwap, "b128") if vector == 1 => AtomicType::B128,
        (Op::Add | Op::Min | Op::Max, half) if keeps_subnormals && (vector > 1 || operation == Op::Add) => {
            match half {
                "f16" => AtomicType::F16,
                "bf16" => AtomicType::Bf16,
                "f16x2" => AtomicType::F16x2,
                "bf16x2" => AtomicType::Bf16x2,
                _ => return Err(element.to_owned()),
            }
        }
        _ => return Err(element.to_owned()),
    };
    let is_half = !matches!(kind, AtomicType::F32) && keeps_subnormals;
    // A vector has 16 bytes at most and is in global memory (PTX ISA 9.7.13.5).
    let room = vector * kind.bytes() <= 16 && (is_half || kind == AtomicType::F32);
    if vector > 1 && !(room && matches!(found.space, Some(Space::Global) | None)) {
        return Err(format!("v{vector}.{element}"));
    }
    found.elements = vector;
    if let Some(extra) = words.next() {
        return Err(extra.to_owned());
    }
    found.bytes = kind.bytes();
    if kind == AtomicType::B128 {
        (found.elements, found.bytes) = (2, 8);
    }
    found.atomic = Some((operation, kind));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_and_stores() {
        let load = modifiers("ld.global.nc.v4.f32").unwrap();
        assert_eq!((load.space, load.elements, load.bytes), (Some(Space::Global), 4, 4));
        assert_eq!(load.cache, CacheOperator::NonCoherent);
        assert!(modifiers("ld.volatile.shared.s16").unwrap().volatile);
        assert!(modifiers("ld.shared.s16").unwrap().signed);
        assert!(modifiers("ld.param.u64").unwrap().param);
        assert_eq!(modifiers("ld.global.v4.f64").unwrap_err(), "v4.f64");
        for (opcode, scope) in [
            ("ld.global.cg.u32", None),
            ("ld.weak.global.u32", None),
            ("ld.volatile.global.u32", Some(Scope::System)),
            ("st.release.cta.global.u32", Some(Scope::Block)),
            ("ld.acquire.cluster.global.u32", Some(Scope::Cluster)),
            ("ld.mmio.relaxed.sys.global.u32", Some(Scope::System)),
            ("atom.global.add.u32", Some(Scope::Gpu)),
            ("atom.global.cta.add.u32", Some(Scope::Block)),
            ("red.cta.global.add.u32", Some(Scope::Block)),
            ("red.release.sys.global.add.u32", Some(Scope::System)),
        ] {
            assert_eq!(modifiers(opcode).unwrap().scope, scope, "{opcode}");
        }
        assert_eq!(modifiers("st.global.nc.f32").unwrap_err(), "nc");
        assert_eq!(modifiers("ld.global.f32.foo").unwrap_err(), "foo");
    }

    #[test]
    fn atomics_have_the_types_of_the_manual() {
        for good in [
            "atom.global.add.u32",
            "atom.shared.cas.b64",
            "atom.relaxed.gpu.global.add.f64",
            "atom.gpu.global.inc.u32",
            "atom.global.sys.exch.b32",
            "atom.xor.b64",
            "red.global.min.s64",
            "red.release.cta.shared.max.u64",
            "red.add.f32",
            "atom.global.cas.b16",
            "red.global.add.noftz.bf16x2",
            "atom.global.add.v4.f32",
            "red.global.max.noftz.v8.f16",
        ] {
            assert!(modifiers(good).is_ok_and(|form| form.volatile), "{good}");
        }
        for (bad, word) in [
            ("atom.global.and.u32", "u32"),
            ("atom.global.add.s64", "s64"),
            ("atom.global.inc.b32", "b32"),
            ("atom.local.add.u32", "local"),
            ("atom.global.min.f32", "f32"),
            ("red.global.add.f16x2", "f16x2"),
            ("atom.global.max.noftz.f16x2", "f16x2"),
            ("atom.shared.add.v2.f32", "v2.f32"),
            ("atom.global.add.v4.f64", "f64"),
        ] {
            assert_eq!(modifiers(bad).unwrap_err(), word);
        }
    }

    #[test]
    fn atomics_compute_what_the_manual_says() {
        use AtomicOperation as Op;
        let (_, kind) = modifiers("atom.global.add.f32").unwrap().atomic.unwrap();
        assert_eq!(
            Op::Add.apply(kind, 1f32.to_bits() as u64, 2f32.to_bits() as u64, 0),
            3f32.to_bits() as u64
        );
        let u = AtomicType::U32;
        assert_eq!(Op::Increment.apply(u, 3, 3, 0), 0);
        assert_eq!(Op::Increment.apply(u, 2, 3, 0), 3);
        assert_eq!(Op::Decrement.apply(u, 0, 7, 0), 7);
        assert_eq!(Op::Decrement.apply(u, 9, 7, 0), 7);
        assert_eq!(Op::CompareAndSwap.apply(u, 5, 5, 8), 8);
        assert_eq!(Op::CompareAndSwap.apply(u, 5, 6, 8), 5);
        assert_eq!(Op::Add.apply(u, 0xffff_ffff, 1, 0), 0);
        assert_eq!(Op::Min.apply(AtomicType::S32, 1, 0xffff_ffff, 0), 0xffff_ffff);
        assert_eq!(Op::Max.apply(AtomicType::S64, 1, u64::MAX, 0), 1);
    }
}
