//! The PTX memory consistency model as its manual (section 8) and its formalisation (Lustig, Sahasrabuddhe, Giroux, ASPLOS 2019)
//! state it: which outcomes of a small program are allowed, by enumeration of all candidate executions. It shares nothing with
//! the simulator.

use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    Weak,
    Volatile,
    Relaxed(Scope),
    Acquire(Scope),
    Release(Scope),
    AcqRel(Scope),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Cta,
    Gpu,
    Sys,
}

/// An operation of a thread. Locations are numbered; so are registers, over all threads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Read {
        at: usize,
        into: usize,
        how: Strength,
    },
    Write {
        at: usize,
        value: u32,
        how: Strength,
    },
    /// Adds; the register takes the old value.
    Add {
        at: usize,
        value: u32,
        into: usize,
        how: Strength,
    },
    /// `fence.sc`, or `fence.acq_rel`.
    Fence {
        sc: bool,
        scope: Scope,
    },
    Barrier,
}

/// A thread: its block and its instructions.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) ops: Vec<Op>,
}

/// Final values of registers, and then of locations.
pub(super) type Outcome = Vec<u32>;

#[derive(Clone, Copy)]
struct Event {
    thread: usize,
    op: Op,
}

impl Event {
    fn at(&self) -> Option<usize> {
        match self.op {
            Op::Read { at, .. } | Op::Write { at, .. } | Op::Add { at, .. } => Some(at),
            Op::Fence { .. } | Op::Barrier => None,
        }
    }

    fn reads(&self) -> bool {
        matches!(self.op, Op::Read { .. } | Op::Add { .. })
    }

    fn writes(&self) -> bool {
        matches!(self.op, Op::Write { .. } | Op::Add { .. })
    }

    fn scope(&self) -> Option<Scope> {
        match self.op {
            Op::Read { how, .. } | Op::Write { how, .. } | Op::Add { how, .. } => match how {
                Strength::Weak => None,
                Strength::Volatile => Some(Scope::Sys),
                Strength::Relaxed(scope)
                | Strength::Acquire(scope)
                | Strength::Release(scope)
                | Strength::AcqRel(scope) => Some(scope),
            },
            Op::Fence { scope, .. } => Some(scope),
            Op::Barrier => None,
        }
    }

    fn how(&self) -> Option<Strength> {
        match self.op {
            Op::Read { how, .. } | Op::Write { how, .. } | Op::Add { how, .. } => Some(how),
            Op::Fence { .. } | Op::Barrier => None,
        }
    }

    fn acquires(&self) -> bool {
        self.reads() && matches!(self.how(), Some(Strength::Acquire(_) | Strength::AcqRel(_)))
    }

    fn releases(&self) -> bool {
        self.writes() && matches!(self.how(), Some(Strength::Release(_) | Strength::AcqRel(_)))
    }
}

/// A relation among events.
#[derive(Clone, PartialEq, Eq)]
struct Relation(Vec<Vec<bool>>);

impl Relation {
    fn of(count: usize, holds: impl Fn(usize, usize) -> bool) -> Self {
        Relation((0..count).map(|a| (0..count).map(|b| holds(a, b)).collect()).collect())
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.0[a][b]
    }

    fn or(&self, other: &Relation) -> Relation {
        Relation::of(self.0.len(), |a, b| self.has(a, b) || other.has(a, b))
    }

    fn then(&self, other: &Relation) -> Relation {
        let count = self.0.len();
        Relation::of(count, |a, c| (0..count).any(|b| self.has(a, b) && other.has(b, c)))
    }

    fn closed(mut self) -> Relation {
        let count = self.0.len();
        for middle in 0..count {
            for a in 0..count {
                if self.0[a][middle] {
                    for b in 0..count {
                        self.0[a][b] |= self.0[middle][b];
                    }
                }
            }
        }
        self
    }

    fn is_irreflexive(&self) -> bool {
        (0..self.0.len()).all(|a| !self.has(a, a))
    }
}

/// The outcomes that the model allows.
pub(super) fn allowed(threads: &[Thread], locations: usize, registers: usize) -> BTreeSet<Outcome> {
    judged(threads, locations, registers).0
}

/// Whether an execution that the model allows has a data race.
pub(super) fn is_racy(threads: &[Thread], locations: usize, registers: usize) -> bool {
    judged(threads, locations, registers).1
}

