# Modules: numba-sm_75
"""The lock of the first thread of a block."""

from numba import cuda, int32, types

SIGNATURE = types.void(int32[::1], int32[::1], int32[::1])


def kernel(x, words, lock):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            cuda.nanosleep(50)
        cuda.threadfence()
        for i in range(cuda.blockIdx.x * 32, cuda.blockIdx.x * 32 + 32):
            words[0] += x[i]
            words[1] = max(words[1], x[i])
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)
