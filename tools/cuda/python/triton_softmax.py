"""Triton: softmax of rows, each in one block."""

import numpy
import triton
import triton.language as tl

from tensor import Tensor, begin, close


@triton.jit
def softmax(rows, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(rows + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


begin()
rows = numpy.random.default_rng(2).standard_normal((32, 100), numpy.float32)
out = Tensor(numpy.zeros_like(rows))
softmax[(len(rows),)](Tensor(rows), out, rows.shape[1], BLOCK=128)
powers = numpy.exp(rows - rows.max(axis=1, keepdims=True))
close(out.numpy(), powers / powers.sum(axis=1, keepdims=True), 1e-6)
