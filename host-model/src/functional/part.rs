//! Launches of an application that have time, as an application of their own: all before them runs without time, and so does all behind them, on the
//! contents that the machine leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};
use std::slice;

use bytes::Bytes;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::Direction;
use counterpoint_protocols::host::FileIndex;
use counterpoint_protocols::preload::Contents;

use super::rest::{Back, Passed, Rest};
use super::{Files, FunctionalHost};
use crate::program::{
    Application, Awaited, Buffer, BufferId, BufferPlace, Computed, Cursor, DEFAULT_STREAM, Elementary,
    HostStep, Moved, Next, Pace, Step, Transfer, Variable,
};
use crate::timed::Timed;

/// Launches that have time.
#[derive(Clone, Debug)]
pub struct Part {
    /// The application that has them alone.
    pub application: Application,
    /// Contents of its devices before time 0.
    pub contents: Contents,
    /// Their numbers, from 1.
    pub launches: Range<u64>,
    /// Names of their kernels, in the order of their first launches.
    pub kernels: Vec<String>,
    /// Text that kernels printed before.
    pub printed: String,
}

/// The application of a part, the first contents of its devices, and the buffers that are copied back.
type Together = (Application, Contents, Vec<(BufferId, Back)>);

/// A part that is being put together.
struct Begun {
    first: u64,
    steps: Vec<Step>,
    /// What devices held at its beginning, by the numbers of the part.
    contents: Contents,
    /// Contents of the host's buffers that steps may copy to devices, by position.
    host: BTreeMap<usize, Bytes>,
    /// What buffers were called at its beginning.
    meaning: Vec<usize>,
    /// Positions of the buffers that its launches have as arguments, and of those that are copied to the host.
    arguments: BTreeSet<usize>,
    copied: BTreeSet<usize>,
    kernels: Vec<String>,
}

/// Buffers, by name, that steps copy to devices or into files, and pairs of names that change their buffers.
fn sent(steps: &[Step]) -> (BTreeSet<BufferId>, Vec<[BufferId; 2]>) {
    let (mut found, mut swaps) = (BTreeSet::new(), Vec::new());
    for step in steps {
        match step {
            Step::Copy { direction: Direction::HostToDevice, part, .. } => _ = found.insert(part.buffer),
            Step::Move { moved: Moved::Copy { direction: Direction::HostToDevice, host, .. }, .. } => {
                found.insert(host.buffer);
            }
            Step::Host(HostStep::Write(transfer)) => _ = found.insert(transfer.part.buffer),
            Step::Tasks(tasks) => {
                found.extend(tasks.iter().flat_map(|task| &task.copy_in).map(|part| part.buffer))
            }
            &Step::Swap(a, b) => swaps.push([a, b]),
            step => {
                let (more, others) = sent(step.inner());
                found.extend(more);
                swaps.extend(others);
            }
        }
    }
    let mut known = 0;
    while known != found.len() {
        known = found.len();
        let reached: Vec<BufferId> = swaps
            .iter()
            .filter(|pair| pair.iter().any(|name| found.contains(name)))
            .flatten()
            .copied()
            .collect();
        found.extend(reached);
    }
    (found, swaps)
}

/// Buffers, by name, that steps copy to the host.
fn received(step: &Step) -> BTreeSet<BufferId> {
    match step {
        Step::Copy { direction: Direction::DeviceToHost, part, .. } => BTreeSet::from([part.buffer]),
        Step::Move { moved: Moved::Copy { direction: Direction::DeviceToHost, host, .. }, .. } => {
            BTreeSet::from([host.buffer])
        }
        Step::Tasks(tasks) => tasks.iter().flat_map(|task| &task.copy_out).map(|part| part.buffer).collect(),
        Step::CoRun { members, rounds } => {
            let own = members.iter().flat_map(|member| &member.copy_out).map(|part| part.buffer);
            own.chain(rounds.iter().flat_map(received)).collect()
        }
        step => step.inner().iter().flat_map(received).collect(),
    }
}

/// An elementary step that has been executed.
fn recorded(step: Elementary<'_>) -> Step {
    match step {
        Elementary::Launch(launch) => Step::Launch(launch.clone()),
        Elementary::Copy { direction, part, stream } => Step::Copy { direction, part, stream },
        Elementary::Move { moved, stream } => Step::Move { moved: moved.clone(), stream },
        Elementary::Host(step) => Step::Host(*step),
        Elementary::Record(event, stream) => Step::Record(event, stream),
        Elementary::Wait(event, stream) => Step::Wait(event, stream),
        Elementary::Synchronize(awaited) => Step::Synchronize(awaited),
        Elementary::Free(buffer) => Step::Free(buffer),
    }
}

/// Exchanges of names after which each one has its place in `meaning`.
fn swaps_to(meaning: &[usize]) -> Vec<Step> {
    let (mut now, mut swaps): (Vec<usize>, _) = ((0..meaning.len()).collect(), Vec::new());
    for (name, place) in meaning.iter().enumerate() {
        if let Some(other) = (name + 1..now.len()).find(|other| now[*other] == *place) {
            now.swap(name, other);
            swaps.push(Step::Swap(BufferId(name as u32), BufferId(other as u32)));
        }
    }
    swaps
}

