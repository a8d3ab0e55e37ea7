// The Tiny Encryption Algorithm of Wheeler and Needham (1994): 32 cycles on blocks of two words with one key. A thread encrypts every
// so-many-th block, which it loads and stores whole, so that accesses are coalesced.
#include "../../../../applications/cuda.h"

struct __align__(8) pair {
    unsigned y, z;
};

extern "C" __global__ void tea(const pair *plain, pair *cipher, int blocks, unsigned key0, unsigned key1, unsigned key2,
                               unsigned key3) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < blocks; i += gridDim.x * blockDim.x) {
        pair block = plain[i];
        unsigned sum = 0;
#pragma unroll 4
        for (int cycle = 0; cycle < 32; cycle++) {
            sum += 0x9e3779b9u;
            block.y += ((block.z << 4) + key0) ^ (block.z + sum) ^ ((block.z >> 5) + key1);
            block.z += ((block.y << 4) + key2) ^ (block.y + sum) ^ ((block.y >> 5) + key3);
        }
        cipher[i] = block;
    }
}
