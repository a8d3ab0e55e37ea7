//! A link as data: the two ports that it joins, and its properties.

use super::link::LinkOptions;

/// One end of a link: a port of a process, with the index if the port is an array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Position of the process in the machine.
    pub process: usize,
    /// The port's name.
    pub port: String,
    /// Index of the element, if the port is an array.
    pub index: Option<u32>,
}

impl Endpoint {
    /// The port with its index, such as `out[2]`.
    pub fn name(&self) -> String {
        match self.index {
            Some(index) => format!("{}[{index}]", self.port),
            None => self.port.clone(),
        }
    }
}

/// A directed link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// The output.
    pub from: Endpoint,
    /// The input.
    pub to: Endpoint,
    /// Place among the senders of this input, from 0 without gaps; decides between simultaneous arrivals.
    pub sender: u32,
    /// Latency, capacity, bandwidth.
    pub options: LinkOptions,
}
