# Modules: numba-sm_70 numba-sm_86
"""Records, complex numbers, arrays of a thread's own, and indices that wrap."""

import numpy as np
from numba import complex64, cuda, float32, from_dtype, types

RECORD = np.dtype([("weight", "f8"), ("key", "i4"), ("flag", "?"), ("level", "u1"), ("none", "u2")], align=True)
SIGNATURE = types.void(from_dtype(RECORD)[::1], complex64[::1], float32[::1])


def kernel(records, numbers, out):
    i = cuda.grid(1)
    own = cuda.local.array(4, float32)
    for k in range(4):
        own[k] = records[i - k].weight if records[i - k].flag else float32(records[i - k].level)
    z = complex64(1)
    for _ in range(records[i].key % 4):
        z *= numbers[i]
    out[i] = own[records[i].key & 3] + z.real * z.imag
    cuda.syncthreads()
    numbers[i] = z.conjugate()
