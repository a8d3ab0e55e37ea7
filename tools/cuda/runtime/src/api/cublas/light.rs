//! Products of matrices as cuBLASLt has them: descriptions of matrices and of a product, and what is done with its results.

use std::ffi::c_int;

use super::super::entries;
use super::Number;
use super::extended::{computed, kernel};
use super::product::{Finish, Matrix, Product};
use crate::errors::{Error, Result};
use crate::foreign::{put, read, write};
use crate::made::Stream;
use crate::made::contexts::CUBLAS;
use crate::made::cublas::{Description, Layout, Objects};
use crate::state::State;

/// Numbers of a product's attributes (`cublasLtMatmulDescAttributes_t`).
const COMPUTE: c_int = 0;
const SCALE: c_int = 1;
const POINTERS: c_int = 2;
const OPERATIONS: [c_int; 3] = [3, 4, 5];
const FINISH: c_int = 7;
const BIAS: c_int = 8;
const KEPT: c_int = 11;
const KEPT_LEADING: c_int = 12;
const KEPT_BETWEEN: c_int = 13;
/// Attributes on which no value depends: the part of a matrix that is wanted, SMs, the precision of sums, and a type that is the usual one.
const HARMLESS: [c_int; 4] = [6, 15, 25, 26];

/// Operations on results (`cublasLtEpilogue_t`), and the bits that kernels have for it.
fn finish(number: u64) -> Option<u64> {
    const BIAS: u64 = 1;
    const RELU: u64 = 2;
    const GELU: u64 = 4;
    const KEEP: u64 = 8;
    Some(match number {
        1 => 0,
        2 => RELU,
        4 => BIAS,
        6 => RELU | BIAS,
        32 => GELU,
        36 => GELU | BIAS,
        160 => GELU | KEEP,
        164 => GELU | BIAS | KEEP,
        _ => return None,
    })
}

impl Description {
    fn word(&self, attribute: c_int) -> u64 {
        self.attributes.get(&attribute).copied().unwrap_or(0)
    }

    fn finish(&self) -> u64 {
        self.attributes.get(&FINISH).copied().unwrap_or(1)
    }
}

/// A number of the program, as a word.
fn number(place: u64, bytes: usize) -> Result<u64> {
    if bytes > 8 {
        return Err(Error::INVALID_VALUE);
    }
    let mut word = [0; 8];
    word[..bytes].copy_from_slice(&read(place, bytes as u64)?);
    Ok(u64::from_le_bytes(word))
}

impl State {
    fn light(&mut self) -> &mut Objects {
        &mut self.libraries.cublas.light
    }

    fn layout(&mut self, handle: u64) -> Result<Layout> {
        self.light().layouts.get(&handle).copied().ok_or(Error::INVALID_VALUE)
    }

    fn description(&mut self, handle: u64) -> Result<&mut Description> {
        self.light().products.get_mut(&handle).ok_or(Error::INVALID_VALUE)
    }

    /// The kernel and the type of a product that can be computed.
    fn light_kernel(
        &mut self,
        description: &Description,
        layouts: [Layout; 4],
    ) -> Result<(&'static str, Number)> {
        let [a, b, c, d] = layouts;
        if layouts.iter().any(|layout| layout.order != 0) {
            return Err(
                self.refuse("cublasLtMatmul", "matrices that are not stored by columns are not supported")
            );
        }
        let types = [a, b, d].map(|layout| layout.kind);
        let found =
            computed(description.compute, d.kind).and_then(|number| Ok((kernel(types, number)?, number)));
        let (kernel, number) = found.map_err(|_| {
            let text = format!("types {types:?} with computation {} are not supported", description.compute);
            self.refuse("cublasLtMatmul", &text)
        })?;
        let is_usual = c.kind == d.kind && (number != Number::Half || description.scale == 2);
        let wanted = finish(description.finish());
        let is_finished = wanted.is_some_and(|kinds| kinds == 0 || number == Number::Float);
        if !is_usual || !is_finished || description.word(OPERATIONS[2]) != 0 {
            let text = format!("epilogue {} or its types are not supported", description.finish());
            return Err(self.refuse("cublasLtMatmul", &text));
        }
        Ok((kernel, number))
    }
}

