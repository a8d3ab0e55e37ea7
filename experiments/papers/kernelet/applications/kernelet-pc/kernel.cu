// Pointer chasing: a thread follows random links, each of which is read from where the one before it says, and writes where it ends.
// Threads that meet part again, since each reads the links its own way: on one chain they would share their lines from there on.
#include "../../../../applications/cuda.h"

// `elements` is a power of two.
extern "C" __global__ void chase(const unsigned *links, unsigned *ends, unsigned elements, int steps) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = thread * 2654435769u;        // even the first links are not beside each other
#pragma unroll 1
    for (int step = 0; step < steps; step++) at = links[(at ^ thread) & (elements - 1)];
    ends[thread] = at;
}
