"""Triton: attention of one head, with the softmax computed as keys and values pass."""

import numpy
import triton
import triton.language as tl

from tensor import Tensor, begin, close


@triton.jit
def attention(queries, keys, values, out, length, scale, TILE: tl.constexpr, SIZE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    size = tl.arange(0, SIZE)
    query = tl.load(queries + row[:, None] * SIZE + size[None, :], mask=row[:, None] < length, other=0.0)
    largest = tl.full((TILE,), -float("inf"), tl.float32)
    sum_of_powers = tl.zeros((TILE,), tl.float32)
    total = tl.zeros((TILE, SIZE), tl.float32)
    for begin in range(0, length, TILE):
        at = begin + tl.arange(0, TILE)
        key = tl.load(keys + at[None, :] * SIZE + size[:, None], mask=at[None, :] < length, other=0.0)
        scores = tl.where(at[None, :] < length, tl.dot(query, key) * scale, -float("inf"))
        next_largest = tl.maximum(largest, tl.max(scores, axis=1))
        shrink = tl.exp(largest - next_largest)
        powers = tl.exp(scores - next_largest[:, None])
        value = tl.load(values + at[:, None] * SIZE + size[None, :], mask=at[:, None] < length, other=0.0)
        total = tl.dot(powers.to(tl.float16), value, total * shrink[:, None])
        sum_of_powers = sum_of_powers * shrink + tl.sum(powers, axis=1)
        largest = next_largest
    tl.store(out + row[:, None] * SIZE + size[None, :], total / sum_of_powers[:, None], mask=row[:, None] < length)


begin()
LENGTH, SIZE = 80, 32
queries, keys, values = numpy.random.default_rng(6).standard_normal((3, LENGTH, SIZE)).astype(numpy.float16)
out, scale = Tensor(numpy.zeros((LENGTH, SIZE), numpy.float32)), SIZE**-0.5
attention[(triton.cdiv(LENGTH, 32),)](Tensor(queries), Tensor(keys), Tensor(values), out, LENGTH, scale, TILE=32, SIZE=SIZE)
scores = queries.astype(numpy.float32) @ keys.astype(numpy.float32).T * scale
powers = numpy.exp(scores - scores.max(axis=1, keepdims=True))
close(out.numpy(), powers / powers.sum(axis=1, keepdims=True) @ values.astype(numpy.float32), 5e-3)
