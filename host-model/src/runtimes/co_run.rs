//! Applications that run together, each on a stream of its own and repeated while another one has not completed its first round.
//!
//! The host keeps two commands of each under way, so that a device that ends one has the next. When a member has completed its
//! first round its results are copied out; later rounds keep the device as busy, and nobody looks at what they compute. A member
//! sends nothing more when all others have completed a round, or behind its first one where nothing is to be repeated.

use std::collections::VecDeque;

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::{CommandId, Direction};

use super::steps::Sender;
use crate::driver::Driver;
use crate::program::{BufferId, Condition, LaunchStep, Member, Moved, Range, Step};

/// Commands of a member that are under way at a time.
const AHEAD: usize = 2;

/// Next action of a member.
enum Item<'a> {
    Launch(&'a LaunchStep),
    Copy(Direction, Range),
    Move(&'a Moved),
    Step(&'a Step),
    /// Looks whether the loop ends.
    Inspect(&'a Condition),
}

/// How often steps are done.
enum Times<'a> {
    /// This number of times more.
    Left(u32),
    /// Until a condition is fulfilled; the limit of rounds, and the rounds so far.
    Until(&'a Condition, u32, u32),
}

/// Steps that are being done.
struct Frame<'a> {
    steps: &'a [Step],
    at: usize,
    times: Times<'a>,
}

/// A place in the steps of a round.
struct Cursor<'a> {
    frames: Vec<Frame<'a>>,
    /// The parts of tasks that come next.
    tasks: VecDeque<Item<'a>>,
}

impl<'a> Cursor<'a> {
    fn new(round: &'a Step) -> Self {
        let first = Frame { steps: std::slice::from_ref(round), at: 0, times: Times::Left(1) };
        Cursor { frames: vec![first], tasks: VecDeque::new() }
    }

    /// The next action; nothing when the round is over. After an inspection, [`Cursor::looked`] comes first.
    fn next(&mut self) -> Option<Item<'a>> {
        loop {
            if let Some(item) = self.tasks.pop_front() {
                return Some(item);
            }
            let frame = self.frames.last_mut()?;
            let Some(step) = frame.steps.get(frame.at) else {
                match &mut frame.times {
                    Times::Left(left) if *left > 1 => (*left, frame.at) = (*left - 1, 0),
                    Times::Left(_) => drop(self.frames.pop()),
                    Times::Until(condition, ..) => return Some(Item::Inspect(condition)),
                }
                continue;
            };
            frame.at += 1;
            let (steps, times) = match step {
                Step::Launch(launch) => return Some(Item::Launch(launch)),
                Step::Copy { direction, part, .. } => return Some(Item::Copy(*direction, *part)),
                Step::Move { moved, .. } => return Some(Item::Move(moved)),
                Step::Tasks(tasks) => {
                    for task in &**tasks {
                        let copy = |direction| move |range: &Range| Item::Copy(direction, *range);
                        self.tasks.extend(task.copy_in.iter().map(copy(Direction::HostToDevice)));
                        self.tasks.push_back(Item::Launch(&task.launch));
                        self.tasks.extend(task.copy_out.iter().map(copy(Direction::DeviceToHost)));
                    }
                    continue;
                }
                Step::Repeat(0, _) => continue,
                Step::Repeat(times, steps) => (steps, Times::Left(*times)),
                Step::Pipeline { launches, .. } => (launches, Times::Left(1)),
                Step::Loop { until, most, steps } => (steps, Times::Until(until, *most, 0)),
                step => return Some(Item::Step(step)),
            };
            self.frames.push(Frame { steps, at: 0, times });
        }
    }

    /// The look has shown whether the loop ends.
    ///
    /// # Errors
    /// If it has reached its limit.
    fn looked(&mut self, fulfilled: bool) -> Result<(), Fault> {
        if let Some(Frame { at, times: Times::Until(condition, most, rounds), .. }) = self.frames.last_mut() {
            (*at, *rounds) = (0, *rounds + 1);
            if !fulfilled && rounds == most {
                return Err(Fault::new(condition.never(*most)));
            }
        }
        if fulfilled {
            self.frames.pop();
        }
        Ok(())
    }
}

/// A member as it runs.
struct Side<'a> {
    member: &'a Member,
    round: &'a Step,
    cursor: Cursor<'a>,
    span: SpanId,
    /// Its commands under way, oldest first.
    sent: VecDeque<CommandId>,
    /// A copy that brings what a loop looks at.
    looks: Option<(CommandId, &'a Condition)>,
    /// The thread that does a step of its host, which what is behind waits for.
    step: Option<usize>,
    /// Whether the member's host waits for all commands sent.
    waits: bool,
    /// Rounds that have been sent whole.
    rounds: u32,
    /// Commands of the round that is being sent.
    commands: u32,
    /// The last command of its first round.
    first: Option<CommandId>,
    /// Swaps of later rounds, undone at the end: names mean what they did behind the first round.
    swapped: Vec<(BufferId, BufferId)>,
    /// Whether the first round of the member has ended.
    completed: bool,
    /// Whether the member sends nothing more.
    rests: bool,
}

