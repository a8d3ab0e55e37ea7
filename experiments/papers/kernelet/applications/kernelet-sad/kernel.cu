// Sums of absolute differences, after the first kernel of Parboil's SAD: each 4 x 4 pixels of a macroblock of 16 x 16 against the other
// frame, at all displacements of a search window. A block of 32 threads has a macroblock, whose pixels lie in shared memory, and a
// thread every 32nd displacement. Beyond its edge the other frame goes on as it ends, as a clamped texture does.
#include "../../../../applications/cuda.h"

#define SIDE 16
#define PART 4
#define THREADS 32

static __device__ unsigned difference(unsigned a, unsigned b, unsigned sum) {
    unsigned more;
    asm("sad.u32 %0, %1, %2, %3;" : "=r"(more) : "r"(a), "r"(b), "r"(sum));
    return more;
}

extern "C" __global__ void macroblock(const unsigned short *frame, const unsigned short *other, unsigned short *sums, int range) {
    __shared__ unsigned short pixels[SIDE * SIDE];
    const int width = SIDE * gridDim.x;
    const int height = SIDE * gridDim.y;
    const int left = SIDE * blockIdx.x;
    const int top = SIDE * blockIdx.y;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < SIDE * SIDE; i += THREADS)
        pixels[i] = frame[(top + i / SIDE) * width + left + i % SIDE];
    __syncthreads();

    const int side = 2 * range + 1;
    const int places = side * side;
    sums += (blockIdx.y * gridDim.x + blockIdx.x) * (SIDE / PART * SIDE / PART) * places;
#pragma unroll 1
    for (int place = threadIdx.x; place < places; place += THREADS) {
        const int right = place % side - range;
        const int down = place / side - range;
#pragma unroll 1
        for (int part = 0; part < SIDE / PART * SIDE / PART; part++) {
            const int x = part % (SIDE / PART) * PART;
            const int y = part / (SIDE / PART) * PART;
            unsigned sum = 0;
#pragma unroll
            for (int row = 0; row < PART; row++) {
                const unsigned short *line = other + min(max(top + y + row + down, 0), height - 1) * width;
#pragma unroll
                for (int column = 0; column < PART; column++) {
                    const unsigned here = pixels[(y + row) * SIDE + x + column];
                    const unsigned there = line[min(max(left + x + column + right, 0), width - 1)];
                    sum = difference(here, there, sum);
                }
            }
            sums[part * places + place] = sum;
        }
    }
}
