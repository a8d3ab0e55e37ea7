// A separable filter of 17 taps, rows and columns apart, built as the CUDA SDK's separable convolution is: a CTA brings a strip
// of the image into shared memory in steps as wide (or high) as itself, `STEPS` of them for results and `HALO` more on each
// side, and each thread then makes `STEPS` results. Beyond the image all is zero. The image must be a multiple of the strips:
// of 128 columns and 4 rows for `rows`, of 16 columns and 64 rows for `columns`.
#include "../cuda.h"

#define RADIUS 8
#define LENGTH (2 * RADIUS + 1)
#define STEPS 8
#define HALO 1

#define ROWS_X 16
#define ROWS_Y 4
#define COLUMNS_X 16
#define COLUMNS_Y 8

// The binomial coefficients of order 16 as shares of their sum.
__constant__ float taps[LENGTH] = {
    1 / 65536.0f,     16 / 65536.0f,    120 / 65536.0f,   560 / 65536.0f,  1820 / 65536.0f, 4368 / 65536.0f,
    8008 / 65536.0f,  11440 / 65536.0f, 12870 / 65536.0f, 11440 / 65536.0f, 8008 / 65536.0f, 4368 / 65536.0f,
    1820 / 65536.0f,  560 / 65536.0f,   120 / 65536.0f,   16 / 65536.0f,   1 / 65536.0f};

extern "C" __global__ void rows(const float *source, float *result, int width, int height) {
    __shared__ float strip[ROWS_Y][(STEPS + 2 * HALO) * ROWS_X];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    // Where this thread's first step lies, which is in the halo.
    const int x = ((int)blockIdx.x * STEPS - HALO) * ROWS_X + tx;
    const int y = blockIdx.y * ROWS_Y + ty;
    source += y * width + x;
    result += y * width + x;
#pragma unroll
    for (int step = HALO; step < HALO + STEPS; step++) strip[ty][tx + step * ROWS_X] = source[step * ROWS_X];
#pragma unroll
    for (int step = 0; step < HALO; step++) {
        strip[ty][tx + step * ROWS_X] = x >= -step * ROWS_X ? source[step * ROWS_X] : 0.0f;
    }
#pragma unroll
    for (int step = HALO + STEPS; step < STEPS + 2 * HALO; step++) {
        strip[ty][tx + step * ROWS_X] = width - x > step * ROWS_X ? source[step * ROWS_X] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int step = HALO; step < HALO + STEPS; step++) {
        float sum = 0.0f;
#pragma unroll
        for (int away = -RADIUS; away <= RADIUS; away++) {
            sum += taps[RADIUS - away] * strip[ty][tx + step * ROWS_X + away];
        }
        result[step * ROWS_X] = sum;
    }
}

extern "C" __global__ void columns(const float *source, float *result, int width, int height) {
    // A column of the image is a row here; the one more element keeps neighbours in banks of their own.
    __shared__ float strip[COLUMNS_X][(STEPS + 2 * HALO) * COLUMNS_Y + 1];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int x = blockIdx.x * COLUMNS_X + tx;
    const int y = ((int)blockIdx.y * STEPS - HALO) * COLUMNS_Y + ty;
    source += y * width + x;
    result += y * width + x;
#pragma unroll
    for (int step = HALO; step < HALO + STEPS; step++) {
        strip[tx][ty + step * COLUMNS_Y] = source[step * COLUMNS_Y * width];
    }
#pragma unroll
    for (int step = 0; step < HALO; step++) {
        strip[tx][ty + step * COLUMNS_Y] = y >= -step * COLUMNS_Y ? source[step * COLUMNS_Y * width] : 0.0f;
    }
#pragma unroll
    for (int step = HALO + STEPS; step < STEPS + 2 * HALO; step++) {
        strip[tx][ty + step * COLUMNS_Y] = height - y > step * COLUMNS_Y ? source[step * COLUMNS_Y * width] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int step = HALO; step < HALO + STEPS; step++) {
        float sum = 0.0f;
#pragma unroll
        for (int away = -RADIUS; away <= RADIUS; away++) {
            sum += taps[RADIUS - away] * strip[tx][ty + step * COLUMNS_Y + away];
        }
        result[step * COLUMNS_Y * width] = sum;
    }
}
