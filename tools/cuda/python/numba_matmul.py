"""Numba: a product of matrices in tiles of shared memory."""

import numpy
from numba import cuda, float32

from tensor import close

TILE = 16


@cuda.jit
def matmul(a, b, c):
    left, right = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
    row, column = cuda.grid(2)
    y, x = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range((a.shape[1] + TILE - 1) // TILE):
        inner = step * TILE
        left[y, x] = a[row, inner + x] if row < a.shape[0] and inner + x < a.shape[1] else 0
        right[y, x] = b[inner + y, column] if inner + y < b.shape[0] and column < b.shape[1] else 0
        cuda.syncthreads()
        for index in range(TILE):
            total += left[y, index] * right[index, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


generator = numpy.random.default_rng(8)
a, b = generator.random((40, 50), numpy.float32), generator.random((50, 30), numpy.float32)
c = cuda.to_device(numpy.zeros((40, 30), numpy.float32))
matmul[(3, 2), (TILE, TILE)](cuda.to_device(a), cuda.to_device(b), c)
close(c.copy_to_host(), a @ b, 1e-4)
