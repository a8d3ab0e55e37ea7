//! Generators of cuRAND.

use std::collections::BTreeMap;

use super::Stream;

/// Generators of a program by their handles.
#[derive(Default)]
pub(crate) struct Curand {
    pub(crate) generators: BTreeMap<u64, Generator>,
    pub(crate) next: u64,
}

impl Curand {
    /// The device has lost its memory.
    pub(crate) fn forget(&mut self) {
        for generator in self.generators.values_mut() {
            generator.states = None;
            generator.begin();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Xorwow,
    Mrg,
    Philox,
    Sobol,
}

/// Sequences of XORWOW, of MRG32k3a in either order, and of Philox.
const XORWOW_SEQUENCES: u64 = 4096;
const MRG_SEQUENCES: u64 = 81920;
const LEGACY_SEQUENCES: u64 = 4096;

#[derive(Clone)]
pub(crate) struct Generator {
    pub(crate) kind: Kind,
    /// Whether values go to memory of the host.
    pub(crate) of_host: bool,
    pub(crate) legacy: bool,
    /// Of a Sobol sequence.
    pub(crate) dimensions: u32,
    pub(crate) seed: u64,
    pub(crate) offset: u64,
    pub(crate) stream: Stream,
    /// Memory of the device for the states of all sequences, and those in front that are there.
    pub(crate) states: Option<u64>,
    pub(crate) ready: u64,
    /// Values, or pairs of them, that have been made; where a kind of values began, for Philox alone, and whether its values have 64 bits.
    pub(crate) made: u64,
    pub(crate) position: u64,
    pub(crate) wide: bool,
}

impl Generator {
    pub(crate) fn new(kind: Kind, of_host: bool) -> Self {
        Generator {
            kind,
            of_host,
            legacy: false,
            dimensions: 1,
            seed: 0,
            offset: 0,
            stream: std::ptr::null_mut(),
            states: None,
            ready: 0,
            made: 0,
            position: 0,
            wide: false,
        }
    }

    /// Begins again at the offset.
    pub(crate) fn begin(&mut self) {
        (self.ready, self.made, self.position, self.wide) = (0, self.offset, 0, false);
    }

    pub(crate) fn sequences(&self) -> u64 {
        match self.kind {
            Kind::Mrg if self.legacy => LEGACY_SEQUENCES,
            Kind::Mrg => MRG_SEQUENCES,
            Kind::Xorwow | Kind::Philox => XORWOW_SEQUENCES,
            Kind::Sobol => self.dimensions.into(),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Xorwow => "xorwow",
            Kind::Mrg => "mrg",
            Kind::Philox => "philox",
            Kind::Sobol => "sobol",
        }
    }
}
