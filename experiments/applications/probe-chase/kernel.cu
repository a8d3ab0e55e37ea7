// How long memory takes: one thread follows a ring of indices, each of which lies where the one before it says.
#include "../cuda.h"

extern "C" __global__ void tie(int *ring, int elements, int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < elements) ring[i] = (i + stride) % elements;
}

// `slot` numbers the launches. Where the thread arrives is written so that it can be checked.
extern "C" __global__ void chase(const int *ring, int start, int hops, unsigned *cycles, int *ends, int slot) {
    int at = start;
    unsigned begun, ended;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(begun)::"memory");
#pragma unroll 1
    for (int i = 0; i < hops; i++) at = ring[at];
    asm volatile("mov.u32 %0, %%clock;" : "=r"(ended) : "r"(at) : "memory");
    cycles[slot] = ended - begun;
    ends[slot] = at;
}
