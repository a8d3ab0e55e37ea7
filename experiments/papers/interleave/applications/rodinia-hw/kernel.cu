// Where points of a heart's walls have moved, after the idea of Rodinia's Heartwall, much simplified: a block of 256 threads has one
// point. It loads the window of the frame around it, correlates the point's template with each of the 16 x 16 places of the window,
// and adds what all places have, for who normalises. A frame and its points lie behind another, one for each block index in z.
#include "../../../../applications/cuda.h"

#define THREADS 256
#define PLACES 16
#define TEMPLATE 5
#define WINDOW (PLACES + TEMPLATE - 1)

extern "C" __global__ void track(const float *frame, const float *templates, const int *points, float *match, float *total,
                                 int side) {
    __shared__ float window[WINDOW * WINDOW];
    __shared__ float pattern[TEMPLATE * TEMPLATE];
    __shared__ float sums[THREADS];
    const int tx = threadIdx.x;
    const int point = blockIdx.z * gridDim.x + blockIdx.x;
    const int first_row = blockIdx.z * side + points[2 * point];
    const int first_column = points[2 * point + 1];
#pragma unroll 1
    for (int i = tx; i < WINDOW * WINDOW; i += THREADS) {
        const int row = i / WINDOW;
        const int column = i % WINDOW;
        window[i] = frame[(first_row + row) * side + first_column + column];
    }
    if (tx < TEMPLATE * TEMPLATE) pattern[tx] = templates[TEMPLATE * TEMPLATE * point + tx];
    __syncthreads();
    const int place_row = tx / PLACES;
    const int place_column = tx % PLACES;
    float sum = 0.0f;
#pragma unroll 1
    for (int row = 0; row < TEMPLATE; row++) {
#pragma unroll 1
        for (int column = 0; column < TEMPLATE; column++) {
            const int seen = (place_row + row) * WINDOW + place_column + column;
            sum += pattern[row * TEMPLATE + column] * window[seen];
        }
    }
    match[THREADS * point + tx] = sum;
    sums[tx] = sum;
    __syncthreads();
#pragma unroll 1
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (tx < half) sums[tx] = sums[tx] + sums[tx + half];
        __syncthreads();
    }
    if (tx == 0) total[point] = sums[0];
}
