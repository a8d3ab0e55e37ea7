//! Generators: made, set and ended.

use std::ffi::c_int;

use super::super::entries;
use super::TYPE;
use super::sobol::DIMENSIONS;
use crate::errors::{Error, Result};
use crate::foreign::put;
use crate::made::Stream;
use crate::made::contexts::CURAND;
use crate::made::curand::{Generator, Kind};
use crate::state::State;

/// The library's version.
const VERSION: [c_int; 3] = [10, 4, 0];

/// Kinds that are not supported, by their numbers.
const OTHERS: [(c_int, &str); 5] = [
    (141, "CURAND_RNG_PSEUDO_MTGP32"),
    (142, "CURAND_RNG_PSEUDO_MT19937"),
    (202, "CURAND_RNG_QUASI_SCRAMBLED_SOBOL32"),
    (203, "CURAND_RNG_QUASI_SOBOL64"),
    (204, "CURAND_RNG_QUASI_SCRAMBLED_SOBOL64"),
];

/// Orders of values: the best one, which is the default, and that of older versions.
const ORDERS: [c_int; 2] = [100, 101];
const LEGACY: c_int = 103;
const OF_DIMENSIONS: c_int = 201;
/// Dimensions that NVIDIA's library has.
const MOST_DIMENSIONS: u32 = 20_000;

impl State {
    fn create(&mut self, place: *mut u64, kind: c_int, of_host: bool) -> Result {
        let kind = match kind {
            100 | 101 => Kind::Xorwow,
            121 => Kind::Mrg,
            161 => Kind::Philox,
            200 | 201 => Kind::Sobol,
            _ => {
                let Some((_, name)) = OTHERS.iter().find(|(number, _)| *number == kind) else {
                    return Err(TYPE);
                };
                return Err(self.refuse("curandCreateGenerator", &format!("{name} is not supported")));
            }
        };
        let all = &mut self.libraries.curand;
        all.next += 1;
        let number = CURAND + all.next;
        put(place, number)?;
        all.generators.insert(number, Generator::new(kind, of_host));
        Ok(())
    }
}

entries! {
    fn curandCreateGenerator(place: *mut u64, kind: c_int) |state| { state.create(place, kind, false) }

    /// Values for the host are made on the device, and copied.
    fn curandCreateGeneratorHost(place: *mut u64, kind: c_int) |state| { state.create(place, kind, true) }

    fn curandDestroyGenerator(generator: u64) |state| {
        let states = state.generator(generator)?.states;
        state.libraries.curand.generators.remove(&generator);
        states.map_or(Ok(()), |states| state.free(states))
    }

    fn curandGetVersion(place: *mut c_int) |_state| {
        let [major, minor, patch] = VERSION;
        put(place, major * 1000 + minor * 100 + patch)
    }

    fn curandGetProperty(kind: c_int, place: *mut c_int) |_state| {
        let number = usize::try_from(kind).ok().and_then(|kind| VERSION.get(kind).copied());
        put(place, number.ok_or(Error::INVALID_VALUE)?)
    }

    fn curandSetStream(generator: u64, stream: Stream) |state| {
        state.stream(stream)?;
        state.generator(generator)?.stream = stream;
        Ok(())
    }

    fn curandSetPseudoRandomGeneratorSeed(generator: u64, seed: u64) |state| {
        let generator = state.generator(generator)?;
        if generator.kind == Kind::Sobol {
            return Err(TYPE);
        }
        generator.seed = seed;
        generator.begin();
        Ok(())
    }

    fn curandSetGeneratorOffset(generator: u64, offset: u64) |state| {
        let generator = state.generator(generator)?;
        generator.offset = offset;
        generator.begin();
        Ok(())
    }

    fn curandSetGeneratorOrdering(generator: u64, order: c_int) |state| {
        if state.generator(generator)?.kind == Kind::Sobol {
            return if order == OF_DIMENSIONS { Ok(()) } else { Err(Error::INVALID_VALUE) };
        }
        let legacy = match order {
            LEGACY => true,
            _ if ORDERS.contains(&order) => false,
            102 => return Err(state.refuse("curandSetGeneratorOrdering", "CURAND_ORDERING_PSEUDO_SEEDED is not supported")),
            104 => return Err(state.refuse("curandSetGeneratorOrdering", "CURAND_ORDERING_PSEUDO_DYNAMIC is not supported")),
            _ => return Err(Error::INVALID_VALUE),
        };
        let found = state.generator(generator)?;
        let states = if found.legacy == legacy { None } else { found.states.take() };
        found.legacy = legacy;
        found.begin();
        states.map_or(Ok(()), |states| state.free(states))
    }

    /// Only sequences that are not random have dimensions.
    fn curandSetQuasiRandomGeneratorDimensions(generator: u64, dimensions: u32) |state| {
        let found = state.generator(generator)?;
        match dimensions {
            _ if found.kind != Kind::Sobol => Err(TYPE),
            1..=DIMENSIONS => {
                found.dimensions = dimensions;
                Ok(())
            }
            0 | MOST_DIMENSIONS.. if dimensions != MOST_DIMENSIONS => Err(Error::INVALID_VALUE),
            _ => Err(state.refuse("curandSetQuasiRandomGeneratorDimensions", "more than 64 dimensions are not supported")),
        }
    }

    /// States are made when values are wanted.
    fn curandGenerateSeeds(generator: u64) |state| { state.generator(generator).map(drop) }
}
