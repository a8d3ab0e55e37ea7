// The part of CUDA C that our kernels use, so that clang can compile them without the CUDA SDK.
// NVRTC knows these words itself and does not read this file.
#pragma once
#ifndef __CUDACC_RTC__

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

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

#endif
