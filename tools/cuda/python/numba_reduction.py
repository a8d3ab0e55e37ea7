"""Numba: a sum by a tree in shared memory, with one atomic addition for each block."""

import numpy
from numba import cuda, int64

from tensor import close


@cuda.jit
def reduce(values, total):
    shared = cuda.shared.array(128, int64)
    thread, at = cuda.threadIdx.x, cuda.grid(1)
    shared[thread] = values[at] if at < values.size else 0
    cuda.syncthreads()
    width = 64
    while width > 0:
        if thread < width:
            shared[thread] += shared[thread + width]
        cuda.syncthreads()
        width //= 2
    if thread == 0:
        cuda.atomic.add(total, 0, shared[0])


values = numpy.random.default_rng(7).integers(-1000, 1000, 3000)
total = cuda.to_device(numpy.zeros(1, numpy.int64))
reduce[24, 128](cuda.to_device(values), total)
close(total.copy_to_host(), values.sum(keepdims=True), 0)
