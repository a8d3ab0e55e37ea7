//! The kernels that are compared with GPGPU-Sim's figures and are like no other application: `reference-*`.

use super::{ReferenceInput, bytes_of_f32s, bytes_of_u32s};

/// `reference-conv-rows`: each row of `src` behind a symmetric filter of 17 taps, with zeros beyond its ends.
pub(super) fn rows(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (width, height) = (input.size("w")?, input.size("h")?);
    let image = input.f32s_of("src", width * height)?;
    let tap = |offset: isize| f64::from(9 - offset.unsigned_abs() as u32) / 10.0;
    let filtered = |row: &[f32], x: usize| -> f32 {
        let value =
            |offset: isize| row.get(x.wrapping_add_signed(offset)).map_or(0.0, |value| f64::from(*value));
        (-8..=8).map(|offset| tap(offset) * value(offset)).sum::<f64>() as f32
    };
    let pixels = image.chunks(width).flat_map(|row| (0..width).map(|x| filtered(row, x)));
    Ok(bytes_of_f32s(&pixels.collect::<Vec<_>>()))
}

/// `reference-count-ballot`: how many of the `n` numbers in `in` are positive.
pub(super) fn positives(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let numbers = input.u32s_of("in", input.size("n")?)?;
    Ok(bytes_of_u32s(&[numbers.iter().filter(|&&number| number as i32 > 0).count() as u32]))
}

/// `reference-fir-bank`: the signal `in` behind each of the `filters`.
pub(super) fn filters(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, taps, filters) = (input.size("n")?, input.size("taps")?, input.size("filters")?);
    let (signal, taps_of_all) = (input.f32s_of("in", n)?, input.f32s_of("coefficients", taps * filters)?);
    let at = |taps: &[f32], i: usize| -> f32 {
        let terms = taps.iter().zip(signal[..=i].iter().rev());
        terms.map(|(tap, value)| f64::from(*tap) * f64::from(*value)).sum::<f64>() as f32
    };
    let outputs = taps_of_all.chunks(taps).flat_map(|taps| (0..n).map(|i| at(taps, i)));
    Ok(bytes_of_f32s(&outputs.collect::<Vec<_>>()))
}

/// `reference-reduction`: of each of the `blocks` of 256 threads, the sum of what they find a grid apart.
pub(super) fn sums(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (numbers, blocks) = (input.u32s_of("in", input.size("n")?)?, input.size("blocks")?);
    let mut sums = vec![0_u32; blocks];
    for (group, numbers) in numbers.chunks(256).enumerate() {
        let sum = &mut sums[group % blocks];
        *sum = numbers.iter().fold(*sum, |sum, number| sum.wrapping_add(*number));
    }
    Ok(bytes_of_u32s(&sums))
}

/// `reference-dct8x8`: the cosine transform of each 8 x 8 pixels, less 128.
pub(super) fn dct(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (width, height) = (input.size("w")?, input.size("h")?);
    let pixels: Vec<f64> =
        input.f32s_of("in", width * height)?.into_iter().map(|value| f64::from(value) - 128.0).collect();
    let found = super::dct8x8::transform(&pixels, width, &super::dct8x8::basis());
    Ok(bytes_of_f32s(&found.into_iter().map(|value| value as f32).collect::<Vec<_>>()))
}

/// `reference-local-array`: 32 numbers a thread, some of them growing, and the sum of some.
pub(super) fn local(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let n = input.size("n")?;
    let indices = input.u32s_of("indices", 2 * n)?;
    let place = |index: &u32| (*index % 32) as usize;
    let of_thread = |thread: usize| -> f32 {
        let mut numbers: [f64; 32] = std::array::from_fn(|k| thread as f64 + 0.5 * k as f64);
        indices[..n].iter().for_each(|index| numbers[place(index)] += 1.0);
        indices[n..].iter().map(|index| numbers[place(index)]).sum::<f64>() as f32
    };
    Ok(bytes_of_f32s(&(0..input.size("blocks")? * 128).map(of_thread).collect::<Vec<_>>()))
}

/// `reference-lu-panel`: the factors of the first 16 x 16 elements, and the product of what lies below and beside them
/// taken off the rest.
pub(super) fn lu(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    const SIDE: usize = 16;
    let n = input.size("n")?;
    let mut a: Vec<f64> = input.f32s_of("matrix", n * n)?.into_iter().map(f64::from).collect();
    for k in 0..SIDE {
        for row in k + 1..SIDE {
            a[row * n + k] /= a[k * n + k];
            for column in k + 1..SIDE {
                a[row * n + column] -= a[row * n + k] * a[k * n + column];
            }
        }
    }
    for row in SIDE..n {
        for column in SIDE..n {
            let product: f64 = (0..SIDE).map(|k| a[row * n + k] * a[k * n + column]).sum();
            a[row * n + column] -= product;
        }
    }
    Ok(bytes_of_f32s(&a.iter().map(|value| *value as f32).collect::<Vec<_>>()))
}

