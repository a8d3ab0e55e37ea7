// Adds two vectors of 256K elements; bound by DRAM. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void vectorAdd(const float *a, const float *b, float *c, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
