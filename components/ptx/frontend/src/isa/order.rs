//! The order that an instruction imposes on its thread's memory accesses (PTX ISA 8, memory consistency
//! model).
//!
//! A release makes the accesses before it visible to those that observe it; an acquire makes the accesses of an
//! observed release visible to the accesses after it. Both act within their scope. The model holds for modules whose
//! `.target` is `sm_70` or later; in those for earlier GPUs nothing acquires or releases, and a fence only waits for
//! the accesses of its own warp.

/// The first target for which the memory consistency model holds.
pub const FIRST_TARGET: u32 = 70;

/// The scope of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Nobody: there is no order.
    #[default]
    None,
    /// The threads of the block (`.cta`), which share an SM and its L1.
    Block,
    /// Threads on other SMs, too (`.cluster`, `.gpu`, `.sys`).
    Device,
}

impl Reach {
    /// The reach of a scope as PTX writes it.
    fn of(scope: &str) -> Option<Reach> {
        match scope {
            "cta" => Some(Reach::Block),
            "cluster" | "gpu" | "gl" | "sys" => Some(Reach::Device),
            _ => None,
        }
    }
}

/// The scope of a strong operation or a fence: the threads with which it can be morally strong (PTX ISA 8.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// `.cta`: those of the block.
    Block,
    /// `.cluster`: those of the cluster.
    Cluster,
    /// `.gpu`: those of the device.
    Gpu,
    /// `.sys`: all.
    System,
}

impl Scope {
    /// The scope of a word as PTX writes it.
    pub fn of(word: &str) -> Option<Scope> {
        match word {
            "cta" => Some(Scope::Block),
            "cluster" => Some(Scope::Cluster),
            "gpu" | "gl" => Some(Scope::Gpu),
            "sys" => Some(Scope::System),
            _ => None,
        }
    }

    /// The scope of a fence; `None` if it only orders proxies.
    pub fn of_fence(opcode: &str) -> Option<Scope> {
        opcode.split('.').find_map(Scope::of)
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Scope::Block => ".cta",
            Scope::Cluster => ".cluster",
            Scope::Gpu => ".gpu",
            Scope::System => ".sys",
        })
    }
}

/// The order of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Accesses behind it see the accesses that a release which it saw has made visible.
    pub acquires: Reach,
    /// Accesses before it are performed before it is.
    pub releases: Reach,
}

impl Order {
    /// No order.
    pub const NONE: Order = Order { acquires: Reach::None, releases: Reach::None };

    /// Whether this is no order.
    #[inline]
    pub fn is_none(self) -> bool {
        self == Order::NONE
    }

    /// The order of the words for semantics and scope (`acquire`, `gpu`); no scope means the GPU.
    pub fn of(semantics: &str, scope: Option<&str>) -> Order {
        let reach = scope.and_then(Reach::of).unwrap_or(Reach::Device);
        let when = |holds: bool| if holds { reach } else { Reach::None };
        Order {
            acquires: when(matches!(semantics, "acquire" | "acq_rel" | "sc")),
            releases: when(matches!(semantics, "release" | "acq_rel" | "sc")),
        }
    }

    /// The order of `fence` and of `membar`, which is `fence.sc` by another name.
    pub fn of_fence(opcode: &str) -> Order {
        let mut words = opcode.split('.').filter(|word| !matches!(*word, "proxy" | "alias"));
        let name = words.next();
        match (words.next(), words.next()) {
            (Some(semantics), scope @ Some(_)) => Order::of(semantics, scope),
            (scope, _) => Order::of(if name == Some("membar") { "sc" } else { "acq_rel" }, scope),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_give_the_order_that_the_manual_says() {
        let both = |reach| Order { acquires: reach, releases: reach };
        for (fence, order) in [
            ("membar.cta", both(Reach::Block)),
            ("membar.gl", both(Reach::Device)),
            ("membar.sys", both(Reach::Device)),
            ("fence.cta", both(Reach::Block)),
            ("fence.sc.cluster", both(Reach::Device)),
            ("fence.acq_rel.cta", both(Reach::Block)),
            ("fence.acq_rel.sys", both(Reach::Device)),
            ("fence.acquire.gpu", Order { acquires: Reach::Device, releases: Reach::None }),
            ("fence.proxy.alias", both(Reach::Device)),
            ("fence.release.cta", Order { acquires: Reach::None, releases: Reach::Block }),
        ] {
            assert_eq!(Order::of_fence(fence), order, "{fence}");
        }
        assert!(Order::of("relaxed", Some("sys")).is_none());
        assert_eq!(Order::of("acquire", None).acquires, Reach::Device);
        for (fence, scope) in [
            ("membar.gl", Some(Scope::Gpu)),
            ("fence.cta", Some(Scope::Block)),
            ("fence.acq_rel.cluster", Some(Scope::Cluster)),
            ("fence.sc.sys", Some(Scope::System)),
            ("fence.proxy.alias", None),
        ] {
            assert_eq!(Scope::of_fence(fence), scope, "{fence}");
        }
    }
}
