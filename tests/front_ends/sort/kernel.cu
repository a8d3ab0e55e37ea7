// Modules: nvcc-sm_75 clang-sm_70
// Each block sorts 256 numbers in shared memory by a bitonic network.
#ifdef __clang__
#include "../../../experiments/applications/cuda.h"
#endif

extern "C" __global__ void sort(const unsigned *x, unsigned *y) {
    __shared__ unsigned keys[256];
    unsigned t = threadIdx.x, start = blockIdx.x * 256;
    keys[t] = x[start + t];
    keys[t + 128] = x[start + t + 128];
    for (unsigned size = 2; size <= 256; size *= 2) {
        for (unsigned step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            unsigned i = 2 * t - (t & (step - 1)), j = i + step;
            bool up = (i & size) == 0;
            unsigned a = keys[i], b = keys[j];
            if ((a > b) == up) {
                keys[i] = b;
                keys[j] = a;
            }
        }
    }
    __syncthreads();
    y[start + t] = keys[t];
    y[start + t + 128] = keys[t + 128];
}
