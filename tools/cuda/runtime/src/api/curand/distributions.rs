//! Values of generators.

use std::ffi::c_void;

use counterpoint_cuda_capture::{Region, Way};

use super::super::copies::TO_HOST;
use super::super::entries;
use super::{KERNELS, NOT_MULTIPLE, TYPE, jumps, sobol};
use crate::errors::{Error, Result};
use crate::libraries::Parameters;
use crate::made::curand::{Generator, Kind};
use crate::pitched::{flat, line};
use crate::state::State;

/// Threads of a block, sequences of Philox, and bytes of a state (`kernels/curand.cu`).
const THREADS: u32 = 128;
const PHILOX_SEQUENCES: u64 = 1 << 16;
const STATE: u64 = 24;

/// A distribution that is made of random bits.
#[derive(Clone, Copy)]
struct Wanted {
    /// The end of the kernel's name, and bytes of a value.
    name: &'static str,
    bytes: u64,
    /// Mean and deviation of a normal distribution, whose values come in pairs.
    normal: Option<[f64; 2]>,
}

const fn wanted(name: &'static str, bytes: u64) -> Wanted {
    Wanted { name, bytes, normal: None }
}

const fn normal(name: &'static str, bytes: u64, mean: f64, deviation: f64) -> Wanted {
    Wanted { name, bytes, normal: Some([mean, deviation]) }
}

/// Values that a counter of Philox has.
fn of_counter(wide: bool) -> u64 {
    if wide { 2 } else { 4 }
}

impl Generator {
    /// The first counter, values to leave out of it, and counters, of the next values of Philox; a kind of values begins where the other one
    /// has not been.
    fn counters(&mut self, count: u64, wide: bool) -> [u64; 3] {
        if self.wide != wide {
            let rows = self.made.div_ceil(4 * PHILOX_SEQUENCES);
            self.position += if self.wide { 2 * rows } else { rows };
            (self.made, self.wide) = (0, wide);
        }
        let width = of_counter(wide);
        let (first, skipped) = (self.made / width, self.made % width);
        [first, skipped, (skipped + count).div_ceil(width)]
    }
}

impl State {
    fn generate(&mut self, handle: u64, values: u64, count: usize, wanted: Wanted) -> Result {
        let generator = self.generator(handle)?.clone();
        let count = count as u64;
        let of_dimensions = generator.kind == Kind::Sobol;
        if of_dimensions && wanted.normal.is_some() {
            return Err(
                self.refuse("curandGenerateNormal", "normal values of Sobol sequences are not supported")
            );
        }
        if of_dimensions && !count.is_multiple_of(generator.sequences()) {
            return Err(NOT_MULTIPLE);
        }
        if wanted.normal.is_some() && !count.is_multiple_of(2) {
            return Err(NOT_MULTIPLE);
        }
        if count == 0 {
            return Ok(());
        }
        if !generator.of_host {
            return self.generate_on_device(handle, values, count, wanted);
        }
        let bytes = count.checked_mul(wanted.bytes).ok_or(Error::INVALID_VALUE)?;
        let place = self.allocate(bytes)?;
        let stream = self.stream(generator.stream)?;
        let at = |address: u64| line(std::ptr::without_provenance::<c_void>(address as usize));
        let made = self.generate_on_device(handle, place, count, wanted);
        let copied = made
            .and_then(|()| self.copy((at(values), at(place)), flat(bytes as usize), TO_HOST, stream, true));
        copied.and(self.free(place))
    }

