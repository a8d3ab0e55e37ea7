// The median of nine neighbours of a signal, sorted in an array of the thread's own, which lies in local memory because its
// indices are computed. Beyond the ends the signal goes on as it ends.
#include "../cuda.h"

#define RADIUS 4
#define WIDTH (2 * RADIUS + 1)

extern "C" __global__ void median(const float *signal, float *result, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float window[WIDTH];
#pragma unroll 1
    for (int count = 0; count < WIDTH; count++) {
        const float value = signal[min(max(i + count - RADIUS, 0), n - 1)];
        int place = count;
#pragma unroll 1
        for (; place > 0 && window[place - 1] > value; place--) window[place] = window[place - 1];
        window[place] = value;
    }
    result[i] = window[RADIUS];
}
