# Modules: numba-sm_70
"""Counts in shared memory, added by atomics."""

from numba import cuda, types, uint8, uint32

SIGNATURE = types.void(uint8[::1], uint32[::1])


def kernel(bytes, counts):
    bins = cuda.shared.array(32, uint32)
    if cuda.threadIdx.x < 32:
        bins[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), bytes.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, bytes[i] // 8, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x < 32:
        cuda.atomic.add(counts, cuda.threadIdx.x, bins[cuda.threadIdx.x])
