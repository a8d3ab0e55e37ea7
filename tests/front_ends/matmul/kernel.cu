// Modules: nvcc-sm_80 clang-sm_70
// C = A B by tiles of 16 by 16 in shared memory.
#ifdef __clang__
#include "../../../experiments/applications/cuda.h"
#endif

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float left[16][17], right[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += 16) {
        left[threadIdx.y][threadIdx.x] = a[row * k + start + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m) c[row * n + column] = sum;
}
