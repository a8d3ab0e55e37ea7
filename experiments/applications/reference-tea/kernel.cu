// The Tiny Encryption Algorithm in place, 32 rounds, a block of 8 bytes a thread; bound by arithmetic. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void tea_enc(uint2 *d, int n, unsigned k0, unsigned k1, unsigned k2, unsigned k3) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = d[i].x, y = d[i].y, sum = 0;
    for (int r = 0; r < 32; r++) {
        sum += 0x9e3779b9u;
        x += ((y << 4) + k0) ^ (y + sum) ^ ((y >> 5) + k1);
        y += ((x << 4) + k2) ^ (x + sum) ^ ((x >> 5) + k3);
    }
    d[i] = make_uint2(x, y);
}
