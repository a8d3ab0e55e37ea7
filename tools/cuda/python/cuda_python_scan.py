"""CUDA Python: a prefix sum of one block, compiled by NVRTC to PTX and launched by the driver."""

import ctypes

import numpy
from cuda.bindings import driver, nvrtc

from tensor import Tensor, begin, close

SOURCE = rb"""
extern "C" __global__ void scan(int* values, int count)
{
    extern __shared__ int shared[];
    int at = threadIdx.x;
    shared[at] = at < count ? values[at] : 0;
    for (int step = 1; step < blockDim.x; step *= 2) {
        __syncthreads();
        int before = at >= step ? shared[at - step] : 0;
        __syncthreads();
        shared[at] += before;
    }
    if (at < count)
        values[at] = shared[at];
}
"""


def checked(result):
    """The values of a call that has succeeded."""
    error, *values = result
    assert error.value == 0, error
    return values[0] if values else None


begin()
program = checked(nvrtc.nvrtcCreateProgram(SOURCE, b"scan.cu", 0, None, None))
checked(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_80"]))
ptx = b" " * checked(nvrtc.nvrtcGetPTXSize(program))
checked(nvrtc.nvrtcGetPTX(program, ptx))
module = checked(driver.cuModuleLoadData(ptx))
kernel = checked(driver.cuModuleGetFunction(module, b"scan"))
values = numpy.random.default_rng(12).integers(0, 100, 200).astype(numpy.int32)
on_device = Tensor(values)
arguments = ((on_device.data_ptr(), values.size), (ctypes.c_uint64, ctypes.c_int))
checked(driver.cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 1024, 0, arguments, 0))
close(on_device.numpy(), values.cumsum(), 0)
