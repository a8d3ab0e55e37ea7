// Rows of a separable convolution with 17 taps through shared memory. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

__constant__ float ck[17] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 0.8f, 0.7f, 0.6f, 0.5f, 0.4f, 0.3f, 0.2f, 0.1f};
extern "C" __global__ void convRows(float *dst, const float *src, int w, int h, int pitch) {
    __shared__ float s[4][160];
    const int x = blockIdx.x * 128 - 16 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    src += y * pitch + x;
    dst += y * pitch + x;
    for (int i = 1; i < 9; i++) s[threadIdx.y][threadIdx.x + i * 16] = src[i * 16];
    s[threadIdx.y][threadIdx.x] = x >= 0 ? src[0] : 0;
    s[threadIdx.y][threadIdx.x + 144] = w - x > 144 ? src[144] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 1; i < 9; i++) {
        float sum = 0;
        for (int j = -8; j <= 8; j++) sum += ck[8 - j] * s[threadIdx.y][threadIdx.x + i * 16 + j];
        dst[i * 16] = sum;
    }
}
