// C = A B for square matrices whose side is a multiple of the tile's: no thread has to ask whether it is inside.
#include "../cuda.h"

#define SIDE 16

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float left[SIDE][SIDE];
    __shared__ float right[SIDE][SIDE];
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int row = blockIdx.y * SIDE + y;
    const int column = blockIdx.x * SIDE + x;
    float sum = 0.0f;
    for (int tile = 0; tile < n / SIDE; tile++) {
        left[y][x] = a[row * n + tile * SIDE + x];
        right[y][x] = b[(tile * SIDE + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < SIDE; i++) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
