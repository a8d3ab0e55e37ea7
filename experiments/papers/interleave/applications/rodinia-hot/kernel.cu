// Chip temperature by explicit time steps, after the structure of Rodinia's Hotspot: a block loads a tile of 16 x 16 cells, of which
// it finishes those that are `steps` away from its edges, and advances it `steps` times. Chips of the same size lie one behind
// another, one for each block index in z.
#include "../../../../applications/cuda.h"

#define TILE 16
#define WITHIN(x, low, high) ((x) >= (low) && (x) <= (high))

extern "C" __global__ void heat(int steps, const float *power, const float *source, float *result, int columns, int rows,
                                int border_columns, int border_rows, float capacity, float rx, float ry, float rz, float step) {
    __shared__ float temperature[TILE][TILE];
    __shared__ float load[TILE][TILE];
    __shared__ float next[TILE][TILE];
    const float ambient = 80.0f;
    const float gain = step / capacity;
    const float rx_1 = 1 / rx;
    const float ry_1 = 1 / ry;
    const float rz_1 = 1 / rz;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    // The first cell of the tile; before the chip for the tiles of the first row and column.
    const int tile_y = (TILE - steps * 2) * (int)blockIdx.y - border_rows;
    const int tile_x = (TILE - steps * 2) * (int)blockIdx.x - border_columns;
    const int tile_y_last = tile_y + TILE - 1;
    const int tile_x_last = tile_x + TILE - 1;
    const int y = tile_y + ty;
    const int x = tile_x + tx;
    const int index = columns * (rows * (int)blockIdx.z + y) + x;
    if (WITHIN(y, 0, rows - 1) && WITHIN(x, 0, columns - 1)) {
        temperature[ty][tx] = source[index];
        load[ty][tx] = power[index];
    }
    __syncthreads();
    // The part of the tile that lies on the chip; a neighbour beyond it is the edge cell itself.
    const int valid_y_first = tile_y < 0 ? -tile_y : 0;
    const int valid_y_last = tile_y_last > rows - 1 ? TILE - 1 - (tile_y_last - rows + 1) : TILE - 1;
    const int valid_x_first = tile_x < 0 ? -tile_x : 0;
    const int valid_x_last = tile_x_last > columns - 1 ? TILE - 1 - (tile_x_last - columns + 1) : TILE - 1;
    const int north = ty - 1 < valid_y_first ? valid_y_first : ty - 1;
    const int south = ty + 1 > valid_y_last ? valid_y_last : ty + 1;
    const int west = tx - 1 < valid_x_first ? valid_x_first : tx - 1;
    const int east = tx + 1 > valid_x_last ? valid_x_last : tx + 1;
    bool computed = false;
#pragma unroll 1
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (WITHIN(tx, i + 1, TILE - i - 2) && WITHIN(ty, i + 1, TILE - i - 2) && WITHIN(tx, valid_x_first, valid_x_last) &&
            WITHIN(ty, valid_y_first, valid_y_last)) {
            computed = true;
            // The published kernel writes `2.0`, so these two sums are in double precision.
            next[ty][tx] =
                temperature[ty][tx] +
                gain * (load[ty][tx] +
                        (temperature[south][tx] + temperature[north][tx] - 2.0 * temperature[ty][tx]) * ry_1 +
                        (temperature[ty][east] + temperature[ty][west] - 2.0 * temperature[ty][tx]) * rx_1 +
                        (ambient - temperature[ty][tx]) * rz_1);
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (computed) temperature[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (computed) result[index] = next[ty][tx];
}
