"""Triton: a product of matrices of 16-bit floats, in tiles on tensor cores."""

import numpy
import triton
import triton.language as tl

from tensor import Tensor, begin, close


@triton.jit
def matmul(a, b, c, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for step in range(0, K, TILE_K):
        left = tl.load(a + row[:, None] * K + step + inner[None, :], mask=(row[:, None] < M) & (step + inner[None, :] < K), other=0.0)
        right = tl.load(b + (step + inner[:, None]) * N + column[None, :], mask=(step + inner[:, None] < K) & (column[None, :] < N), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * N + column[None, :], total.to(tl.float16), mask=(row[:, None] < M) & (column[None, :] < N))


begin()
M, N, K = 96, 80, 64
generator = numpy.random.default_rng(3)
a, b = generator.standard_normal((M, K)).astype(numpy.float16), generator.standard_normal((K, N)).astype(numpy.float16)
c = Tensor(numpy.zeros((M, N), numpy.float16))
matmul[(triton.cdiv(M, 32), triton.cdiv(N, 32))](Tensor(a), Tensor(b), c, M, N, K, TILE_M=32, TILE_N=32, TILE_K=32)
close(c.numpy(), a.astype(numpy.float32) @ b.astype(numpy.float32), 0.02)
