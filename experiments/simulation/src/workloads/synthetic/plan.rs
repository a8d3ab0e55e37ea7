//! Work of a strand in a round: its instructions in order, counted by class.

use super::{Class, Counts, Refusal, Stride, Synthetic, Walk};
use crate::workloads::generate::SplitMix;

/// An instruction of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// An instruction that its class describes.
    Plain(Class),
    /// The walk's next state, for an access.
    Advance(Access),
    /// Computes the position in the region from the walk's state.
    Place(Access),
    Address(Access),
    /// The number that belongs to a place, made so that it waits for the strand's value.
    Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) store: bool,
    /// Whether it goes to the smaller part of the buffer.
    pub(super) hot: bool,
}

/// Instructions for the address of a global access.
const ADDRESS: u32 = 3;

/// A kernel that can be written down.
pub(super) struct Plan {
    pub(super) rows: Vec<Row>,
    /// Branches and barriers, which belong to no strand and come between instructions of strands.
    pub(super) between: Vec<Class>,
    pub(super) counts: Counts,
    pub(super) walk: Walk,
    /// Bytes of a block's shared memory.
    pub(super) shared: u64,
    /// Seed of the constants in the instructions.
    pub(super) random: u64,
}

fn refuse(parameter: &'static str, message: String, help: impl Into<String>) -> Refusal {
    Refusal { parameter, message, help: help.into() }
}

impl Plan {
    pub(super) fn new(description: &Synthetic) -> Result<Self, Refusal> {
        let &Synthetic { instructions, dependence, lines, threads, seed, .. } = description;
        if !instructions.is_multiple_of(dependence) || instructions < 2 * dependence {
            let message = format!("{instructions} instructions cannot be {dependence} apart");
            let help = format!("expected a multiple of {dependence}, from {} on", 2 * dependence);
            return Err(refuse("instructions", message, help));
        }
        let footprint = description.footprint.get();
        for (parameter, value) in [("footprint", footprint), ("lines", u64::from(lines))] {
            if !value.is_power_of_two() {
                let message = format!("{value} is not a power of two");
                let near = value.next_power_of_two();
                return Err(refuse(parameter, message, format!("expected {} or {near}", near / 2)));
            }
        }
        if !threads.is_multiple_of(32) {
            let message = format!("{threads} threads are not whole warps");
            return Err(refuse("threads", message, "expected a multiple of 32"));
        }
        let Some(counts) = description.mix.counts(instructions / dependence) else {
            let help = "give `int`, `fp` or another class a share above 0";
            return Err(refuse("mix", "the mix has no instructions".to_owned(), help));
        };
        let walk = description
            .pattern
            .build()
            .walk(footprint, 128 * u64::from(lines))
            .map_err(|message| refuse("pattern", message, "change the pattern or the footprint"))?;
        let mut random = SplitMix(seed);
        let rows = rows(&counts, walk, &mut random)?;
        let shared = shared(description, &counts)?;
        let of = |class| (0..counts.of(class) * dependence).map(move |_| class);
        let mut between: Vec<Class> = of(Class::Branch).chain(of(Class::Barrier)).collect();
        shuffle(&mut between, &mut random);
        Ok(Plan { rows, between, counts, walk, shared, random: random.next() })
    }

    pub(super) fn uses(&self, class: Class) -> bool {
        self.counts.of(class) > 0
    }

    /// The distance between a walk's accesses, if it is known when the kernel is written.
    pub(super) fn fixed_step(&self, description: &Synthetic) -> Option<u64> {
        match self.walk {
            Walk::Linear { step: Stride::Bytes(bytes), .. } => Some(bytes),
            Walk::Linear { step: Stride::Block, .. } => {
                Some(u64::from(description.threads / 32 * 128 * description.lines))
            }
            Walk::Linear { step: Stride::Grid, .. } | Walk::Drawn { .. } => None,
        }
    }
}

/// The rows of the strands in an order that the random numbers choose; an access stays with its address.
fn rows(counts: &Counts, walk: Walk, random: &mut SplitMix) -> Result<Vec<Row>, Refusal> {
    let (loads, stores) = (counts.of(Class::GlobalLoad), counts.of(Class::GlobalStore));
    let (int, needed) = (counts.of(Class::Int), ADDRESS * loads + (ADDRESS + 1) * stores);
    let Some(int) = int.checked_sub(needed) else {
        let message = format!("the addresses of global accesses need {needed} of `int`, and it has {int}");
        let help =
            "three a load and four a store: give `int` a larger share, or global accesses a smaller one";
        return Err(refuse("mix", message, help));
    };
    let mut units: Vec<Vec<Row>> = Vec::new();
    for class in Class::ALL {
        let count = match class {
            Class::Int => int,
            Class::GlobalLoad | Class::GlobalStore | Class::Branch | Class::Barrier => 0,
            other => counts.of(other),
        };
        units.extend((0..count).map(|_| vec![Row::Plain(class)]));
    }
    let share = if let Walk::Drawn { share, .. } = walk { share } else { 0.0 };
    // The n-th access is hot where n times the share reaches the next whole number.
    let hot = |number: u32| (f64::from(number + 1) * share) as u32 > (f64::from(number) * share) as u32;
    for number in 0..loads + stores {
        let access = Access { store: number >= loads, hot: hot(number) };
        let mut unit = vec![Row::Advance(access), Row::Place(access), Row::Address(access)];
        if access.store {
            unit.extend([Row::Number, Row::Plain(Class::GlobalStore)]);
        } else {
            unit.push(Row::Plain(Class::GlobalLoad));
        }
        units.push(unit);
    }
    shuffle(&mut units, random);
    Ok(units.concat())
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut SplitMix) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u128 + 1) as usize);
    }
}

/// Bytes of shared memory: a word a thread at least, where it is accessed.
fn shared(description: &Synthetic, counts: &Counts) -> Result<u64, Refusal> {
    let accessed = counts.of(Class::SharedLoad) + counts.of(Class::SharedStore) > 0;
    let least = if accessed { 4 * u64::from(description.threads) } else { 0 };
    let shared = description.shared.map_or(least, |bytes| bytes.get());
    if shared < least {
        let message = format!("{shared} B of shared memory are less than a word for each thread");
        return Err(refuse("shared", message, format!("expected at least {least} B")));
    }
    Ok(shared)
}
