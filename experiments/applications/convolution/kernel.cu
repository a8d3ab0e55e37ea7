// A separable filter of 17 taps, rows and columns apart, after the CUDA SDK's. A CTA of 16 x 16 threads loads its tile
// with a halo of 8 on both sides; beyond the image all is zero. The taps become immediate operands, so that no page of
// memory is shared by all CTAs on their account.
#include "../cuda.h"

#define TILE 16
#define RADIUS 8

// Half of the binomial coefficients of order 16, divided by 2^16: the centre and what is 1 to 8 away.
#define TAPS                                                                                                  \
    {12870 / 65536.0f, 11440 / 65536.0f, 8008 / 65536.0f, 4368 / 65536.0f, 1820 / 65536.0f,                   \
     560 / 65536.0f,   120 / 65536.0f,   16 / 65536.0f,   1 / 65536.0f}

extern "C" __global__ void rows(const float *source, float *result, int width, int height) {
    const float taps[RADIUS + 1] = TAPS;
    __shared__ float tile[TILE][TILE + 2 * RADIUS];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int x = blockIdx.x * TILE + tx;
    const int y = blockIdx.y * TILE + ty;
    const bool inside = y < height;
    tile[ty][tx] = inside && x >= RADIUS && x - RADIUS < width ? source[y * width + x - RADIUS] : 0.0f;
    tile[ty][tx + TILE] = inside && x + RADIUS < width ? source[y * width + x + RADIUS] : 0.0f;
    __syncthreads();
    float sum = taps[0] * tile[ty][tx + RADIUS];
#pragma unroll
    for (int away = 1; away <= RADIUS; away++) {
        sum += taps[away] * (tile[ty][tx + RADIUS - away] + tile[ty][tx + RADIUS + away]);
    }
    if (inside && x < width) result[y * width + x] = sum;
}

extern "C" __global__ void columns(const float *source, float *result, int width, int height) {
    const float taps[RADIUS + 1] = TAPS;
    __shared__ float tile[TILE + 2 * RADIUS][TILE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int x = blockIdx.x * TILE + tx;
    const int y = blockIdx.y * TILE + ty;
    const bool inside = x < width;
    tile[ty][tx] = inside && y >= RADIUS && y - RADIUS < height ? source[(y - RADIUS) * width + x] : 0.0f;
    tile[ty + TILE][tx] = inside && y + RADIUS < height ? source[(y + RADIUS) * width + x] : 0.0f;
    __syncthreads();
    float sum = taps[0] * tile[ty + RADIUS][tx];
#pragma unroll
    for (int away = 1; away <= RADIUS; away++) {
        sum += taps[away] * (tile[ty + RADIUS - away][tx] + tile[ty + RADIUS + away][tx]);
    }
    if (inside && y < height) result[y * width + x] = sum;
}
