//! Expected results of applications, written plainly: one file each, one line in [`REFERENCES`].
//!
//! A reference uses the types of the device program (f32 stays f32) and the order of its operations where that shows in
//! the result; it knows nothing of the simulation.

mod bfs;
mod black_scholes;
mod convolution;
mod dct8x8;
mod fir_bank;
mod gaussian;
mod histogram;
mod histogram_pipeline;
mod hotspot;
mod laplace;
mod line_of_sight;
mod lu_panel;
mod mandelbrot;
mod matmul;
mod measured;
mod mersenne_twister;
mod mummer;
mod narrow_beam_former;
mod narrow_des;
mod narrow_exchange;
mod narrow_filter_bank;
mod narrow_lu;
mod neural_network;
mod pathfinder;
mod pattern_match;
mod pipeline_synthetic;
mod probes;
mod rank_filter;
mod reduction;
mod spmv;
mod stencil3d;
mod stencil5;
mod tally;
mod tea;
mod vecadd;

use std::collections::BTreeMap;

use bytes::Bytes;
use counterpoint_framework::model::Registry;
use counterpoint_framework::topology::expression::random;

/// Inputs of a reference.
pub struct ReferenceInput<'a> {
    /// The application's parameters.
    pub parameters: &'a BTreeMap<String, f64>,
    /// Contents that the prelude reads, by buffer.
    pub buffers: &'a BTreeMap<String, Bytes>,
    /// The buffer whose final contents are requested.
    pub wanted: &'a str,
}

impl ReferenceInput<'_> {
    /// A parameter.
    ///
    /// # Errors
    /// If the application has no such parameter.
    pub fn parameter(&self, name: &str) -> Result<f64, String> {
        let value = self.parameters.get(name).copied();
        value.ok_or_else(|| format!("the reference needs a parameter `{name}`"))
    }

    /// A parameter that is a number of things.
    ///
    /// # Errors
    /// If the application has no such parameter.
    pub fn size(&self, name: &str) -> Result<usize, String> {
        Ok(self.parameter(name)? as usize)
    }

    /// Narrow tasks, of the kind that the reference is of, whose inputs differ.
    ///
    /// # Errors
    /// If the application has none.
    pub fn tasks(&self) -> Result<usize, String> {
        self.size("distinct")
    }

    /// A random number from 0 to `count` - 1 for each narrow task, if the sizes of the inputs are `irregular`; otherwise 0.
    /// `kind` distinguishes applications, so that one with several kinds of tasks has numbers for each.
    ///
    /// # Errors
    /// If the application's inputs cannot be irregular.
    fn chances(&self, kind: usize, count: usize) -> Result<impl Iterator<Item = usize>, String> {
        let (irregular, seed) = (self.size("irregular")?, self.size("seed")? + kind);
        let chance = move |task| irregular * random(seed as u64, task as u64, count as u64) as usize;
        Ok((0..self.tasks()?).map(chance))
    }

    /// The bytes that the prelude reads into a buffer.
    ///
    /// # Errors
    /// If the prelude reads nothing into it.
    pub fn bytes(&self, buffer: &str) -> Result<&[u8], String> {
        let bytes = self.buffers.get(buffer);
        bytes.map(|bytes| &**bytes).ok_or_else(|| format!("the reference needs an input buffer `{buffer}`"))
    }

    /// The first bytes that the prelude reads into a buffer.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn bytes_of(&self, buffer: &str, count: usize) -> Result<&[u8], String> {
        let bytes = self.bytes(buffer)?;
        bytes.get(..count).ok_or_else(|| format!("the reference needs {count} bytes in `{buffer}`"))
    }

    /// The f32 that the prelude reads into a buffer.
    ///
    /// # Errors
    /// If the prelude reads nothing into it.
    pub fn f32s(&self, buffer: &str) -> Result<Vec<f32>, String> {
        Ok(self.u32s(buffer)?.into_iter().map(f32::from_bits).collect())
    }

    /// The first f32 that the prelude reads into a buffer.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn f32s_of(&self, buffer: &str, count: usize) -> Result<Vec<f32>, String> {
        Ok(self.u32s_of(buffer, count)?.into_iter().map(f32::from_bits).collect())
    }

    /// The words that the prelude reads into a buffer.
    ///
    /// # Errors
    /// If the prelude reads nothing into it.
    pub fn u32s(&self, buffer: &str) -> Result<Vec<u32>, String> {
        let four = self.bytes(buffer)?.as_chunks::<4>().0;
        Ok(four.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
    }

    /// The first words that the prelude reads into a buffer.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn u32s_of(&self, buffer: &str, count: usize) -> Result<Vec<u32>, String> {
        let mut words = self.u32s(buffer)?;
        if words.len() < count {
            return Err(format!("the reference needs {count} elements in `{buffer}`, found {}", words.len()));
        }
        words.truncate(count);
        Ok(words)
    }
}

