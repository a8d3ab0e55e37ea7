//! Applications that run together on one machine: each is loaded as if it were alone, and then all are joined into one.
//!
//! A member is one stream: work that its file puts on several streams runs in the order of the file. Its buffers, code, streams
//! and outputs have its name in front. All inputs are read and copied in before the first kernel; [`Step::CoRun`] does the
//! rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint_framework::model::{Diagnostic, Node, Span};
use counterpoint_framework::topology::COMMAND_LINE;
use counterpoint_host_model::modules::Module;
use counterpoint_host_model::program::{
    Application, Argument, Awaited, BoundSurface, BoundTexture, Buffer, BufferId, BufferPlace, Condition,
    Fixed, HostStep, LaunchStep, LibrarySizes, Member, Moved, Range, Step, Stream, Task, Transfer, Variable,
};
use counterpoint_protocols::bus::Direction;
use counterpoint_protocols::host::FileIndex;
use counterpoint_ptx::StackSize;

use super::addresses::overlaps;
use super::keys::MemberKeys;
use super::loaded::{CoRunPart, Expectation, LoadedApplication};
use super::parameters::SETTING_PREFIX;
use super::reader::Reader;
use crate::find::Sort;

/// Separator between the names of applications that run together.
pub const SEPARATOR: &str = " + ";

/// An application that is to run together with others.
pub(super) struct Guest {
    pub(super) name: String,
    pub(super) path: String,
    /// Settings that the co-run's file gives the application.
    pub(super) sets: Vec<String>,
    pub(super) span: Span,
}

