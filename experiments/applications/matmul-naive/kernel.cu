// C = A B, one element a thread, everything from global memory. A has m x k elements, B k x n.
#include "../cuda.h"

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}
