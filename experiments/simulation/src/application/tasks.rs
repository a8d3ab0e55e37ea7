//! `tasks:`: narrow tasks, each a launch of a few threads with the copies that belong to it alone.

use counterpoint_framework::model::{Diagnostic, Node, Params};
use counterpoint_host_model::program::{Range, Step, Task};

use super::code::Codes;
use super::keys::{BufferPartKeys, OnStream, TaskKeys, TasksStep};
use super::reader::Reader;

/// Tasks of a step at most: each is kept with its arguments.
const MOST_TASKS: u64 = 1 << 20;

impl Reader<'_> {
    /// Tasks: a number of one kind, or rounds with one of each kind.
    pub(super) fn tasks(&mut self, keys: TasksStep, node: &Node, codes: &mut Codes) -> Option<Step> {
        let times = self.count(&keys.tasks, "tasks", 0, MOST_TASKS);
        let index = self.required(keys.round.index.as_deref(), node, "index", "tasks");
        let kinds = match &keys.r#do {
            Some(inner) => self.kinds_of_tasks(node, inner)?,
            None => vec![(keys.task, node)],
        };
        let (times, index) = (times?, index?);
        if times * kinds.len() as u64 > MOST_TASKS {
            let message = format!("{times} rounds of {} tasks are too many", kinds.len());
            let help = format!("a step has at most {MOST_TASKS} tasks");
            self.diagnostics.report(Diagnostic::new(index.span, message).help(help));
            return None;
        }
        let mut tasks = Vec::with_capacity(times as usize * kinds.len());
        self.each_round(&keys.round, times as u32, |reader| {
            for (keys, node) in &kinds {
                tasks.extend(reader.task(keys, node, codes));
            }
        })?;
        self.check_devices(&kinds, &tasks);
        Some(Step::Tasks(tasks.into()))
    }

    /// The kinds of tasks that stand under `do`.
    fn kinds_of_tasks<'n>(&mut self, node: &Node, inner: &'n Node) -> Option<Vec<(TaskKeys, &'n Node)>> {
        let of_one = TaskKeys::names().into_iter().find_map(|name| Some((name, node.get(name)?)));
        if let Some((name, value)) = of_one {
            let message = format!("`{name}` beside `do`");
            let help = "tasks of several kinds stand under `do`, each with its own keys";
            self.diagnostics.report(Diagnostic::new(value.span, message).help(help));
            return None;
        }
        let kinds = self.list(Some(inner), "tasks");
        if kinds.is_empty() {
            self.diagnostics.error(inner.span, "a round of tasks needs a task");
            return None;
        }
        kinds.iter().map(|kind| Some((self.read(kind)?, kind))).collect()
    }

    fn task(&mut self, keys: &TaskKeys, node: &Node, codes: &mut Codes) -> Option<Task> {
        let copy_in = self.parts(keys.copy_in.as_deref());
        let launch = self.launch(&keys.launch, &OnStream::default(), node, codes);
        let copy_out = self.parts(keys.copy_out.as_deref());
        let barrier = keys.barrier.as_ref().map_or(Some(false), |node| self.is_true(node));
        let launch = launch?;
        self.note(node, &launch, true, None);
        for (key, extent) in [("grid", launch.grid), ("block", launch.block)] {
            if let Some(node) = node.get(key).filter(|_| extent[1..] != [1, 1]) {
                let help = "a task knows its threads by one number";
                let message = format!("the {key} of a task has one dimension");
                self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            }
        }
        Some(Task { copy_in: copy_in?, launch, barrier: barrier?, copy_out: copy_out? })
    }

    /// Parts of buffers that are copied for a task.
    fn parts(&mut self, node: Option<&Node>) -> Option<Vec<Range>> {
        let nodes = self.list(node, "parts of buffers");
        let parts: Vec<_> = nodes.iter().map(|node| self.part(node)).collect();
        parts.into_iter().collect()
    }

    /// Part of a buffer, or all of one that is named alone.
    fn part(&mut self, node: &Node) -> Option<Range> {
        self.looked_at(node.span);
        if node.as_map().is_none() {
            let buffer = self.buffer(node)?;
            return Some(self.application.whole(buffer));
        }
        let BufferPartKeys { buffer, part } = self.read(node)?;
        let buffer = self.buffer(&buffer)?;
        self.part_of(&part, buffer)
    }

    fn is_true(&mut self, node: &Node) -> Option<bool> {
        let text = self.text(node)?;
        let value = text.parse().ok();
        if value.is_none() {
            self.diagnostics.error(node.span, format!("`{text}` is neither `true` nor `false`"));
        }
        value
    }

    /// Checks that all tasks of a step, and the copies for them, are on one device.
    fn check_devices(&mut self, kinds: &[(TaskKeys, &Node)], tasks: &[Task]) {
        let Some(first) = tasks.first().map(|task| task.launch.device) else { return };
        for (task, (_, node)) in tasks.iter().zip(kinds) {
            let elsewhere = |part: &Range| self.application.buffers[part.buffer.0 as usize].device != first;
            if task.launch.device != first || task.copies().any(elsewhere) {
                let message = format!("the tasks of a step run on one device, this one not on {first} alone");
                let help = "its kernel, and the buffers that are copied for it, belong to the device of the first task";
                self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            }
        }
    }
}
