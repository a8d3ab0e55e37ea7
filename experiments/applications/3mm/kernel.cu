// G = (A B)(C D) as three launches of one kernel, after PolyBench's 3MM. All matrices are n x n.
#include "../cuda.h"

extern "C" __global__ void multiply(const float *a, const float *b, float *c, int n) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += a[row * n + i] * b[i * n + column];
    c[row * n + column] = sum;
}
