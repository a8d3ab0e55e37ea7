//! A cursor over an application's steps, with the meaning of repetitions, loops, pipelines, tasks and rounds, for every executor
//! of steps.
//!
//! A cursor yields elementary steps one after another and takes the answer of a loop's condition. A cursor knows no time and no
//! memory: the runtimes execute the steps that it yields with time, and the functional host without.

use std::collections::VecDeque;
use std::slice;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::bus::Direction;

use super::{Awaited, BufferId, Condition, EventId, HostStep, LaunchStep, Member, Moved, Range, Step, Task};

/// A step that holds no others, or a part of a task or of a member's round.
#[derive(Clone, Copy, Debug)]
pub enum Elementary<'a> {
    /// Launches a kernel.
    Launch(&'a LaunchStep),
    /// Copies a part of a buffer.
    Copy {
        /// Direction of the copy.
        direction: Direction,
        /// The part.
        part: Range,
        /// On which stream.
        stream: u32,
    },
    /// Fills or copies rows.
    Move {
        /// The rows.
        moved: &'a Moved,
        /// On which stream.
        stream: u32,
    },
    /// The host does something by itself.
    Host(&'a HostStep),
    /// Records an event on a stream.
    Record(EventId, u32),
    /// Holds a stream until an event, as it was recorded last, has been recorded; at once if it never was.
    Wait(EventId, u32),
    /// Holds the host.
    Synchronize(Awaited),
    /// Frees a buffer's memory on its device.
    Free(BufferId),
}

/// Item that a cursor yields.
#[derive(Clone, Copy, Debug)]
pub enum Next<'a> {
    /// An elementary step to execute.
    Do(Elementary<'a>),
    /// Two names exchange their buffers, for all later steps.
    Swap(BufferId, BufferId),
    /// The condition of a loop is to be checked; [`Cursor::looked`] takes the answer before the next item.
    Inspect(&'a Condition),
    /// A pipeline, tasks or rounds of a co-run begin. Their steps come one after another unless [`Cursor::pass_by`] is called now.
    Group(&'a Step),
}

/// Number of executions of steps.
enum Times<'a> {
    /// Number of executions left.
    Left(u32),
    /// Until a condition is fulfilled; the limit of rounds, and the rounds so far.
    Until(&'a Condition, u32, u32),
    /// Once, with the results of a member behind it.
    Round(&'a Member),
}

/// Steps under execution.
struct Frame<'a> {
    steps: &'a [Step],
    at: usize,
    times: Times<'a>,
}

/// A cursor over steps, which yields the next step.
pub struct Cursor<'a> {
    frames: Vec<Frame<'a>>,
    /// Parts that come before the next step, each with the number of its task.
    parts: VecDeque<(Option<u32>, Elementary<'a>)>,
    /// A group that has been yielded and not been entered.
    group: Option<&'a Step>,
    task: Option<u32>,
}

impl<'a> Cursor<'a> {
    /// A cursor before the first of these steps.
    pub fn new(steps: &'a [Step]) -> Self {
        let first = Frame { steps, at: 0, times: Times::Left(1) };
        Cursor { frames: vec![first], parts: VecDeque::new(), group: None, task: None }
    }

    /// The number, within its step, of the task of the part yielded last.
    pub fn task(&self) -> Option<u32> {
        self.task
    }

    /// Passes by the group that has just been yielded.
    pub fn pass_by(&mut self) {
        self.group = None;
    }

    /// Takes the result of a check of the condition: whether the loop ends.
    ///
    /// # Errors
    /// If the loop has reached its limit.
    pub fn looked(&mut self, fulfilled: bool) -> Result<(), Fault> {
        if let Some(Frame { at, times: Times::Until(condition, most, rounds), .. }) = self.frames.last_mut() {
            (*at, *rounds) = (0, *rounds + 1);
            if fulfilled {
                self.frames.pop();
            } else if rounds == most {
                return Err(Fault::new(condition.never(*most)));
            }
        }
        Ok(())
    }

    fn push(&mut self, steps: &'a [Step], times: Times<'a>) {
        self.frames.push(Frame { steps, at: 0, times });
    }

    fn copies(&mut self, task: Option<u32>, direction: Direction, parts: &[Range], stream: u32) {
        let copy = |&part: &Range| (task, Elementary::Copy { direction, part, stream });
        self.parts.extend(parts.iter().map(copy));
    }

    fn enter(&mut self, group: &'a Step) {
        match group {
            Step::Tasks(tasks) => {
                for (number, Task { copy_in, launch, copy_out, .. }) in (0..).map(Some).zip(&**tasks) {
                    self.copies(number, Direction::HostToDevice, copy_in, launch.stream);
                    self.parts.push_back((number, Elementary::Launch(launch)));
                    self.copies(number, Direction::DeviceToHost, copy_out, launch.stream);
                }
            }
            Step::CoRun { members, rounds } => {
                for (member, round) in members.iter().zip(rounds).rev() {
                    self.push(slice::from_ref(round), Times::Round(member));
                }
            }
            step => self.push(step.inner(), Times::Left(1)),
        }
    }

    /// The steps that are being done have been done once.
    fn end(&mut self) -> Option<Next<'a>> {
        let frame = self.frames.last_mut()?;
        match &mut frame.times {
            Times::Left(left) if *left > 1 => (*left, frame.at) = (*left - 1, 0),
            Times::Left(_) => drop(self.frames.pop()),
            Times::Until(condition, ..) => return Some(Next::Inspect(condition)),
            Times::Round(Member { copy_out, stream, .. }) => {
                self.frames.pop();
                self.copies(None, Direction::DeviceToHost, copy_out, *stream);
            }
        }
        None
    }
}

impl<'a> Iterator for Cursor<'a> {
    type Item = Next<'a>;

    fn next(&mut self) -> Option<Next<'a>> {
        if let Some(group) = self.group.take() {
            self.enter(group);
        }
        loop {
            if let Some((task, part)) = self.parts.pop_front() {
                self.task = task;
                return Some(Next::Do(part));
            }
            self.task = None;
            let frame = self.frames.last_mut()?;
            let Some(step) = frame.steps.get(frame.at) else {
                match self.end() {
                    None => continue,
                    look => return look,
                }
            };
            frame.at += 1;
            let elementary = match step {
                Step::Launch(launch) => Elementary::Launch(launch),
                &Step::Copy { direction, part, stream } => Elementary::Copy { direction, part, stream },
                Step::Move { moved, stream } => Elementary::Move { moved, stream: *stream },
                Step::Host(step) => Elementary::Host(step),
                &Step::Record(event, stream) => Elementary::Record(event, stream),
                &Step::Wait(event, stream) => Elementary::Wait(event, stream),
                &Step::Synchronize(awaited) => Elementary::Synchronize(awaited),
                &Step::Free(buffer) => Elementary::Free(buffer),
                &Step::Swap(a, b) => return Some(Next::Swap(a, b)),
                Step::Repeat(0, _) => continue,
                Step::Repeat(times, steps) => {
                    self.push(steps, Times::Left(*times));
                    continue;
                }
                Step::Loop { until, most, steps } => {
                    self.push(steps, Times::Until(until, *most, 0));
                    continue;
                }
                // A phase of a loop may have none.
                Step::Tasks(tasks) if tasks.is_empty() => continue,
                Step::Tasks(_) | Step::Pipeline { .. } | Step::CoRun { .. } => {
                    self.group = Some(step);
                    return Some(Next::Group(step));
                }
            };
            return Some(Next::Do(elementary));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The buffers that a round swaps, in its order; every look ends its loop in the round of this number.
    fn swaps(round: &Step, looks: u32) -> Vec<u32> {
        let (mut cursor, mut swaps, mut looked) = (Cursor::new(slice::from_ref(round)), Vec::new(), 0);
        loop {
            match cursor.next() {
                Some(Next::Swap(BufferId(a), _)) => swaps.push(a),
                Some(Next::Inspect(_)) => {
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
        let mut cursor = Cursor::new(slice::from_ref(&round));
        let mut look = || {
            while !matches!(cursor.next(), Some(Next::Inspect(_))) {}
            cursor.looked(false)
        };
        assert!(look().is_ok());
        assert!(look().unwrap_err().to_string().contains("a is 0"));
    }
}
