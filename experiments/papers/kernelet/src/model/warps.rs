//! The active warps of one kernel: their states, and the probabilities of the next one.

/// The active warps of one kernel on one SM, in units that become idle and ready as a whole.
///
/// In the paper's model a unit is a warp. A unit may also be several warps, which then change state together, with the
/// probabilities of one warp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warps {
    /// Units that are ready or idle.
    pub units: u32,
    /// Warps of a unit; not necessarily whole ones, as a scheduler may have half of three.
    pub per_unit: f64,
    /// `R_m`: memory instructions in all instructions, 0 to 1.
    pub memory: f64,
    /// Uncoalesced accesses in all memory instructions, 0 to 1.
    pub uncoalesced: f64,
}

/// A state of a kernel's warps: the number of units waiting for each kind of access. The others are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// Units that are idle on a coalesced access.
    pub coalesced: u32,
    /// Units that are idle on an uncoalesced access.
    pub uncoalesced: u32,
}

impl Warps {
    /// `warps` warps, each a unit of its own, of a kernel whose accesses are all coalesced.
    pub const fn new(warps: u32, memory: f64) -> Self {
        Warps { units: warps, per_unit: 1.0, memory, uncoalesced: 0.0 }
    }

    /// The number of states. Only a kernel that has accesses of both kinds needs three states of a warp.
    pub fn count(&self) -> usize {
        let units = self.units as usize;
        if self.is_mixed() { (units + 1) * (units + 2) / 2 } else { units + 1 }
    }

    /// All states, in the order in which [`Warps::next`] gives their probabilities.
    pub fn states(&self) -> Vec<Idle> {
        let all = (0..=self.units).flat_map(|coalesced| {
            (0..=self.units - coalesced).map(move |uncoalesced| Idle { coalesced, uncoalesced })
        });
        all.filter(|idle| self.has(idle)).collect()
    }

    /// Units that are ready in a state.
    pub fn ready(&self, idle: &Idle) -> u32 {
        self.units - idle.coalesced - idle.uncoalesced
    }

    /// Probabilities of all states of the next round, if in this round an idle unit gets ready with the first probability after a
    /// coalesced access, and with the second one after an uncoalesced access.
    ///
    /// The sum of Eq. 2: units that stay idle, and units that get idle.
    pub fn next(&self, idle: &Idle, [coalesced, uncoalesced]: [f64; 2]) -> Vec<f64> {
        let to_coalesced = self.memory * (1.0 - self.uncoalesced);
        // Probability among the units that do not wait for a coalesced access.
        let to_uncoalesced = if self.uncoalesced > 0.0 {
            (self.memory * self.uncoalesced / (1.0 - to_coalesced)).min(1.0)
        } else {
            0.0
        };
        let ready = self.ready(idle);
        let stay = binomial(idle.coalesced, 1.0 - coalesced);
        let stay_uncoalesced = binomial(idle.uncoalesced, 1.0 - uncoalesced);
        let mut next = vec![0.0; self.count()];
        for (get, first) in (0..).zip(binomial(ready, to_coalesced)) {
            for (get_uncoalesced, second) in (0..).zip(binomial(ready - get, to_uncoalesced)) {
                if first * second == 0.0 {
                    continue;
                }
                for (kept, third) in (0..).zip(&stay) {
                    for (kept_uncoalesced, fourth) in (0..).zip(&stay_uncoalesced) {
                        let at = self.index(get + kept, get_uncoalesced + kept_uncoalesced);
                        next[at] += first * second * third * fourth;
                    }
                }
            }
        }
        next
    }

    /// Accesses of both kinds.
    fn is_mixed(&self) -> bool {
        self.uncoalesced > 0.0 && self.uncoalesced < 1.0
    }

    fn has(&self, idle: &Idle) -> bool {
        (idle.coalesced == 0 || self.uncoalesced < 1.0) && (idle.uncoalesced == 0 || self.uncoalesced > 0.0)
    }

    /// The place of a state.
    fn index(&self, coalesced: u32, uncoalesced: u32) -> usize {
        let before =
            if self.is_mixed() { coalesced * (2 * self.units + 3 - coalesced) / 2 } else { coalesced };
        (before + uncoalesced) as usize
    }
}

/// Probabilities of 0 to `trials` successes, if each trial succeeds with this probability. Built trial by trial, which has
/// no special cases and no large factors.
pub(super) fn binomial(trials: u32, success: f64) -> Vec<f64> {
    let mut of = vec![0.0; trials as usize + 1];
    of[0] = 1.0;
    for trial in 0..trials as usize {
        for successes in (0..=trial).rev() {
            of[successes + 1] += of[successes] * success;
            of[successes] *= 1.0 - success;
        }
    }
    of
}
