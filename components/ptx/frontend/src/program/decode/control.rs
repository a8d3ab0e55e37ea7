//! Branches, barriers, and operations of a warp's lanes together.

use super::RegisterType;
use super::instruction::Line;
use super::operands::Wanted;
use crate::analysis::liveness::Effects;
use crate::isa;
use crate::isa::warp::{Reduction, WarpOp};
use crate::program::{Action, CONSTANT, Combine};
use crate::syntax::ast::{Operand, OperandKind};
use crate::syntax::error::{PtxError, SourcePosition, nearest};

impl Line<'_, '_, '_> {
    pub(super) fn branch(&mut self) -> Result<(), PtxError> {
        let operands = self.operands(1..=1)?;
        let OperandKind::Name(label) = &operands[0].kind else {
            return Err(self.misfit(&operands[0], "a label"));
        };
        self.branch_to(label, operands[0].span.place);
        self.out.action = Action::Branch;
        Ok(())
    }

    /// `brx.idx`: a comparison and a branch for each target, and the last target for the rest, since an index
    /// beyond the list is undefined.
    pub(super) fn indexed_branch(&mut self) -> Result<(), PtxError> {
        let operands = self.operands(2..=2)?;
        let place = operands[1].span.place;
        let OperandKind::Name(list) = &operands[1].kind else {
            return Err(self.misfit(&operands[1], "the label of a `.branchtargets`"));
        };
        let known = &self.decoder.branch_targets;
        let Some(labels) = known.get(list).cloned() else {
            let error = PtxError::new(place, format!("no `.branchtargets` is named `{list}`"));
            return Err(nearest(error, list, known.keys()));
        };
        let index = self.read(&operands[0], Wanted::exactly("u32"))?;
        let Some(equal) = isa::lane_row("setp.eq.u32") else { return Err(self.unknown()) };
        let (last, others) = labels.split_last().unwrap_or((list, &[]));
        for (number, label) in others.iter().enumerate() {
            let holds = self.decoder.temporary(RegisterType::Predicate, place)?;
            let constant = self.decoder.constant(number as u64, false, place)?;
            let mut compare = self.before(Action::Compare(Combine::None));
            (compare.op, compare.unit, compare.latency) = (equal.op, equal.unit, equal.latency);
            compare.sources[..2].copy_from_slice(&[index, constant]);
            compare.destinations[0] = holds;
            let mut reads = vec![index];
            if self.out.is_guarded() {
                compare.action = Action::Compare(Combine::And);
                compare.sources[2] = self.out.guard;
                compare.offset = i64::from(self.out.guard_negated);
                reads.push(self.out.guard);
            }
            reads.iter().filter(|id| **id & CONSTANT == 0).for_each(|id| compare.reads.insert(*id));
            compare.writes.insert(holds);
            reads.retain(|id| *id & CONSTANT == 0);
            self.decoder.push(compare, Effects { reads, writes: vec![holds], ..Effects::default() });
            let mut branch = self.before(Action::Branch);
            (branch.unit, branch.latency) = (self.out.unit, self.out.latency);
            branch.guard = holds;
            branch.reads.insert(holds);
            self.branch_to(label, place);
            let effects = Effects { reads: vec![holds], guarded: true, ..Effects::default() };
            self.decoder.push(branch, effects);
        }
        self.branch_to(last, place);
        self.out.action = Action::Branch;
        Ok(())
    }

    /// Notes that the next instruction goes to a label.
    fn branch_to(&mut self, label: &str, place: SourcePosition) {
        let pc = self.decoder.instructions.len();
        self.decoder.branches.push((pc, self.decoder.scope, label.to_owned(), place));
    }

    pub(super) fn barrier(&mut self, waits: bool) -> Result<(), PtxError> {
        let fewest = if waits { 1 } else { 2 };
        let operands = self.operands(fewest..=2)?;
        for (index, operand) in operands.iter().enumerate() {
            self.out.sources[index] = self.read(operand, Wanted::exactly("u32"))?;
        }
        self.out.action = Action::Barrier { waits };
        self.out.aligned = self.is_aligned();
        Ok(())
    }

    /// Destination, barrier, number of threads if given, predicate.
    pub(super) fn barrier_reduction(&mut self, reduction: Reduction) -> Result<(), PtxError> {
        let operands = self.operands(3..=4)?;
        let [destination, barrier @ .., predicate] = operands else { return Ok(()) };
        for (index, operand) in barrier.iter().enumerate() {
            self.out.sources[index] = self.read(operand, Wanted::exactly("u32"))?;
        }
        self.out.sources[2] = self.read_predicate_or_not(predicate)?;
        match (&destination.kind, reduction) {
            (kind, Reduction::Popc) => {
                let register = self.write(kind, destination.span.place, Wanted::exactly("u32"))?;
                self.out.destinations[0] = register.id;
            }
            (OperandKind::Name(name), _) => {
                self.out.destinations[0] = self.write_predicate(name, destination.span.place)?;
            }
            _ => return Err(self.misfit(destination, "a predicate")),
        }
        self.out.action = Action::BarrierReduction(reduction);
        self.out.aligned = self.is_aligned();
        Ok(())
    }

    /// `bar` is short for `barrier.….aligned`.
    fn is_aligned(&self) -> bool {
        let opcode = self.opcode;
        opcode.starts_with("bar.") || opcode.split('.').any(|part| part == "aligned")
    }

    /// Shuffles, votes and the like: sources in the order value, b, c; the mask comes last.
    pub(super) fn warp_wide(&mut self, op: WarpOp) -> Result<(), PtxError> {
        let opcode = self.opcode;
        let masked = opcode.contains(".sync");
        if !masked && opcode.starts_with(['s', 'v']) && self.decoder.needs_masks {
            let error = self.error(format!("`{}` is gone from sm_70 on", self.source.opcode));
            return Err(
                error.expecting(format!("`{}` and a mask of lanes", opcode.replacen('.', ".sync.", 1)))
            );
        }
        let (has_destination, values) = match op {
            WarpOp::ShuffleUp | WarpOp::ShuffleDown | WarpOp::ShuffleXor | WarpOp::ShuffleIndex => (true, 3),
            WarpOp::ActiveMask | WarpOp::Elect => (true, 0),
            WarpOp::Sync => (false, 0),
            _ => (true, 1),
        };
        // `bar.warp.sync` is masked too, though `.sync` ends its name.
        let count = usize::from(has_destination) + values + usize::from(masked);
        let operands = self.operands(count..=count)?;
        let (destination, sources) = operands.split_at(usize::from(has_destination));
        let votes = matches!(op, WarpOp::VoteAll | WarpOp::VoteAny | WarpOp::VoteUniform | WarpOp::Ballot);
        let wide = opcode.ends_with(".b64");
        // A match compares integers; a shuffle may move anything.
        let value = match op {
            WarpOp::MatchAny | WarpOp::MatchAll => Wanted::exactly(if wide { "u64" } else { "u32" }),
            _ => Wanted::exactly(self.element()),
        };
        for (index, operand) in sources[..values].iter().enumerate() {
            self.out.sources[index] = match index {
                0 if votes => self.read_predicate_or_not(operand)?,
                0 => self.read(operand, value)?,
                _ => self.read(operand, Wanted::exactly("b32"))?,
            };
        }
        self.out.memory.wide_value = wide;
        if masked {
            self.out.sources[3] = self.read(&sources[values], Wanted::exactly("u32"))?;
        }
        if let [destination] = destination {
            self.warp_destination(op, destination)?;
        }
        self.out.action = Action::Warp(op);
        Ok(())
    }

    fn warp_destination(&mut self, op: WarpOp, destination: &Operand) -> Result<(), PtxError> {
        let place = destination.span.place;
        let truth = matches!(op, WarpOp::VoteAll | WarpOp::VoteAny | WarpOp::VoteUniform);
        let pairs = matches!(
            op,
            WarpOp::ShuffleUp
                | WarpOp::ShuffleDown
                | WarpOp::ShuffleXor
                | WarpOp::ShuffleIndex
                | WarpOp::MatchAll
                | WarpOp::Elect
        );
        let typed = self.element();
        let result = match op {
            WarpOp::MatchAny | WarpOp::MatchAll | WarpOp::Elect => Wanted::exactly("b32"),
            _ => Wanted::exactly(typed),
        };
        match &destination.kind {
            OperandKind::Name(name) if truth => {
                self.out.destinations[1] = self.write_predicate(name, place)?;
            }
            OperandKind::Pair(name, predicate) if pairs => {
                if name != "_" {
                    let kind = OperandKind::Name(name.clone());
                    self.out.destinations[0] = self.write(&kind, place, result)?.id;
                }
                if predicate != "_" {
                    self.out.destinations[1] = self.write_predicate(predicate, place)?;
                }
            }
            kind @ OperandKind::Name(_) => {
                self.out.destinations[0] = self.write(kind, place, result)?.id;
            }
            _ if pairs => return Err(self.misfit(destination, "a register, or register|predicate")),
            _ => return Err(self.misfit(destination, "a register")),
        }
        Ok(())
    }
}
