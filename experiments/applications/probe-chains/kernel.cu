// How long a warp waits for itself: each instruction needs the result of the one before. Sixteen of them are a round, so
// that counting rounds weighs little; two lengths tell what an instruction takes from what surrounds it.
#include "../cuda.h"

__device__ static inline unsigned now() {
    unsigned cycle;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycle)::"memory");
    return cycle;
}

// `slot` numbers the launches. Values are written so that they can be checked.
#define CHAIN(name, type, step)                                                                                    \
    extern "C" __global__ void name(unsigned *cycles, double *values, int slot, int length, type with) {           \
        type value = with;                                                                                         \
        const unsigned begun = now();                                                                              \
        _Pragma("unroll 16") for (int i = 0; i < length; i++) step;                                                \
        const unsigned elapsed = now() - begun;                                                                    \
        values[slot * blockDim.x + threadIdx.x] = value;                                                           \
        if (threadIdx.x == 0) cycles[slot] = elapsed;                                                              \
    }

CHAIN(add_s32, int, asm volatile("add.s32 %0, %0, %1;" : "+r"(value) : "r"(with)))
CHAIN(mad_s32, int, asm volatile("mad.lo.s32 %0, %0, %1, %1;" : "+r"(value) : "r"(with)))
CHAIN(div_s32, int, asm volatile("div.s32 %0, %0, %1;" : "+r"(value) : "r"(with)))
CHAIN(mul_f32, float, asm volatile("mul.f32 %0, %0, %1;" : "+f"(value) : "f"(with)))
CHAIN(fma_f32, float, asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(value) : "f"(with)))
CHAIN(fma_f64, double, asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(value) : "d"(with)))
CHAIN(rsqrt_f32, float, asm volatile("rsqrt.approx.f32 %0, %0;" : "+f"(value)))

// A word of shared memory holds its own index: whoever follows it stays. An addition makes the next address.
extern "C" __global__ void ld_shared(unsigned *cycles, double *values, int slot, int length) {
    __shared__ unsigned words[64];
    const unsigned own = threadIdx.x;
    words[own] = own;
    words[own + 32] = own;
    __syncthreads();
    unsigned base, index = own;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(base) : "l"(words + own));
    base -= own;
    const unsigned begun = now();
#pragma unroll 16
    for (int i = 0; i < length; i++)
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(index) : "r"(base + index) : "memory");
    const unsigned elapsed = now() - begun;
    values[slot * blockDim.x + own] = index;
    if (own == 0) cycles[slot] = elapsed;
}
