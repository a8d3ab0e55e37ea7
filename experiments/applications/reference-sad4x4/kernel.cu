// Sums of absolute differences of 4 x 4 pixels at 256 displacements, in half-words. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void sad4x4(const unsigned short *cur, const unsigned short *ref, unsigned short *out, int w, int range) {
    int bx = blockIdx.x * 4, by = blockIdx.y * 4, p = threadIdx.x;
    int dx = p % range - range / 2, dy = p / range - range / 2, sum = 0;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) {
            int c = cur[(by + y) * w + bx + x], r = ref[max(by + dy + y, 0) * w + min(max(bx + dx + x, 0), w - 1)];
            sum += c > r ? c - r : r - c;
        }
    out[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + p] = sum;
}
