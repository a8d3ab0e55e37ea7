//! Asynchronous copies to shared memory (PTX ISA 9.7.9.25) and barriers in it (9.7.13.15).
//!
//! A barrier's word is changed by atomics (`isa/barrier.rs`), so its instructions become accesses to shared memory and
//! instructions that prepare them. An arrival that waits for copies waits for them in the warp, which the manual leaves open.

use super::RegisterType;
use super::instruction::Line;
use super::operands::Wanted;
use crate::analysis::liveness::Effects;
use crate::isa::{self, AtomicOperation, AtomicType, CacheOperator, Latency, Space, Unit, barrier};
use crate::program::{Action, Combine, Instruction, MemoryForm, NONE};
use crate::syntax::ast::{Operand, OperandKind};
use crate::syntax::error::PtxError;

impl<'s> Line<'_, 's, '_> {
    /// `cp.async.ca.shared.global [d], [s], 16{, source size or predicate}{, policy}`
    pub(super) fn copy(&mut self) -> Result<(), PtxError> {
        let words: Vec<&str> = self.opcode.split('.').collect();
        let known = |word: &&str| {
            let hint = word.starts_with("L2::");
            hint || matches!(*word, "cp" | "async" | "ca" | "cg" | "shared" | "shared::cta" | "global")
        };
        if !words.iter().all(known) {
            return Err(self.no_such_form());
        }
        let policy = words.contains(&"L2::cache_hint");
        let operands = self.operands(3..=5)?;
        let bytes = match operands[2].kind {
            OperandKind::Integer(bytes @ (4 | 8 | 16)) if bytes == 16 || words.contains(&"ca") => bytes as u8,
            _ => return Err(self.misfit(&operands[2], "4, 8 or 16 bytes, with `.cg` 16")),
        };
        let to = self.shared_address(&operands[0])?;
        let from = self.fragment_address(&operands[1], Some(Space::Global))?;
        let mut instruction = from.load(self.span);
        instruction.action = Action::Copy;
        let past_l1 = words.contains(&"cg");
        instruction.memory.cache = if past_l1 { CacheOperator::Global } else { CacheOperator::Default };
        instruction.latency = Latency::Load;
        instruction.memory.elements = bytes / 4;
        instruction.memory.bytes = 4;
        instruction.sources[0] = to;
        let mut effects = Effects { reads: vec![instruction.address, to], ..Effects::default() };
        // Bytes of the source, of which the rest are zeros; or whether it is ignored.
        let size = operands.get(3).filter(|_| operands.len() > 3 + usize::from(policy) || !policy);
        if let Some(size) = size {
            let is_predicate = match &size.kind {
                OperandKind::Name(name) => matches!(
                    self.decoder.find_register(name, size.span.place)?,
                    Some(register) if register.kind == RegisterType::Predicate
                ),
                OperandKind::Not(_) => true,
                _ => false,
            };
            let source = if is_predicate {
                let ignored = self.read_any_predicate(size)?;
                let [none, all] = [0, u64::from(bytes)];
                let none = self.decoder.constant(none, false, size.span.place)?;
                let all = self.decoder.constant(all, false, size.span.place)?;
                self.compute("selp.b32", &[none, all, ignored])?
            } else if matches!(size.kind, OperandKind::Integer(size) if size > u64::from(bytes)) {
                return Err(self.misfit(size, &format!("at most the {bytes} bytes of the copy")));
            } else {
                self.read(size, Wanted::exactly("u32"))?
            };
            instruction.sources[1] = source;
            effects.reads.push(source);
        }
        self.add(instruction, effects);
        self.end_with_last();
        Ok(())
    }

    /// `cp.async.commit_group`, `cp.async.wait_group n` and `cp.async.wait_all`
    pub(super) fn copy_group(&mut self, waits: bool) -> Result<(), PtxError> {
        let all = !self.opcode.ends_with("wait_group");
        let operands = self.operands(usize::from(!all)..=usize::from(!all))?;
        self.out.offset = match operands.first().map(|operand| &operand.kind) {
            None => -1,
            Some(OperandKind::Integer(newest)) => (*newest).min(u64::from(u32::MAX)) as i64,
            Some(_) => return Err(self.misfit(&operands[0], "a constant number of groups")),
        };
        self.out.action = if waits { Action::AwaitCopies } else { Action::CommitCopies };
        Ok(())
    }

