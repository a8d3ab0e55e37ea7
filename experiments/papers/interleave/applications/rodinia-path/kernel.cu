// The cheapest way down a grid of costs, after the structure of Rodinia's Pathfinder: a launch advances `steps` rows; a block of 256
// threads loads a tile with `border` columns more on each side than it finishes, which its neighbours compute too. Grids of the same
// size lie one behind another, one for each block index in z.
#include "../../../../applications/cuda.h"

#define TILE 256
#define WITHIN(x, low, high) ((x) >= (low) && (x) <= (high))

extern "C" __global__ void path(int steps, const int *costs, const int *source, int *result, int columns, int first_row, int border) {
    __shared__ int before[TILE];
    __shared__ int after[TILE];
    const int tx = threadIdx.x;
    const int copy = blockIdx.z;
    const int useful = TILE - 2 * border;
    const int tile_first = useful * (int)blockIdx.x - border;
    const int tile_last = tile_first + TILE - 1;
    const int x = tile_first + tx;
    const int valid_first = tile_first < 0 ? -tile_first : 0;
    const int valid_last = tile_last > columns - 1 ? TILE - 1 - (tile_last - columns + 1) : TILE - 1;
    const bool valid = WITHIN(tx, valid_first, valid_last);
    const int west = max(tx - 1, valid_first);
    const int east = min(tx + 1, valid_last);
    if (WITHIN(x, 0, columns - 1)) before[tx] = source[columns * copy + x];
    __syncthreads();
    bool computed = false;
#pragma unroll 1
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (WITHIN(tx, i + 1, TILE - i - 2) && valid) {
            computed = true;
            const int shortest = min(min(before[west], before[tx]), before[east]);
            const int index = columns * (steps * copy + first_row + i) + x;
            after[tx] = shortest + costs[index];
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (computed) before[tx] = after[tx];
        __syncthreads();
    }
    if (computed) result[columns * copy + x] = after[tx];
}
