# Modules: numba-sm_86
"""Each thread finds the place of its number: those that are smaller, or equal and before it, are counted."""

from numba import cuda, types, uint32

SIGNATURE = types.void(uint32[::1], uint32[::1])


def kernel(x, y):
    start, t = cuda.blockIdx.x * 256, cuda.threadIdx.x
    keys = cuda.shared.array(256, uint32)
    keys[t] = x[start + t]
    cuda.syncthreads()
    place = 0
    for i in range(256):
        if keys[i] < keys[t] or (keys[i] == keys[t] and i < t):
            place += 1
    y[start + place] = keys[t]
