// C = A B through shared memory, four elements a thread: a block of 16 x 16 threads has 32 x 32 elements of C, and moves tiles of
// 32 x 16 of A and 16 x 32 of B along k. A has m x k elements, B k x n; m and n are multiples of 32, k of 16.
#include "../../../../applications/cuda.h"

#define SIDE 16

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n, int k) {
    __shared__ float left[2 * SIDE][SIDE];
    __shared__ float right[SIDE][2 * SIDE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int column = blockIdx.x * 2 * SIDE + tx;
    const int row = blockIdx.y * 2 * SIDE + ty;
    a += row * k + tx;
    b += ty * n + column;
    float sum00 = 0.0f, sum01 = 0.0f, sum10 = 0.0f, sum11 = 0.0f;
    for (int first = 0; first < k; first += SIDE) {
        left[ty][tx] = a[0];
        left[ty + SIDE][tx] = a[SIDE * k];
        right[ty][tx] = b[0];
        right[ty][tx + SIDE] = b[SIDE];
        a += SIDE;
        b += SIDE * n;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            const float upper = left[ty][i];
            const float lower = left[ty + SIDE][i];
            const float near = right[i][tx];
            const float far = right[i][tx + SIDE];
            sum00 += upper * near;
            sum01 += upper * far;
            sum10 += lower * near;
            sum11 += lower * far;
        }
        __syncthreads();
    }
    c += row * n + column;
    c[0] = sum00;
    c[SIDE] = sum01;
    c[SIDE * n] = sum10;
    c[SIDE * n + SIDE] = sum11;
}
