//! A program's calls, one after another, from its first one to its end.

use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use counterpoint_cuda_capture::{Entry, Machine};

use crate::api::{Body, PER_THREAD, bodies};
use crate::channel::{Call, Channel};
use crate::errors::{Error, Result};
use crate::libraries::Library;
use crate::page::{AGAIN, CALL, DONE, RETURNED};
use crate::settings::Settings;
use crate::state::State;
use crate::words::Words;

/// Time between two turns of kernels that wait, while the program does not call.
const PAUSE: Duration = Duration::from_micros(100);

/// Serves a program until it has gone.
pub(crate) fn run(
    program: UnixStream,
    settings: Settings,
    machine: Option<Box<dyn Machine>>,
) -> io::Result<()> {
    let channel = Channel::open(program)?;
    let known = bodies();
    let names = channel.names.clone();
    let find = |name: &str| known.get(name).copied();
    let mut state = State::new(settings, channel, machine);
    loop {
        state.go_on_beside();
        let Some(call) = state.channel.next() else { break };
        let name = names.get(call.function as usize).map_or("", String::as_str);
        // The second form of a function differs from it in the default stream alone.
        let first_form = PER_THREAD.iter().find_map(|end| name.strip_suffix(end));
        state.per_thread = first_form.is_some();
        let result = state.serve(call, name, find(first_form.unwrap_or(name)));
        match state.function_of_host.take() {
            // The program comes back when it has called it.
            Some(host) => {
                let [first, second, third] = host.words;
                state.channel.answer(CALL, &[host.function, first, second, third]);
            }
            None if std::mem::take(&mut state.waiting.again) => state.channel.answer(AGAIN, &[]),
            None => {
                state.waiting.done();
                state.channel.answer(DONE, &[result]);
            }
        }
    }
    Ok(())
}

impl State {
    /// Does what a call wants; the result is the program's.
    fn serve(&mut self, call: Call, name: &str, body: Option<Body>) -> u64 {
        (self.thread, self.thread_pointer) = (call.thread, call.thread_pointer);
        for entry in &call.files {
            self.note_file(entry);
        }
        let words = &mut Words::new(call.words, call.floats);
        if call.is_of_files() {
            self.recorder.enter(call.work);
            self.write_files();
            return 0;
        }
        if call.function == RETURNED {
            let rest = self.of_thread().rest.take().unwrap_or_default();
            return self.check("cudaGraphLaunch", call.work, |state| state.perform_all(rest), false);
        }
        match body {
            Some(Body::Call(body)) => self.check(
                name,
                call.work,
                |state| state.enter(name).and_then(|()| body(state, words)),
                false,
            ),
            Some(Body::Device(body)) => {
                let enter = |state: &mut State| match Library::of(name) == Library::Driver {
                    true => state.check_initialized(),
                    false => state.enter(name),
                };
                self.check(name, call.work, |state| enter(state).and_then(|()| body(state, words)), false)
            }
            Some(Body::Always(body)) => self.check(name, call.work, |state| body(state, words), true),
            None => self.check(name, call.work, |state| Err(state.refuse(name, "is not supported")), false),
            Some(Body::Answer(body)) => {
                self.recorder.enter(call.work);
                self.guard(name, |state| body(state, words)).unwrap_or(0)
            }
            Some(Body::Register(body)) => self.guard(name, |state| body(state, words)).unwrap_or(0),
        }
    }

    /// Gives kernels that wait a turn now and then, until the program calls.
    fn go_on_beside(&mut self) {
        while !self.waiting.is_empty() && !self.channel.has_call() {
            // The next call has the error.
            let _ = self.guard("a kernel", State::resume);
            std::thread::sleep(PAUSE);
        }
    }

    /// A call of the runtime, or of a library above it, has a context; one of the driver needs one.
    fn enter(&mut self, name: &str) -> Result {
        if Library::of(name) != Library::Driver {
            self.enter_runtime();
            return Ok(());
        }
        self.check_initialized()?;
        self.current_context().map(drop)
    }

    fn check_initialized(&self) -> Result {
        if self.contexts.is_initialized { Ok(()) } else { Err(Error::INITIALIZATION) }
    }

    /// Does a call whose result is an error number, unless the device has failed, which does not matter `always`, or the thread is in a function
    /// that CUDA has called.
    fn check(&mut self, name: &str, work: u64, body: impl FnOnce(&mut State) -> Result, always: bool) -> u64 {
        self.recorder.enter(work);
        let done = self.guard(name, |state| {
            state.write_files();
            let called = state.of_thread().rest.is_some().then_some(Error::NOT_PERMITTED);
            state.failed.filter(|_| !always).or(called).map_or_else(|| body(state), Err)
        });
        let error = done.err().unwrap_or(Error::SUCCESS);
        if error == Error::AGAIN {
            return 0;
        }
        let library = Library::of(name);
        if let Some(status) = library.status(error) {
            return status;
        }
        if library == Library::Driver {
            return error.of_driver().0 as u64;
        }
        if error != Error::SUCCESS && error != Error::NOT_READY {
            self.of_thread().last = error;
        }
        error.0 as u64
    }

    /// A defect of ours is an error of the program's.
    fn guard<T>(&mut self, name: &str, body: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let done = catch_unwind(AssertUnwindSafe(|| body(self)));
        done.unwrap_or_else(|_| {
            self.say_once(&format!("{name} ended in an internal error, which is a defect of Counterpoint"));
            Err(Error::UNKNOWN)
        })
    }

    /// Notes how far the program has come in a file.
    fn note_file(&mut self, entry: &Entry) {
        match (self.files.last_mut(), entry) {
            // Calls that are not recorded are no steps.
            (Some(Entry::Read { path, to, .. }), Entry::Read { path: same, from, to: further })
            | (Some(Entry::Wrote { path, to, .. }), Entry::Wrote { path: same, from, to: further })
                if path == same && to == from =>
            {
                *to = *further;
            }
            _ => self.files.push(entry.clone()),
        }
    }

    /// Writes the progress of files into the record.
    pub(crate) fn write_files(&mut self) {
        for entry in std::mem::take(&mut self.files) {
            self.recorder.entry(&entry);
        }
    }
}