/// Files that steps read but do not write.
struct Unwritten<'a, F>(&'a mut F);

impl<F: Files> Files for Unwritten<'_, F> {
    fn read(&mut self, file: FileIndex, at: u64, place: &mut [u8]) -> Result<(), Fault> {
        self.0.read(file, at, place)
    }

    fn write(&mut self, _file: FileIndex, _at: u64, _contents: Bytes) {}
}

impl FunctionalHost<'_> {
    /// Runs the application to the end of the launches that have time, and puts these together. No step reads the files from `free_file` on: they are
    /// given contents of the host.
    ///
    /// # Errors
    /// If no launch is one of them, or some of a group are and others are not, or the launches of a heap are torn apart; also as
    /// [`FunctionalHost::run`].
    pub fn part(
        mut self,
        timed: &Timed,
        mut files: impl Files,
        free_file: u32,
    ) -> Result<ControlFlow<(), (Part, Rest)>, Fault> {
        let application = self.application;
        self.races = None;
        self.begin(&mut files)?;
        let (mut cursor, mut passed) = (Cursor::new(&application.steps), Passed::default());
        let (mut begun, mut printed): (Option<Begun>, _) = (None, String::new());
        let mut is_rest = false;
        while let Some(next) = cursor.next() {
            let launches = match next {
                Next::Do(Elementary::Launch(launch)) => vec![launch],
                Next::Group(group) => Step::launches(slice::from_ref(group)),
                _ => Vec::new(),
            };
            let first = self.launched.len() as u64 + 1;
            let mut covered =
                (first..).zip(&launches).map(|(number, it)| timed.covers(number, it.kernel.name()));
            if let Some(is_covered) = covered.next() {
                if covered.any(|other| other != is_covered) {
                    let last = first + launches.len() as u64 - 1;
                    return Err(Fault::new(format!(
                        "launches {first} to {last} are a group, whose order the runtime chooses: all of them have time, or none"
                    )));
                }
                match (&mut begun, is_covered) {
                    (None, true) => {
                        begun = Some(self.begin_part(first)?);
                        printed = self.journal.take_printed().text;
                    }
                    (Some(_), false) => {
                        is_rest = true;
                        break;
                    }
                    _ => {}
                }
            }
            passed.items += 1;
            if self.pass(next, (&mut cursor, &mut passed), &mut begun, &mut files)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let Some(begun) = begun else {
            let mut kernels: Vec<&str> = self.launched.iter().map(|launch| launch.kernel.as_str()).collect();
            let count = kernels.len();
            kernels.sort_unstable();
            kernels.dedup();
            return Err(Fault::new(match count {
                0 => "the application launches no kernel".to_owned(),
                _ => format!(
                    "no launch is one of them: launches have the numbers 1 to {count}, of `{}`",
                    kernels.join("`, `")
                ),
            }));
        };
        let launches = begun.first..self.launched.len() as u64 + 1;
        let kernels = begun.kernels.clone();
        let (application, contents, back) = self.put_together(begun, is_rest, free_file)?;
        let part = Part { application, contents, launches, kernels, printed };
        let FunctionalHost { host, memories, meaning, freed, launched, found, .. } = self;
        let next = is_rest.then_some(passed);
        Ok(ControlFlow::Continue((
            part,
            Rest { host, memories, meaning, freed, launched, found, next, back },
        )))
    }

    /// Executes the next item of the steps, and notes it as one of the part if that has begun.
    fn pass(
        &mut self,
        next: Next<'_>,
        (cursor, passed): (&mut Cursor<'_>, &mut Passed),
        begun: &mut Option<Begun>,
        files: &mut impl Files,
    ) -> Result<ControlFlow<()>, Fault> {
        let is_timed = begun.is_some();
        let mut note = |host: &Self, step: Step| {
            if let Some(begun) = begun {
                let place = |name: BufferId| host.meaning[name.0 as usize];
                for launch in Step::launches(slice::from_ref(&step)) {
                    begun.arguments.extend(launch.arguments.iter().flat_map(|one| one.buffers()).map(place));
                    if begun.kernels.iter().all(|known| known != launch.kernel.name()) {
                        begun.kernels.push(launch.kernel.name().to_owned());
                    }
                }
                begun.copied.extend(received(&step).into_iter().map(place));
                begun.steps.push(step);
            }
        };
        match next {
            Next::Do(step) => {
                note(self, recorded(step));
                match is_timed {
                    true => return self.step(step, &mut Unwritten(files)),
                    false => return self.step(step, files),
                }
            }
            Next::Swap(a, b) => {
                note(self, Step::Swap(a, b));
                self.meaning.swap(a.0 as usize, b.0 as usize);
            }
            Next::Inspect(until) => {
                let (direction, part) = (Direction::DeviceToHost, until.part());
                note(self, Step::Copy { direction, part, stream: DEFAULT_STREAM });
                note(self, Step::Synchronize(Awaited::Stream(DEFAULT_STREAM)));
                let answer = self.is_fulfilled(until)?;
                passed.answers.push(answer);
                cursor.looked(answer)?;
            }
            Next::Group(group) => {
                cursor.pass_by();
                note(self, group.clone());
                match is_timed {
                    true => return self.steps(slice::from_ref(group), &mut Unwritten(files)),
                    false => return self.steps(slice::from_ref(group), files),
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Notes what devices and host hold before the first launch that has time.
    fn begin_part(&mut self, first: u64) -> Result<Begun, Fault> {
        let application = self.application;
        if application.modules.iter().flat_map(|module| &module.kernels).any(|kernel| kernel.allocates()) {
            return Err(Fault::new(
                "kernels of the application allocate memory on the device, whose heap is not handed over: all launches have time, or none",
            ));
        }
        // The numbers of the part, which has a buffer more for each module.
        let behind = application.buffers.len() as u32 + application.modules.len() as u32;
        let mut contents = Contents::new();
        for buffer in 0..application.buffers.len() {
            if !self.freed[buffer] && application.variable_of(buffer).is_none() {
                let (_, device) = self.both(buffer)?;
                contents.push((buffer as u32, device.to_vec().into()));
            }
        }
        for module in 0..application.modules.len() {
            let constants = behind + application.modules.len() as u32 + module as u32;
            contents.push((behind + module as u32, self.variables(module)?.to_vec().into()));
            contents.push((constants, self.constants(module)?.to_vec().into()));
        }
        let (names, _) = sent(&application.steps);
        let places: BTreeSet<usize> = names.into_iter().map(|name| self.place(name)).collect();
        let host = places.into_iter().map(|place| (place, self.host[place].to_vec().into())).collect();
        Ok(Begun {
            first,
            steps: Vec::new(),
            contents,
            host,
            meaning: self.meaning.clone(),
            arguments: BTreeSet::new(),
            copied: BTreeSet::new(),
            kernels: Vec::new(),
        })
    }

    /// Makes the application of a part.
    fn put_together(&mut self, begun: Begun, is_rest: bool, free_file: u32) -> Result<Together, Fault> {
        let Begun { steps, contents, host, meaning, arguments, copied, .. } = begun;
        let mut part = self.application.clone();
        (part.preloaded, part.preload, part.prelude, part.copy_in) = Default::default();
        let positions = |set: BTreeSet<BufferId>| -> BTreeSet<usize> {
            set.into_iter().map(|name| meaning[name.0 as usize]).collect()
        };
        let (names, _) = sent(&steps);
        for (place, file) in positions(names).into_iter().zip(free_file..) {
            let Some(values) = host.get(&place) else { continue };
            let (file, buffer) = (FileIndex(file), BufferId(place as u32));
            part.computed.insert(file, Computed { values: values.clone(), pace: Pace::Whole(SimTime::ZERO) });
            part.prelude.push(HostStep::Read(Transfer { file, part: self.application.whole(buffer), at: 0 }));
        }
        let known: BTreeMap<u32, &Bytes> = contents.iter().map(|(number, bytes)| (*number, bytes)).collect();
        let is_gone = |place: &usize| {
            !known.contains_key(&(*place as u32)) && self.application.variable_of(*place).is_none()
        };
        let gone = (0..meaning.len()).filter(is_gone).map(|place| Step::Free(BufferId(place as u32)));
        part.steps = gone.chain(swaps_to(&meaning)).chain(steps).collect();
        let mut back = Vec::new();
        for module in &self.application.modules {
            let place = Variable { module: module.name.clone(), constant: false, offset: 0 };
            part.buffers.push(Buffer {
                name: format!("variables of {}", module.name),
                bytes: module.kernels.first().map_or(0, |kernel| kernel.global_bytes()),
                device: module.device,
                place: BufferPlace::Variable(place),
            });
        }
        if !is_rest {
            return Ok((part, contents, back));
        }
        for name in 0..meaning.len() {
            let place = self.meaning[name];
            if self.freed[place] {
                continue;
            }
            let has_changed = match known.get(&(place as u32)) {
                Some(before) => *self.both(place)?.1 != ***before,
                None => false,
            };
            if has_changed || arguments.contains(&place) {
                back.push((BufferId(name as u32), Back::Buffer(place, copied.contains(&place))));
            }
        }
        let launched: BTreeSet<usize> = Step::launches(&part.steps)
            .into_iter()
            .filter_map(|launch| Some(part.place_of(launch)?.module))
            .collect();
        for module in launched {
            let number = self.application.buffers.len() + module;
            if part.buffers[number].bytes > 0 {
                back.push((BufferId(number as u32), Back::Variables(module)));
            }
        }
        part.copy_out = back.iter().map(|(name, _)| *name).collect();
        part.inspect.clone_from(&part.copy_out);
        part.postlude = Vec::new();
        Ok((part, contents, back))
    }
}