impl Reader<'_> {
    /// The guests that a file names.
    pub(super) fn guests(&mut self, node: &Node) -> Vec<Guest> {
        let Some(entries) = node.as_map() else {
            let message = format!("expected applications by name, found {}", node.shape());
            self.diagnostics.error(node.span, message);
            return Vec::new();
        };
        let mut guests = Vec::new();
        for (key, node) in entries {
            let Some(MemberKeys { application, set }) = self.read(node) else { continue };
            let Some(file) = self.text(&application) else { continue };
            let Some(path) = self.locate(Sort::Application, application.span, &file) else { continue };
            let sets = set.map(|sets| self.guest_sets(&sets)).unwrap_or_default();
            guests.push(Guest { name: key.name.clone(), path, sets, span: key.span });
        }
        guests
    }

    fn guest_sets(&mut self, node: &Node) -> Vec<String> {
        let Some(entries) = node.as_map() else {
            let message = format!("expected values of parameters by name, found {}", node.shape());
            self.diagnostics.error(node.span, message);
            return Vec::new();
        };
        let set = |(key, value): &(_, Node)| {
            let key: &counterpoint_framework::model::Key = key;
            Some(format!("{SETTING_PREFIX}{}={}", key.name, self.text(value)?))
        };
        entries.iter().filter_map(set).collect()
    }

    /// The application that runs these together, with settings of the command line: `app.name=value` for every guest that has a
    /// parameter or a size of that name, `app.guest.name=value` for one.
    pub(super) fn co_run(
        &mut self,
        name: &str,
        guests: &[Guest],
        sets: &[String],
    ) -> Option<LoadedApplication> {
        let mut own: Vec<Vec<String>> = guests.iter().map(|guest| guest.sets.clone()).collect();
        let roots: Vec<Node> = guests
            .iter()
            .map(|guest| self.tree(&guest.path, Some(guest.span), &mut Vec::new()))
            .collect::<Option<_>>()?;
        for set in sets {
            self.hand_out(set, guests, &roots, &mut own);
        }
        let mut parts = Vec::new();
        for ((guest, root), sets) in guests.iter().zip(&roots).zip(&own) {
            if let Some(nested) = root.get("co_run") {
                let message = "what runs several applications cannot run together with others";
                self.diagnostics.error(nested.span, message);
                continue;
            }
            if self.has_former_key(root) {
                continue;
            }
            // A reader of its own, whose texts and problems are ours.
            let mut reader = Reader::new(self.files, self.registry);
            std::mem::swap(&mut reader.sources, &mut self.sources);
            std::mem::swap(&mut reader.diagnostics, &mut self.diagnostics);
            let loaded = reader.of_tree(root, sets);
            std::mem::swap(&mut reader.sources, &mut self.sources);
            std::mem::swap(&mut reader.diagnostics, &mut self.diagnostics);
            let Some(loaded) = loaded else { continue };
            self.check_guest(guest, &loaded, !parts.is_empty());
            parts.push((guest.name.clone(), loaded));
        }
        let mut joined = Joined::default();
        joined.loaded.application.name = name.to_owned();
        joined.loaded.application.streams.push(Stream::default_of_all());
        let parts_of = parts.iter().map(|(_, loaded)| loaded);
        joined.inputs = parts_of.clone().map(|loaded| loaded.inputs.len()).sum();
        parts.into_iter().for_each(|(name, loaded)| joined.add(&name, loaded));
        let mut loaded = joined.end();
        if let Some(guest) = guests.first() {
            for (one, other) in overlaps(&loaded.application) {
                self.diagnostics.error(guest.span, format!("{one} and {other} lie at the same addresses"));
            }
        }
        loaded.texts = self.sources.texts().map(str::to_owned).collect();
        loaded.sources = self.sources.clone();
        Some(loaded)
    }

    /// Passes a setting to the guests that it addresses.
    fn hand_out(&mut self, set: &str, guests: &[Guest], roots: &[Node], own: &mut [Vec<String>]) {
        let path = set.split('=').next().unwrap_or_default().trim();
        let name = path.strip_prefix(SETTING_PREFIX).unwrap_or(path);
        if let Some((guest, rest)) = name.split_once('.') {
            match guests.iter().position(|one| one.name == guest) {
                Some(place) => {
                    let value = set.split_once('=').map_or("", |(_, value)| value);
                    own[place].push(format!("{SETTING_PREFIX}{rest}={value}"));
                }
                None => self.no_guest(set, guest, guests),
            }
            return;
        }
        let value = set.split_once('=').map_or("", |(_, value)| value.trim());
        let has = |root: &Node| {
            let is_parameter = root.get("parameters").is_some_and(|all| all.get(name).is_some());
            is_parameter || name == "size" && root.get("sizes").is_some_and(|all| all.get(value).is_some())
        };
        let mut taken = false;
        for (root, own) in roots.iter().zip(own) {
            if has(root) {
                own.push(set.to_owned());
                taken = true;
            }
        }
        if !taken {
            let span = self.command_line(set);
            let what = if name == "size" { "size" } else { "parameter" };
            let which = if name == "size" { value } else { name };
            self.diagnostics.error(span, format!("none of the applications has a {what} `{which}`"));
        }
    }

    fn no_guest(&mut self, set: &str, guest: &str, guests: &[Guest]) {
        let span = self.command_line(set);
        let diagnostic =
            Diagnostic::new(span, format!("there is no application `{guest}` among those that run"));
        self.diagnostics.report(diagnostic.suggest(guest, guests.iter().map(|guest| guest.name.as_str())));
    }

    pub(super) fn command_line(&mut self, text: &str) -> Span {
        let file = self.sources.add_argument(COMMAND_LINE, text);
        self.sources.whole(file)
    }

    /// Reports what keeps an application from running together with others.
    fn check_guest(&mut self, guest: &Guest, loaded: &LoadedApplication, has_others: bool) {
        let application = &loaded.application;
        let problem = if application.devices().len() > 1 {
            "uses several devices, and an application that runs together with others has one stream of one device"
        } else if has_others && !(application.textures.is_empty() && application.surfaces.is_empty()) {
            "has textures or surfaces: of applications that run together only the first may have some"
        } else {
            return;
        };
        self.diagnostics.error(guest.span, format!("`{}` {problem}", guest.name));
    }
}

