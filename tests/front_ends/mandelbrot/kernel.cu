// Modules: nvcc-sm_89 clang-sm_75
// Iterations of each point in fixed point: 64 bits, 28 of them behind the point.
#ifdef __clang__
#include "../../../experiments/applications/cuda.h"
#endif

extern "C" __global__ void mandelbrot(unsigned *counts, unsigned width, unsigned most) {
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    long long one = 1ll << 28;
    long long a = -2 * one + 3 * one / width * column, b = -3 * one / 2 + 3 * one / width * row;
    long long x = 0, y = 0;
    unsigned count = 0;
    while (count < most) {
        long long xx = x * x >> 28, yy = y * y >> 28;
        if (xx + yy > 4 * one) break;
        y = (x * y >> 27) + b;
        x = xx - yy + a;
        count++;
    }
    counts[row * width + column] = count;
}
