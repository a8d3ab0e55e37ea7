// What else a pipeline does to a warp, or to several: logic, comparisons, moves, conversions, branches, results that meet each other,
// operands of one bank, vectors in local memory, and streams from the L2 by all SMs. Each kernel runs in two lengths, and leaves the
// cycles of its slowest block.
#include "../cuda.h"

__device__ static inline unsigned now() {
    unsigned cycle;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycle)::"memory");
    return cycle;
}

// All warps of the block begin and end together.
#define PROBE(name, before, step, after)                                                                            \
    extern "C" __global__ void name(unsigned *cycles, unsigned *values, int slot, int length, unsigned with) {      \
        unsigned value = with, other = with;                                                                        \
        before;                                                                                                     \
        __syncthreads();                                                                                            \
        const unsigned begun = now();                                                                               \
        _Pragma("unroll 8") for (int i = 0; i < length; i++) { step; }                                              \
        __syncthreads();                                                                                            \
        const unsigned elapsed = now() - begun;                                                                     \
        after;                                                                                                      \
        if (threadIdx.x == 0) {                                                                                     \
            values[slot] = value + other;                                                                           \
            cycles[slot] = elapsed;                                                                                 \
        }                                                                                                           \
    }

PROBE(logic, , asm volatile("xor.b32 %0, %0, %1;" : "+r"(value) : "r"(with)), )
PROBE(select, , asm volatile("{ .reg .pred p; setp.gt.s32 p, %0, 5; selp.s32 %0, %0, %1, p; }" : "+r"(value) : "r"(with)), )
PROBE(move, , asm volatile("mov.u32 %0, %1; mov.u32 %1, %0;" : "+r"(value), "+r"(other)), )
PROBE(shift, , asm volatile("{ .reg .u32 t; shl.b32 t, %0, 3; xor.b32 t, t, %0; add.u32 %0, t, %0; }" : "+r"(value)), )
PROBE(convert, , asm volatile("{ .reg .f64 d; cvt.rn.f64.u32 d, %0; cvt.rzi.u32.f64 %0, d; }" : "+r"(value)), )
PROBE(select_f64, double five = 5 + with,
      asm volatile("{ .reg .pred p; setp.gt.f64 p, %1, 0d0000000000000000; selp.f64 %1, %1, %1, p; }" : "+r"(value), "+d"(five)),
      other += (unsigned)five)
PROBE(reciprocal, float one = with, asm volatile("rcp.rn.f32 %0, %0;" : "+f"(one)), other += (unsigned)one)
PROBE(twice, , asm volatile("add.u32 %0, %0, %0;" : "+r"(value)), )
PROBE(mixed, unsigned a = with; unsigned b = with; unsigned c = with; unsigned d = with,
      asm volatile("mad.lo.u32 %0, %4, %4, %4; max.u32 %1, %4, %4; xor.b32 %2, %4, %5; add.u32 %3, %4, %4;"
                   : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                   : "r"(value), "r"(other)),
      value = a + b + c + d)

// Nothing but the loop: an addition, a comparison and a branch.
extern "C" __global__ void branch(unsigned *cycles, unsigned *values, int slot, int length, unsigned with) {
    const unsigned begun = now();
#pragma unroll 1
    for (int i = 0; i < length; i++) asm volatile("");
    const unsigned elapsed = now() - begun;
    if (threadIdx.x == 0) {
        values[slot] = with;
        cycles[slot] = elapsed;
    }
}

// Both sides of a branch, one after the other.
extern "C" __global__ void diverge(unsigned *cycles, unsigned *values, int slot, int length, unsigned with) {
    unsigned value = with;
    const unsigned begun = now();
#pragma unroll 1
    for (int i = 0; i < length; i++) {
        if (threadIdx.x & 1)
            asm volatile("add.u32 %0, %0, 2;" : "+r"(value));
        else
            asm volatile("add.u32 %0, %0, %1;" : "+r"(value) : "r"(with));
    }
    const unsigned elapsed = now() - begun;
    if (threadIdx.x == 0) {
        values[slot] = value;
        cycles[slot] = elapsed;
    }
}

// Vectors of four words to local memory, and a word back.
extern "C" __global__ void local_vectors(unsigned *cycles, unsigned *values, int slot, int length, unsigned with) {
    uint4 vectors[8];
    for (int i = 0; i < 8; i++) vectors[i] = make_uint4(i, i, i, i);
    unsigned value = with;
    const unsigned begun = now();
#pragma unroll 1
    for (int i = 0; i < length; i++) {
        vectors[(i + value) & 7] = make_uint4(value, i, value + 1, i);
        value = vectors[(i * 3 + value) & 7].z;
    }
    const unsigned elapsed = now() - begun;
    if (threadIdx.x == 0) {
        values[slot] = value;
        cycles[slot] = elapsed;
    }
}

// Streams of all blocks through `words`, a power of two of them: each turn a grid further, or `step` words.
#define STREAM(name, access)                                                                                        \
    extern "C" __global__ void name(unsigned *cycles, unsigned *values, int slot, int length, unsigned *words,      \
                                    unsigned count, unsigned step) {                                                \
        unsigned at = blockIdx.x * blockDim.x + threadIdx.x, value = 0;                                             \
        const unsigned begun = now();                                                                               \
        _Pragma("unroll 1") for (int i = 0; i < length; i++) {                                                      \
            unsigned *const word = words + (at & count - 1);                                                        \
            access;                                                                                                 \
            at += step;                                                                                             \
        }                                                                                                           \
        __syncthreads();                                                                                            \
        const unsigned elapsed = now() - begun;                                                                     \
        if (threadIdx.x == 0) {                                                                                     \
            atomicMax(cycles + slot, elapsed);                                                                      \
            values[slot] = value;                                                                                   \
        }                                                                                                           \
    }

STREAM(loads, value += *word)
STREAM(stores, *word = 7)
