// Modules: nvcc-sm_75 nvcc-sm_90
// Atomics of many types and kinds on shared words: all results are independent of the order.

extern "C" __global__ void atomics(const int *x, unsigned *words, unsigned long long *wide, double *sum, float *least) {
    __shared__ unsigned inner;
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = x[i];
    if (threadIdx.x == 0) inner = 0;
    __syncthreads();
    atomicInc(&words[0], 99);
    atomicDec(&words[1], 50);
    atomicXor(&words[2], value * 77);
    atomicOr_block(&inner, 1u << value % 32);
    atomicMin((int *)&words[4], value - 500);
    atomicAnd_system(&words[5], ~(1u << value % 31));
    unsigned short *halves = (unsigned short *)&words[6];
    unsigned short seen = *(volatile unsigned short *)&halves[1], expected;
    do {
        expected = seen;
        seen = atomicCAS(&halves[1], expected, (unsigned short)(expected + value));
    } while (seen != expected);
    atomicAdd(&wide[0], (unsigned long long)value << 30);
    atomicMax(&wide[1], (unsigned long long)value * value);
    atomicMin((long long *)&wide[2], (long long)value - (1ll << 40));
    atomicAdd(sum, value * 0.25);
    // The least of positive numbers by their bits.
    atomicMin((int *)least, __float_as_int(value * 0.5f + 1));
    atomicAdd(&least[1], 0.5f * value);
    __syncthreads();
    if (threadIdx.x == 0) atomicOr(&words[3], inner);
}
