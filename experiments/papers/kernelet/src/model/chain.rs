//! The Markov chain of an SM: its states, the transition probabilities, and the IPC of its steady state.

use std::fmt;

use super::latency::Memory;
use super::steady;
use super::warps::{Idle, Warps};

/// The Markov chain of an SM on which `N` kernels run: one in section 4.4's "homogeneous workloads", two in its "heterogeneous" ones.
#[derive(Clone, Debug)]
pub struct Chain<const N: usize> {
    /// Rounds in the order of the states.
    rounds: Vec<Round<N>>,
    /// The transition matrix: a row has the probabilities of the states that follow its own.
    transitions: Vec<Vec<f64>>,
}

/// A round: the work of an SM in a state.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Round<const N: usize> {
    /// Instructions that each kernel issues: one for each ready warp.
    issued: [f64; N],
    /// Cycles: one for each instruction, and one if there is none.
    cycles: f64,
}

/// A chain that cannot be solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unsolvable {
    /// The chain has this many states, more than [`Chain::LARGEST`].
    States(usize),
    /// A value that should be a fraction, 0 to 1.
    Fraction(f64),
    /// The chain has several steady states. This happens only if all instructions are memory instructions and rounds may be longer than the
    /// memory latency: the same warps are then idle at the same time for ever.
    Several,
}

/// The IPC of kernels that run together on an SM with one warp scheduler (Eqs. 4 to 6), or of one alone.
///
/// # Errors
/// If a kernel has a fraction that is none, or the chain has too many states, or several steady states.
///
/// ```
/// use counterpoint_kernelet::model::{Memory, Warps, ipc};
///
/// let [alone] = ipc([Warps::new(2, 0.5)], &Memory::constant(10.0))?;
/// assert!((alone - 12.0 / 37.0).abs() < 1e-12);
/// let [first, second] = ipc([Warps::new(1, 0.1), Warps::new(1, 0.5)], &Memory::constant(10.0))?;
/// assert!((first - 6.0 / 13.0).abs() < 1e-12 && (second - 2.0 / 13.0).abs() < 1e-12);
/// # Ok::<(), counterpoint_kernelet::model::Unsolvable>(())
/// ```
pub fn ipc<const N: usize>(kernels: [Warps; N], memory: &Memory) -> Result<[f64; N], Unsolvable> {
    Chain::new(kernels, memory)?.ipc()
}

impl<const N: usize> Chain<N> {
    /// States that a chain may have: the matrix takes 128 MiB then.
    pub const LARGEST: usize = 4096;

    /// The chain of these kernels.
    ///
    /// # Errors
    /// If a kernel has a fraction that is none, or the chain has too many states.
    pub fn new(kernels: [Warps; N], memory: &Memory) -> Result<Self, Unsolvable> {
        let mut fractions = kernels.iter().flat_map(|kernel| [kernel.memory, kernel.uncoalesced]);
        if let Some(other) = fractions.find(|fraction| !(0.0..=1.0).contains(fraction)) {
            return Err(Unsolvable::Fraction(other));
        }
        let count = kernels.iter().fold(1, |count: usize, kernel| count.saturating_mul(kernel.count()));
        if count > Self::LARGEST {
            return Err(Unsolvable::States(count));
        }
        let rows = states(&kernels).into_iter().map(|state| {
            let round = Round::new(&kernels, &state);
            (round, round.next(&kernels, &state, memory))
        });
        let (rounds, transitions) = rows.unzip();
        Ok(Chain { rounds, transitions })
    }

    /// The number of states.
    pub fn states(&self) -> usize {
        self.rounds.len()
    }

    /// The transition matrix, row by row: `P[i][j]` is the probability that state `j` follows state `i`. The states are those of [`Warps::states`],
    /// of two kernels all those of the second one for each of the first one.
    pub fn transitions(&self) -> &[Vec<f64>] {
        &self.transitions
    }

    /// The steady state (Eq. 3): the fraction of rounds in each state.
    ///
    /// # Errors
    /// If the chain has several steady states.
    pub fn steady(&self) -> Result<Vec<f64>, Unsolvable> {
        steady::solve(&self.transitions).ok_or(Unsolvable::Several)
    }

    /// The IPC of each kernel in the steady state (Eqs. 4 to 6). Rounds are weighed by their instructions and cycles, as they are not
    /// equally long.
    ///
    /// # Errors
    /// If there are several steady states.
    pub fn ipc(&self) -> Result<[f64; N], Unsolvable> {
        let steady = self.steady()?;
        let weighed = |of: &dyn Fn(&Round<N>) -> f64| -> f64 {
            self.rounds.iter().zip(steady.iter()).map(|(round, part)| part * of(round)).sum()
        };
        let cycles = weighed(&|round| round.cycles);
        Ok(std::array::from_fn(|kernel| weighed(&|round| round.issued[kernel]) / cycles))
    }
}

impl<const N: usize> Round<N> {
    fn new(kernels: &[Warps; N], state: &[Idle; N]) -> Self {
        let issued = std::array::from_fn(|kernel| {
            f64::from(kernels[kernel].ready(&state[kernel])) * kernels[kernel].per_unit
        });
        Round { issued, cycles: issued.iter().sum::<f64>().max(1.0) }
    }

    /// Probabilities of the states that follow. The kernels are independent of each other, given the state of all: the round has the
    /// length, and the memory the load, of all together.
    fn next(&self, kernels: &[Warps; N], state: &[Idle; N], memory: &Memory) -> Vec<f64> {
        let idle = |units: fn(&Idle) -> u32| -> f64 {
            let each = kernels.iter().zip(state);
            each.map(|(kernel, idle)| f64::from(units(idle)) * kernel.per_unit).sum()
        };
        let latencies = memory.latencies(idle(|idle| idle.coalesced), idle(|idle| idle.uncoalesced));
        let returns = latencies.map(|cycles| (self.cycles / cycles).min(1.0));
        let mut joint = vec![1.0];
        for (kernel, idle) in kernels.iter().zip(state) {
            let own = kernel.next(idle, returns);
            joint = joint.iter().flat_map(|others| own.iter().map(move |own| others * own)).collect();
        }
        joint
    }
}

/// All joint states; the last kernel's state varies fastest.
fn states<const N: usize>(kernels: &[Warps; N]) -> Vec<[Idle; N]> {
    let none = Idle { coalesced: 0, uncoalesced: 0 };
    let mut states = vec![[none; N]];
    for (at, kernel) in kernels.iter().enumerate() {
        let own = kernel.states();
        let with = |state: [Idle; N]| {
            own.iter().map(move |idle| {
                let mut state = state;
                state[at] = *idle;
                state
            })
        };
        states = states.into_iter().flat_map(with).collect();
    }
    states
}

impl fmt::Display for Unsolvable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsolvable::States(count) => write!(
                f,
                "the Markov chain has {count} states, more than {}; with blocks as units it has fewer",
                Chain::<1>::LARGEST
            ),
            Unsolvable::Fraction(other) => write!(f, "{other} is not a fraction from 0 to 1"),
            Unsolvable::Several => write!(
                f,
                "the Markov chain has several steady states: all instructions are of memory, and it takes no longer than a round"
            ),
        }
    }
}

impl std::error::Error for Unsolvable {}
