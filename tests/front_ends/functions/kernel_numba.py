# Modules: numba-sm_70 numba-sm_86
"""Functions of Python's `math`, in both precisions."""

import math

from numba import cuda, float32, float64, types

SIGNATURE = types.void(float32[::1], float32[:, ::1], float64[:, ::1])


def kernel(x, single, twice):
    i = cuda.grid(1)
    a = x[i]
    single[0, i] = math.sin(a)
    single[1, i] = math.cos(a)
    single[2, i] = math.exp(a)
    single[3, i] = math.log(a)
    single[4, i] = a ** float32(1.7)
    single[5, i] = math.tanh(a)
    single[6, i] = math.erf(a)
    single[7, i] = float32(1) / math.sqrt(a)
    single[8, i] = math.atan(a)
    d = float64(a)
    twice[0, i] = math.sin(d)
    twice[1, i] = math.exp(-d) / math.sqrt(d)
    twice[2, i] = math.log(d)
