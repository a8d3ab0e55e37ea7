// Work of a known amount: each thread steps a linear congruential generator, and after each step looks into a table at places that
// the numbers themselves choose.

#include "../cuda.h"

extern "C" __global__ void work(const unsigned int *from, unsigned int elements, const unsigned int *table, unsigned int mask,
                                unsigned int rounds, unsigned int loads, unsigned int *to)
{
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int x = from[i % elements];
    for (unsigned int round = 0; round < rounds; ++round) {
        x = x * 1664525u + 1013904223u;
        for (unsigned int load = 0; load < loads; ++load)
            x += table[(x >> 8) & mask] ^ load;
    }
    to[i] = x;
}