impl Side<'_> {
    /// Sends what it may. Other members run that have not completed their first round, or none.
    async fn go_on(
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
            Some(Item::Launch(launch)) => Some(sender.launch_as(driver, launch, stream, parent).await?),
            Some(Item::Copy(direction, range)) => {
                Some(sender.copy_as(driver, direction, range, stream, parent).await?)
            }
            Some(Item::Move(moved)) => Some(sender.move_as(driver, moved, stream, parent).await?),
            Some(Item::Inspect(condition)) => {
                let part = condition.part();
                let copy = sender.copy_as(driver, Direction::DeviceToHost, part, stream, parent).await?;
                self.looks = Some((copy, condition));
                Some(copy)
            }
            Some(Item::Step(Step::Swap(a, b))) => {
                driver.swap(*a, *b);
                if self.rounds > 0 {
                    self.swapped.push((*a, *b));
                }
                None
            }
            Some(Item::Step(Step::Host(step))) => {
                self.step = Some(driver.start_step(step, parent));
                None
            }
            Some(Item::Step(Step::Synchronize(_))) => {
                self.waits = !self.sent.is_empty();
                None
            }
            Some(Item::Step(Step::Free(name))) => {
                driver.free(*name)?;
                None
            }
            // Its commands are in the order of its file: nothing else holds them.
            Some(Item::Step(_)) => None,
            None => return self.end_round(sender, driver).await,
        };
        self.commands += u32::from(id.is_some());
        self.sent.extend(id);
        Ok(())
    }

    async fn end_round(&mut self, sender: &mut Sender, driver: &mut Driver<'_>) -> Result<(), Fault> {
        self.rounds += 1;
        if self.rounds == 1 {
            for &buffer in &self.member.copy_out {
                let whole = driver.application().whole(buffer);
                let (way, parent) = (Direction::DeviceToHost, Some(self.span));
                self.sent.push_back(sender.copy_as(driver, way, whole, self.member.stream, parent).await?);
            }
            self.first = self.sent.back().copied();
            self.completed = self.first.is_none();
        }
        // A round that sends nothing keeps no device busy.
        self.rests = self.commands == 0;
        self.commands = 0;
        self.cursor = Cursor::new(self.round);
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
        cursor: Cursor::new(round),
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
            sides[place].go_on(sender, driver, others_run).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The buffers that a round swaps, in its order; every look ends its loop in the round of this number.
    fn swaps(round: &Step, looks: u32) -> Vec<u32> {
        let (mut cursor, mut swaps, mut looked) = (Cursor::new(round), Vec::new(), 0);
        loop {
            match cursor.next() {
                Some(Item::Step(Step::Swap(BufferId(a), _))) => swaps.push(*a),
                Some(Item::Inspect(_)) => {
                    looked += 1;
                    cursor.looked(looked % looks == 0).unwrap();
                }
                Some(_) => panic!("only swaps and looks"),
                None => return swaps,
            }
        }
    }

    fn swap(a: u32) -> Step {
        Step::Swap(BufferId(a), BufferId(0))
    }

    #[test]
    fn a_round_goes_through_repetitions_and_loops_in_their_order() {
        let until = Condition { buffer: BufferId(0), offset: 0, value: Box::new([0]), words: String::new() };
        let of_loop = Step::Loop { until, most: 3, steps: vec![Step::Repeat(2, vec![swap(4)]), swap(5)] };
        let inner = Step::Repeat(2, vec![swap(2), Step::Repeat(0, vec![swap(9)]), swap(3)]);
        let round = Step::Repeat(1, vec![swap(1), inner, of_loop, swap(6)]);
        assert_eq!(swaps(&round, 2), [1, 2, 3, 2, 3, 4, 4, 5, 4, 4, 5, 6]);
        assert_eq!(swaps(&round, 1), [1, 2, 3, 2, 3, 4, 4, 5, 6]);
    }

    #[test]
    fn a_loop_that_never_ends_is_given_up() {
        let until =
            Condition { buffer: BufferId(0), offset: 0, value: Box::new([0]), words: "a is 0".into() };
        let round = Step::Loop { until, most: 2, steps: vec![swap(1)] };
        let mut cursor = Cursor::new(&round);
        let mut look = || {
            while !matches!(cursor.next(), Some(Item::Inspect(_))) {}
            cursor.looked(false)
        };
        assert!(look().is_ok());
        assert!(look().unwrap_err().to_string().contains("a is 0"));
    }
}
