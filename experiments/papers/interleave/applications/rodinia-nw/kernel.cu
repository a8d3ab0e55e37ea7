// A diagonal of tiles of Needleman's and Wunsch's alignment of two sequences, after the structure of Rodinia's: a block of 16 threads
// has a tile of 16 x 16 cells, reads the row above it and the column left of it, and goes through its 31 diagonals, one thread a
// column. Rows and columns of the matrices begin with the gaps' scores. Block index z chooses another diagonal, four tiles away, that
// goes on at the other side of the matrix.
#include "../../../../applications/cuda.h"

#define SIDE 16
#define APART 4

__device__ __forceinline__ int greatest(int a, int b, int c) { return max(max(a, b), c); }

extern "C" __global__ void align(const int *similarity, const int *scores, int *result, int columns, int penalty) {
    __shared__ int score[SIDE + 1][SIDE + 1];
    __shared__ int similar[SIDE][SIDE];
    const int tx = threadIdx.x;
    const int tile_x = blockIdx.x;
    const int tile_y = (gridDim.x - 1 - blockIdx.x + APART * blockIdx.z) % gridDim.x;
    const int corner = columns * SIDE * tile_y + SIDE * tile_x;
    const int index = corner + columns + 1 + tx;
    if (tx == 0) score[0][0] = scores[corner];
#pragma unroll 1
    for (int row = 0; row < SIDE; row++) similar[row][tx] = similarity[index + columns * row];
    __syncthreads();
    score[tx + 1][0] = scores[corner + columns * (tx + 1)];
    __syncthreads();
    score[0][tx + 1] = scores[corner + tx + 1];
    __syncthreads();
#pragma unroll 1
    for (int m = 0; m < SIDE; m++) {
        if (tx <= m) {
            const int x = tx + 1;
            const int y = m - tx + 1;
            score[y][x] = greatest(score[y - 1][x - 1] + similar[y - 1][x - 1], score[y][x - 1] - penalty, score[y - 1][x] - penalty);
        }
        __syncthreads();
    }
#pragma unroll 1
    for (int m = SIDE - 2; m >= 0; m--) {
        if (tx <= m) {
            const int x = tx + SIDE - m;
            const int y = SIDE - tx;
            score[y][x] = greatest(score[y - 1][x - 1] + similar[y - 1][x - 1], score[y][x - 1] - penalty, score[y - 1][x] - penalty);
        }
        __syncthreads();
    }
#pragma unroll 1
    for (int row = 0; row < SIDE; row++) result[index + columns * row] = score[row + 1][tx + 1];
}
