"""CuPy: a kernel in CUDA C, which NVRTC compiles."""

import cupy
import numpy

from tensor import close

SOURCE = r"""
extern "C" __global__ void transpose(const float* in, float* out, int rows, int columns)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < columns && y < rows)
        tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < rows && y < columns)
        out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}
"""

matrix = numpy.random.default_rng(11).random((50, 37), numpy.float32)
out = cupy.zeros((37, 50), cupy.float32)
cupy.RawKernel(SOURCE, "transpose")((3, 4), (16, 16), (cupy.asarray(matrix), out, *map(numpy.int32, matrix.shape)))
close(cupy.asnumpy(out), matrix.T, 0)