    /// `cp.async.mbarrier.arrive{.noinc}.shared.b64 [a]`
    pub(super) fn arrive_after_copies(&mut self) -> Result<(), PtxError> {
        let operands = self.operands(1..=1)?;
        let barrier = self.shared_address(&operands[0])?;
        let one = self.decoder.constant(1, true, self.span.place)?;
        if !self.opcode.contains(".noinc") {
            self.change_barrier(barrier, AtomicOperation::BarrierExpectArrivals, one, None);
        }
        let mut wait = self.before(Action::AwaitCopies);
        wait.offset = -1;
        (wait.unit, wait.latency) = (Unit::LdSt, Latency::Fence);
        self.add(wait, Effects::default());
        self.change_barrier(barrier, AtomicOperation::BarrierArrive, one, None);
        self.end_with_last();
        Ok(())
    }

    /// The instructions of `mbarrier`.
    pub(super) fn barrier_in_memory(&mut self) -> Result<(), PtxError> {
        let words: Vec<&str> = self.opcode.split('.').skip(1).collect();
        let known = |word: &&str| {
            let order = matches!(*word, "release" | "acquire" | "relaxed" | "cta" | "cluster");
            let place = matches!(*word, "shared" | "shared::cta" | "b64");
            let operation = [
                "init",
                "inval",
                "arrive",
                "arrive_drop",
                "test_wait",
                "try_wait",
                "pending_count",
                "expect_tx",
                "complete_tx",
                "noComplete",
                "parity",
            ];
            order || place || operation.contains(word)
        };
        if !words.iter().all(known) {
            return Err(self.no_such_form());
        }
        let has = |word: &str| words.contains(&word);
        let place = self.span.place;
        match words[0] {
            "init" => {
                let operands = self.operands(2..=2)?;
                let barrier = self.shared_address(&operands[0])?;
                let count = self.wide_count(&operands[1])?;
                let places = self.decoder.constant(u64::from(barrier::NEXT), false, place)?;
                let next = self.compute("shl.b64", &[count, places])?;
                let word = self.compute("or.b64", &[count, next])?;
                self.set_barrier(barrier, word);
            }
            "inval" => {
                let operands = self.operands(1..=1)?;
                let barrier = self.shared_address(&operands[0])?;
                let zero = self.decoder.constant(0, true, place)?;
                self.set_barrier(barrier, zero);
            }
            "arrive" | "arrive_drop" => {
                let mut operands = self.operands(1..=3)?;
                let mut token = None;
                if let Some((OperandKind::Name(_) | OperandKind::Discard, rest)) =
                    operands.split_first().map(|(first, rest)| (&first.kind, rest))
                {
                    if operands[0].kind != OperandKind::Discard {
                        let wanted = Wanted::exactly("b64");
                        token = Some(self.write(&operands[0].kind, operands[0].span.place, wanted)?.id);
                    }
                    operands = rest;
                }
                let Some(address) = operands.first() else {
                    return Err(self.error("the barrier is missing"));
                };
                let barrier = self.shared_address(address)?;
                let mut count = match operands.get(1) {
                    Some(count) => self.wide_count(count)?,
                    None => self.decoder.constant(1, true, place)?,
                };
                if has("expect_tx") {
                    self.change_barrier(barrier, AtomicOperation::BarrierExpectBytes, count, None);
                    count = self.decoder.constant(1, true, place)?;
                }
                let operation = match words[0] {
                    "arrive" => AtomicOperation::BarrierArrive,
                    _ => AtomicOperation::BarrierDrop,
                };
                self.change_barrier(barrier, operation, count, token);
            }
            "expect_tx" | "complete_tx" => {
                let operands = self.operands(2..=2)?;
                let barrier = self.shared_address(&operands[0])?;
                let count = self.wide_count(&operands[1])?;
                let operation = match words[0] {
                    "expect_tx" => AtomicOperation::BarrierExpectBytes,
                    _ => AtomicOperation::BarrierCompleteBytes,
                };
                self.change_barrier(barrier, operation, count, None);
            }
            "test_wait" | "try_wait" => self.test_barrier(has("parity"))?,
            "pending_count" => {
                let operands = self.operands(2..=2)?;
                let state = self.read(&operands[1], Wanted::exactly("b64"))?;
                let to = self.write(&operands[0].kind, operands[0].span.place, Wanted::exactly("b32"))?.id;
                let low = self.compute("cvt.u32.u64", &[state])?;
                let mask = self.decoder.constant(u64::from(barrier::COUNT), false, place)?;
                self.compute_into("and.b32", &[low, mask], to)?;
            }
            _ => return Err(self.no_such_form()),
        }
        self.end_with_last();
        Ok(())
    }

