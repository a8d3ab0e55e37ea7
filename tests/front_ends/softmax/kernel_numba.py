# Modules: numba-sm_70 numba-sm_90
"""A softmax of each row by a block, through shared memory."""

import math

from numba import cuda, float32, types

SIGNATURE = types.void(float32[:, ::1], float32[:, ::1])


def kernel(x, y):
    part = cuda.shared.array(32, float32)
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    most = float32(-math.inf)
    for i in range(lane, x.shape[1], 32):
        most = max(most, x[row, i])
    part[lane] = most
    cuda.syncthreads()
    for i in range(32):
        most = max(most, part[i])
    cuda.syncthreads()
    total = float32(0)
    for i in range(lane, x.shape[1], 32):
        total += math.exp(x[row, i] - most)
    part[lane] = total
    cuda.syncthreads()
    total = float32(0)
    for i in range(32):
        total += part[i]
    for i in range(lane, x.shape[1], 32):
        y[row, i] = math.exp(x[row, i] - most) / total
