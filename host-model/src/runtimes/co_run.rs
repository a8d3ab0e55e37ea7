//! Applications that run together, each on a stream of its own and repeated while another one has not completed its first round.
//!
//! The host keeps two commands of each under way, so that a device that ends one has the next. When a member has completed its
//! first round its results are copied out; later rounds keep the device equally busy, and their results are not used. A member
//! sends nothing more when all others have completed a round, or behind its first one where nothing is to be repeated.

use std::collections::VecDeque;
use std::slice;

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::{CommandId, Direction};

use super::steps::Sender;
use crate::driver::Driver;
use crate::program::{BufferId, Condition, Cursor, Elementary, Member, Next, Step};

/// Commands of a member that are under way at a time.
const AHEAD: usize = 2;

/// A member as it runs.
struct Side<'a> {
    member: &'a Member,
    round: &'a Step,
    cursor: Cursor<'a>,
    span: SpanId,
    /// Its commands under way, oldest first.
    sent: VecDeque<CommandId>,
    /// A copy that brings the value that a loop checks, and the condition.
    looks: Option<(CommandId, &'a Condition)>,
    /// The thread that executes a step of the member's host; later steps wait for it.
    step: Option<usize>,
    /// Whether the member's host waits for all commands sent.
    waits: bool,
    /// Rounds that have been sent whole.
    rounds: u32,
    /// Commands of the round that is being sent.
    commands: u32,
    /// The last command of its first round.
    first: Option<CommandId>,
    /// Swaps of later rounds, undone at the end: names then refer to their buffers after the first round.
    swapped: Vec<(BufferId, BufferId)>,
    /// Whether the first round of the member has ended.
    completed: bool,
    /// Whether the member sends nothing more.
    rests: bool,
}

impl Side<'_> {
    /// Sends what it may. Other members run that have not completed their first round, or none.
    async fn send_ready(
        &mut self,
        sender: &mut Sender,
        driver: &mut Driver<'_>,
        others_run: bool,
    ) -> Result<(), Fault> {
        self.sent.retain(|id| driver.is_under_way(*id));
        if let Some((copy, condition)) = self.looks
            && !driver.is_under_way(copy)
        {
            let found = driver.read_part(condition.part()).await?;
            self.cursor.looked(*found == *condition.value)?;
            self.looks = None;
        }
        self.completed |= self.first.is_some_and(|id| !driver.is_under_way(id));
        self.step = self.step.filter(|thread| !driver.is_thread_done(*thread));
        self.waits &= !self.sent.is_empty();
        while !self.is_held() && !self.rests && self.sent.len() < AHEAD {
            if self.rounds > 0 && (self.member.once || !others_run) {
                self.rests = true;
                break;
            }
            self.send_next(sender, driver).await?;
        }
        if self.rests && self.sent.is_empty() {
            self.completed = true;
            while let Some((a, b)) = self.swapped.pop() {
                driver.swap(a, b);
            }
        }
        Ok(())
    }

    /// Whether it waits for a copy, for its host, or for all that it has sent.
    fn is_held(&self) -> bool {
        self.looks.is_some() || self.step.is_some() || self.waits
    }

    async fn send_next(&mut self, sender: &mut Sender, driver: &mut Driver<'_>) -> Result<(), Fault> {
        let (stream, parent) = (self.member.stream, Some(self.span));
        let id = match self.cursor.next() {
            Some(Next::Do(Elementary::Launch(launch))) => {
                Some(sender.launch_as(driver, launch, stream, parent).await?)
            }
            Some(Next::Do(Elementary::Copy { direction, part, .. })) => {
                Some(sender.copy_as(driver, direction, part, stream, parent).await?)
            }
            Some(Next::Do(Elementary::Move { moved, .. })) => {
                Some(sender.move_as(driver, moved, stream, parent).await?)
            }
            Some(Next::Do(Elementary::Host(step))) => {
                self.step = Some(driver.start_step(step, parent));
                None
            }
            Some(Next::Do(Elementary::Synchronize(_))) => {
                self.waits = !self.sent.is_empty();
                None
            }
            Some(Next::Do(Elementary::Free(name))) => {
                driver.free(name)?;
                None
            }
            // The commands of a member are in the order of its file: nothing else orders them.
            Some(Next::Do(Elementary::Record(..) | Elementary::Wait(..)) | Next::Group(_)) => None,
            Some(Next::Inspect(condition)) => {
                let part = condition.part();
                let copy = sender.copy_as(driver, Direction::DeviceToHost, part, stream, parent).await?;
                self.looks = Some((copy, condition));
                Some(copy)
            }
            Some(Next::Swap(a, b)) => {
                driver.swap(a, b);
                if self.rounds > 0 {
                    self.swapped.push((a, b));
                }
                None
            }
            None => return self.end_round(sender, driver).await,
        };
        self.commands += u32::from(id.is_some());
        self.sent.extend(id);
        Ok(())
    }

    async fn end_round(&mut self, sender: &mut Sender, driver: &mut Driver<'_>) -> Result<(), Fault> {
        self.rounds += 1;
        if self.rounds == 1 {
            for &part in &self.member.copy_out {
                let (way, parent) = (Direction::DeviceToHost, Some(self.span));
                self.sent.push_back(sender.copy_as(driver, way, part, self.member.stream, parent).await?);
            }
            self.first = self.sent.back().copied();
            self.completed = self.first.is_none();
        }
        // A round that sends nothing keeps no device busy.
        self.rests = self.commands == 0;
        self.commands = 0;
        self.cursor = Cursor::new(slice::from_ref(self.round));
        Ok(())
    }
}

/// Runs members side by side; `rounds` has the steps of each.
pub(super) async fn co_run(
    sender: &mut Sender,
    driver: &mut Driver<'_>,
    members: &[Member],
    rounds: &[Step],
    parent: Option<SpanId>,
) -> Result<(), Fault> {
    let side = |(member, round)| Side {
        member,
        round,
        cursor: Cursor::new(slice::from_ref(round)),
        span: driver.begin(parent, Level::Phases, &*member.name),
        sent: VecDeque::new(),
        looks: None,
        step: None,
        waits: false,
        rounds: 0,
        commands: 0,
        first: None,
        swapped: Vec::new(),
        completed: false,
        rests: false,
    };
    let mut sides: Vec<Side<'_>> = members.iter().zip(rounds).map(side).collect();
    loop {
        for place in 0..sides.len() {
            let mut others = sides.iter().enumerate();
            let is_other = |(other, side): (usize, &Side<'_>)| other != place && !side.completed;
            let others_run = sender.repeats && others.any(is_other);
            let rested = sides[place].rests && sides[place].sent.is_empty();
            sides[place].send_ready(sender, driver, others_run).await?;
            if !rested && sides[place].rests && sides[place].sent.is_empty() {
                driver.end(sides[place].span);
            }
        }
        if sides.iter().all(|side| side.rests && side.sent.is_empty()) {
            return Ok(());
        }
        driver.event_until(SimTime::MAX).await?;
    }
}