    fn generate_on_device(&mut self, handle: u64, values: u64, count: u64, wanted: Wanted) -> Result {
        let stream = self.generator(handle)?.stream;
        let stream = self.stream(stream)?;
        let [mean, deviation] = wanted.normal.unwrap_or_default().map(f64::to_bits);
        let name = format!("{}_{}", self.generator(handle)?.name(), wanted.name);
        let (threads, words, made) = match self.generator(handle)?.kind {
            Kind::Philox => {
                let generator = self.generator(handle)?;
                let [first, skipped, counters] = generator.counters(count, wanted.bytes == 8);
                let words = [values, 0, count, first, 0, generator.seed, generator.position, skipped];
                (counters, words, count)
            }
            Kind::Sobol => {
                let states = self.vectors(handle, stream)?;
                let generator = self.generator(handle)?;
                let points = count / generator.sequences();
                (count, [values, states, points, generator.made, generator.sequences(), 0, 0, 0], points)
            }
            Kind::Xorwow | Kind::Mrg => {
                let units = if wanted.normal.is_some() { count / 2 } else { count };
                let states = self.states(handle, units, stream)?;
                let generator = self.generator(handle)?;
                let sequences = generator.sequences();
                let first = generator.made % sequences;
                (units.min(sequences), [values, states, units, first, sequences, 0, 0, 0], units)
            }
        };
        let blocks = u32::try_from(threads.div_ceil(THREADS.into())).map_err(|_| Error::INVALID_VALUE)?;
        let parameters = Parameters::default().words(words).words([mean, deviation]);
        self.launch_of_library(&KERNELS, &name, ([blocks, 1, 1], THREADS), parameters, stream)?;
        self.generator(handle)?.made += made;
        Ok(())
    }

    /// The states on the device, of all sequences that so many values need.
    fn states(&mut self, handle: u64, units: u64, stream: u32) -> Result<u64> {
        let generator = self.generator(handle)?.clone();
        let sequences = generator.sequences();
        let place = match generator.states {
            Some(place) => place,
            None => {
                let place = self.allocate(sequences * STATE)?;
                self.generator(handle)?.states = Some(place);
                place
            }
        };
        let needed = sequences.min(generator.made % sequences + units);
        if needed > generator.ready {
            let first = if generator.kind == Kind::Mrg { jumps::mrg } else { jumps::xorwow };
            let states = first(generator.seed, generator.offset, sequences, generator.ready..needed);
            let bytes: Vec<u8> = states.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            self.write_states(place + generator.ready * STATE, &bytes, stream)?;
            self.generator(handle)?.ready = needed;
        }
        Ok(place)
    }

    /// The vectors of a Sobol sequence on the device.
    fn vectors(&mut self, handle: u64, stream: u32) -> Result<u64> {
        if let Some(place) = self.generator(handle)?.states {
            return Ok(place);
        }
        let bytes: Vec<u8> = sobol::vectors().iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        let place = self.allocate(bytes.len() as u64)?;
        self.generator(handle)?.states = Some(place);
        self.write_states(place, &bytes, stream)?;
        Ok(place)
    }

    fn write_states(&mut self, place: u64, bytes: &[u8], stream: u32) -> Result {
        let region = Region::line(place, bytes.len() as u64);
        self.device.write(region, bytes)?;
        self.note_copy(Way::In, region, bytes, stream, true);
        Ok(())
    }
}

entries! {
    fn curandGenerate(generator: u64, values: u64, count: usize) |state| {
        state.generate(generator, values, count, wanted("bits", 4))
    }

    /// Only quasirandom generators of 64 bits have such values.
    fn curandGenerateLongLong(generator: u64, _values: u64, _count: usize) |state| {
        state.generator(generator)?;
        Err(TYPE)
    }

    fn curandGenerateUniform(generator: u64, values: u64, count: usize) |state| {
        state.generate(generator, values, count, wanted("uniform_f32", 4))
    }

    fn curandGenerateUniformDouble(generator: u64, values: u64, count: usize) |state| {
        state.generate(generator, values, count, wanted("uniform_f64", 8))
    }

    fn curandGenerateNormal(generator: u64, values: u64, count: usize, mean: f32, deviation: f32) |state| {
        state.generate(generator, values, count, normal("normal_f32", 4, mean.into(), deviation.into()))
    }

    fn curandGenerateNormalDouble(generator: u64, values: u64, count: usize, mean: f64, deviation: f64) |state| {
        state.generate(generator, values, count, normal("normal_f64", 8, mean, deviation))
    }

    fn curandGenerateLogNormal(generator: u64, values: u64, count: usize, mean: f32, deviation: f32) |state| {
        state.generate(generator, values, count, normal("log_normal_f32", 4, mean.into(), deviation.into()))
    }

    fn curandGenerateLogNormalDouble(generator: u64, values: u64, count: usize, mean: f64, deviation: f64) |state| {
        state.generate(generator, values, count, normal("log_normal_f64", 8, mean, deviation))
    }
}
