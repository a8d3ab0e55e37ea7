// A filter of 17 taps over a signal, as the separable one of `convolution`, but with the taps in constant memory. Beyond the
// signal all is zero.
#include "../cuda.h"

#define RADIUS 8
#define LENGTH (2 * RADIUS + 1)

// The binomial coefficients of order 16, which are divided by their sum in the end.
__constant__ float taps[LENGTH] = {1,     16,   120,  560,  1820, 4368, 8008, 11440, 12870,
                                   11440, 8008, 4368, 1820, 560,  120,  16,   1};
__constant__ float share = 1 / 65536.0f;

extern "C" __global__ void filter(const float *signal, float *result, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int first = max(i - RADIUS, 0);
    const int last = min(i + RADIUS, n - 1);
    float sum = 0;
#pragma unroll 1
    for (int other = first; other <= last; other++) sum += taps[other - i + RADIUS] * signal[other];
    result[i] = sum * share;
}