entries! {
    fn cublasLtCreate(place: *mut u64) |state| {
        let number = state.libraries.cublas.number();
        put(place, number)
    }

    fn cublasLtDestroy(handle: u64) |_state| {
        if handle < CUBLAS { Err(super::NOT_INITIALIZED) } else { Ok(()) }
    }

    fn cublasLtGetVersion() => Answer |_state| { Ok(130_000) }

    fn cublasLtMatrixLayoutCreate(place: *mut u64, kind: c_int, rows: u64, columns: u64, leading: u64) |state| {
        let number = state.libraries.cublas.number();
        put(place, number)?;
        let layout = Layout { kind, order: 0, rows, columns, leading: leading as i64, count: 1, between: 0 };
        state.light().layouts.insert(number, layout);
        Ok(())
    }

    fn cublasLtMatrixLayoutDestroy(layout: u64) |state| {
        state.light().layouts.remove(&layout).map(drop).ok_or(Error::INVALID_VALUE)
    }

    fn cublasLtMatrixLayoutSetAttribute(layout: u64, attribute: c_int, place: u64, bytes: usize) |state| {
        let value = number(place, bytes)?;
        let layout = state.light().layouts.get_mut(&layout).ok_or(Error::INVALID_VALUE)?;
        match attribute {
            0 => layout.kind = value as c_int,
            1 => layout.order = value as c_int,
            2 => layout.rows = value,
            3 => layout.columns = value,
            4 => layout.leading = value as i64,
            5 => layout.count = value as c_int,
            6 => layout.between = value as i64,
            _ => return Err(state.refuse("cublasLtMatrixLayoutSetAttribute", &format!("attribute {attribute} is not supported"))),
        }
        Ok(())
    }

    fn cublasLtMatmulDescCreate(place: *mut u64, compute: c_int, scale: c_int) |state| {
        let number = state.libraries.cublas.number();
        put(place, number)?;
        state.light().products.insert(number, Description { compute, scale, ..Description::default() });
        Ok(())
    }

    fn cublasLtMatmulDescDestroy(product: u64) |state| {
        state.light().products.remove(&product).map(drop).ok_or(Error::INVALID_VALUE)
    }

    fn cublasLtMatmulDescSetAttribute(product: u64, attribute: c_int, place: u64, bytes: usize) |state| {
        let value = number(place, bytes)?;
        let description = state.description(product)?;
        match attribute {
            COMPUTE => description.compute = value as c_int,
            SCALE => description.scale = value as c_int,
            POINTERS | FINISH | BIAS | KEPT | KEPT_LEADING | KEPT_BETWEEN => {
                description.attributes.insert(attribute, value);
            }
            _ if OPERATIONS.contains(&attribute) => {
                description.attributes.insert(attribute, value);
            }
            _ if HARMLESS.contains(&attribute) => {}
            // A scale that is not there is one.
            _ if value == 0 => {}
            _ => return Err(state.refuse("cublasLtMatmulDescSetAttribute", &format!("attribute {attribute} is not supported"))),
        }
        Ok(())
    }

    fn cublasLtMatmulPreferenceCreate(place: *mut u64) |state| {
        let number = state.libraries.cublas.number();
        put(place, number)?;
        state.light().preferences.insert(number, ());
        Ok(())
    }

    /// There is one algorithm, which needs no memory of its own.
    fn cublasLtMatmulPreferenceSetAttribute(preference: u64, _attribute: c_int, place: u64, bytes: usize) |state| {
        number(place, bytes)?;
        state.light().preferences.get(&preference).map(drop).ok_or(Error::INVALID_VALUE)
    }

    fn cublasLtMatmulPreferenceDestroy(preference: u64) |state| {
        state.light().preferences.remove(&preference).ok_or(Error::INVALID_VALUE)
    }

    /// The one algorithm, if it can compute the product: 64 bytes of its own, the memory that it needs, its result, and how full the device is.
    fn cublasLtMatmulAlgoGetHeuristic(
        _handle: u64, product: u64, a: u64, b: u64, c: u64, d: u64, _preference: u64, wanted: c_int, place: u64,
        count: *mut c_int,
    ) |state| {
        if wanted < 1 {
            return Err(Error::INVALID_VALUE);
        }
        let layouts = [state.layout(a)?, state.layout(b)?, state.layout(c)?, state.layout(d)?];
        let description = state.description(product)?.clone();
        put(count, 0)?;
        state.light_kernel(&description, layouts)?;
        let mut result = [0; 96];
        result[76..80].copy_from_slice(&1f32.to_le_bytes());
        write(place, &result)?;
        put(count, 1)
    }

    fn cublasLtMatmul(
        _handle: u64, product: u64, alpha: u64, a: u64, a_layout: u64, b: u64, b_layout: u64, beta: u64, c: u64,
        c_layout: u64, d: u64, d_layout: u64, _algorithm: u64, _workspace: u64, _bytes: usize, stream: Stream,
    ) |state| {
        let layouts = [state.layout(a_layout)?, state.layout(b_layout)?, state.layout(c_layout)?, state.layout(d_layout)?];
        let description = state.description(product)?.clone();
        let (kernel, number) = state.light_kernel(&description, layouts)?;
        let matrix = |address: u64, layout: Layout| Matrix { address, leading: layout.leading, between: layout.between };
        let operations = [OPERATIONS[0], OPERATIONS[1]].map(|attribute| description.word(attribute) as c_int);
        let [of_a, of_b, of_c, of_d] = layouts;
        let inner = if operations[0] == super::NONE { of_a.columns } else { of_a.rows };
        let finish = Finish {
            kinds: finish(description.finish()).unwrap_or(0),
            bias: description.word(BIAS),
            kept: Matrix {
                address: description.word(KEPT),
                leading: description.word(KEPT_LEADING) as i64,
                between: description.word(KEPT_BETWEEN) as i64,
            },
        };
        let product = Product {
            kernel,
            number,
            operations,
            sizes: [of_d.rows, of_d.columns, inner],
            alpha,
            beta,
            a: matrix(a, of_a),
            b: matrix(b, of_b),
            c: matrix(c, of_c),
            d: matrix(d, of_d),
            lists: false,
            count: of_d.count.max(1) as u64,
            finish,
        };
        state.multiply(product, description.word(POINTERS) == 1, stream)
    }
}
