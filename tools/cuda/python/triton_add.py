"""Triton: the sum of two vectors."""

import numpy
import triton
import triton.language as tl

from tensor import Tensor, begin, close


@triton.jit
def add(first, second, total, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(total + at, tl.load(first + at, mask=inside) + tl.load(second + at, mask=inside), mask=inside)


begin()
generator = numpy.random.default_rng(1)
first, second = generator.random((2, 1000), numpy.float32)
total = Tensor(numpy.zeros_like(first))
add[(triton.cdiv(first.size, 256),)](Tensor(first), Tensor(second), total, first.size, BLOCK=256)
close(total.numpy(), first + second, 0)
