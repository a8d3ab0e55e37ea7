// C = A B through shared memory: a CTA of 16 x 16 threads moves a tile of A and one of B along k. A has m x k elements,
// B k x n; tiles that reach beyond a matrix are filled with zeros.
#include "../cuda.h"

#define TILE 16

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int column = blockIdx.x * TILE + tx;
    const int row = blockIdx.y * TILE + ty;
    float sum = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        left[ty][tx] = row < m && first + tx < k ? a[row * k + first + tx] : 0.0f;
        right[ty][tx] = column < n && first + ty < k ? b[(first + ty) * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum += left[ty][i] * right[i][tx];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
