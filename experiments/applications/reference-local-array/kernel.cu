// Arrays in local memory, indexed by data. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void locarr(const int *idx, float *o, int n) {
    float a[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 32; k++) a[k] = i + k * 0.5f;
    for (int k = 0; k < n; k++) a[idx[k] & 31] += 1.0f;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[idx[k + n] & 31];
    o[i] = s;
}