fn judged(threads: &[Thread], locations: usize, registers: usize) -> (BTreeSet<Outcome>, bool) {
    let mut events = Vec::new();
    for (thread, Thread { ops, .. }) in threads.iter().enumerate() {
        events.extend(ops.iter().map(|&op| Event { thread, op }));
    }
    let count = events.len();
    let po = Relation::of(count, |a, b| a < b && events[a].thread == events[b].thread);
    let fixed = Fixed { threads, po: &po, events: &events };
    let (mut outcomes, mut racy) = (BTreeSet::new(), false);
    let writes: Vec<Vec<usize>> = (0..locations)
        .map(|at| (0..count).filter(|&e| events[e].writes() && events[e].at() == Some(at)).collect())
        .collect();
    let sc: Vec<usize> = (0..count).filter(|&e| matches!(events[e].op, Op::Fence { sc: true, .. })).collect();
    let reads: Vec<usize> = (0..count).filter(|&e| events[e].reads()).collect();
    let orders: Vec<Vec<Vec<usize>>> = writes.iter().map(|writes| permutations(writes)).collect();
    for fences in permutations(&sc) {
        for_each_choice(&orders.iter().map(Vec::len).collect::<Vec<_>>(), &mut |chosen| {
            let coherence: Vec<&Vec<usize>> =
                chosen.iter().enumerate().map(|(at, &n)| &orders[at][n]).collect();
            // A read takes the value of a write, or the first one.
            let sources: Vec<usize> =
                reads.iter().map(|&read| writes[events[read].at().unwrap()].len() + 1).collect();
            for_each_choice(&sources, &mut |from| {
                let source = |index: usize| {
                    let all = &writes[events[reads[index]].at().unwrap()];
                    all.get(from[index]).copied()
                };
                let from: Vec<Option<usize>> = (0..reads.len()).map(source).collect();
                if let Some((outcome, races)) =
                    fixed.outcome(&reads, &from, &coherence, &fences, (locations, registers))
                {
                    outcomes.insert(outcome);
                    racy |= races;
                }
            });
        });
    }
    (outcomes, racy)
}

struct Fixed<'a> {
    threads: &'a [Thread],
    events: &'a [Event],
    po: &'a Relation,
}

