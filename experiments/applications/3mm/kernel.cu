// G = (A B)(C D) as three launches of one kernel, after PolyBench's 3MM for GPUs. All matrices are n x n. The sum is kept
// in device memory, as published: nothing says that the matrices do not overlap, so each step of the loop stores it.
#include "../cuda.h"

extern "C" __global__ void multiply(const float *a, const float *b, float *c, int n) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;
    c[row * n + column] = 0.0f;
    for (int i = 0; i < n; i++) c[row * n + column] += a[row * n + i] * b[i * n + column];
}
