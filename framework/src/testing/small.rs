//! Small machines for tests and examples: one written as text, or two processes with a link between them.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::kernel::{
    Endpoint, Fault, In, LinkOptions, LinkSpec, Message, Out, Process, ProcessNetwork, ProcessSpec,
    RunOptions,
};
use crate::model::{Environment, Registry};
use crate::time::{Clock, Hertz};
use crate::topology::{self, RunReport};

/// Runs a machine that is given as the text of its file, made of the kinds that `register` names.
///
/// # Panics
/// If the machine is not right, with the report that a user would see.
#[track_caller]
pub fn run_text(text: &str, register: impl FnOnce(&mut Registry), options: &RunOptions) -> RunReport {
    let mut registry = Registry::default();
    register(&mut registry);
    let registry = Arc::new(registry);
    let files = BTreeMap::from([("machine.yaml".to_owned(), text.to_owned())]);
    let loaded = topology::load("machine.yaml", &[], &[], &registry.catalogue, &files)
        .unwrap_or_else(|report| panic!("{}", report.render()));
    topology::run(&loaded.machine, &registry, &Environment::default(), options)
}

/// Two processes, `sender` and `receiver`, each at its own of the two `clocks`, and a link from the one to the other.
/// The run lasts until both have returned.
pub fn pair<M: Message, A, B>(
    clocks: [Hertz; 2],
    link: LinkOptions,
    sender: impl FnOnce(Out<M>, Rc<Process>) -> A + Send + 'static,
    receiver: impl FnOnce(In<M>, Rc<Process>) -> B + Send + 'static,
) -> ProcessNetwork
where
    A: Future<Output = Result<(), Fault>> + 'static,
    B: Future<Output = Result<(), Fault>> + 'static,
{
    let [first, second] = clocks.map(Clock::new);
    let sender = ProcessSpec::new("sender", first, false, |wiring| {
        sender(wiring.output("out", None), wiring.process())
    });
    let receiver = ProcessSpec::new("receiver", second, false, |wiring| {
        receiver(wiring.input("input", None), wiring.process())
    });
    let end = |process, port: &str| Endpoint { process, port: port.into(), index: None };
    let link = LinkSpec { from: end(0, "out"), to: end(1, "input"), sender: 0, options: link };
    ProcessNetwork { processes: vec![sender, receiver], links: vec![link] }
}