impl Fixed<'_> {
    /// Whether two events are in program order, or both strong and in each other's scope.
    fn morally_strong(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.events[a], &self.events[b]);
        let same_block = self.threads[x.thread].block == self.threads[y.thread].block;
        let includes = |scope: Option<Scope>| match scope {
            None => false,
            Some(Scope::Cta) => same_block,
            Some(Scope::Gpu | Scope::Sys) => true,
        };
        a != b && (x.thread == y.thread || includes(x.scope()) && includes(y.scope()))
    }

    /// The outcome of a candidate execution, if the model allows it, and whether it has a data race.
    fn outcome(
        &self,
        reads: &[usize],
        from: &[Option<usize>],
        coherence: &[&Vec<usize>],
        fences: &[usize],
        (locations, registers): (usize, usize),
    ) -> Option<(Outcome, bool)> {
        let events = self.events;
        let count = events.len();
        let source = |read: usize| reads.iter().position(|&found| found == read).map(|index| from[index]);
        let place = |write: usize| coherence[events[write].at().unwrap()].iter().position(|&w| w == write);
        let rf = Relation::of(count, |w, r| w != r && source(r) == Some(Some(w)));
        // An atomic does not read its own write.
        if reads.iter().zip(from).any(|(read, from)| *from == Some(*read)) {
            return None;
        }
        let co = Relation::of(count, |a, b| {
            events[a].writes()
                && events[b].writes()
                && events[a].at() == events[b].at()
                && place(a) < place(b)
        });
        let fr = Relation::of(count, |r, w| {
            r != w
                && events[r].reads()
                && events[w].writes()
                && events[r].at() == events[w].at()
                && match source(r) {
                    Some(Some(from)) => co.has(from, w),
                    _ => true,
                }
        });
        let strong =
            |relation: &Relation| Relation::of(count, |a, b| relation.has(a, b) && self.morally_strong(a, b));
        let communication = rf.or(&co).or(&fr);
        // SC per location.
        let po_loc = Relation::of(count, |a, b| {
            self.po.has(a, b) && events[a].at().is_some() && events[a].at() == events[b].at()
        });
        if !strong(&communication).or(&po_loc).closed().is_irreflexive() {
            return None;
        }
        // Atomicity: no strong write comes between an atomic's read and its write.
        let between = strong(&fr).then(&strong(&co));
        if (0..count).any(|e| matches!(events[e].op, Op::Add { .. }) && between.has(e, e)) {
            return None;
        }
        // An atomic's value is in coherence order behind the one that it read.
        if (0..count).any(|e| matches!(events[e].op, Op::Add { .. }) && fr.then(&co).or(&fr).has(e, e)) {
            return None;
        }
        let sc = Relation::of(count, |a, b| {
            let at = |event: usize| fences.iter().position(|&fence| fence == event);
            matches!((at(a), at(b)), (Some(a), Some(b)) if a < b) && self.morally_strong(a, b)
        });
        let causality = self.causality(&rf, &sc);
        // Coherence, fence-SC, causality.
        let contradicts =
            |order: &Relation| (0..count).any(|a| (0..count).any(|b| causality.has(a, b) && order.has(b, a)));
        let is_wrong = contradicts(&co)
            || contradicts(&sc)
            || !rf.or(&fr).then(&causality).is_irreflexive()
            || !causality.is_irreflexive();
        if is_wrong {
            return None;
        }
        let races = |a: usize, b: usize| {
            let (x, y) = (&events[a], &events[b]);
            let conflict = x.at().is_some() && x.at() == y.at() && (x.writes() || y.writes());
            let ordered = causality.has(a, b) || causality.has(b, a);
            conflict && x.thread != y.thread && !ordered && !self.morally_strong(a, b)
        };
        let is_racy = (0..count).any(|a| (0..a).any(|b| races(a, b)));
        Some((self.values(reads, from, coherence, (locations, registers))?, is_racy))
    }

    fn causality(&self, rf: &Relation, sc: &Relation) -> Relation {
        let (events, po, count) = (self.events, self.po, self.events.len());
        let same = Relation::of(count, |a, b| a == b);
        let po_or_same = po.or(&same);
        let is_rmw = |e: usize| matches!(events[e].op, Op::Add { .. });
        // Observation: strong reads, by way of atomics.
        let mut observed = Relation::of(count, |w, r| rf.has(w, r) && self.morally_strong(w, r));
        for _ in 0..count {
            let by_way = Relation::of(count, |w, r| {
                (0..count).any(|z| is_rmw(z) && observed.has(w, z) && observed.has(z, r))
            });
            observed = observed.or(&by_way);
        }
        let is_fence = |e: usize| matches!(events[e].op, Op::Fence { .. });
        let is_strong = |e: usize| events[e].scope().is_some() && events[e].at().is_some();
        // A pattern is its outer event, which must be strong with that of the other side, and its write or read.
        let release = Relation::of(count, |outer, write| {
            let event = &events[write];
            event.writes()
                && (outer == write && event.releases()
                    || is_fence(outer) && is_strong(write) && po.has(outer, write)
                    || events[outer].releases()
                        && is_strong(write)
                        && po.has(outer, write)
                        && events[outer].at() == event.at())
        });
        let acquire = Relation::of(count, |read, outer| {
            let event = &events[read];
            event.reads()
                && (outer == read && event.acquires()
                    || is_fence(outer) && is_strong(read) && po.has(read, outer)
                    || events[outer].acquires()
                        && is_strong(read)
                        && po.has(read, outer)
                        && events[outer].at() == event.at())
        });
        let through = release.then(&observed).then(&acquire);
        let barrier = Relation::of(count, |a, b| {
            let is = |e: usize| matches!(events[e].op, Op::Barrier);
            let block = |e: usize| self.threads[events[e].thread].block;
            is(a) && is(b) && events[a].thread != events[b].thread && block(a) == block(b)
        });
        let synchronises =
            Relation::of(count, |a, b| through.has(a, b) && self.morally_strong(a, b)).or(sc).or(&barrier);
        // Both sides of a barrier are one moment: an event before one side precedes all events after the other.
        let step = Relation::of(count, |a, b| {
            let is = |e: usize| matches!(events[e].op, Op::Barrier);
            if is(a) && is(b) {
                return false;
            }
            po_or_same.then(&synchronises).then(&po_or_same).has(a, b)
        });
        let base = step.closed();
        base.or(&observed.then(&base))
    }

    /// The values of registers and locations, if every atomic adds to the value that it reads.
    fn values(
        &self,
        reads: &[usize],
        from: &[Option<usize>],
        coherence: &[&Vec<usize>],
        (locations, registers): (usize, usize),
    ) -> Option<Outcome> {
        let mut outcome = vec![0; registers + locations];
        let value = |mut write: usize| -> Option<u32> {
            let mut sum = 0;
            for _ in 0..=self.events.len() {
                match self.events[write].op {
                    Op::Write { value, .. } => return Some(sum + value),
                    Op::Add { value, .. } => {
                        sum += value;
                        let index = reads.iter().position(|&read| read == write)?;
                        match from[index] {
                            Some(source) => write = source,
                            None => return Some(sum),
                        }
                    }
                    _ => return None,
                }
            }
            // Atomics that read from each other in a circle: out of thin air.
            None
        };
        for (&read, &from) in reads.iter().zip(from) {
            let (Op::Read { into, .. } | Op::Add { into, .. }) = self.events[read].op else { continue };
            outcome[into] = match from {
                Some(write) => value(write)?,
                None => 0,
            };
        }
        for (at, order) in coherence.iter().enumerate() {
            if let Some(&last) = order.last() {
                outcome[registers + at] = value(last)?;
            }
        }
        Some(outcome)
    }
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    let [first, rest @ ..] = items else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for shorter in permutations(rest) {
        for at in 0..=shorter.len() {
            let mut longer = shorter.clone();
            longer.insert(at, *first);
            all.push(longer);
        }
    }
    all
}