fn bytes_of_f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Contiguous results of narrow tasks of these sizes, each padded with zeros to `room` elements.
fn bytes_of_tasks(
    sizes: impl Iterator<Item = usize>,
    room: usize,
    mut result: impl FnMut(usize, usize) -> Vec<f32>,
) -> Vec<u8> {
    let mut all = Vec::new();
    for (task, size) in sizes.enumerate() {
        all.extend(result(task, size));
        all.resize((task + 1) * room, 0.0);
    }
    bytes_of_f32s(&all)
}

/// The bytes of whole numbers; of signed ones those of the same bits.
fn bytes_of_u32s(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A reference: its name, and the function that computes the bytes of the wanted buffer. An extension registers its own:
/// `registry.add(Reference { .. })`.
#[derive(Clone, Copy)]
pub struct Reference {
    /// Name of the reference in YAML.
    pub name: &'static str,
    /// Computes the bytes.
    pub compute: fn(&ReferenceInput<'_>) -> Result<Vec<u8>, String>,
}

impl std::fmt::Debug for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The references by name.
pub const REFERENCES: &[Reference] = &[
    Reference { name: "3mm", compute: matmul::three },
    Reference { name: "bfs", compute: bfs::reference },
    Reference { name: "black-scholes", compute: black_scholes::reference },
    Reference { name: "chains", compute: probes::chains },
    Reference { name: "chase", compute: probes::chase },
    Reference { name: "convolution", compute: convolution::reference },
    Reference { name: "convolution-constant", compute: convolution::of_signal },
    Reference { name: "convolution-pipeline", compute: convolution::of_stream },
    Reference { name: "dct-pair", compute: dct8x8::coefficients_of_stream },
    Reference { name: "dct-pipeline", compute: dct8x8::of_stream },
    Reference { name: "dct8x8", compute: dct8x8::reference },
    Reference { name: "fir-bank", compute: fir_bank::reference },
    Reference { name: "fir-pipeline", compute: fir_bank::of_stream },
    Reference { name: "gaussian", compute: gaussian::reference },
    Reference { name: "histogram", compute: histogram::reference },
    Reference { name: "histogram-pipeline", compute: histogram_pipeline::reference },
    Reference { name: "hotspot", compute: hotspot::reference },
    Reference { name: "laplace", compute: laplace::reference },
    Reference { name: "line-of-sight", compute: line_of_sight::reference },
    Reference { name: "lu-panel", compute: lu_panel::reference },
    Reference { name: "mandelbrot", compute: mandelbrot::reference },
    Reference { name: "matmul", compute: matmul::matmul },
    Reference { name: "measured-dct", compute: measured::dct },
    Reference { name: "measured-differences", compute: measured::differences },
    Reference { name: "measured-filters", compute: measured::filters },
    Reference { name: "measured-local", compute: measured::local },
    Reference { name: "measured-lu", compute: measured::lu },
    Reference { name: "measured-mandelbrot", compute: measured::mandelbrot },
    Reference { name: "measured-mandelbrot-f64", compute: measured::mandelbrot_f64 },
    Reference { name: "measured-positives", compute: measured::positives },
    Reference { name: "measured-rows", compute: measured::rows },
    Reference { name: "measured-stencil", compute: measured::stencil },
    Reference { name: "measured-sums", compute: measured::sums },
    Reference { name: "mersenne-twister", compute: mersenne_twister::reference },
    Reference { name: "mummer", compute: mummer::reference },
    Reference { name: "narrow-beam-former", compute: narrow_beam_former::reference },
    Reference { name: "narrow-convolution", compute: convolution::narrow },
    Reference { name: "narrow-convolution-global", compute: convolution::narrow_global },
    Reference { name: "narrow-dct", compute: dct8x8::narrow },
    Reference { name: "narrow-des", compute: narrow_des::reference },
    Reference { name: "narrow-exchange", compute: narrow_exchange::reference },
    Reference { name: "narrow-filter-bank", compute: narrow_filter_bank::reference },
    Reference { name: "narrow-lu", compute: narrow_lu::reference },
    Reference { name: "narrow-mandelbrot", compute: mandelbrot::narrow },
    Reference { name: "narrow-matmul", compute: matmul::narrow },
    Reference { name: "neural-network", compute: neural_network::reference },
    Reference { name: "pathfinder", compute: pathfinder::reference },
    Reference { name: "pattern-match", compute: pattern_match::reference },
    Reference { name: "pipeline", compute: probes::pipeline },
    Reference { name: "pipeline-synthetic", compute: pipeline_synthetic::reference },
    Reference { name: "rank-filter", compute: rank_filter::reference },
    Reference { name: "rates", compute: probes::rates },
    Reference { name: "reduction", compute: reduction::reference },
    Reference { name: "spmv", compute: spmv::reference },
    Reference { name: "stencil3d", compute: stencil3d::reference },
    Reference { name: "stencil5", compute: stencil5::reference },
    Reference { name: "tally", compute: tally::reference },
    Reference { name: "tea", compute: tea::reference },
    Reference { name: "vecadd", compute: vecadd::reference },
];

/// The references of this crate, then those of extensions.
pub fn all(registry: &Registry) -> impl Iterator<Item = &Reference> {
    REFERENCES.iter().chain(registry.all())
}
