// A product of 256 x 256 from global memory; bound by the L1 or by the L2. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void matmul_naive(const float *a, const float *b, float *c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}
