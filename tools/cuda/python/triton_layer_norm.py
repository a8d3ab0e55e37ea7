"""Triton: layer normalisation of rows, with weights and biases."""

import numpy
import triton
import triton.language as tl

from tensor import Tensor, begin, close


@triton.jit
def layer_norm(rows, out, weights, biases, columns, epsilon, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(rows + row * columns + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    weight, bias = tl.load(weights + at, mask=inside), tl.load(biases + at, mask=inside)
    tl.store(out + row * columns + at, centred * scale * weight + bias, mask=inside)


begin()
generator = numpy.random.default_rng(4)
rows = generator.standard_normal((24, 200), numpy.float32)
weights, biases = generator.random((2, 200), numpy.float32)
out = Tensor(numpy.zeros_like(rows))
layer_norm[(len(rows),)](Tensor(rows), out, Tensor(weights), Tensor(biases), rows.shape[1], 1e-5, BLOCK=256)
centred = rows - rows.mean(axis=1, keepdims=True)
close(out.numpy(), centred / numpy.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * weights + biases, 1e-5)