    /// Whether the phase of a token, or the one of a parity, has ended: the barrier's phase is another.
    fn test_barrier(&mut self, parity: bool) -> Result<(), PtxError> {
        let operands = self.operands(3..=4)?;
        let OperandKind::Name(name) = &operands[0].kind else {
            return Err(self.misfit(&operands[0], "a predicate"));
        };
        let place = self.span.place;
        let holds = self.write_predicate(name, operands[0].span.place)?;
        let barrier = self.shared_address(&operands[1])?;
        let word = self.decoder.temporary(RegisterType::Wide, place)?;
        let zero = self.decoder.constant(0, true, place)?;
        self.change_barrier(barrier, AtomicOperation::BarrierTest, zero, Some(word));
        let shift = self.decoder.constant(63, false, place)?;
        let now = self.compute("shr.u64", &[word, shift])?;
        let before = if parity {
            let parity = self.read(&operands[2], Wanted::exactly("u32"))?;
            let one = self.decoder.constant(1, false, place)?;
            let bit = self.compute("and.b32", &[parity, one])?;
            self.compute("cvt.u64.u32", &[bit])?
        } else {
            let token = self.read(&operands[2], Wanted::exactly("b64"))?;
            self.compute("shr.u64", &[token, shift])?
        };
        let Some(row) = isa::lane_row("setp.ne.u64") else { return Err(self.unknown()) };
        let mut compare = self.before(Action::Compare(Combine::None));
        (compare.op, compare.unit, compare.latency) = (row.op, row.unit, row.latency);
        compare.sources[..2].copy_from_slice(&[now, before]);
        compare.destinations[0] = holds;
        self.add(compare, Effects { reads: vec![now, before], writes: vec![holds], ..Effects::default() });
        Ok(())
    }

    /// An address in shared memory, in 32 bits.
    fn shared_address(&mut self, operand: &Operand) -> Result<u16, PtxError> {
        let address = self.fragment_address(operand, Some(Space::Shared))?;
        let narrow = self.compute("cvt.u32.u64", &[address.register])?;
        if address.offset == 0 {
            return Ok(narrow);
        }
        let offset = self.decoder.constant(address.offset as u64, false, operand.span.place)?;
        self.compute("add.u32", &[narrow, offset])
    }

    /// A number of 32 bits, in 64.
    fn wide_count(&mut self, operand: &Operand) -> Result<u16, PtxError> {
        let count = self.read(operand, Wanted::exactly("u32"))?;
        self.compute("cvt.u64.u32", &[count])
    }

    fn set_barrier(&mut self, barrier: u16, word: u16) {
        self.change_barrier(barrier, AtomicOperation::Exchange, word, None);
        if let Some((instruction, _)) = self.expansion.last_mut() {
            instruction.latency = Latency::Store;
            instruction.memory.atomic = None;
            instruction.memory.store = true;
        }
    }

    fn change_barrier(&mut self, barrier: u16, operation: AtomicOperation, count: u16, to: Option<u16>) {
        let mut instruction: Instruction = self.before(Action::Memory);
        (instruction.unit, instruction.latency) = (Unit::LdSt, Latency::Atomic);
        instruction.address = barrier;
        instruction.memory = MemoryForm {
            space: Some(Space::Shared),
            atomic: Some((operation, AtomicType::U64)),
            volatile: true,
            elements: 1,
            bytes: 8,
            wide_value: true,
            ..MemoryForm::NONE
        };
        instruction.sources[0] = count;
        instruction.destinations[0] = to.unwrap_or(NONE);
        let effects =
            Effects { reads: vec![barrier, count], writes: to.into_iter().collect(), ..Effects::default() };
        self.add(instruction, effects);
    }
}