/// `reference-mandelbrot`: iterations of single precision, with one product and sum fused.
pub(super) fn mandelbrot(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, most) = (input.size("n")?, input.size("most")? as u32);
    let place = |i: usize, shift: f32| i as f32 * 3.0 / n as f32 - shift;
    let iterations = |point: usize| {
        let (cx, cy) = (place(point % n, 2.0), place(point / n, 1.5));
        let (mut x, mut y, mut count) = (0.0_f32, 0.0_f32, 0);
        while count < most && x * x + y * y <= 4.0 {
            (x, y) = (cx + (x * x - y * y), (x + x).mul_add(y, cy));
            count += 1;
        }
        count
    };
    Ok(bytes_of_u32s(&(0..n * n).map(iterations).collect::<Vec<_>>()))
}

/// `reference-mandelbrot-f64`: the same in double precision, with fused places.
pub(super) fn mandelbrot_f64(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, most) = (input.size("n")?, input.size("most")? as u32);
    let iterations = |point: usize| {
        let cx = ((point % n) as f64).mul_add(3.0 / n as f64, -2.0);
        let cy = ((point / n) as f64).mul_add(2.5 / n as f64, -1.25);
        let (mut x, mut y, mut count) = (0.0_f64, 0.0_f64, 0);
        while count < most && x * x + y * y < 4.0 {
            (x, y) = (cx + (x * x - y * y), (x + x).mul_add(y, cy));
            count += 1;
        }
        count
    };
    Ok(bytes_of_u32s(&(0..n * n).map(iterations).collect::<Vec<_>>()))
}

/// `reference-sad4x4`: for each 4 x 4 pixels, sums of absolute differences to the previous picture at `range` x `range`
/// displacements; places beyond its edges are those on them.
pub(super) fn differences(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (width, height, range) = (input.size("w")?, input.size("h")?, input.size("range")?);
    let pixels = |name: &str, count: usize| -> Result<Vec<i32>, String> {
        let halves = input.bytes_of(name, 2 * count)?.as_chunks::<2>().0;
        Ok(halves.iter().map(|half| i32::from(u16::from_le_bytes(*half))).collect())
    };
    let current = pixels("current", width * height)?;
    let previous = pixels("previous", width * (height + range))?;
    let sum = |left: usize, top: usize, dx: isize, dy: isize| -> u16 {
        let cells = (0..4).flat_map(|y| (0..4).map(move |x| (left + x, top + y)));
        let difference = |(x, y): (usize, usize)| {
            let column = x.saturating_add_signed(dx).min(width - 1);
            current[y * width + x] - previous[y.saturating_add_signed(dy) * width + column]
        };
        cells.map(|cell| difference(cell).unsigned_abs() as u16).sum()
    };
    let mut sums = Vec::new();
    for (top, left) in
        (0..height).step_by(4).flat_map(|top| (0..width).step_by(4).map(move |left| (top, left)))
    {
        for place in 0..range * range {
            let shift = |place: usize| place as isize - (range / 2) as isize;
            sums.extend(sum(left, top, shift(place % range), shift(place / range)).to_le_bytes());
        }
    }
    Ok(sums)
}

/// `reference-stencil3d`: 0.5 of each inner cell and 0.083 of its neighbours; the surface stays.
pub(super) fn stencil(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let n = input.size("n")?;
    let (cells, mut out) = (input.f32s_of("in", n * n * n)?, input.f32s_of("out", n * n * n)?);
    for (z, y, x) in (0..n * n * n).map(|cell| (cell / n / n, cell / n % n, cell % n)) {
        if [x, y, z].iter().all(|&place| place > 0 && place < n - 1) {
            let at = (z * n + y) * n + x;
            let neighbours = [at - 1, at + 1, at - n, at + n, at - n * n, at + n * n];
            let sum: f64 = neighbours.iter().map(|&cell| f64::from(cells[cell])).sum();
            out[at] = (0.5 * f64::from(cells[at]) + 0.083 * sum) as f32;
        }
    }
    Ok(bytes_of_f32s(&out))
}
