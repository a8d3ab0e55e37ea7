// The Tiny Encryption Algorithm of Wheeler and Needham (1994): 32 cycles on blocks of two words with one key. A thread
// encrypts every so-many-th block.
#include "../cuda.h"

extern "C" __global__ void tea(const unsigned *plain, unsigned *cipher, int blocks, unsigned key0, unsigned key1,
                               unsigned key2, unsigned key3) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < blocks; i += gridDim.x * blockDim.x) {
        unsigned y = plain[2 * i];
        unsigned z = plain[2 * i + 1];
        unsigned sum = 0;
#pragma unroll 4
        for (int cycle = 0; cycle < 32; cycle++) {
            sum += 0x9e3779b9u;
            y += ((z << 4) + key0) ^ (z + sum) ^ ((z >> 5) + key1);
            z += ((y << 4) + key2) ^ (y + sum) ^ ((y >> 5) + key3);
        }
        cipher[2 * i] = y;
        cipher[2 * i + 1] = z;
    }
}