/// Applications on their way to being one.
#[derive(Default)]
struct Joined {
    loaded: LoadedApplication,
    members: Vec<Member>,
    rounds: Vec<Step>,
    /// Number of files that all members read in their preludes; outputs are numbered after them.
    inputs: usize,
}

/// Whether a round cannot be done again: it frees memory, or leaves something with the host.
fn is_done_once(steps: &[Step]) -> bool {
    let leaves = |step: &Step| match step {
        Step::Free(_) | Step::Host(_) => true,
        Step::Copy { direction, .. } => *direction == Direction::DeviceToHost,
        Step::Move { moved, .. } => {
            matches!(moved, Moved::Copy { direction: Direction::DeviceToHost, .. })
        }
        _ => false,
    };
    steps.iter().any(|step| step.any(&leaves))
}

/// Programs begin at multiples of it on a device.
const ALIGNMENT: u64 = 1 << 16;

impl Joined {
    /// Shift of an application's addresses: 0, or, if its fixed addresses are taken already, the end of the members before it.
    fn shift(&self, part: &Application) -> u64 {
        let device = part.buffers.first().map_or(0, |buffer| buffer.device);
        let (taken, own) = (self.loaded.application.fixed(device), part.fixed(device));
        let meet = |one: &Fixed| {
            taken.iter().any(|other| one.range.start < other.range.end && other.range.start < one.range.end)
        };
        if !own.iter().any(meet) {
            return 0;
        }
        let start = own.iter().map(|fixed| fixed.range.start).min().unwrap_or(0) / ALIGNMENT * ALIGNMENT;
        let end = taken.iter().map(|fixed| fixed.range.end).max().unwrap_or(0);
        end.next_multiple_of(ALIGNMENT) - start
    }

    fn add(&mut self, name: &str, part: LoadedApplication) {
        let to = &mut self.loaded;
        let stream = to.application.streams.len() as u32;
        let once = is_done_once(&part.application.steps);
        let shift = self.shift(&part.application);
        let to = &mut self.loaded;
        to.application.shifts.buffers.resize(to.application.buffers.len(), 0);
        to.application.shifts.modules.resize(to.application.modules.len(), 0);
        to.application.shifts.buffers.extend(part.application.buffers.iter().map(|_| shift));
        to.application.shifts.modules.extend(part.application.modules.iter().map(|_| shift));
        let own = Own { name, stream, buffers: to.application.buffers.len() as u32, once };
        to.application.modules.extend(
            part.application
                .modules
                .iter()
                .map(|module| Module { name: Arc::from(own.named(&module.name)), ..module.clone() }),
        );
        let Application {
            buffers,
            textures,
            surfaces,
            preloaded,
            preload,
            prelude,
            computed,
            copy_in,
            steps,
            copy_out,
            postlude,
            inspect,
            library,
            stack,
            ..
        } = part.application;
        let device = buffers.first().map_or(0, |buffer| buffer.device);
        to.parts.push(CoRunPart {
            name: name.to_owned(),
            parameters: part.parameters.clone(),
            buffers: own.buffers as usize..own.buffers as usize + buffers.len(),
        });
        let application = &mut to.application;
        let LibrarySizes { heap, printf } = &mut application.library;
        (*heap, *printf) = (library.heap.max(*heap), library.printf.max(*printf));
        application.stack = match to.parts.len() {
            1 => stack,
            _ => larger(application.stack, stack),
        };
        application.streams.push(Stream { name: name.to_owned(), device, non_blocking: false });
        application.buffers.extend(buffers.into_iter().map(|buffer| Buffer {
            name: own.named(&buffer.name),
            place: own.place(buffer.place),
            ..buffer
        }));
        application
            .textures
            .extend(textures.into_iter().map(|one| BoundTexture { buffer: own.buffer(one.buffer), ..one }));
        application
            .surfaces
            .extend(surfaces.into_iter().map(|one| BoundSurface { buffer: own.buffer(one.buffer), ..one }));
        application.preloaded.extend(own.all(&preloaded));
        application.preload.extend(own.steps(&preload));
        let (before, own_inputs) = (to.inputs.len() as u32, part.inputs.len() as u32);
        let written = (self.inputs + to.outputs.len()) as u32;
        let file = |FileIndex(index)| match index.checked_sub(own_inputs) {
            None => FileIndex(before + index),
            Some(output) => FileIndex(written + output),
        };
        let transfer = |one: Transfer| Transfer { file: file(one.file), part: own.range(&one.part), ..one };
        let host = |step: HostStep| step.changed(transfer);
        application.prelude.extend(prelude.into_iter().map(host));
        application.computed.extend(computed.into_iter().map(|(index, one)| (file(index), one)));
        application.copy_in.extend(own.all(&copy_in));
        application.postlude.extend(postlude.into_iter().map(host));
        application.inspect.extend(own.all(&inspect));
        let copy_out = own.all(&copy_out).map(|buffer| application.whole(buffer)).collect();
        self.members.push(Member { name: name.to_owned(), stream, copy_out, once });
        let mut round = own.steps(&steps);
        Step::each_of_host(&mut round, &mut |step| *step = step.changed(transfer));
        self.rounds.push(Step::Repeat(1, round));

        to.parameters.extend(part.parameters.into_iter().map(|(key, value)| (own.named(&key), value)));
        to.elements.extend(part.elements);
        to.inputs.extend(part.inputs);
        to.preloaded.extend(part.preloaded);
        to.outputs.extend(part.outputs.iter().map(|output| format!("{name}/{output}")));
        to.expectations.extend(
            part.expectations.into_iter().map(|one| Expectation { part: own.range(&one.part), ..one }),
        );
        to.synthetic.extend(part.synthetic.into_iter().map(|(kernel, text)| (own.named(&kernel), text)));
        to.launched.extend(part.launched);
        to.remarks.extend(part.remarks);
    }

