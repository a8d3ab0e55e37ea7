// How much memory, caches and units give: each kernel does one thing over and over, in two lengths, so that their difference has
// neither the beginning nor the end of a launch. Loads and instructions are written as assembly, which no compiler takes out or joins.
// What comes of it is written so that it can be checked; `slot` numbers the launches, and `sums` has `places` words for each.
#include "../cuda.h"

struct Four {
    unsigned x, y, z, w;
};

__device__ static inline unsigned index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ static inline unsigned stride() { return gridDim.x * blockDim.x; }

#define LOAD(name, operator)                                                                                           \
    __device__ static inline Four name(const unsigned *at) {                                                           \
        Four four;                                                                                                     \
        asm volatile("ld.global" operator ".v4.u32 {%0, %1, %2, %3}, [%4];"                                            \
                     : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)                                          \
                     : "l"(at)                                                                                         \
                     : "memory");                                                                                      \
        return four;                                                                                                   \
    }

LOAD(load, "")
LOAD(load_l2, ".cg")

__device__ static inline void store(unsigned *at, Four four) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(four.x), "r"(four.y), "r"(four.z), "r"(four.w)
                 : "memory");
}

__device__ static inline unsigned sum(Four four) { return four.x + four.y + four.z + four.w; }

// What buffers hold before the run: `step` times the index.
extern "C" __global__ void fill(unsigned *words, unsigned count, unsigned step) {
    if (index() < count) words[index()] = step * index();
}

// Where a thread begins: a warp has four times 32 elements behind each other, of which each of its threads has one of each 32.
__device__ static inline unsigned begin() { return index() / 32 * 128 + index() % 32; }

// Streams: elements of 16 bytes from `start` on, four a round and thread, which are under way together.
extern "C" __global__ void read(const unsigned *from, unsigned start, unsigned count, unsigned *sums, unsigned first) {
    unsigned total = 0;
    _Pragma("unroll 1") for (unsigned i = begin(); i < count; i += 4 * stride()) {
        const unsigned *at = from + 4 * (unsigned long long)(start + i);
        const Four a = load(at), b = load(at + 128), c = load(at + 256), d = load(at + 384);
        total += sum(a) + sum(b) + sum(c) + sum(d);
    }
    sums[first + index()] = total;
}

extern "C" __global__ void write(unsigned *to, unsigned start, unsigned count) {
    _Pragma("unroll 1") for (unsigned i = begin(); i < count; i += 4 * stride()) {
        unsigned *at = to + 4 * (unsigned long long)(start + i);
        const Four four = {i, i, i, i};
        store(at, four);
        store(at + 128, four);
        store(at + 256, four);
        store(at + 384, four);
    }
}

extern "C" __global__ void copy(const unsigned *from, unsigned *to, unsigned start, unsigned count) {
    _Pragma("unroll 1") for (unsigned i = begin(); i < count; i += 4 * stride()) {
        const unsigned long long at = 4 * (unsigned long long)(start + i);
        const Four a = load(from + at), b = load(from + at + 128), c = load(from + at + 256), d = load(from + at + 384);
        store(to + at, a);
        store(to + at + 128, b);
        store(to + at + 256, c);
        store(to + at + 384, d);
    }
}

// Again and again over the same elements, a power of two, which the L2 holds; a warp goes on by an odd number of its pieces.
extern "C" __global__ void again_l2(const unsigned *from, unsigned mask, unsigned rounds, unsigned *sums, unsigned first) {
    unsigned total = 0, at = begin();
    _Pragma("unroll 1") for (unsigned round = 0; round < rounds; round++) {
        const unsigned *four = from + 4 * (at & mask);
        const Four a = load_l2(four), b = load_l2(four + 128), c = load_l2(four + 256), d = load_l2(four + 384);
        total += sum(a) + sum(b) + sum(c) + sum(d);
        at += 128 * 37;
    }
    sums[first + index()] = total;
}

