// The cheapest way down a grid of costs, after the structure of Rodinia's Pathfinder: a launch advances `steps` rows; a
// CTA of 256 threads loads a tile with `border` columns more on each side than it finishes, which neighbours compute too.
#include "../cuda.h"

#define TILE 256

extern "C" __global__ void pathfinder(int steps, const int *costs, const int *source, int *result, int columns,
                                      int first_row, int border) {
    __shared__ int before[TILE];
    __shared__ int after[TILE];
    const int tx = threadIdx.x;
    const int useful = TILE - 2 * border;
    const int tile_first = useful * (int)blockIdx.x - border;
    const int tile_last = tile_first + TILE - 1;
    const int x = tile_first + tx;
    const int valid_first = tile_first < 0 ? -tile_first : 0;
    const int valid_last = tile_last > columns - 1 ? TILE - 1 - (tile_last - columns + 1) : TILE - 1;
    const bool valid = tx >= valid_first && tx <= valid_last;
    const int west = max(tx - 1, valid_first);
    const int east = min(tx + 1, valid_last);
    if (x >= 0 && x < columns) before[tx] = source[x];
    __syncthreads();
    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (tx >= i + 1 && tx <= TILE - i - 2 && valid) {
            computed = true;
            const int shortest = min(min(before[west], before[tx]), before[east]);
            after[tx] = shortest + costs[columns * (first_row + i) + x];
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (computed) before[tx] = after[tx];
        __syncthreads();
    }
    if (computed) result[x] = after[tx];
}