    fn end(mut self) -> LoadedApplication {
        let Application { preload, steps, modules, .. } = &mut self.loaded.application;
        *steps = vec![Step::CoRun { members: self.members, rounds: self.rounds }];
        let launches = [&*preload, &*steps].into_iter().flat_map(|steps| Step::launches(steps));
        let of_members = std::mem::replace(modules, Module::of(launches));
        for member in of_members {
            let is_same =
                |module: &&mut Module| (&module.name, module.device) == (&member.name, member.device);
            match modules.iter_mut().find(is_same) {
                Some(module) => (module.globals, module.constants) = (member.globals, member.constants),
                None => modules.push(member),
            }
        }
        self.loaded
    }
}

/// Mapping of the numbers and names of an application among others.
struct Own<'a> {
    name: &'a str,
    stream: u32,
    buffers: u32,
    /// The application runs one round, and its waits stay.
    once: bool,
}

impl Own<'_> {
    fn named(&self, name: &str) -> String {
        format!("{}.{name}", self.name)
    }

    /// A variable is one of its own module.
    fn place(&self, place: BufferPlace) -> BufferPlace {
        match place {
            BufferPlace::Variable(variable) => BufferPlace::Variable(Variable {
                module: Arc::from(self.named(&variable.module)),
                ..variable
            }),
            place => place,
        }
    }

    fn buffer(&self, BufferId(number): BufferId) -> BufferId {
        BufferId(self.buffers + number)
    }

    fn all(&self, buffers: &[BufferId]) -> impl Iterator<Item = BufferId> {
        let before = self.buffers;
        buffers.iter().map(move |buffer| BufferId(before + buffer.0)).collect::<Vec<_>>().into_iter()
    }

    fn range(&self, range: &Range) -> Range {
        Range { buffer: self.buffer(range.buffer), ..*range }
    }

    /// Steps in the joint program; those that order streams are gone, since there is one.
    fn steps(&self, steps: &[Step]) -> Vec<Step> {
        steps.iter().filter_map(|step| self.step(step)).collect()
    }

    fn step(&self, step: &Step) -> Option<Step> {
        Some(match step {
            Step::Launch(launch) => Step::Launch(self.launch(launch)),
            Step::Copy { direction, part, .. } => {
                Step::Copy { direction: *direction, part: self.range(part), stream: self.stream }
            }
            Step::Move { moved, .. } => {
                Step::Move { moved: moved.renamed(|buffer| self.buffer(buffer)), stream: self.stream }
            }
            Step::Host(step) => Step::Host(*step),
            // Host work after the wait may need the awaited data.
            Step::Synchronize(_) if self.once => Step::Synchronize(Awaited::Stream(self.stream)),
            Step::Record(..) | Step::Wait(..) | Step::Synchronize(_) => return None,
            Step::Swap(a, b) => Step::Swap(self.buffer(*a), self.buffer(*b)),
            Step::Free(buffer) => Step::Free(self.buffer(*buffer)),
            Step::Repeat(times, steps) => Step::Repeat(*times, self.steps(steps)),
            Step::Pipeline { kernels, launches } => {
                Step::Pipeline { kernels: *kernels, launches: self.steps(launches) }
            }
            Step::Tasks(tasks) => Step::Tasks(tasks.iter().map(|task| self.task(task)).collect()),
            Step::Loop { until, most, steps } => {
                let until = Condition { buffer: self.buffer(until.buffer), ..until.clone() };
                Step::Loop { until, most: *most, steps: self.steps(steps) }
            }
            Step::CoRun { members, rounds } => {
                Step::CoRun { members: members.clone(), rounds: self.steps(rounds) }
            }
        })
    }

    fn launch(&self, launch: &LaunchStep) -> LaunchStep {
        let argument = |argument: &Argument| match argument {
            Argument::Buffer(buffer, offset) => Argument::Buffer(self.buffer(*buffer), *offset),
            Argument::Value(bytes) => Argument::Value(bytes.clone()),
            Argument::Struct { bytes, addresses } => {
                let of = |(at, buffer, offset): &(u32, BufferId, u64)| (*at, self.buffer(*buffer), *offset);
                Argument::Struct { bytes: bytes.clone(), addresses: addresses.iter().map(of).collect() }
            }
        };
        LaunchStep {
            code: Arc::from(self.named(&launch.code)),
            stream: self.stream,
            arguments: launch.arguments.iter().map(argument).collect(),
            ..launch.clone()
        }
    }

    fn task(&self, task: &Task) -> Task {
        let ranges = |ranges: &[Range]| ranges.iter().map(|range| self.range(range)).collect();
        Task {
            copy_in: ranges(&task.copy_in),
            launch: self.launch(&task.launch),
            barrier: task.barrier,
            copy_out: ranges(&task.copy_out),
        }
    }
}