/// Calls for every choice of one number below each of these.
fn for_each_choice(below: &[usize], call: &mut dyn FnMut(&[usize])) {
    let mut chosen = vec![0; below.len()];
    loop {
        call(&chosen);
        let Some(at) = (0..below.len()).rev().find(|&at| chosen[at] + 1 < below[at]) else { return };
        chosen[at] += 1;
        chosen[at + 1..].fill(0);
    }
}

/// The outcomes of all interleavings: those of sequential consistency.
pub(super) fn interleaved(threads: &[Thread], locations: usize, registers: usize) -> BTreeSet<Outcome> {
    fn go(
        threads: &[Thread],
        at: &mut Vec<usize>,
        (registers, state): (usize, &Outcome),
        found: &mut BTreeSet<Outcome>,
    ) {
        let done = |thread: usize, at: &[usize]| at[thread] == threads[thread].ops.len();
        if (0..threads.len()).all(|thread| done(thread, at)) {
            found.insert(state.clone());
        }
        for thread in 0..threads.len() {
            if done(thread, at) {
                continue;
            }
            let mut next = state.clone();
            match threads[thread].ops[at[thread]] {
                Op::Read { at, into, .. } => next[into] = next[registers + at],
                Op::Write { at, value, .. } => next[registers + at] = value,
                Op::Add { at, value, into, .. } => {
                    next[into] = next[registers + at];
                    next[registers + at] += value;
                }
                Op::Fence { .. } => {}
                Op::Barrier => {
                    // All threads of the block continue together, when all have arrived.
                    let peers: Vec<usize> = (0..threads.len())
                        .filter(|&peer| {
                            threads[peer].block == threads[thread].block
                                && threads[peer].ops.iter().any(|op| matches!(op, Op::Barrier))
                        })
                        .collect();
                    let has_come =
                        |peer: &usize| matches!(threads[*peer].ops.get(at[*peer]), Some(Op::Barrier));
                    if peers.iter().all(has_come) {
                        peers.iter().for_each(|&peer| at[peer] += 1);
                        go(threads, at, (registers, &next), found);
                        peers.iter().for_each(|&peer| at[peer] -= 1);
                    }
                    continue;
                }
            }
            at[thread] += 1;
            go(threads, at, (registers, &next), found);
            at[thread] -= 1;
        }
    }
    let mut found = BTreeSet::new();
    let state = vec![0; registers + locations];
    go(threads, &mut vec![0; threads.len()], (registers, &state), &mut found);
    found
}
