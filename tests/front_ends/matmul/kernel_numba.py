# Modules: numba-sm_75
"""C = A B by tiles of 8 by 8 in shared memory."""

from numba import cuda, float32, types

SIGNATURE = types.void(float32[:, ::1], float32[:, ::1], float32[:, ::1])


def kernel(a, b, c):
    left = cuda.shared.array((8, 8), float32)
    right = cuda.shared.array((8, 8), float32)
    row, column = cuda.grid(2)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range(a.shape[1] // 8):
        left[i, j] = a[row, 8 * step + j]
        right[i, j] = b[8 * step + i, column]
        cuda.syncthreads()
        for k in range(8):
            total += left[i, k] * right[k, j]
        cuda.syncthreads()
    c[row, column] = total
