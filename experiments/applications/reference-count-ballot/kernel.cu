// Counts positive numbers by ballot, an atomic a warp on one counter. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void count_ballot(const int *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int positive = 0;
    if (i < n) positive = in[i] > 0;
    unsigned lanes;
    asm volatile("{ \n\t.reg .pred \t%%p1; \n\tsetp.ne.u32 \t%%p1, %1, 0; \n\tvote.ballot.b32 \t%0, %%p1; \n\t}" : "=r"(lanes) : "r"(positive));
    if ((threadIdx.x & 31) == 0) atomicAdd(out, __popc(lanes));
}
