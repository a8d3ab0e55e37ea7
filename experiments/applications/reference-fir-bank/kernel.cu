// Eight FIR filters of 32 taps over one signal; bound by the L1. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void firbank(const float *in, const float *taps, float *out, int n, int nt, int nb) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k < nt; k++)
        if (i - k >= 0) s += taps[b * nt + k] * in[i - k];
    out[b * n + i] = s;
}
