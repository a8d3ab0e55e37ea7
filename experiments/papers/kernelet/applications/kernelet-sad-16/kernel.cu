// Sums of absolute differences of larger parts of a macroblock, after the last kernel of Parboil's SAD: from those of its four quarters of
// 8 x 8 pixels those of both halves, upright and flat, and of all 16 x 16. A block of 32 threads has a macroblock; a thread takes two
// displacements at a time, which lie in one word and never carry.
#include "../../../../applications/cuda.h"

#define THREADS 32

// `pairs`: displacements of the search window by two. Sums of a part lie one behind another, and parts of a macroblock.
extern "C" __global__ void join(const unsigned *quarters, unsigned *upright, unsigned *flat, unsigned *whole, int pairs) {
    const int macroblock = blockIdx.y * gridDim.x + blockIdx.x;
    quarters += 4 * macroblock * pairs;
    upright += 2 * macroblock * pairs;
    flat += 2 * macroblock * pairs;
    whole += macroblock * pairs;
#pragma unroll 1
    for (int pair = threadIdx.x; pair < pairs; pair += THREADS) {
        const unsigned top_left = quarters[pair];
        const unsigned top_right = quarters[pair + pairs];
        const unsigned bottom_left = quarters[pair + 2 * pairs];
        const unsigned bottom_right = quarters[pair + 3 * pairs];
        upright[pair] = top_left + bottom_left;
        upright[pair + pairs] = top_right + bottom_right;
        flat[pair] = top_left + top_right;
        flat[pair + pairs] = bottom_left + bottom_right;
        whole[pair] = (top_left + top_right) + (bottom_left + bottom_right);
    }
}
