// A step of heat in a plane of n x n cells: each takes a share of what its four neighbours have more, and its source. The
// neighbour of a cell at the border is the cell itself.
#include "../cuda.h"

extern "C" __global__ void stencil(const float *heat, const float *source, float *next, int n, float share) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int west = x > 0 ? x - 1 : x;
    const int east = x < n - 1 ? x + 1 : x;
    const int north = y > 0 ? y - 1 : y;
    const int south = y < n - 1 ? y + 1 : y;
    const float own = heat[y * n + x];
    const float around = heat[y * n + west] + heat[y * n + east] + heat[north * n + x] + heat[south * n + x];
    next[y * n + x] = own + share * (around - 4.0f * own) + source[y * n + x];
}
