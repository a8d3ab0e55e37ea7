// Modules: nvcc-sm_75 clang-sm_70
// Random numbers by Philox 4x32 of ten rounds, four words a thread.
#ifdef __clang__
#include "../../../experiments/applications/cuda.h"
#endif

struct __align__(16) Words { unsigned x, y, z, w; };

__device__ unsigned high(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }

extern "C" __global__ void philox(Words *out, unsigned long long seed) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Words c = {i, 0, 0, 0};
    unsigned key = (unsigned)seed, other = (unsigned)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        unsigned a = high(0xd2511f53, c.x), b = 0xd2511f53 * c.x, d = high(0xcd9e8d57, c.z), e = 0xcd9e8d57 * c.z;
        c = {d ^ c.y ^ key, e, a ^ c.w ^ other, b};
        key += 0x9e3779b9;
        other += 0xbb67ae85;
    }
    out[i] = c;
}
