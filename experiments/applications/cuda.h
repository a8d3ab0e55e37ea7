// The part of CUDA C that our kernels use, so that clang can compile them without the CUDA SDK.
// NVRTC knows these words itself and does not read this file.
#pragma once
#ifndef __CUDACC_RTC__

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))

// Each index is a property that reads its special register, as clang's own header has it.
#define COUNTERPOINT_INDEX(type, builtin)                                          \
    struct type {                                                                  \
        __declspec(property(get = read_x)) unsigned x;                             \
        __declspec(property(get = read_y)) unsigned y;                             \
        __declspec(property(get = read_z)) unsigned z;                             \
        static inline __attribute__((device)) unsigned read_x() {                  \
            return __nvvm_read_ptx_sreg_##builtin##_x();                           \
        }                                                                          \
        static inline __attribute__((device)) unsigned read_y() {                  \
            return __nvvm_read_ptx_sreg_##builtin##_y();                           \
        }                                                                          \
        static inline __attribute__((device)) unsigned read_z() {                  \
            return __nvvm_read_ptx_sreg_##builtin##_z();                           \
        }                                                                          \
    };

COUNTERPOINT_INDEX(counterpoint_thread_index, tid)
COUNTERPOINT_INDEX(counterpoint_block_index, ctaid)
COUNTERPOINT_INDEX(counterpoint_block_size, ntid)
COUNTERPOINT_INDEX(counterpoint_grid_size, nctaid)

extern const __device__ counterpoint_thread_index threadIdx;
extern const __device__ counterpoint_block_index blockIdx;
extern const __device__ counterpoint_block_size blockDim;
extern const __device__ counterpoint_grid_size gridDim;

#define COUNTERPOINT_FUNCTION static inline __attribute__((device))

// The fast functions are made of the hardware's powers and logarithms of two, as NVRTC makes them.
COUNTERPOINT_FUNCTION float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950216293335f); }
COUNTERPOINT_FUNCTION float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.69314718246459961f; }
COUNTERPOINT_FUNCTION float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
COUNTERPOINT_FUNCTION float fabsf(float x) { return __builtin_fabsf(x); }

// Never contracted to a fused operation. Clang's own functions for these are contracted all the same.
COUNTERPOINT_FUNCTION float __fmul_rn(float a, float b) {
    float product;
    __asm__("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
    return product;
}
COUNTERPOINT_FUNCTION float __fadd_rn(float a, float b) {
    float sum;
    __asm__("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
    return sum;
}

// All 32 lanes take part; `shfl` says so without a mask before sm_70.
#if __CUDA_ARCH__ >= 300
COUNTERPOINT_FUNCTION float __shfl_down_sync(unsigned, float value, unsigned offset) {
    return __nvvm_shfl_down_f32(value, offset, 0x1f);
}
#endif

COUNTERPOINT_FUNCTION void __threadfence() { __nvvm_membar_gl(); }
COUNTERPOINT_FUNCTION void __threadfence_block() { __nvvm_membar_cta(); }

COUNTERPOINT_FUNCTION int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
COUNTERPOINT_FUNCTION float __int_as_float(int x) { return __builtin_bit_cast(float, x); }

COUNTERPOINT_FUNCTION int min(int a, int b) { return a < b ? a : b; }
COUNTERPOINT_FUNCTION int max(int a, int b) { return a > b ? a : b; }

COUNTERPOINT_FUNCTION unsigned atomicAdd(unsigned *place, unsigned value) {
    return __nvvm_atom_add_gen_i((int *)place, (int)value);
}
COUNTERPOINT_FUNCTION int atomicSub(int *place, int value) { return __nvvm_atom_add_gen_i(place, -value); }
COUNTERPOINT_FUNCTION unsigned atomicAnd(unsigned *place, unsigned value) {
    return __nvvm_atom_and_gen_i((int *)place, (int)value);
}
COUNTERPOINT_FUNCTION unsigned atomicOr(unsigned *place, unsigned value) {
    return __nvvm_atom_or_gen_i((int *)place, (int)value);
}
COUNTERPOINT_FUNCTION unsigned atomicExch(unsigned *place, unsigned value) {
    return __nvvm_atom_xchg_gen_i((int *)place, (int)value);
}
COUNTERPOINT_FUNCTION int atomicExch(int *place, int value) { return __nvvm_atom_xchg_gen_i(place, value); }
COUNTERPOINT_FUNCTION int atomicCAS(int *place, int expected, int value) {
    return __nvvm_atom_cas_gen_i(place, expected, value);
}
COUNTERPOINT_FUNCTION int atomicMin(int *place, int value) { return __nvvm_atom_min_gen_i(place, value); }
COUNTERPOINT_FUNCTION int atomicMax(int *place, int value) { return __nvvm_atom_max_gen_i(place, value); }
COUNTERPOINT_FUNCTION float atomicAdd(float *place, float value) {
    return __nvvm_atom_add_gen_f(place, value);
}

#endif