impl LoadedApplication {
    /// Parameters and buffers that the reference of a buffer may read, and the buffer's name among them. Without a co-run these
    /// are all; in a co-run, those of the buffer's own application.
    pub(crate) fn known_to<'a>(
        &'a self,
        buffer: BufferId,
        contents: &'a BTreeMap<String, bytes::Bytes>,
    ) -> (&'a BTreeMap<String, f64>, BTreeMap<String, bytes::Bytes>, &'a str) {
        let name = &self.application.buffers[buffer.0 as usize].name;
        let Some(part) = self.parts.iter().find(|part| part.buffers.contains(&(buffer.0 as usize))) else {
            return (&self.parameters, contents.clone(), name);
        };
        let of_part = |name: &'a str| name.strip_prefix(&*part.name)?.strip_prefix('.');
        let own = contents.iter().filter_map(|(name, held)| Some((of_part(name)?.to_owned(), held.clone())));
        (&part.parameters, own.collect(), of_part(name).unwrap_or(name))
    }
}

/// A stack that is large enough for two applications.
fn larger(one: Option<StackSize>, other: Option<StackSize>) -> Option<StackSize> {
    if one.is_none() && other.is_none() {
        return None;
    }
    Some(one.unwrap_or_default().max(other.unwrap_or_default()))
}