// Always the same elements, which the L1 holds.
extern "C" __global__ void again_l1(const unsigned *from, unsigned rounds, unsigned *sums, unsigned first) {
    unsigned total = 0;
    const unsigned *four = from + 4 * (index() % 32);
    _Pragma("unroll 1") for (unsigned round = 0; round < rounds; round++) {
        const Four a = load(four), b = load(four + 128), c = load(four + 256), d = load(four + 384);
        total += sum(a) + sum(b) + sum(c) + sum(d);
    }
    sums[first + index()] = total;
}

// The same from shared memory, without a bank conflict.
extern "C" __global__ void shared(unsigned rounds, unsigned *sums, unsigned first) {
    __shared__ unsigned words[512];
    for (unsigned word = threadIdx.x; word < 512; word += blockDim.x) words[word] = word;
    __syncthreads();
    unsigned base, total = 0;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(base) : "l"(words + threadIdx.x % 32 * 4));
    _Pragma("unroll 1") for (unsigned round = 0; round < rounds; round++) {
        Four v[4];
#define WORDS(k, offset)                                                                                               \
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4 + " #offset "];"                                              \
                 : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)                                              \
                 : "r"(base)                                                                                           \
                 : "memory");
        WORDS(0, 0) WORDS(1, 512) WORDS(2, 1024) WORDS(3, 1536)
        total += sum(v[0]) + sum(v[1]) + sum(v[2]) + sum(v[3]);
    }
    sums[first + index()] = total;
}

// Eight chains of sixteen instructions a round: a thread has eight under way. One operand is a register, so that none meet in a bank.
#define UNIT(name, type, begin, text, constraint)                                                                      \
    extern "C" __global__ void name(unsigned rounds, unsigned *sums, unsigned first) {                                 \
        type v[8];                                                                                                     \
        _Pragma("unroll") for (int k = 0; k < 8; k++) v[k] = begin;                                                    \
        _Pragma("unroll 1") for (unsigned round = 0; round < rounds; round++) {                                        \
            _Pragma("unroll") for (int step = 0; step < 16; step++)                                                    \
                _Pragma("unroll") for (int k = 0; k < 8; k++) asm volatile(text : "+" constraint(v[k]));               \
        }                                                                                                              \
        type total = 0;                                                                                                \
        _Pragma("unroll") for (int k = 0; k < 8; k++) total += v[k];                                                   \
        sums[first + index()] = (unsigned)total;                                                                       \
    }

UNIT(fma_f32, float, k, "fma.rn.f32 %0, %0, 0f3F800000, 0f3F800000;", "f")
UNIT(fma_f64, double, k, "fma.rn.f64 %0, %0, 0d3FF0000000000000, 0d3FF0000000000000;", "d")
UNIT(add_s32, int, k, "add.s32 %0, %0, 1;", "r")
UNIT(mad_s32, int, k, "mad.lo.s32 %0, %0, 1, 1;", "r")
UNIT(rsqrt_f32, float, 1, "rsqrt.approx.f32 %0, %0;", "f")

// Atomics without a result: all threads on one word, each warp on the words of one line, or each thread on its own.
extern "C" __global__ void atomic(unsigned *words, unsigned mask, unsigned rounds) {
    unsigned *word = words + (index() & mask);
    _Pragma("unroll 1") for (unsigned round = 0; round < rounds; round++)
        asm volatile("red.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
}

extern "C" __global__ void atomic_shared(unsigned own, unsigned rounds, unsigned *sums, unsigned first) {
    __shared__ unsigned words[1024];
    words[threadIdx.x] = 0;
    __syncthreads();
    unsigned base;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(base) : "l"(words + threadIdx.x * own));
    _Pragma("unroll 1") for (unsigned round = 0; round < rounds; round++)
        asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(base) : "memory");
    __syncthreads();
    sums[first + index()] = words[threadIdx.x];
}
