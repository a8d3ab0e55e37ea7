// A product of 144 x 144 through tiles in shared memory. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void matmulTiled(const float *A, const float *B, float *C, int n) {
    __shared__ float As[16][16], Bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float s = 0;
    for (int m = 0; m < n / 16; m++) {
        As[ty][tx] = A[row * n + m * 16 + tx];
        Bs[ty][tx] = B[(m * 16 + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) s += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * n + col] = s;
}
