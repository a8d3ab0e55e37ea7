"""Triton: dropout from a seed, which needs no memory for its mask. The mask is that of Philox 4x32-10, as NumPy computes it here."""

import numpy
import triton
import triton.language as tl

from tensor import Tensor, begin, close


@triton.jit
def dropout(values, out, count, share, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    kept = tl.rand(seed, at) > share
    tl.store(out + at, tl.where(kept, tl.load(values + at, mask=inside) / (1 - share), 0.0), mask=inside)


def philox(seed, at):
    """The first of the four words of Philox 4x32-10 (Salmon et al., SC 2011) for counters that begin with `at`."""
    wide, words = numpy.uint64, [at.astype(numpy.uint64), *(numpy.zeros_like(at, numpy.uint64) for _ in range(3))]
    keys, low = [seed & 0xFFFFFFFF, seed >> 32], wide(0xFFFFFFFF)
    for _ in range(10):
        first, second = words[0] * wide(0xD2511F53), words[2] * wide(0xCD9E8D57)
        words = [second >> wide(32) ^ words[1] ^ wide(keys[0]), second & low, first >> wide(32) ^ words[3] ^ wide(keys[1]), first & low]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words[0].astype(numpy.uint32)


begin()
values = numpy.random.default_rng(5).standard_normal(1000, numpy.float32)
out = Tensor(numpy.zeros_like(values))
dropout[(triton.cdiv(values.size, 256),)](Tensor(values), out, values.size, 0.5, 123, BLOCK=256)
signed = philox(123, numpy.arange(values.size)).astype(numpy.int32).astype(numpy.int64)
uniform = numpy.where(signed < 0, -signed - 1, signed).astype(numpy.float32) * numpy.float32(4.6566127342e-10)
close(out.numpy(), numpy.where(uniform > 0.5, values / 0.5, 0), 1e-6)
