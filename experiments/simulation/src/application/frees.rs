//! `free:`: memory that the program returns to the device, and later uses of it.
//!
//! Swaps change the buffer behind a name, so the check walks the steps in the host's order, without the
//! kernels. A kernel may be given the address of memory that was freed; only its access is a mistake, and the
//! run reports it.

use std::collections::BTreeMap;

use counterpoint_framework::model::{Diagnostic, Node, Span};
use counterpoint_host_model::program::{BufferId, Step};

use super::keys::FreeStep;
use super::reader::Reader;

/// Meanings of names, and freed buffers, by their place in memory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    meaning: Vec<u32>,
    freed: Vec<bool>,
}

impl State {
    fn place(&self, name: BufferId) -> usize {
        self.meaning[name.0 as usize] as usize
    }
}

/// Uses of freed buffers: which, and where; each place once.
type Uses = BTreeMap<Span, BufferId>;

impl Reader<'_> {
    pub(super) fn free(&mut self, FreeStep { free: node }: &FreeStep) -> Option<Step> {
        let name = self.buffer(node)?;
        self.refuse_variable(node, name, "freed");
        self.places.push(node.span);
        Some(Step::Free(name))
    }

    /// Notes a loop condition or a copy among the steps, at this position.
    pub(super) fn looked_at(&mut self, span: Span) {
        self.places.push(span);
    }

    /// Reports copies and releases of buffers that have been freed already. Steps with problems of their own
    /// are skipped.
    pub(super) fn check_releases(&mut self, copy_out: Option<&Node>) {
        let steps = &self.application.steps;
        if self.diagnostics.reports() > 0
            || !steps.iter().any(|step| step.any(&|step| matches!(step, Step::Free(_))))
        {
            return;
        }
        let count = self.application.buffers.len();
        let mut state = State { meaning: (0..count as u32).collect(), freed: vec![false; count] };
        let mut uses = Uses::new();
        walk(steps, &self.places, &mut state, &mut uses);
        let nodes = copy_out.and_then(Node::as_list).unwrap_or_default();
        for (&name, node) in self.application.copy_out.iter().zip(nodes) {
            if state.freed[state.place(name)] {
                uses.insert(node.span, name);
            }
        }
        for (span, name) in uses {
            let name = &self.application.buffers[name.0 as usize].name;
            let diagnostic = Diagnostic::new(span, format!("`{name}` has been freed before"));
            let help = "what has been freed can be neither copied nor looked at nor freed again";
            self.diagnostics.report(diagnostic.help(help));
        }
    }
}

/// Number of places that belong to these steps.
fn places(steps: &[Step]) -> usize {
    let count = |step: &Step| match step {
        Step::Free(_) | Step::Copy { .. } => 1,
        Step::Move { moved, .. } => moved.buffers().count(),
        Step::Tasks(tasks) => tasks.iter().map(|task| task.copies().count()).sum(),
        Step::Repeat(_, steps) | Step::Pipeline { launches: steps, .. } => places(steps),
        Step::Loop { steps, .. } => 1 + places(steps),
        _ => 0,
    };
    steps.iter().map(count).sum()
}

/// Goes through steps, whose places come first among the spans.
fn walk(steps: &[Step], mut spans: &[Span], state: &mut State, uses: &mut Uses) {
    for step in steps {
        let (own, rest) = spans.split_at(places(std::slice::from_ref(step)));
        spans = rest;
        match step {
            Step::Launch(_)
            | Step::Record(..)
            | Step::Wait(..)
            | Step::Synchronize(_)
            | Step::Host(_)
            | Step::Pipeline { .. }
            | Step::CoRun { .. } => {}
            Step::Copy { part, .. } => {
                if state.freed[state.place(part.buffer)] {
                    uses.insert(own[0], part.buffer);
                }
            }
            Step::Move { moved, .. } => {
                let freed = moved.buffers().zip(own).filter(|(buffer, _)| state.freed[state.place(*buffer)]);
                uses.extend(freed.map(|(buffer, span)| (*span, buffer)));
            }
            Step::Tasks(tasks) => {
                let copies = tasks.iter().flat_map(|task| task.copies()).zip(own);
                let freed = copies.filter(|(part, _)| state.freed[state.place(part.buffer)]);
                uses.extend(freed.map(|(part, span)| (*span, part.buffer)));
            }
            Step::Swap(a, b) => state.meaning.swap(a.0 as usize, b.0 as usize),
            Step::Free(name) => {
                let place = state.place(*name);
                if std::mem::replace(&mut state.freed[place], true) {
                    uses.insert(own[0], *name);
                }
            }
            Step::Repeat(times, steps) => {
                rounds(u64::from(*times), state, |state| walk(steps, own, state, uses))
            }
            Step::Loop { until, most, steps } => rounds(u64::from(*most), state, |state| {
                // The loop is assumed to run to its limit: a mistake in any of these rounds is possible.
                walk(steps, &own[1..], state, uses);
                if state.freed[state.place(until.buffer)] {
                    uses.insert(own[0], until.buffer);
                }
            }),
        }
    }
}

/// Executes rounds, but stops at a round whose initial state has occurred before: all later rounds repeat
/// earlier ones.
fn rounds(times: u64, state: &mut State, mut round: impl FnMut(&mut State)) {
    let mut seen = vec![state.clone()];
    for done in 1..=times {
        round(state);
        if let Some(first) = seen.iter().position(|before| before == state) {
            let period = done as usize - first;
            *state = seen[first + (times - done) as usize % period].clone();
            return;
        }
        seen.push(state.clone());
    }
}
